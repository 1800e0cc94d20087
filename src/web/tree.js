// SPDX-License-Identifier: Apache-2.0
// The call tree as rows that open and close, the largest first; the hottest paths are open at first.
import { RowList, columnsIn, el, isNarrow } from "./dom.js";
import { fitName, formatCell } from "./format.js";

const OPEN_SHARE = 0.05, OPEN_MOST = 400, INDENT = 14, INDENT_NARROW = 5, INDENT_SHARE = 0.45, TWIST = 38;

export class TreeView {
	constructor(host, act) {
		this.act = act;
		this.host = host;
		this.list = new RowList({ role: "tree", "aria-label": "Call tree" },
			{ click: (node, event) => this.clicked(node, event), enter: act.enter, select: act.select, menu: act.menu });
		this.nameHead = el("span", { class: "name" }, "Function");
		host.replaceChildren(el("div", { class: "row heads", "aria-hidden": "true" },
			el("span", { class: "number" }, "Total"), el("span", { class: "number" }, "Self"), this.nameHead), this.list.scroller);
		this.open = new Set();
	}
	destroy() {
		this.host.replaceChildren();
	}
	resize() {
		this.width = this.nameHead.clientWidth;
		this.list.redraw();
	}
	show(app) {
		if (app.shown !== this.tree) {
			const kept = app.ticking && this.tree ? [...this.open].map((node) => this.tree.names(node)) : null;
			this.tree = app.shown;
			this.open = new Set([0]);
			this.sorted = new Map();
			if (kept)
				kept.forEach((names) => this.open.add(this.tree.find_path(names)));
			else
				this.openHot(0, { left: OPEN_MOST });
		}
		this.app = app;
		this.width = this.nameHead.clientWidth;
		this.refresh();
	}
	kids(node) {
		let kids = this.sorted.get(node);
		if (!kids) {
			const total = this.tree.total[0];
			this.sorted.set(node, kids = [...this.tree.kids(node)].sort((a, b) => total[b] - total[a]));
		}
		return kids;
	}
	openHot(node, budget) {
		const least = OPEN_SHARE * this.tree.total[0][0];
		for (const kid of this.kids(node))
			if (this.tree.total[0][kid] >= least && budget.left-- > 0) {
				this.open.add(kid);
				this.openHot(kid, budget);
			}
	}
	refresh() {
		const rows = [], stack = [...this.kids(0)].reverse().map((node) => [node, 0]);
		while (stack.length) {
			const [node, depth] = stack.pop();
			rows.push({ node, depth });
			if (this.open.has(node)) {
				const kids = this.kids(node);
				for (let i = kids.length - 1; i >= 0; i--)
					stack.push([kids[i], depth + 1]);
			}
		}
		this.rows = rows;
		this.list.show(rows.length, (i) => this.row(rows[i]));
	}
	row({ node, depth }) {
		const { tree, app } = this, { head, state } = app, frame = tree.frame[node], whole = tree.total[0][0], parent = this.kids(node).length > 0;
		const value = (number) => number ? formatCell(head, state.unit, number, whole) : "";
		const indent = Math.min(depth * (isNarrow() ? INDENT_NARROW : INDENT), INDENT_SHARE * this.width), text = tree.frames.name[frame];
		const name = el("span", { class: "name", title: text.slice(0, 2000) }, el("i", { class: "twist" }, parent ? this.open.has(node) ? "▾" : "▸" : ""),
			el("i", { class: "swatch" }), el("span", {}, fitName(text, columnsIn(this.width - indent - TWIST))),
			el("small", {}, tree.frames.module[frame].slice(0, 200)));
		name.style.paddingLeft = indent + "px";
		name.querySelector(".swatch").style.background = app.painter.fill(frame, node, tree);
		return el("div", { class: "row" + (app.match && app.match[frame] ? " match" : ""), role: "treeitem", "data-of": node, "aria-level": depth + 1,
			"aria-expanded": parent ? String(this.open.has(node)) : null, "aria-selected": String(app.selected === node) },
			el("span", { class: "number" }, value(tree.total[0][node])), el("span", { class: "number" }, value(tree.self[0][node])), name);
	}
	clicked(node, event) {
		if (event.target.closest(".twist, .swatch"))
			this.toggle(node);
		else
			this.act.select(node);
	}
	toggle(node) {
		if (!this.open.delete(node))
			this.open.add(node);
		this.refresh();
	}
	reveal(node) {
		for (const above of this.tree.path(node).slice(0, -1))
			this.open.add(above);
		this.refresh();
		this.list.reveal(this.rows.findIndex((row) => row.node === node));
	}
	select(node, reveal) {
		if (reveal && node > 0)
			this.reveal(node);
		else
			this.refresh();
	}
	step(node, way) {
		const at = this.rows.findIndex((row) => row.node === node), kids = node > 0 ? this.kids(node) : [];
		if (at < 0)
			return this.rows.length ? this.rows[0].node : node;
		if (way === "right" && kids.length && !this.open.has(node))
			this.toggle(node);
		else if (way === "right" && kids.length)
			return kids[0];
		else if (way === "left" && this.open.has(node) && kids.length)
			this.toggle(node);
		else if (way === "left")
			return this.tree.parent[node] || node;
		else
			return (this.rows[at + (way === "up" ? -1 : 1)] || this.rows[at]).node;
		return node;
	}
	nodes() {
		return this.rows.map((row) => row.node);
	}
}
