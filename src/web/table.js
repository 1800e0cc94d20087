// SPDX-License-Identifier: Apache-2.0
// Functions as a table: what was running, what was on the stack, and what changed where two profiles are compared. Only
// the rows in sight exist, so that a hundred thousand functions scroll as ten do.
import { RowList, columnsIn, el } from "./dom.js";
import { changeOf } from "./model.js";
import { fitName, formatCell, percent, signed } from "./format.js";

const SWATCH = 18;

// Columns: name in the address, heading, class, the value to sort by, the text.
function columnsFor(app) {
	const { sums, head, state } = app, whole = app.tree.total[0], frames = app.db.frames;
	const value = (side, kind) => (fn) => formatCell(head, state.unit, sums[kind][side][fn], app.tree.total[side][0]);
	const name = { id: "name", title: "Function", kind: "name", by: (fn) => frames.name[frames.fnFrame[fn]], text: (fn) => frames.name[frames.fnFrame[fn]] };
	const module = { id: "module", title: "Module", kind: "module", by: (fn) => frames.module[frames.fnFrame[fn]], text: (fn) => frames.module[frames.fnFrame[fn]] };
	if (app.tree.total.length === 1)
		return [
			{ id: "self", title: "Self", kind: "number", by: (fn) => sums.self[0][fn], text: value(0, "self") },
			{ id: "total", title: "Total", kind: "number", by: (fn) => sums.total[0][fn], text: value(0, "total") }, name, module,
		];
	const before = app.tree.total[1], cache = new Map();
	const change = (fn, kind) => {
		const key = kind + fn;
		if (!cache.has(key))
			cache.set(key, changeOf(sums[kind][1][fn], before[0], sums[kind][0][fn], whole[0]));
		return cache.get(key);
	};
	// What surely changed stands before what may be noise.
	const weight = (kind) => (fn) => Math.abs(change(fn, kind).points) + (change(fn, kind).real ? 1000 : 0);
	const verdict = (one) => !one.real ? "noise" : one.points > 0 ? "grew" : "shrank";
	return [
		{ id: "self", title: "Δ self", kind: "number", by: weight("self"), text: (fn) => signed(change(fn, "self").points) },
		{ id: "total", title: "Δ total", kind: "number", by: weight("total"), text: (fn) => signed(change(fn, "total").points) },
		{ id: "interval", title: "95 % interval", kind: "number wide", by: weight("total"),
			text: (fn) => signed(change(fn, "total").low) + " … " + signed(change(fn, "total").high) },
		{ id: "before", title: "Before", kind: "number", by: (fn) => sums.total[1][fn], text: (fn) => percent(sums.total[1][fn], before[0]) },
		{ id: "after", title: "After", kind: "number", by: (fn) => sums.total[0][fn], text: (fn) => percent(sums.total[0][fn], whole[0]) },
		{ id: "verdict", title: "", kind: "verdict", by: weight("total"), text: (fn) => verdict(change(fn, "total")) }, name, module,
	];
}

export class TableView {
	constructor(host, act) {
		this.act = act;
		this.host = host;
		this.heads = el("div", { class: "row heads", role: "row" });
		this.list = new RowList({ role: "rowgroup" }, { click: (fn) => act.selectFn(fn), enter: act.sandwich, select: act.selectFn, menu: act.menu });
		host.replaceChildren(el("div", { class: "table", role: "table", "aria-label": "Functions" }, this.heads, this.list.scroller));
	}
	destroy() {
		this.host.replaceChildren();
	}
	resize() {
		this.columns = columnsIn(this.heads.querySelector(".name").clientWidth - SWATCH);
		this.list.redraw();
	}
	show(app) {
		const [id, down] = (app.state.sort || "self,down").split(","), columns = columnsFor(app);
		const by = (columns.find((column) => column.id === id) || columns[0]).by, keys = new Map();
		const { frames } = app.db;
		this.app = app;
		this.host.firstElementChild.classList.toggle("compared", app.compare);
		this.fns = [...app.sums.list].filter((fn) => !app.match || app.match[frames.fnFrame[fn]]);
		for (const fn of this.fns)
			keys.set(fn, by(fn));
		const order = (a, b) => keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0;
		const rank = frames.rank(), sign = down === "up" ? 1 : -1;
		this.fns.sort((a, b) => sign * order(a, b) || rank[frames.fnFrame[a]] - rank[frames.fnFrame[b]]);
		this.heads.replaceChildren(...columns.map((column) => this.head(column, id, down)));
		this.columns = columnsIn(this.heads.querySelector(".name").clientWidth - SWATCH);
		this.list.show(this.fns.length, (i) => this.row(this.fns[i], columns));
	}
	head(column, id, down) {
		const chosen = column.id === id, next = chosen && down !== "up" ? "up" : "down";
		return el("span", { class: column.kind + " " + column.id, role: "columnheader", "aria-sort": chosen ? down === "up" ? "ascending" : "descending" : "none" },
			el("button", { onclick: () => this.act.sort(column.id + "," + next) }, column.title, chosen ? down === "up" ? " ▲" : " ▼" : ""));
	}
	row(fn, columns) {
		const frame = this.app.db.frames.fnFrame[fn], verdict = columns.find((column) => column.id === "verdict");
		return el("div", { class: "row" + (verdict ? " " + verdict.text(fn) : ""), role: "row", "data-of": fn, "aria-selected": String(this.app.selectedFn === fn) },
			columns.map((column) => column.id === "name" ? this.name(frame) : el("span", { class: column.kind + " " + column.id, role: "cell" }, column.text(fn).slice(0, 2000))));
	}
	name(frame) {
		const swatch = el("i", { class: "swatch" }), { painter, colour } = this.app, name = this.app.db.frames.name[frame];
		swatch.style.background = colour === "change" || colour === "process" ? "transparent" : painter.fill(frame, 0, this.app.tree);
		return el("span", { class: "name", role: "cell", title: name.slice(0, 2000) }, swatch, fitName(name, this.columns));
	}
	selectFn(fn, reveal) {
		this.list.redraw();
		if (reveal)
			this.list.reveal(this.fns.indexOf(fn));
	}
	step(fn, way) {
		const at = this.fns.indexOf(fn);
		return at < 0 ? this.fns[0] : this.fns[at + (way === "up" || way === "left" ? -1 : 1)] ?? fn;
	}
}
