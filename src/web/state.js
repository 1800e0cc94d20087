// SPDX-License-Identifier: Apache-2.0
// What is shown is in the address: view, chips, zoom, selection, and how it looks. Back undoes; a copied link shows the
// same. State goes in and out of the fragment here and nowhere else.
import { chipText, parseChip } from "./filters.js";
import { COLOUR_MODES } from "./colours.js";
import { UNITS } from "./format.js";

export const VIEWS = ["flame", "icicle", "inverted", "tree", "sandwich", "table"];
export const GROUPS = ["process", "pid", "thread", "container", "unit", "none"];

const SPAN = /^\d{1,15}-\d{1,15}$/; // ms since 1970

// Each part: its name in the address, what it may be (nothing: any text), the default.
const PARTS = {
	view: ["v", VIEWS, "flame"], by: ["by", GROUPS, "process"], unit: ["u", UNITS, "percent"], order: ["o", ["name", "size"], "name"],
	colour: ["c", [...COLOUR_MODES, "change"], ""], search: ["q", null, ""], zoom: ["z", null, ""], select: ["s", null, ""],
	fn: ["fn", null, ""], sort: ["sort", null, ""],
	// With a server: range, the one to compare with, parts of every second, what of the time is seen and how, of what, the live window.
	a: ["a", SPAN, ""], b: ["b", SPAN, ""], offsets: ["ms", /^\d{1,3}-\d{1,4}$/, ""], seen: ["t", SPAN, ""], strip: ["strip", ["time", "heat"], "time"],
	over: ["over", /^[\w.-]{1,60}$/, "process"], of: ["of", null, ""], last: ["w", ["10", "30", "60", "300", "900"], "60"],
};

const isAllowed = (allowed, value) => !allowed || (allowed instanceof RegExp ? allowed.test(value) : allowed.includes(value));

export function readState(fragment) {
	const given = new URLSearchParams(fragment.replace(/^#/, "")), state = { chips: [] };
	for (const [part, [name, allowed, usual]] of Object.entries(PARTS)) {
		const value = given.get(name);
		state[part] = value !== null && isAllowed(allowed, value) ? value : usual;
	}
	state.chips = given.getAll("f").map(parseChip).filter((chip) => chip);
	return state;
}

export function writeState(state) {
	const out = new URLSearchParams();
	for (const [part, [name, , usual]] of Object.entries(PARTS))
		if (state[part] !== usual && state[part])
			out.set(name, state[part]);
	for (const chip of state.chips)
		out.append("f", chipText(chip));
	return out.toString();
}

export class Store {
	constructor(changed) {
		this.changed = changed;
		this.state = readState(location.hash);
		addEventListener("popstate", () => this.reread());
		addEventListener("hashchange", () => this.reread());
	}
	reread() {
		const old = this.state;
		this.state = readState(location.hash);
		if (writeState(old) !== writeState(this.state))
			this.changed(this.state, old);
	}
	// `quiet`: not worth a step back, such as a letter more in the search.
	set(patch, quiet) {
		const old = this.state, text = writeState({ ...old, ...patch });
		if (text === writeState(old))
			return;
		this.state = readState(text);
		history[quiet ? "replaceState" : "pushState"](null, "", "#" + text);
		this.changed(this.state, old);
	}
	addChip(chip) {
		const text = chipText(chip);
		if (!this.state.chips.some((one) => chipText(one) === text))
			this.set({ chips: [...this.state.chips, chip], zoom: "", select: "" });
	}
	removeChip(chip) {
		const text = chipText(chip);
		this.set({ chips: this.state.chips.filter((one) => chipText(one) !== text), zoom: "", select: "" });
	}
}

// Paths in the address: names have no semicolon.
export const joinPath = (names) => names.join(";");
export const splitPath = (text) => text ? text.split(";") : [];
