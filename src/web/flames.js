// SPDX-License-Identifier: Apache-2.0
// The views that are flame graphs: one of a tree, or two around a function, who calls it above and what it calls below.
import { el } from "./dom.js";
import { Flame } from "./flame.js";
import { wireGestures } from "./gestures.js";
import { joinPath, splitPath } from "./state.js";

export class FlameView {
	constructor(host, up, label) {
		this.pane = el("div", { class: "flame" });
		this.host = host;
		this.up = up;
		this.label = label;
		host.replaceChildren(this.pane);
	}
	destroy() {
		this.graph.destroy();
		this.host.replaceChildren();
	}
	flame() {
		return this.graph;
	}
	resize() {
		this.graph.layout();
		this.graph.select(this.graph.selected, true);
	}
	show(app, old) {
		if (!this.graph) {
			this.graph = new Flame(this.pane, this.up, this.label);
			wireGestures(app, this.graph, { select: (_, node) => app.act.select(node), enter: (_, node) => app.act.enter(node), menu: app.act.menu });
		}
		const same = this.graph.tree === app.shown, zoom = app.shown.find_path(splitPath(app.state.zoom));
		if (app.ticking && !same)
			return this.graph.follow(app.shown, app.painter, app.match, zoom);
		this.graph.show(app.shown, app.painter, app.match);
		this.graph.zoom(zoom, same && old && old.zoom !== app.state.zoom);
	}
	zoomed() {
		return this.graph ? this.graph.zoomed : 0;
	}
	select(node, reveal) {
		this.graph.select(node, reveal);
	}
	step(node, way) {
		return this.graph.step(node, way);
	}
	nodes() {
		return this.graph.rows.flat();
	}
}

export class SandwichView {
	constructor(host) {
		this.panes = [el("div", { class: "flame" }), el("div", { class: "flame" })];
		this.title = el("p", { class: "between" });
		this.host = host;
		host.replaceChildren(el("div", { class: "sandwich" }, el("p", { class: "between" }, "callers ↑"), this.panes[0], this.title, this.panes[1]));
	}
	destroy() {
		this.graphs.forEach((graph) => graph.destroy());
		this.host.replaceChildren();
	}
	flame() {
		return this.graphs[this.current || 0];
	}
	resize() {
		this.graphs.forEach((graph) => {
			graph.layout();
			graph.select(graph.selected, true);
		});
	}
	show(app) {
		if (!this.graphs) {
			this.graphs = [new Flame(this.panes[0], true, "Callers"), new Flame(this.panes[1], false, "Callees")];
			const act = {
				select: (graph, node) => this.choose(app, graph, node), menu: app.act.menu,
				enter: (graph, node) => app.act.sandwich(app.db.frames.fn[graph.tree.frame[node]]),
			};
			this.graphs.forEach((graph) => wireGestures(app, graph, act));
		}
		const name = app.db.frames.name[app.db.frames.fnFrame[app.sandwichFn]] || "";
		this.title.textContent = name.slice(0, 300) + " ↓ callees";
		this.graphs.forEach((graph, i) => {
			graph.show(app.pair[i], app.painter, app.match);
			graph.zoom(0, false);
		});
	}
	// Which of the two a node is of is part of the selection: callers begin with ^.
	choose(app, graph, node) {
		this.current = this.graphs.indexOf(graph);
		app.store.set({ select: (this.current ? "" : "^") + joinPath(["", ...graph.tree.names(node)]) }, true);
	}
	zoomed() {
		return 0;
	}
	select(node, reveal) {
		this.graphs.forEach((graph, i) => graph.select(i === (this.current || 0) ? node : -1, reveal));
	}
	step(node, way) {
		if (node === 0 && (way === "up" || way === "down"))
			this.current = way === "up" ? 0 : 1;
		return this.graphs[this.current || 0].step(node, way);
	}
	nodes() {
		return this.flame().rows.flat();
	}
}
