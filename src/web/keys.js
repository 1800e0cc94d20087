// SPDX-License-Identifier: Apache-2.0
// Every key, in one table: what it does, and the list that ? shows.
import { ACTIONS, closeMenu } from "./menu.js";
import { byId, el, fill } from "./dom.js";
import { stepMatch } from "./search.js";
import { VIEWS } from "./state.js";

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

// [keys, what, run]; the first of keys is what is shown.
export const KEYS = [
	[["1 … 6"], "flame, icicle, inverted, tree, sandwich, table", null],
	[["↑ ↓ ← →"], "select what is above, below, beside", null],
	[["Escape", "Backspace"], "or Backspace: out of the zoom, then of the selection", (app) => app.act.out()],
	[["/"], "search: text or /regular expression/", () => byId("search").focus()],
	[["n"], "the next match", (app) => stepMatch(app, 1)],
	[["N"], "the match before", (app) => stepMatch(app, -1)],
	[["."], "what to do with the frame", (app) => app.act.menu()],
	[["+"], "add a filter", () => byId("chip-input").focus()],
	[["z"], "undo (as the browser's back)", () => history.back()],
	[["-"], "take the last filter away", (app) => app.state.chips.length && app.store.removeChip(app.state.chips[app.state.chips.length - 1])],
	[["o"], "order: by name, or largest left", (app) => app.store.set({ order: app.state.order === "name" ? "size" : "name" })],
	[["u"], "unit: percent, samples, CPU seconds, cores", (app) => app.act.nextUnit()],
	[["k"], "colours: by kind, module, process, warm", (app) => app.act.nextColour()],
	[["d"], "dark, light", (app) => app.act.nextTheme()],
	[["i"], "show or hide what is known of the frame", (app) => app.act.toggleInspector()],
	[["e"], "export what is seen", (app) => app.act.exportMenu()],
	[["l"], "copy a link to this", (app) => app.act.copyLink()],
	[["?"], "this list", () => toggleHelp()],
];

// Keys that only some pages have.
export function addKeys(list) {
	KEYS.splice(-1, 0, ...list);
}

export function toggleHelp(show = byId("help").hidden) {
	const help = byId("help");
	help.hidden = !show;
	if (show)
		help.querySelector("button").focus();
}

export function wireHelp(app) {
	const entry = ([keys, what]) => [el("dt", {}, el("kbd", {}, keys[0])), el("dd", {}, what)];
	fill(byId("keys"), KEYS.map(entry), ACTIONS.filter((action) => action.id !== "copycurl" || app.server).map((action) => entry([[action.key], action.name.toLowerCase()])));
	byId("help-close").addEventListener("click", () => toggleHelp(false));
	byId("help").addEventListener("click", (event) => event.target === byId("help") && toggleHelp(false));
}

export function wireKeys(app) {
	addEventListener("keydown", (event) => {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName), button = event.target.tagName === "BUTTON";
		if (event.ctrlKey && event.key === "z" && !typing) {
			event.preventDefault();
			return history.back();
		}
		if (event.ctrlKey || event.metaKey || event.altKey || typing)
			return;
		if (event.key === "Escape" && (closeMenu() || !byId("help").hidden)) {
			toggleHelp(false);
			return;
		}
		if (!byId("help").hidden && event.key !== "?")
			return;
		const view = VIEWS[+event.key - 1], action = ACTIONS.find((one) => one.key === event.key), way = ARROWS[event.key];
		const key = KEYS.find(([keys, , run]) => run && keys.includes(event.key));
		if (button && (event.key === "Enter" || event.key === " ") || !app.tree)
			return;
		if (view)
			app.act.show(view);
		else if (way)
			app.act.step(way);
		else if (event.key === "Enter" && app.selectedFrame() >= 0)
			app.act.enter(app.selected);
		else if (key)
			key[2](app);
		else if (action && (!action.when || action.when(app)))
			action.run(app);
		else
			return;
		event.preventDefault();
	});
}
