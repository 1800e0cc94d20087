// SPDX-License-Identifier: Apache-2.0
// The strip above the picture: the time as curves or as a heat map, what is chosen of it, and what can be done with that.
// It asks the server for what it draws; what is chosen goes into the address, and from there everywhere.
import { askJson, filtersOf, isShort } from "./ask.js";
import { OTHERS, SCHEME } from "./colours.js";
import { byId, el, fill, isNarrow } from "./dom.js";
import { chipText, shortId, taskText } from "./filters.js";
import { fitName, percent } from "./format.js";
import { Heat } from "./heat.js";
import { rangeText, readSpan, spanText } from "./ranges.js";
import { Timeline } from "./timeline.js";

const LEAST_MS = 2000, HEAT_MS = 120000, HEAT_MOST = 900000, LEGEND = SCHEME.length, OTHER = "[other]", WAIT_MS = 120, SILENT_MS = 15000, OFFERED = 20, LOST_SHARE = 0.01, MISSED_SHARE = 0.05, SILENT = "nothing was sampled";
const WINDOWS = [["10", "10 s"], ["30", "30 s"], ["60", "1 min"], ["300", "5 min"], ["900", "15 min"]];

// Names of processes, those with most samples first.
function busiest(db) {
	const sums = new Map(), { task, value, count } = db.sides[0];
	for (let i = 0; i < count; i++)
		sums.set(task[i], (sums.get(task[i]) || 0) + value[i]);
	const names = new Map();
	for (const [one, sum] of sums)
		names.set(taskText(db, one, "process"), (names.get(taskText(db, one, "process")) || 0) + sum);
	return [...names].filter(([name]) => name).sort((a, b) => b[1] - a[1]).slice(0, OFFERED).map(([name]) => name);
}

export class Strip {
	constructor(app, server) {
		Object.assign(this, { app, server, series: null, curve: null, heat: null, gaps: [], view: null, whole: null, second: false, colours: new Map() });
		const button = (id, text, title, run) => el("button", { id, title, onclick: run }, text), choice = (id, run) => el("select", { id, onchange: (event) => run(event.target.value, event.target.blur()) });
		const { store } = app;
		this.stage = el("div", { class: "stage" });
		this.legend = el("ul", { class: "strip-legend", "aria-label": "What the curves are of" });
		this.note = el("p", { class: "strip-note", role: "status", hidden: true });
		this.root = el("section", { id: "strip", "aria-label": "Over time" },
			el("div", { class: "strip-bar" },
				el("div", { id: "strips", class: "tabs", role: "tablist", "aria-label": "Over time" }, ["time", "heat"].map((name) => el("button", { role: "tab", "data-strip": name, title: "key 7", onclick: () => this.mode(name) }, name === "time" ? "Timeline" : "Heat map"))),
				el("label", { id: "over-label" }, "By ", choice("over", (over) => store.set({ over }))),
				el("label", { id: "of-label" }, "Of ", choice("of", (of) => store.set({ of }))),
				el("label", { id: "last-label" }, "Last ", choice("last", (last) => store.set({ last, a: "", b: "", offsets: "" }))),
				el("span", { id: "range", "aria-live": "polite" }),
				button("pause", "Pause", "key Space", () => server.pause()),
				button("changed", "What changed?", "compare with as long before: key b", () => server.whatChanged()),
				el("button", { id: "second", "aria-pressed": "false", title: "the next drag chooses what to compare with, as a drag with Shift does", onclick: () => this.setSecond(!this.second) }, "Choose B"),
				button("no-second", "✕ B", "compare no longer", () => store.set({ b: "" })),
				button("zoom-in", "Zoom to A", "key + on the timeline", () => this.zoomToRange()), button("zoom-all", "All", "the whole time: key 0 on the timeline", () => this.see(null))),
			this.stage, el("div", { class: "strip-foot" }, this.small = el("p", { class: "range-small" }), this.legend, this.note));
		fill(this.root.querySelector("#last"), WINDOWS.map(([value, text]) => el("option", { value }, text)));
		this.tab = null;
		this.request = null;
	}
	get hz() {
		this.rate = this.server.live.hz || this.app.head && this.app.head.profile.hz || this.rate || 0; // of a time without samples, as before
		return this.rate;
	}
	get cpus() {
		return this.server.live.cpus || this.app.head && this.app.head.profile.cpus || 0;
	}
	get offsets() {
		return this.app.state.offsets;
	}
	// What is marked.
	spans() {
		const { a, b } = this.app.state;
		return { live: !a && this.server.isLive && this.server.live.end ? this.server.liveSpan() : null, b: readSpan(b), a: readSpan(a) };
	}
	words(span, offsets = "") {
		return rangeText({ ...span, offsets });
	}
	// Seconds of which so much is missing that it matters.
	losses() {
		const whole = this.hz * this.cpus / 1000;
		return this.server.live.seconds.filter(({ lost, missed, ms }) => lost > LOST_SHARE * whole * ms || missed > MISSED_SHARE * whole * ms);
	}
	nameless() {
		return `[no ${this.app.state.over}]`;
	}
	// The largest have colours of their own, which stay theirs; all others are grey.
	colourOf(name) {
		return this.colours.get(name) || OTHERS;
	}
	paint(curves) {
		const names = curves.map(({ name }) => name).filter((name) => name !== OTHER).slice(0, SCHEME.length), old = this.colours;
		this.colours = new Map(names.filter((name) => old.has(name)).map((name) => [name, old.get(name)]));
		for (const name of names)
			if (!this.colours.has(name))
				this.colours.set(name, SCHEME.find((one) => ![...this.colours.values()].includes(one)));
	}
	choose(which, { from, to, offsets = "" }, quiet) {
		const text = spanText(from, to), patch = which === "b" ? { b: text } : { a: text, offsets };
		if (which === "b" && !this.app.state.a)
			patch.a = this.server.shownSpan();
		this.setSecond(false);
		this.app.store.set({ ...patch, zoom: this.app.state.zoom }, quiet && !!this.app.state[which]);
	}
	setSecond(on) {
		this.second = on;
		this.root.querySelector("#second").setAttribute("aria-pressed", String(on));
	}
	letGo() {
		const { a, b } = this.app.state;
		if (!a && !b)
			return false;
		this.app.store.set(b ? { b: "" } : { a: "", offsets: "" });
		return true;
	}
	mode(strip) {
		const { state, store } = this.app, patch = { strip }, seen = this.view;
		if (strip === "heat" && seen && seen.to - seen.from > HEAT_MOST) {
			const span = readSpan(state.a) || { from: seen.to - HEAT_MS, to: seen.to }, to = span.to - span.from > HEAT_MOST ? span.from + HEAT_MOST : span.to, spare = Math.max(10000, (to - span.from) / 2);
			patch.seen = spanText(Math.max(this.whole ? this.whole.from : 0, span.from - spare), to + spare);
		}
		store.set(patch);
	}
	// What of the time is seen; null: all.
	see(span, quiet) {
		this.settle();
		if (!span && this.whole)
			this.view = { ...this.whole };
		this.app.store.set({ seen: span ? spanText(span.from, span.to) : "" }, quiet);
	}
	// A zoom that goes on is not in the state yet.
	settle() {
		clearTimeout(this.seeing);
		this.zooming = false;
	}
	zoom(factor, at, pan = 0) {
		if (!this.view || !this.whole)
			return;
		const { from, to } = this.view, { whole } = this, wide = Math.min(whole.to - whole.from, Math.max(LEAST_MS, (to - from) / factor));
		const start = from + at * (to - from) - at * wide + pan * (to - from), first = Math.min(whole.to - wide, Math.max(whole.from, start));
		this.view = { from: first, to: first + wide };
		this.tab.plot.redraw();
		this.settle();
		this.zooming = true;
		this.seeing = setTimeout(() => this.see(wide >= whole.to - whole.from ? null : this.view, true), WAIT_MS);
	}
	zoomKey(key) {
		if (key === "+" || key === "=" || key === "-")
			this.zoom(key === "-" ? 0.5 : 2, 0.5);
		else if (key === "0")
			this.see(null);
		else if (key === "Home" || key === "End" || key === "PageUp" || key === "PageDown")
			this.zoom(1, 0, { Home: -1e9, End: 1e9, PageUp: -0.8, PageDown: 0.8 }[key]);
		else
			return false;
		return true;
	}
	zoomToRange() {
		const { a, b } = this.app.state, one = readSpan(a), two = readSpan(b);
		if (!one)
			return;
		const from = Math.min(one.from, two ? two.from : one.from), to = Math.max(one.to, two ? two.to : one.to), spare = Math.max((to - from) * 0.2, 500);
		this.see({ from: Math.max(0, from - spare), to: to + spare });
	}
	// After a change of the state, or when there is more to show.
	show(state) {
		const tab = state.strip === "heat" ? Heat : Timeline;
		if (!(this.tab instanceof tab)) {
			if (this.tab)
				this.tab.destroy();
			this.tab = new tab(this);
			this.stage.append(this.tab.host);
		}
		this.showBar(state);
		if (state.seen !== this.seen) { // at once, with what there is: the answer may take its time, and the next zoom starts from here
			this.seen = state.seen;
			this.settle();
			if (state.strip !== "heat" && this.whole)
				this.view = readSpan(state.seen) || { ...this.whole };
		}
		this.ask(state);
		this.tab.plot.redraw();
	}
	showBar(state) {
		const { server } = this, range = readSpan(state.a), heat = state.strip === "heat", by = (id) => this.root.querySelector("#" + id);
		this.root.classList.toggle("is-heat", heat);
		for (const tab of by("strips").children)
			tab.setAttribute("aria-selected", String(tab.dataset.strip === state.strip));
		by("over-label").hidden = heat;
		by("of-label").hidden = !heat;
		by("last-label").hidden = !server.isLive || !!range;
		by("pause").hidden = !server.isLive;
		by("pause").textContent = range ? "▶ Live" : "❚❚ Pause";
		by("pause").setAttribute("aria-pressed", String(!!range));
		by("last").value = state.last;
		by("second").hidden = heat;
		by("no-second").hidden = !state.b;
		by("zoom-in").hidden = !range;
		by("zoom-all").hidden = !state.seen;
		const names = new Set(["process", "container", "unit", "pod", ...server.live.labels || [], state.over]);
		fill(by("over"), [...names].map((name) => el("option", { value: name }, name)));
		by("over").value = state.over;
		if (heat)
			this.showOf(state, by("of"));
		by("range").textContent = this.small.textContent = range ? (state.b ? "A " : "") + this.words(range, state.offsets) + (state.b ? ` · B ${this.words(readSpan(state.b))}` : "") : "";
	}
	showOf(state, field) {
		const { app } = this, fn = app.db && app.selectedFn >= 0 ? app.db.frames.name[app.db.frames.fnFrame[app.selectedFn]] : "";
		const options = [["", "everything"], ...(app.db ? busiest(app.db) : []).map((name) => ["process:" + name, "process " + name])];
		for (const of of [fn && "fn:" + fn, state.of])
			if (of && !options.some(([value]) => value === of))
				options.push([of, of.replace(/^fn:/, "function ").replace(/^process:/, "process ")]);
		fill(field, options.map(([value, text]) => el("option", { value }, fitName(text, 40))));
		field.value = state.of;
	}
	// The range that is asked for: without ends as long as everything is seen.
	asked(state) {
		const seen = readSpan(state.seen);
		if (seen)
			return seen;
		if (state.strip === "heat" && this.server.isLive)
			return { from: Math.max(this.server.live.first || 0, this.server.live.end - HEAT_MS), to: this.server.live.end };
		return { from: "", to: "" };
	}
	cells(span) {
		const wide = this.tab.plot.width, known = this.server.isLive ? { from: this.server.live.first, to: this.server.live.end } : this.whole;
		const whole = span.to ? span.to - span.from : known ? known.to - known.from : 0;
		return Math.max(1, Math.min(Math.floor(wide / 2), whole ? Math.ceil(whole / (whole > 30000 ? 1000 : 250)) : 300, 2000));
	}
	// Parameters for whose samples, and which function's.
	filters(state) {
		const [, key, name] = /^(process|fn):([^]*)$/.exec(state.strip === "heat" ? state.of : "") || [];
		const { filters } = filtersOf(state.chips.filter((chip) => chip.not || key !== "process" || chip.key !== "process"));
		return key ? [...filters, ["filter", (key === "fn" ? "focus" : key) + "=" + name]] : filters;
	}
	remark(state, fn) {
		const { left } = filtersOf(state.chips), words = left.length ? [`Over time not by ${left.map(chipText).join(", ")}: the server has no words for that.`] : [];
		return [...words, ...fn && !isShort(fn) ? ["The name of the function is too long for its curve."] : []].join(" ");
	}
	// Asks for what is not there yet; while that is under way, what there was stays.
	async ask(state, again) {
		if (!this.server.hasTimes || this.server.isLive && !this.server.live.end)
			return;
		const span = this.asked(state), filters = this.filters(state), heat = state.strip === "heat", cells = this.cells(span);
		const fn = !heat && this.app.db && this.app.selectedFn >= 0 ? this.app.db.frames.name[this.app.db.frames.fnFrame[this.app.selectedFn]] : "";
		const key = JSON.stringify([state.strip, heat && !state.seen && this.server.isLive ? 0 : span, filters, heat ? "" : [state.over, cells]]), fnKey = fn && key + fn;
		if (!again && key === this.key && fnKey === this.fnKey)
			return;
		const whole = again || key !== this.taken; // what was asked for and did not come is asked for again
		Object.assign(this, { key, fnKey, asking: true });
		if (this.request)
			this.request.abort();
		this.stage.setAttribute("aria-busy", "true");
		const request = this.request = new AbortController(), range = [["from", span.from], ["to", span.to]], { signal } = request;
		try {
			if (heat)
				this.heat = await askJson("/api/heat", [...range, ...filters], signal);
			else if (whole)
				this.take(state, key, await askJson("/api/series", [...range, ...filters, ["by", state.over], ["cells", cells]], signal));
			if (this.server.hasGaps && whole)
				this.known = await askJson("/api/gaps", range, signal);
			this.gaps = [...this.known || [], ...this.silences(state)];
			this.curve = fn && isShort(fn) ? await askJson("/api/series", [...range, ...filters, ["fn", fn], ["cells", cells]], signal) : null;
			this.say(this.remark(state, fn));
		} catch (error) {
			if (error.name === "AbortError")
				return;
			this.key = this.fnKey = null;
			this.say(error.status === 404 ? "Nothing is kept of this time." : error.status ? error.message : "");
		}
		if (heat && this.heat)
			this.view = { from: this.heat.from_ms, to: this.heat.from_ms + 1000 * this.heat.columns };
		this.asking = false;
		this.stage.setAttribute("aria-busy", "false");
		this.root.classList.add("asked");
		this.server.timeKnown();
		this.showLegend(state, again);
		if (heat)
			this.showOf(state, this.root.querySelector("#of"));
		if (this.tab)
			this.tab.plot.redraw();
	}
	// Where nothing at all was sampled for longer than a machine is still: nobody sampled.
	silences(state) {
		const { series, heat } = this, found = [], isHeat = state.strip === "heat", of = isHeat ? heat : series;
		if (!of || state.chips.length || isHeat && state.of)
			return [];
		const cells = isHeat ? heat.columns : series.cells, cell = isHeat ? 1000 : (series.to_ms - series.from_ms) / cells;
		const empty = isHeat ? (i) => !heat.counts.slice(i * heat.rows, (i + 1) * heat.rows).some((count) => count) : (i) => !series.curves.some(({ values }) => values[i]);
		for (let i = 0, from = -1; i < cells; i++) {
			if (empty(i)) {
				from = from < 0 ? i : from;
				continue;
			}
			if (from >= 0 && (i - from) * cell >= SILENT_MS)
				found.push({ from_ms: Math.round(of.from_ms + from * cell), to_ms: Math.round(of.from_ms + i * cell), why: SILENT });
			from = -1;
		}
		return found.filter((one) => !(this.known || []).some((gap) => gap.from_ms < one.to_ms && gap.to_ms > one.from_ms));
	}
	take(state, key, series) {
		this.series = series;
		this.taken = key;
		this.paint(series.curves);
		const got = { from: series.from_ms, to: series.to_ms };
		if (!this.zooming)
			this.view = readSpan(state.seen) || got;
		if (!state.seen)
			this.whole = got;
		else if (!this.whole)
			this.whole = { from: Math.min(this.server.live.first || got.from, got.from), to: Math.max(this.server.live.end, got.to) };
	}
	say(text) {
		this.note.textContent = text;
		this.note.hidden = !text;
	}
	showLegend(state, again) {
		if (again && this.legend.querySelector(":focus-visible"))
			return;
		const curves = this.series && state.strip === "time" ? this.series.curves : [], sum = curves.reduce((all, { total }) => all + total, 0);
		const key = (one) => ["process", "container", "unit"].includes(state.over) && one.name !== OTHER && (one.name || state.over !== "process");
		const item = (one) => {
			const swatch = el("i", { class: "swatch" }), text = `${fitName(shortId(one.name) || this.nameless(), 30)} ${percent(one.total, sum)}`;
			swatch.style.background = this.colourOf(one.name);
			return el("li", {}, key(one) ? el("button", { title: "only this; with Shift: all but this", onclick: (event) => this.app.store.addChip({ key: state.over, value: shortId(one.name) || this.nameless(), not: event.shiftKey }) }, swatch, text) : el("span", {}, swatch, text));
		};
		const grey = el("i", { class: "swatch" });
		grey.style.background = OTHERS;
		const line = this.curve && state.strip === "time" ? el("li", { class: "fn-curve" }, el("span", {}, el("i", { class: "stroke" }), fitName(this.fnName(), isNarrow() ? 30 : 60))) : null;
		const gap = this.gaps.some((one) => this.view && one.from_ms < this.view.to && one.to_ms > this.view.from) ? el("li", {}, el("span", {}, el("i", { class: "swatch hatched" }), "nothing kept")) : null;
		const lost = this.losses().length ? el("li", {}, el("span", {}, el("i", { class: "swatch hatched bad" }), "lost or missed")) : null;
		fill(this.legend, line, curves.slice(0, LEGEND).map(item), curves.length > LEGEND ? el("li", {}, el("span", {}, grey, `and ${curves.length - LEGEND} more`)) : null, gap, lost);
	}
	fnName() {
		return this.curve.curves.length ? this.curve.curves[0].name : "";
	}
	// The nearest range of that length that begins, or ends, with samples.
	nearest({ from, to }) {
		const { series } = this, moment = (from + to) / 2;
		if (!series)
			return null;
		const cell = (series.to_ms - series.from_ms) / series.cells, middle = (i) => series.from_ms + (i + 0.5) * cell;
		let best = -1;
		for (let i = 0; i < series.cells; i++)
			if (series.curves.some(({ values }) => values[i]) && (best < 0 || Math.abs(middle(i) - moment) < Math.abs(middle(best) - moment)))
				best = i;
		if (best < 0)
			return null;
		const start = Math.floor(middle(best) - cell / 2), end = Math.ceil(middle(best) + cell / 2), length = Math.max(to - from, cell);
		return start >= moment ? { from: start, to: start + length } : { from: end - length, to: end };
	}
	mount() {
		byId("app").insertBefore(this.root, document.querySelector(".answer"));
	}
}
