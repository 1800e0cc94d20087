// SPDX-License-Identifier: Apache-2.0
// Search: plain text or /regular expression/; how many functions match and how much of all; steps from one to the next.
import { toRegex } from "./filters.js";
import { byId, toast } from "./dom.js";
import { sumMatches } from "./model.js";
import { percent, plural } from "./format.js";
import { joinPath } from "./state.js";

// Per frame whether it matches; null if nothing is searched for. Small letters match both.
export function matchSearch(db, text) {
	if (!text)
		return null;
	const regex = toRegex(text), { name, count } = db.frames, out = new Uint8Array(count), small = text === text.toLowerCase();
	if (regex === null)
		return out;
	for (let frame = 1; frame < count; frame++)
		out[frame] = regex ? regex.test(name[frame]) : (small ? name[frame].toLowerCase() : name[frame]).includes(text);
	return out;
}

export function showSearch(app) {
	const field = byId("search"), said = byId("matched"), { state } = app;
	if (document.activeElement !== field)
		field.value = state.search;
	const bad = toRegex(state.search) === null;
	field.setAttribute("aria-invalid", String(bad));
	if (!app.match) {
		said.textContent = "";
		return;
	}
	const { sum, functions } = sumMatches(app.db, app.tree, app.match);
	said.textContent = bad ? "not a regular expression" : functions ? plural(functions, "function") + ", " + percent(sum, app.tree.total[0][0]) : "no match";
}

// Nothing that can be seen matches: to the largest that does, wherever it is.
function goToMatch(app) {
	const { tree } = app, total = tree.total[0];
	let best = 0;
	for (let node = 1; node < tree.count && app.shown === tree; node++)
		if (app.match[tree.frame[node]] && (!best || total[node] > total[best]))
			best = node;
	if (!best)
		return toast("No match in sight");
	const path = joinPath(tree.names(best));
	app.reveal = true;
	return app.store.set({ select: path, zoom: app.view.flame ? path : "" });
}

// To the next node that matches, of those that can be seen; `by` is 1 or -1.
export function stepMatch(app, by) {
	if (!app.match)
		return;
	if (app.state.view === "table") {
		const to = app.view.step(app.selectedFn, by > 0 ? "down" : "up");
		return app.act.selectFn(to, true);
	}
	const nodes = app.view.nodes().filter((node) => app.match[app.shown.frame[node]]), total = app.shown.total[0];
	if (!nodes.length)
		return goToMatch(app);
	if (app.view.flame)
		nodes.sort((a, b) => total[b] - total[a]); // a graph has no first one: the largest is
	const at = nodes.indexOf(app.selected);
	app.act.select(nodes[at < 0 ? by > 0 ? 0 : nodes.length - 1 : (at + by + nodes.length) % nodes.length], true);
}

export function wireSearch(app) {
	const field = byId("search");
	field.addEventListener("input", () => app.store.set({ search: field.value }, true));
	field.addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			stepMatch(app, event.shiftKey ? -1 : 1);
		else if (event.key === "Escape" && field.value)
			app.store.set({ search: field.value = "" }, true);
		else if (event.key === "Escape")
			field.blur();
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	});
}
