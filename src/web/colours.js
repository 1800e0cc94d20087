// SPDX-License-Identifier: Apache-2.0
// Colours that say something, told apart by colour-blind eyes too, also by lightness alone; modules have Tol's light scheme. A
// painter gives the fill of a node; its legend says what the colours mean and which chip chooses that.
import { KINDS, KIND_CUT, KIND_GROUP, KIND_MODULE } from "./data.js";
import { changeOf, sumBy } from "./model.js";

export const COLOUR_MODES = ["kind", "module", "process", "warm"];
const KIND_COLOURS = ["#f0b255", "#d95f2b", "#2fa884", "#3d5a9e", "#f9f2a4", "#74747c", "#96969d", "#b4c7e0", "#66c2e8", "#c2c2c7"];
export const SCHEME = ["#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00"];
export const OTHERS = "#d2d2d6";
const PLAIN = "#a9bcd6", NOISE = "#c9c9ce";
export const MATCHED = "#d45bd4";

function hash(text) {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return (value >>> 0) / 2 ** 32;
}

function warm(name) {
	const one = hash(name), two = hash(name + "~");
	return `rgb(${Math.round(205 + 50 * one)},${Math.round(110 + 115 * two)},${Math.round(40 + 50 * one)})`;
}

// A little lighter or not, by name, so that neighbours differ.
function tint(colour, name) {
	const part = 0.1 * Math.floor(3 * hash(name));
	return "rgb(" + [1, 3, 5].map((i) => Math.round(parseInt(colour.slice(i, i + 2), 16) * (1 - part) + 255 * part)).join(",") + ")";
}

function byKind(db, tree) {
	const sums = sumBy(db, tree, "kind");
	return {
		fill: (frame) => db.frames.kind[frame] < KIND_CUT ? tint(KIND_COLOURS[db.frames.kind[frame]], db.frames.name[frame]) : KIND_COLOURS[db.frames.kind[frame]],
		legend: sums.map(([kind, sum]) => ({ name: KINDS[kind], colour: KIND_COLOURS[kind], sum, chip: { key: "kind", value: KINDS[kind] } })),
	};
}

// The largest have colours of their own.
function bySums(db, tree, key, textOf, chipKey = key) {
	const sums = sumBy(db, tree, key), own = new Map(sums.slice(0, SCHEME.length).map(([name], i) => [name, SCHEME[i]]));
	const legend = sums.slice(0, SCHEME.length).map(([name, sum]) => ({ name: name || "[unnamed]", colour: own.get(name), sum, chip: name ? { key: chipKey, value: name } : null }));
	const rest = sums.slice(SCHEME.length).reduce((sum, one) => sum + one[1], 0);
	if (rest)
		legend.push({ name: "others", colour: OTHERS, sum: rest, chip: null });
	return { fill: (frame, node, shown) => own.get(textOf(frame, node, shown)) || OTHERS, legend };
}

// Whose node it is: the group at the root, or at the leaf's end of a tree that is upside down.
function groupOf(db, node, shown) {
	for (let at = node; at > 0; at = shown.parent[at])
		if (db.frames.kind[shown.frame[at]] === KIND_GROUP)
			return db.frames.name[shown.frame[at]];
	return null;
}

function byChange(db, tree) {
	const fill = (frame, node, shown) => {
		const change = changeOf(shown.total[1][node], tree.total[1][0], shown.total[0][node], tree.total[0][0]);
		if (!change.real)
			return NOISE;
		const strength = Math.min(1, Math.sqrt(Math.abs(change.points) / 20)), pale = Math.round(205 * (1 - strength));
		return change.points > 0 ? `rgb(240,${60 + Math.round(pale * 0.8)},${40 + Math.round(pale * 0.75)})` :
			`rgb(${60 + Math.round(pale * 0.7)},${130 + Math.round(pale * 0.45)},245)`;
	};
	return { fill, legend: [
		{ name: "grew", colour: "rgb(240,110,85)" }, { name: "shrank", colour: "rgb(110,165,245)" }, { name: "within noise", colour: NOISE },
	] };
}

// `by`: what stands at the root, which is what colours by process tell apart.
export function makePainter(db, tree, mode, by) {
	if (mode === "change")
		return byChange(db, tree);
	if (mode === "module")
		return bySums(db, tree, "module", (frame) => db.frames.kind[frame] === KIND_GROUP ? null : db.frames.module[frame]);
	if (mode === "process")
		return bySums(db, tree, "group", (frame, node, shown) => groupOf(db, node, shown), by === "pid" ? "process" : by);
	if (mode === "warm")
		return { fill: (frame) => db.frames.kind[frame] >= KIND_GROUP && db.frames.kind[frame] <= KIND_MODULE ? PLAIN : warm(db.frames.name[frame]), legend: [] };
	return byKind(db, tree);
}
