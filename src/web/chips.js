// SPDX-License-Identifier: Apache-2.0
// The chips as they stand in the head, each with its cross, and the field for one more.
import { CHIP_KEYS, chipProblem, chipText, parseChip, taskText } from "./filters.js";
import { KINDS } from "./data.js";
import { byId, el, fill, toast } from "./dom.js";

const NAMES = { fn: "function", foldrec: "fold recursion", foldmod: "fold module", callers: "only callers of" };
const SUGGESTED = 200;

export function showChips(app) {
	const { store, state } = app;
	fill(byId("chips"), state.chips.map((chip) => {
		const problem = chipProblem(chip), name = (chip.not ? "not " : "") + (NAMES[chip.key] || chip.key);
		return el("li", { class: "chip" + (problem ? " bad" : ""), title: problem || chipText(chip).slice(0, 500) },
			el("b", {}, name), el("span", {}, chip.value === "*" ? "" : chip.value.slice(0, 200)),
			el("button", { "aria-label": "remove filter " + name + " " + chip.value.slice(0, 200), onclick: () => store.removeChip(chip) }, "✕"));
	}));
}

function suggestions(app, text) {
	const [, key] = /^-?([a-z]+):/.exec(text) || [], { db } = app, found = new Set();
	if (!key)
		return CHIP_KEYS.map((one) => one + ":");
	if (["process", "thread", "container", "unit"].includes(key))
		for (let task = 1; task < db.tasks && found.size < SUGGESTED; task++)
			found.add(taskText(db, task, key));
	else if (key === "module" || key === "foldmod")
		for (let frame = 1; frame < db.frames.real && found.size < SUGGESTED; frame++)
			found.add(db.frames.module[frame]);
	else if (key === "kind")
		KINDS.forEach((kind) => found.add(kind));
	return [...found].filter((one) => one && one.length < 200).map((one) => key + ":" + one);
}

export function wireChips(app) {
	const input = byId("chip-input"), list = byId("chip-values");
	const suggest = () => fill(list, suggestions(app, input.value).map((value) => el("option", { value })));
	input.addEventListener("focus", suggest);
	input.addEventListener("input", suggest);
	byId("chip-form").addEventListener("submit", (event) => {
		const chip = parseChip(input.value);
		event.preventDefault();
		if (!chip)
			return;
		const problem = chipProblem(chip);
		if (problem)
			return toast(chip.value + ": " + problem);
		input.value = "";
		app.store.addChip(chip);
	});
}
