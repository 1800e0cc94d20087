// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them. Pure.

const CUT_LEAST = 5; // columns: less of a name says nothing
export const UNITS = ["percent", "samples", "seconds", "cores"];

export function thousands(value) {
	return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function percent(part, whole) {
	const value = whole ? 100 * part / whole : 0;
	return value > 0 && value < 0.05 ? "< 0.1 %" : value.toFixed(1) + " %";
}

export function plural(count, word) {
	return thousands(count) + " " + word + (count === 1 ? "" : "s");
}

// Seconds of CPU time that one unit of the profile's values stands for; 0: they do not measure it.
export function secondsOf(head) {
	const { profile } = head, unit = profile.unit || "samples";
	if (unit === "nanoseconds")
		return 1e-9;
	if (unit === "microseconds")
		return 1e-6;
	if (unit !== "samples" && unit !== "count")
		return 0;
	if (profile.hz)
		return 1 / profile.hz;
	return profile.period && /clock/.test(profile.event || "") ? profile.period * 1e-9 : 0;
}

// Which units this profile can be shown in.
export function unitsOf(head) {
	const timed = secondsOf(head) > 0;
	return UNITS.filter((unit) => unit === "percent" || unit === "samples" || timed && (unit === "seconds" || head.profile.duration_ns > 0));
}

export function unitName(head, unit) {
	return unit === "samples" ? head.profile.unit || "samples" : unit === "seconds" ? "CPU seconds" : unit;
}

export function formatValue(head, unit, value, whole) {
	if (unit === "percent")
		return percent(value, whole);
	if (unit === "samples")
		return thousands(value);
	const seconds = value * secondsOf(head);
	if (unit === "seconds")
		return seconds.toFixed(seconds < 1 ? 3 : 2) + " s";
	const cores = seconds / (head.profile.duration_ns / 1e9);
	return cores.toFixed(cores < 0.1 ? 3 : 2) + " cores";
}

// So many samples, or of whatever is counted.
export function countText(head, value) {
	const unit = unitName(head, "samples");
	return thousands(value) + " " + (value === 1 && unit === "samples" ? "sample" : unit);
}

// In a column of numbers the unit stands above, not in every row.
export function formatCell(head, unit, value, whole) {
	return formatValue(head, unit, value, whole).replace(" cores", "");
}

export const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(2);

// What changeOf of model.js found.
export function changeText({ points, low, high, real }) {
	return `${signed(points)} points (${signed(low)} … ${signed(high)})` + (real ? "" : ": may be noise");
}

// Columns that a text takes in a font of equal widths: wide characters take two.
export function columnsOf(text) {
	let columns = text.length;
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code >= 0x1100 && (code <= 0x115f || code >= 0x2e80 && code < 0xd800 || code >= 0xf900 && code <= 0xfaff || code >= 0xff00))
			columns++;
	}
	return columns;
}

// What is inside the outermost brackets of templates, left out.
function foldTemplates(name) {
	let depth = 0, out = "";
	for (let i = 0; i < name.length; i++) {
		const open = name[i] === "<" && !/operator$|^$/.test(out), close = name[i] === ">" && depth && name[i - 1] !== "-";
		if (open && !depth++)
			out += "<…";
		if (close)
			depth--;
		if (!depth)
			out += name[i];
	}
	return depth ? name : out;
}

// A name in so many columns: cut inside templates, else in the middle, so that the end that matters stays.
export function fitName(name, columns) {
	if (name.length > 4 * columns + 4000)
		name = name.slice(0, 2 * columns) + "…" + name.slice(-2 * columns);
	if (columnsOf(name) <= columns)
		return name;
	if (columns < CUT_LEAST)
		return "";
	const folded = name.includes("<") ? foldTemplates(name) : name;
	if (columnsOf(folded) <= columns)
		return folded;
	const wide = columnsOf(folded) > folded.length ? 2 : 1, room = Math.floor((columns - 1) / wide), head = Math.ceil(room * 0.4);
	return (folded.slice(0, head) + "…" + folded.slice(folded.length - (room - head))).replace(/……+/, "…");
}

// A text for a shell, and for a regular expression of wick report.
export function shellWord(text) {
	return /^[\w./:=@%+,-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
}

export function escapeRegex(text) {
	return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
