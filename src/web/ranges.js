// SPDX-License-Identifier: Apache-2.0
// Stretches of time: in the address, in words, and as marks on an axis. Pure. A range is {from, to, offsets}, in ms since
// 1970; offsets, if any, are the milliseconds of every second that are meant.

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800]; // s
const DAY = 86400000;

export function readSpan(text) {
	const [from, to] = (text || "").split("-").map(Number);
	return to > from ? { from, to } : null;
}

export const spanText = (from, to) => Math.round(from) + "-" + Math.round(to);

export function rangeOf(state) {
	const range = readSpan(state.a);
	return range && { ...range, offsets: state.offsets };
}

const two = (number) => String(number).padStart(2, "0");

// The day, hours and minutes of here; seconds and milliseconds where they say something.
export function clock(ms, { day = false, fine = 0 } = {}) {
	const at = new Date(ms), date = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
	const time = `${two(at.getHours())}:${two(at.getMinutes())}` + (fine > 0 ? ":" + two(at.getSeconds()) : "") + (fine > 1 ? "." + String(at.getMilliseconds()).padStart(3, "0") : "");
	return day ? date + " " + time : time;
}

function lengthText(ms) {
	if (ms < 1000)
		return Math.round(ms) + " ms";
	if (ms < 120000)
		return (ms / 1000).toFixed(ms % 1000 && ms < 10000 ? 1 : 0) + " s";
	if (ms < 2 * 3600000)
		return Math.round(ms / 60000) + " min";
	return ms < 2 * DAY ? (ms / 3600000).toFixed(1) + " h" : (ms / DAY).toFixed(1) + " days";
}

// As short as it can be without doubt: the day only where it is not today's.
export function rangeText({ from, to, offsets }, now = Date.now()) {
	const fine = from % 1000 || to % 1000 ? 2 : 1, day = new Date(from).toDateString() !== new Date(now).toDateString();
	const other = new Date(from).toDateString() !== new Date(to - 1).toDateString();
	const text = `${clock(from, { day, fine })} → ${clock(to, { day: other, fine })} (${lengthText(to - from)})`;
	return offsets ? text + `, ms ${offsets.replace("-", "–")} of each second` : text;
}

// Marks at round times, at most so many.
export function timeMarks(from, to, most) {
	const step = (STEPS.find((one) => (to - from) / 1000 / one <= most) || STEPS[STEPS.length - 1]) * 1000, shift = new Date(from).getTimezoneOffset() * 60000, marks = [];
	for (let at = Math.ceil((from - shift) / step) * step + shift; at < to && marks.length <= most; at += step) {
		const midnight = (at - shift) % DAY === 0;
		marks.push({ at, text: midnight || step >= DAY ? clock(at, { day: true }).slice(0, midnight ? 5 : 11) : clock(at, { fine: step < 60000 ? 1 : 0 }) });
	}
	return marks;
}

// A round number of cores that nothing is above.
export function roundUp(value) {
	if (!(value > 0))
		return 1;
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((one) => +(one * power).toPrecision(2)).find((one) => one >= value * 0.999);
}
