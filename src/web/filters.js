// SPDX-License-Identifier: Apache-2.0
// Chips: what is asked of stacks. A chip is {key, value, not}. Those of one key that choose whose samples are shown are
// alternatives; everything else narrows further. Texts: docs/page.md. Pure.
import { KIND_NONE, KINDS } from "./data.js";

// What samples are chosen by: the task, or the function that was running; what stacks are chosen by; what changes them.
export const TASK_KEYS = ["process", "thread", "container", "unit"];
export const LEAF_KEYS = ["module", "kind"];
export const STACK_KEYS = ["fn", "focus", "callers", "ignore"];
export const SHAPE_KEYS = ["hide", "foldrec", "foldmod"];
export const CHIP_KEYS = [...TASK_KEYS, ...LEAF_KEYS, ...STACK_KEYS, ...SHAPE_KEYS];
const ID = /^((?:[0-9]+\/)?[0-9a-f]{12})[0-9a-f]{52}$/;

export function chipText(chip) {
	return (chip.not ? "-" : "") + chip.key + ":" + chip.value;
}

// null if it is none; a text without a key is a function.
export function parseChip(text) {
	const found = /^(-?)([a-z]+):([^]*)$/.exec(text.trim());
	if (found && CHIP_KEYS.includes(found[2]))
		return found[3] ? { key: found[2], value: found[3], not: found[1] === "-" } : null;
	return text.trim() ? { key: "fn", value: text.trim(), not: false } : null;
}

// What is between slashes is a regular expression. null if it is not one.
export function toRegex(value) {
	const found = /^\/([^]+)\/(i?)$/.exec(value);
	if (!found)
		return undefined;
	try {
		return new RegExp(found[1], found[2]);
	} catch (error) {
		return null;
	}
}

export function chipProblem(chip) {
	return toRegex(chip.value) === null ? "not a regular expression" : "";
}

function matcher(value, part) {
	const regex = toRegex(value);
	if (regex !== undefined)
		return (text) => !!regex && regex.test(text);
	return part ? (text) => text.includes(value) : (text) => text === value;
}

// Of a container's id the first digits, with the user before it where one has named it.
export function shortId(text) {
	return text.replace(ID, "$1");
}

export function taskText(db, task, key) {
	const text = (column) => db.strings[db.task[column][task]], pid = db.task.pid[task], tid = db.task.tid[task];
	if (key === "thread")
		return (text("comm") || "[unnamed]") + " (" + pid + "/" + (tid || "-") + ")";
	if (key === "pid")
		return (text("comm") || "[unnamed]") + " (" + pid + ")";
	if (key === "process")
		return text("comm");
	return shortId(text(key)) || "[no " + key + "]";
}

function taskMatches(db, task, chip) {
	const match = matcher(chip.value, false), number = +chip.value;
	if (match(taskText(db, task, chip.key)))
		return true;
	if (chip.key === "thread")
		return number > 0 && number === db.task.tid[task];
	// A process is that of all its threads; an id may be whole.
	if (match(db.strings[db.task[chip.key][task]]))
		return true;
	return chip.key === "process" && (number > 0 && number === db.task.pid[task] || chip.value === taskText(db, task, "pid"));
}

// Per task: whether its samples are shown.
function passTasks(db, chips) {
	const pass = new Uint8Array(db.tasks).fill(1);
	for (const key of TASK_KEYS) {
		const own = chips.filter((chip) => chip.key === key), wanted = own.filter((chip) => !chip.not);
		for (let task = 1; own.length && task < db.tasks; task++)
			if (wanted.length && !wanted.some((chip) => taskMatches(db, task, chip)) ||
			    own.some((chip) => chip.not && taskMatches(db, task, chip)))
				pass[task] = 0;
	}
	return pass;
}

// Per frame: whether samples in which it was running are shown.
function passLeaves(db, chips) {
	const pass = new Uint8Array(db.frames.count).fill(1), { module, kind } = db.frames;
	for (const key of LEAF_KEYS) {
		const tests = chips.filter((chip) => chip.key === key).map((chip) => ({ not: chip.not, match: matcher(chip.value, false) }));
		const wanted = tests.filter((test) => !test.not);
		for (let frame = 0; tests.length && frame < pass.length; frame++) {
			const text = key === "module" ? module[frame] : KINDS[kind[frame]];
			if (wanted.length && !wanted.some((test) => test.match(text)) || tests.some((test) => test.not && test.match(text)))
				pass[frame] = 0;
		}
	}
	return pass;
}

// Per frame: whether the chip means it.
export function matchFrames(db, chip) {
	const { name, module, kind, real } = db.frames, out = new Uint8Array(db.frames.count);
	const part = chip.key === "fn" || chip.key === "ignore", regex = toRegex(chip.value) !== undefined;
	const match = matcher(chip.value, part);
	for (let frame = 1; frame < real; frame++)
		out[frame] = kind[frame] !== KIND_NONE && (match(name[frame]) || (part || regex) && match(module[frame])) ? 1 : 0;
	return out;
}

// All chips made ready: masks of bits for stacks, tables by frame for what changes them.
export function compileChips(db, chips) {
	const out = { taskPass: passTasks(db, chips), leafPass: passLeaves(db, chips), bits: null, need: 0, never: 0, focus: 0, cut: 0,
		hide: null, foldAll: false, foldFrames: null, foldModules: null };
	const stack = chips.filter((chip) => STACK_KEYS.includes(chip.key)).slice(0, 30);
	if (stack.length)
		out.bits = new Int32Array(db.frames.count);
	stack.forEach((chip, i) => {
		const match = matchFrames(db, chip), bit = 1 << i;
		for (let frame = 0; frame < match.length; frame++)
			out.bits[frame] |= match[frame] ? bit : 0;
		if (chip.key === "ignore" || chip.not)
			out.never |= bit;
		else
			out.need |= bit;
		if (chip.key === "focus" && !chip.not)
			out.focus |= bit;
		if (chip.key === "callers" && !chip.not)
			out.cut |= bit;
	});
	for (const chip of chips.filter((one) => SHAPE_KEYS.includes(one.key))) {
		if (chip.key === "foldrec" && chip.value === "*") {
			out.foldAll = true;
		} else if (chip.key === "foldmod") {
			const match = matcher(chip.value, false);
			out.foldModules = out.foldModules || new Uint8Array(db.frames.count);
			for (let frame = 1; frame < db.frames.real; frame++)
				out.foldModules[frame] |= match(db.frames.module[frame]) ? 1 : 0;
		} else {
			const field = chip.key === "hide" ? "hide" : "foldFrames", match = matchFrames(db, chip);
			out[field] = out[field] ? out[field].map((old, frame) => old | match[frame]) : match;
		}
	}
	return out;
}
