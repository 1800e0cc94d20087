// SPDX-License-Identifier: Apache-2.0
// The page: reads the data, holds what is shown, and draws again what a change of the state touches.
import { decode, fromBase64, unpack } from "./data.js";
import { chipText, compileChips } from "./filters.js";
import { buildTree, largestChanges, runningMost, sumFunctions } from "./model.js";
import { CalleesTree, CallTree, CallersTree, invertTree, outermost } from "./trees.js";
import { COLOUR_MODES, makePainter } from "./colours.js";
import { unitName, unitsOf } from "./format.js";
import { GROUPS, Store, VIEWS, joinPath, splitPath, writeState } from "./state.js";
import { byId, copyText, el, fill, isNarrow } from "./dom.js";
import { FlameView, SandwichView } from "./flames.js";
import { TreeView } from "./tree.js";
import { TableView } from "./table.js";
import { showInspector } from "./inspector.js";
import { showChips, wireChips } from "./chips.js";
import { ACTIONS, openFrameMenu, openMenu, wireMenu } from "./menu.js";
import { matchSearch, showSearch, wireSearch } from "./search.js";
import { exportItems } from "./export.js";
import { wireHelp, wireKeys, toggleHelp } from "./keys.js";
import { answerText, shareText, showEmpty, showFoot, showLegend } from "./answer.js";
import { hideTip } from "./gestures.js";

const HOTTEST = 12;

export class App {
	constructor() {
		this.actions = ACTIONS;
		this.selected = this.selectedFn = this.sandwichFn = -1;
		this.reveal = true; // what the address selects
		this.server = null;
		this.fileBase = decodeURIComponent(location.pathname.split("/").pop()).replace(/\.html?$/, "") || "profile";
		this.act = makeActs(this);
		this.store = new Store((state, old) => this.server ? this.server.changed(state, old) : this.render(state, old));
	}
	// What is shown from now on.
	setData(db) {
		this.db = db;
		this.head = db.head;
		this.compare = db.sides.length > 1;
		[this.whole, this.wholeBefore] = db.sides.map((side) => side.value.reduce((sum, value) => sum + value, 0));
		this.base = this.pairs = null;
		showChoices(this);
		if (!this.ticking || !byId("facts").querySelector("[open]"))
			showFoot(this);
	}
	get state() {
		return this.store.state;
	}
	get sums() {
		this.summed = this.summed || sumFunctions(this.db, this.tree);
		return this.summed;
	}
	get hottest() {
		this.sums.hottest = this.sums.hottest || runningMost(this.sums, HOTTEST);
		return this.sums.hottest;
	}
	get changes() {
		this.sums.changes = this.sums.changes || largestChanges(this.sums, this.tree);
		return this.sums.changes;
	}
	get colour() {
		return this.state.colour || (this.compare ? "change" : "kind");
	}
	zoomTotal() {
		return this.view && this.view.zoomed && this.shown ? this.shown.total[0][this.view.zoomed()] : 0;
	}
	selectedFrame() {
		if (this.selected >= 0 && this.shown && (this.selected || this.shown.frame[0]))
			return this.shown.frame[this.selected];
		return this.selectedFn >= 0 ? this.db.frames.fnFrame[this.selectedFn] : -1;
	}
	// The function of that name; of several the largest.
	findFn(name) {
		const { fnFrame, name: names } = this.db.frames, found = [...this.sums.list].filter((fn) => names[fnFrame[fn]] === name);
		return found.reduce((best, fn) => best < 0 || this.sums.total[0][fn] > this.sums.total[0][best] ? fn : best, -1);
	}
	// The tree of everything is kept: taking the last chip away is a matter of drawing.
	treeOf(state) {
		const make = () => new CallTree(this.db.frames, buildTree(this.db, compileChips(this.db, state.chips), state.by));
		if (state.chips.length)
			return make();
		if (!this.base || this.baseBy !== state.by)
			[this.base, this.baseBy] = [make(), state.by];
		return this.base;
	}
	// What a change touches: new chips make a new tree; all else is made from that.
	prepare(state, old) {
		const chips = (one) => one.by + "\n" + one.chips.map(chipText).join("\n");
		const anew = !old || chips(old) !== chips(state), coloured = anew || old.colour !== state.colour;
		if (anew) {
			this.tree = this.treeOf(state);
			this.summed = this.inverted = null;
			if (!this.ticking)
				showChips(this);
		}
		if (coloured) {
			this.painter = makePainter(this.db, this.tree, this.colour, state.by);
			if (!this.ticking || !byId("legend").querySelector(":focus-visible"))
				showLegend(this);
		}
		if (anew || old.search !== state.search) {
			this.match = matchSearch(this.db, state.search);
			showSearch(this);
		}
		if (anew) {
			byId("answer").textContent = this.isEmpty() ? "" : answerText(this);
			byId("share").textContent = shareText(this);
		}
	}
	isEmpty() {
		return !this.tree.total.some((total) => total[0] > 0);
	}
	render(state, old) {
		if (!this.ticking)
			hideTip();
		this.prepare(state, old);
		this.showControls();
		if (this.isEmpty()) {
			this.dropView();
			this.selected = this.selectedFn = -1;
			showInspector(this);
			return this.server ? this.server.showEmpty() : showEmpty(this);
		}
		this.chooseTrees(state);
		this.showView(state, old);
		return this.showSelection();
	}
	chooseTrees(state) {
		const sorted = state.order === "name";
		this.tree.setOrder(sorted);
		this.pair = null;
		if (state.view === "inverted")
			this.inverted = this.inverted || invertTree(this.tree);
		if (state.view === "sandwich") {
			const found = state.fn ? this.findFn(state.fn) : -1;
			this.pair = this.pairOf(found >= 0 ? found : this.hottest[0]);
			this.pair.forEach((tree) => tree.setOrder(sorted));
		}
		this.shown = state.view === "table" ? null : state.view === "inverted" ? this.inverted : this.pair ? this.pair[state.select.startsWith("^") ? 0 : 1] : this.tree;
		if (this.inverted)
			this.inverted.setOrder(sorted);
	}
	// Callers and callees of a function.
	pairOf(fn) {
		if (!this.pairs || this.pairs.fn !== fn || this.pairs.tree !== this.tree) {
			const starts = outermost(this.tree, fn), top = this.db.frames.fnFrame[fn];
			const both = [new CallersTree(this.tree, starts, this.tree.total, top), new CalleesTree(this.tree, starts, top)];
			this.pairs = { fn, tree: this.tree, both };
		}
		this.sandwichFn = fn;
		return this.pairs.both;
	}
	dropView() {
		if (this.view)
			this.view.destroy();
		this.view = null;
		this.viewName = "";
	}
	showView(state, old) {
		const host = byId("view"), fresh = this.viewName !== state.view;
		if (fresh) {
			this.dropView();
			this.view = state.view === "tree" ? new TreeView(host, this.act) : state.view === "table" ? new TableView(host, this.act) :
				state.view === "sandwich" ? new SandwichView(host) : new FlameView(host, state.view === "flame", "Flame graph: arrows move, Enter zooms, ? lists keys");
			this.viewName = state.view;
		}
		if (fresh || needsDraw(state, old))
			this.view.show(this, old);
	}
	// From the address to nodes.
	showSelection() {
		const { state, shown } = this, { frames } = this.db;
		if (state.view === "table") {
			this.selected = -1;
			this.selectedFn = state.fn ? this.findFn(state.fn) : -1;
			this.view.selectFn(this.selectedFn, this.reveal);
		} else {
			const names = splitPath(state.select.replace(/^\^/, ""));
			if (this.pair) {
				this.view.current = state.select.startsWith("^") ? 0 : 1;
				names.shift();
			}
			this.selected = state.select || this.pair ? shown.find_path(names) : -1;
			this.selected = this.selected === 0 && !this.pair ? -1 : this.selected;
			this.selectedFn = this.selected >= 0 ? frames.fn[shown.frame[this.selected]] : -1;
			this.view.select(this.selected, this.reveal);
		}
		this.reveal = false;
		if (!this.ticking || !byId("inspector").matches(":hover, :focus-within"))
			showInspector(this);
	}
	showControls() {
		const { state } = this;
		for (const button of byId("views").children)
			button.setAttribute("aria-selected", String(button.dataset.view === state.view));
		byId("unit").value = state.unit;
		byId("order").value = state.order;
		byId("colour").value = this.colour;
		byId("by").value = state.by;
		byId("order").disabled = state.view === "tree" || state.view === "table"; // which have orders of their own
		byId("colour").querySelector("[value=process]").textContent = state.by === "none" ? "process" : GROUP_NAMES[state.by];
	}
}

// Selecting alone draws nothing anew; a tree view draws its rows with the selection.
function needsDraw(state, old) {
	const look = (one) => writeState({ ...one, select: "", fn: one.view === "sandwich" ? one.fn : "" });
	return !old || look(state) !== look(old);
}

function makeActs(app) {
	const set = (patch, quiet) => app.store.set(patch, quiet), names = (fn) => app.db.frames.name[app.db.frames.fnFrame[fn]];
	const acts = {
		show: (view) => {
			const fn = app.selectedFn >= 0 ? names(app.selectedFn) : app.state.fn;
			set({ view, fn: view === "sandwich" || view === "table" ? fn : "", select: keepsPath(app.state.view, view) ? app.state.select : "", zoom: keepsPath(app.state.view, view) ? app.state.zoom : "" });
		},
		select: (node, reveal) => {
			app.reveal = reveal;
			const tree = app.pair ? app.pair[app.view.current] : app.shown, path = joinPath(node >= 0 ? tree.names(node) : []);
			set({ select: app.pair ? (app.view.current ? ";" : "^;") + path : path }, true);
		},
		selectFn: (fn, reveal) => {
			if (app.state.view === "table") {
				app.reveal = reveal;
				return set({ fn: names(fn) }, true);
			}
			const starts = app.shown === app.tree ? outermost(app.tree, fn) : [];
			if (!starts.length)
				return acts.sandwich(fn);
			return acts.select(starts.reduce((best, one) => app.tree.total[0][one] > app.tree.total[0][best] ? one : best), true);
		},
		enter: (node) => {
			if (app.state.view === "table" || app.state.view === "sandwich")
				return app.selectedFn >= 0 && acts.sandwich(app.selectedFn);
			if (app.state.view === "tree")
				return app.view.toggle(node);
			const path = joinPath(app.shown.names(node));
			return set({ zoom: path, select: path });
		},
		sandwich: (fn) => set({ view: "sandwich", fn: names(fn), select: "", zoom: "" }),
		out: () => stepOut(app, set),
		step: (way) => {
			if (app.state.view === "table")
				return acts.selectFn(app.view.step(app.selectedFn, way), true);
			return acts.select(app.view.step(app.selected, way), true);
		},
		menu: (x, y) => {
			const flame = app.view.flame && app.view.flame(), box = flame && app.selected >= 0 && flame.box(app.selected), at = byId("view").getBoundingClientRect();
			if (app.selectedFrame() >= 0)
				openFrameMenu(app, x ?? at.left + (box ? box.left : 40), y ?? at.top + (box ? box.top + 20 : 40));
		},
		sort: (sort) => set({ sort }),
		nextUnit: () => set({ unit: after(unitsOf(app.head), app.state.unit) }),
		nextColour: () => set({ colour: after(app.compare ? ["change", ...COLOUR_MODES] : COLOUR_MODES, app.colour) }),
		nextTheme: () => {
			const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches, now = root.dataset.theme || (dark ? "dark" : "light");
			root.dataset.theme = now === "dark" ? "light" : "dark";
			if (app.view)
				app.view.resize();
		},
		toggleInspector: () => {
			document.body.classList.toggle("no-inspector");
			if (app.view)
				app.view.resize();
		},
		exportMenu: () => {
			const box = byId("export").getBoundingClientRect();
			if (app.view)
				openMenu(exportItems(app), box.left, box.top - 140, "Export what is seen");
		},
		copyLink: () => copyText(location.href, "Link"),
	};
	return acts;
}

const GROUP_NAMES = { process: "process name", pid: "process", thread: "thread", container: "container", unit: "systemd unit", none: "nothing" };
const keepsPath = (from, to) => ["flame", "icicle", "tree"].includes(from) && ["flame", "icicle", "tree"].includes(to);
const after = (list, one) => list[(list.indexOf(one) + 1) % list.length];

// Out of a stretch, of a zoom (to the next frame that is wider), of the selection.
function stepOut(app, set) {
	const flame = app.view && app.view.flame && app.view.flame();
	if (flame && Math.abs(flame.goal()[0] - flame.from) + Math.abs(flame.goal()[1] - flame.to) > 1e-9)
		return flame.zoom(flame.zoomed, true);
	if (app.state.zoom && app.shown) {
		const total = app.shown.total[0];
		let node = app.view.zoomed(), up = app.shown.parent[node];
		while (up && total[up] === total[node])
			up = app.shown.parent[up];
		return set({ zoom: joinPath(app.shown.names(up)) });
	}
	return set({ select: "", fn: app.state.view === "sandwich" ? app.state.fn : "" }, true);
}

// What can be chosen, of this profile.
function showChoices(app) {
	const lists = {
		unit: unitsOf(app.head).map((unit) => [unit, unitName(app.head, unit)]), order: [["name", "name"], ["size", "largest left"]],
		colour: (app.compare ? ["change", ...COLOUR_MODES] : COLOUR_MODES).map((mode) => [mode, mode]), by: GROUPS.map((by) => [by, GROUP_NAMES[by]]),
	};
	const key = JSON.stringify(lists);
	if (key === app.choices)
		return;
	app.choices = key;
	for (const [id, list] of Object.entries(lists))
		fill(byId(id), list.map(([value, text]) => el("option", { value }, text)));
}

function wireControls(app) {
	const { store, act } = app;
	const choose = (id, part) => {
		byId(id).addEventListener("change", () => {
			byId(id).blur(); // so that keys work on
			store.set({ [part]: byId(id).value });
		});
	};
	for (const part of ["unit", "order", "colour", "by"])
		choose(part, part);
	fill(byId("views"), VIEWS.map((view, i) => el("button", { role: "tab", "data-view": view, title: "key " + (i + 1), onclick: () => act.show(view) }, view[0].toUpperCase() + view.slice(1))));
	byId("theme").addEventListener("click", act.nextTheme);
	byId("help-open").addEventListener("click", () => toggleHelp());
	byId("export").addEventListener("click", act.exportMenu);
	byId("link").addEventListener("click", act.copyLink);
	byId("inspector-close").addEventListener("click", () => isNarrow() ? store.set({ select: "", fn: app.state.view === "sandwich" ? app.state.fn : "" }, true) : act.toggleInspector());
	let queued = 0;
	new ResizeObserver(() => {
		cancelAnimationFrame(queued);
		queued = requestAnimationFrame(() => app.view && app.view.resize());
	}).observe(byId("view"));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.view && app.view.resize());
}

// Without their folders, unless those are what differs.
function comparedNames(before, after) {
	const [old, now] = [before, after].map((name) => name.replace(/^.*\//, ""));
	return old === now ? `${before} → ${after}` : `${old} → ${now}`;
}

export function fail(title, words) {
	byId("app").hidden = true;
	fill(byId("old"), el("h1", {}, title), el("p", {}, words));
	byId("old").hidden = false;
	document.title = "wick: " + title;
}

export function wire(app) {
	wireControls(app);
	wireChips(app);
	wireSearch(app);
	wireMenu();
	wireHelp(app);
	wireKeys(app);
}

// The page as a file: what it shows is in it.
export async function startSaved() {
	const block = byId("data");
	let db;
	fill(byId("old"), el("p", {}, "Unpacking the profile…"));
	try {
		db = decode(await unpack(fromBase64(block.textContent)));
	} catch (error) {
		return fail("The profile in this page is damaged", `It cannot be read: ${error.message}. The file was changed or cut off on its way: copy it again, or make it anew with wick convert.`);
	}
	block.remove();
	const app = new App(), { profile, before } = db.head;
	byId("old").hidden = true;
	byId("app").hidden = false;
	byId("host").textContent = before ? comparedNames(before.name || "before", profile.name || "after") : profile.host || "";
	byId("host").title = before ? `${before.name} → ${profile.name}` : "";
	document.title = [profile.host || profile.name, app.fileBase, "wick"].filter(Boolean).join(" · ");
	wire(app);
	app.setData(db);
	app.render(app.state, null);
	document.body.classList.add("ready");
}
