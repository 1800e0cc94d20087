// SPDX-License-Identifier: Apache-2.0
// Asking the server: blocks of data, JSON, and events as they come. What fails says so in a sentence.
import { decode, unpack } from "./data.js";

// Chips whose filter has another name: that, whether it means all but these, and whether a part of the text will do.
const FILTER_KEYS = { fn: ["focus", false, true], focus: ["focus", false, false], callers: ["focus", false, false], ignore: ["focus", true, true] };
const FILTERS_MOST = 16, PATTERN_MOST = 250, BYTES_MOST = 3000, NAME_MOST = 3000;

// The name of a function can be asked for.
export const isShort = (name) => encodeURIComponent(name).length <= NAME_MOST;

class Refused extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

async function ask(path, parameters, signal) {
	const query = new URLSearchParams();
	for (const [name, value] of parameters)
		if (value !== "" && value !== undefined && value !== null)
			query.append(name, value);
	const answer = await fetch(path + (query.size === 0 ? "" : "?" + query), { signal, cache: "no-store" });
	if (answer.status === 401)
		location.assign("/login");
	if (!answer.ok) {
		const said = await answer.json().catch(() => null);
		throw new Refused(answer.status, said && said.error ? said.error : "the server said " + answer.status);
	}
	return answer;
}

export async function askJson(path, parameters, signal) {
	return (await ask(path, parameters, signal)).json();
}

// The tables of a range; null if nothing is kept of it.
export async function askBlock(range, signal) {
	const parameters = [["format", "page"], ["from", range.from], ["to", range.to], ["offsets", range.offsets]];
	const answer = await ask("/api/profile", parameters, signal);
	if (answer.status === 204)
		return null;
	return decode(await unpack(new Uint8Array(await answer.arrayBuffer())));
}

// Chips as the server's filters. `left` are those that it has no words for.
export function filtersOf(chips) {
	const filters = [], left = [];
	let length = 0;
	for (const chip of chips) {
		const [key, not, part] = FILTER_KEYS[chip.key] || [chip.key, false, false], value = ["foldrec", "foldmod"].includes(key) ? "" : filterValue(chip.value, part);
		const text = (chip.not || not ? "-" : "") + key + value, taken = encodeURIComponent(text).length;
		if (value === null || value && (filters.length === FILTERS_MOST || length + taken > BYTES_MOST) || chip.not && key === "hide") {
			left.push(chip);
		} else if (value) {
			filters.push(["filter", text]);
			length += taken;
		}
	}
	return { filters, left };
}

// What stands behind the key: an expression, or the text itself. null if there is none that means the same.
function filterValue(value, part) {
	const found = /^\/([^]+)\/(i?)$/.exec(value), pattern = found ? posix(found[1]) : part ? value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : null;
	if (!found && !part)
		return "=" + value;
	return pattern === null || new TextEncoder().encode(pattern).length > PATTERN_MOST ? null : ":" + (found && found[2] ? "(?i)" : "") + pattern;
}

const CLASSES = { d: "0-9", w: "[:alnum:]_", s: "[:space:]" };

// A bracket of a regular expression from `at` on, as POSIX has it, without escapes: its text and where it ends. null: not there.
function bracket(source, at) {
	const not = source[at + 1] === "^", tail = { "[": "", "^": "", "-": "" };
	let out = "", first = "", i = at + 1 + not;
	for (; i < source.length && source[i] !== "]"; i++) {
		const escaped = source[i] === "\\", one = escaped ? source[++i] : source[i];
		if (escaped && /\w/.test(one || "0")) {
			if (!CLASSES[one])
				return null;
			out += CLASSES[one];
		} else if (one === "]") {
			first = one;
		} else if (one in tail) {
			tail[one] = one;
		} else if (source[i + 1] === "-" && source[i + 2] && source[i + 2] !== "]") {
			if (source[i + 2] === "\\" || escaped)
				return null;
			out += source.slice(i, i + 3);
			i += 2;
		} else {
			out += one;
		}
	}
	const inside = first + out + tail["["] + tail["^"] + tail["-"];
	return i === source.length || !inside || inside === "^" && !not ? null : ["[" + (not ? "^" : "") + inside + "]", i];
}

// A regular expression of this language as one of POSIX that finds the same; null if there is none.
export function posix(source) {
	let out = "";
	for (let i = 0; i < source.length; i++) {
		const one = source[i], next = source[i + 1] || "", low = next.toLowerCase();
		if (one === "\\") {
			i++;
			if (next === "b" || next === "B")
				out += one + next;
			else if (CLASSES[low])
				out += "[" + (next === low ? "" : "^") + CLASSES[low] + "]";
			else if (!next || /\w/.test(next))
				return null;
			else
				out += /[\\^$.*+?()[\]{}|]/.test(next) ? one + next : next;
		} else if (one === "[") {
			const found = bracket(source, i);
			if (!found)
				return null;
			[out, i] = [out + found[0], found[1]];
		} else if (one === "(" && next === "?") {
			if (source[i + 2] !== ":")
				return null;
			out += one;
			i += 2;
		} else if (one === "{" && /^\{\d+,?\d*\}/.test(source.slice(i))) {
			return null;
		} else if (one === "{" || one === "}") {
			out += "\\" + one;
		} else {
			out += one;
			i += /[*+?]/.test(one) && next === "?"; // how much of it is found does not matter
		}
	}
	return out;
}

// Server-sent events until they end: tell(name, data). fetch, not EventSource: it says why it was refused.
export async function listen(path, tell, signal) {
	const answer = await ask(path, [], signal), reader = answer.body.getReader(), decoder = new TextDecoder();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return;
		rest += decoder.decode(value, { stream: true });
		const parts = rest.split("\n\n");
		rest = parts.pop();
		for (const part of parts) {
			const lines = part.split("\n"), field = (name) => lines.filter((line) => line.startsWith(name + ":")).map((line) => line.slice(name.length + 1).trimStart());
			const data = field("data").join("\n");
			if (data)
				tell(field("event")[0] || "message", JSON.parse(data));
		}
	}
}
