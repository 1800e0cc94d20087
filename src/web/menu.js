// SPDX-License-Identifier: Apache-2.0
// What can be done from a frame, once: for the menu, for keys and for the inspector; and the menu itself.
import { KIND_GROUP, KIND_MODULE } from "./data.js";
import { chipText } from "./filters.js";
import { byId, copyText, el, fill } from "./dom.js";
import { reportCommand } from "./inspector.js";

const isFunction = (app) => app.selectedFrame() >= 0 && app.db.frames.kind[app.selectedFrame()] !== KIND_GROUP;
const isFrame = (app) => isFunction(app) && app.db.frames.kind[app.selectedFrame()] !== KIND_MODULE;
const isGroup = (app) => app.selectedFrame() >= 0 && !isFunction(app);
const isTree = (app) => app.selected >= 0 && !!app.shown;
const name = (app) => app.db.frames.name[app.selectedFrame()];
const module = (app) => app.db.frames.module[app.selectedFrame()];
const chip = (key, value) => (app) => app.store.addChip({ key, value: value(app), not: false });

// The chip that means what is selected.
function ownChip(app) {
	const group = app.db.frames.kind[app.selectedFrame()] === KIND_GROUP, { by } = app.state;
	return group ? { key: by === "pid" ? "process" : by, value: name(app), not: false } : { key: "focus", value: name(app), not: false };
}

// From the root on, also where callers are shown below what they call.
function stackText(app) {
	const { shown } = app, names = shown.wholePath(app.selected).map((node) => app.db.frames.name[shown.frame[node]]);
	return (shown.weigh ? names.reverse() : names).join(";");
}

export const ACTIONS = [
	{ id: "zoom", key: "Enter", name: "Zoom", when: (app) => isTree(app) && app.view.graph, run: (app) => app.act.enter(app.selected), inspector: true },
	{ id: "sandwich", key: "w", name: "Sandwich: callers and callees", short: "Sandwich", when: isFunction, run: (app) => app.act.sandwich(app.selectedFn), inspector: true },
	{ id: "focus", key: "f", name: "Focus: only stacks with it, from it on", short: "Focus", when: isFrame, run: chip("focus", name), inspector: true },
	{ id: "only", key: "p", name: "Only this process or group", short: "Only this", when: isGroup, run: (app) => app.store.addChip(ownChip(app)), inspector: true },
	{ id: "hide", key: "h", name: "Hide it: its callees move up", short: "Hide", when: isFrame, run: chip("hide", name), inspector: true },
	{ id: "ignore", key: "x", name: "Ignore: no stacks with it", short: "Ignore", when: isFrame, run: chip("ignore", (app) => "/^" + name(app).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "$/"), inspector: true },
	{ id: "callers", key: "c", name: "Only its callers", when: isFrame, run: chip("callers", name), inspector: true },
	{ id: "foldrec", key: "r", name: "Fold its recursion", short: "Fold recursion", when: isFrame, run: chip("foldrec", name), inspector: true },
	{ id: "foldmod", key: "m", name: "Fold frames of its module", short: "Fold module", when: (app) => isFrame(app) && module(app), run: chip("foldmod", module), inspector: true },
	{ id: "copystack", key: "y", name: "Copy stack", when: isTree, run: (app) => copyText(stackText(app), "Stack"), inspector: true },
	{ id: "copyfilter", key: "Y", name: "Copy as filter", when: (app) => app.selectedFrame() >= 0, run: (app) => copyText(chipText(ownChip(app)), "Filter"), inspector: true },
	{ id: "copycommand", key: "t", name: "Copy wick report command", short: "Copy command", run: (app) => copyText(reportCommand(app).text, "Command") },
	{ id: "copycurl", key: "T", name: "Copy curl command", when: (app) => app.server, run: (app) => copyText(app.server.curl(), "Command") },
	{ id: "foldall", key: "R", name: "Fold all recursion", run: (app) => app.store.addChip({ key: "foldrec", value: "*", not: false }) },
];

let back = null;

export function closeMenu() {
	const menu = byId("menu");
	if (menu.hidden)
		return false;
	menu.hidden = true;
	if (back)
		back.focus({ preventScroll: true });
	return true;
}

// items: {name, key, run}; opens at a point and stays inside the window.
export function openMenu(items, x, y, label) {
	const menu = byId("menu");
	back = document.activeElement;
	fill(menu, items.map((item) => el("button", { role: "menuitem", onclick: () => {
		closeMenu();
		item.run();
	} }, el("span", {}, item.name), item.key ? el("kbd", {}, item.key) : null)));
	menu.setAttribute("aria-label", label);
	menu.hidden = false;
	menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4)) + "px";
	menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4)) + "px";
	menu.firstElementChild.focus();
}

export function openFrameMenu(app, x, y) {
	const items = ACTIONS.filter((action) => !action.when || action.when(app));
	openMenu(items.map((action) => ({ ...action, run: () => action.run(app) })), x, y, "What to do with the frame");
}

export function wireMenu() {
	const menu = byId("menu");
	menu.addEventListener("keydown", (event) => {
		const items = [...menu.children], at = items.indexOf(document.activeElement);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
		if (event.key === "Escape" || event.key === "Tab")
			closeMenu();
		else if (to !== undefined)
			items[(to + items.length) % items.length].focus();
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	});
	addEventListener("pointerdown", (event) => !menu.contains(event.target) && closeMenu());
}
