// SPDX-License-Identifier: Apache-2.0
// All that is known of what is selected: how much, of what, where it is from, who calls it and what it calls; and the
// path to it as a list, which is what the picture is to those who do not see it.
import { KINDS, KIND_GROUP } from "./data.js";
import { byId, copyText, el, fill, isNarrow } from "./dom.js";
import { formatValue, percent, plural, escapeRegex, shellWord, unitName } from "./format.js";
import { changeOf } from "./model.js";
import { CalleesTree, CallersTree, outermost } from "./trees.js";

const NEIGHBOURS = 6;

function exact(value) {
	return value.startsWith("/") && /\/i?$/.test(value) ? value.replace(/^\/|\/i?$/g, "") : "^" + escapeRegex(value) + "$";
}

function anywhere(value) {
	return value.startsWith("/") && /\/i?$/.test(value) ? value.replace(/^\/|\/i?$/g, "") : escapeRegex(value);
}

// The command that prints the same, and the chips that it has no option for.
export function reportCommand(app) {
	const { state } = app, words = ["wick", "report"], left = [];
	const of = (...keys) => state.chips.filter((chip) => keys.includes(chip.key));
	const option = (name, chips, form) => chips.length && words.push("--" + name, shellWord(chips.map((chip) => form(chip.value)).join("|")));
	const needs = of("fn", "focus", "callers").filter((chip) => !chip.not);
	option("process", of("process").filter((chip) => !chip.not), (value) => /^\d+$/.test(value) ? value : exact(value));
	option("focus", needs.slice(0, 1), needs[0] && needs[0].key !== "fn" ? exact : anywhere);
	option("ignore", of("ignore"), anywhere);
	option("hide", of("hide"), exact);
	left.push(...of("thread", "container", "unit", "module", "kind", "foldrec", "foldmod"), ...needs.slice(1), ...state.chips.filter((chip) => chip.not));
	if (state.by === "thread" || state.by === "container" || state.by === "unit" || state.by === "pid")
		words.push("--by", state.by === "pid" ? "process" : state.by);
	if (state.view === "sandwich" && app.selectedFn >= 0)
		words.push("--callers", shellWord(app.db.frames.name[app.db.frames.fnFrame[app.selectedFn]]));
	else if (state.view !== "table")
		words.push("--tree");
	const file = decodeURIComponent(location.pathname.split("/").pop()).replace(/\.html?$/, "") || "cpu";
	words.push(shellWord((app.head.profile.name || file + ".wick")));
	return { text: words.join(" "), left };
}

function row(name, ...value) {
	return [el("dt", {}, name), el("dd", {}, ...value)];
}

// The largest neighbours of a function: its callers or its callees.
function neighbours(app, title, tree, go) {
	const kids = [...tree.kids(0)].sort((a, b) => tree.total[0][b] - tree.total[0][a]), whole = tree.total[0][0], { frames } = app.db;
	if (!kids.length)
		return [el("h3", {}, title), el("p", { class: "quiet" }, "none")];
	const item = (kid) => el("li", {}, el("button", { class: "line", title: frames.name[tree.frame[kid]].slice(0, 2000), onclick: () => go(frames.fn[tree.frame[kid]]) },
		el("span", { class: "share" }, percent(tree.total[0][kid], whole)), el("span", { class: "text" }, frames.name[tree.frame[kid]].slice(0, 500))));
	return [el("h3", {}, title), el("ul", {}, kids.slice(0, NEIGHBOURS).map(item)),
		kids.length > NEIGHBOURS ? el("p", { class: "quiet" }, "and " + plural(kids.length - NEIGHBOURS, "other")) : null];
}

function figures(app, frame) {
	const { tree, head, state, shown, selected } = app, whole = tree.total[0][0], value = (number) => formatValue(head, state.unit, number, whole);
	const both = (number) => state.unit === "percent" ? `${value(number)} (${formatValue(head, "samples", number)} ${unitName(head, "samples")})` : `${value(number)} (${percent(number, whole)})`;
	const rows = [];
	if (selected >= 0 && shown) {
		const total = shown.total[0][selected], parent = shown.total[0][shown.parent[selected]], zoomed = app.zoomTotal();
		rows.push(row("Total", both(total)), shown.weigh ? null : row("Self", both(shown.self[0][selected])), row("Of parent", percent(total, parent)));
		if (zoomed && zoomed !== whole && !app.pair)
			rows.push(row("Of view", percent(total, zoomed)));
	}
	if (app.selectedFn >= 0 && app.db.frames.kind[frame] !== KIND_GROUP) {
		rows.push(row("Everywhere", both(app.sums.total[0][app.selectedFn])), row("… of which self", both(app.sums.self[0][app.selectedFn])));
		if (tree.total.length > 1) {
			const change = changeOf(app.sums.total[1][app.selectedFn], tree.total[1][0], app.sums.total[0][app.selectedFn], whole);
			rows.push(row("Change", `${change.points.toFixed(2)} points (${change.low.toFixed(2)} … ${change.high.toFixed(2)})` + (change.real ? "" : ": may be noise")));
		}
	}
	return rows;
}

function origin(app, frame) {
	const { frames } = app.db, source = frames.detail(frame, "source"), build = frames.detail(frame, "build"), path = frames.detail(frame, "path");
	return [row("Kind", KINDS[frames.kind[frame]]),
		path || frames.module[frame] ? row("Module", path || frames.module[frame]) : null,
		source ? row("Source", source + ":" + frames.detail(frame, "line")) : null,
		build ? row("Build id", el("code", {}, build)) : null];
}

// The path from the root to what is selected, to be read and to be walked.
export function showPath(app) {
	const list = byId("path"), { shown, selected } = app;
	if (selected < 0 || !shown)
		return fill(list);
	const path = shown.path(selected).slice(-200), frames = app.db.frames, whole = shown.total[0][0];
	return fill(list, path.map((node) => el("li", { "aria-current": node === selected ? "true" : null },
		el("button", { class: "line", onclick: () => app.act.select(node, true) },
			el("span", { class: "share" }, percent(shown.total[0][node], whole)),
			el("span", { class: "text" }, frames.name[shown.frame[node]].slice(0, 500))))));
}

export function showInspector(app) {
	const panel = byId("inspector"), body = byId("details"), { frames } = app.db, frame = app.selectedFrame();
	panel.classList.toggle("empty", frame < 0);
	showPath(app);
	if (frame < 0) {
		fill(body, el("p", { class: "quiet" }, isNarrow() ? "Tap a frame to see what is known of it." : "Select a frame to see what is known of it. Press ? for all keys."));
		return;
	}
	const fn = frames.fn[frame], group = frames.kind[frame] === KIND_GROUP, starts = group ? [] : outermost(app.tree, fn);
	const command = reportCommand(app);
	fill(body, el("h2", { title: "name" }, frames.name[frame]), el("dl", {}, figures(app, frame), group ? null : origin(app, frame)),
		el("div", { class: "actions" }, app.actions.filter((action) => action.inspector && (!action.when || action.when(app))).map((action) =>
			el("button", { onclick: () => action.run(app), title: action.key ? "key " + action.key : null }, action.short || action.name))),
		group ? null : neighbours(app, "Callers", new CallersTree(app.tree, starts, app.tree.total, frame), app.act.selectFn),
		group ? null : neighbours(app, "Callees", new CalleesTree(app.tree, starts, frame), app.act.selectFn),
		el("h3", {}, "The same in a terminal"), el("button", { class: "command", title: "copy", onclick: () => copyText(command.text, "Command") }, command.text),
		command.left.length ? el("p", { class: "quiet" }, "wick report has no option for ", command.left.map((chip) => chip.key).join(", ") + ".") : null);
}
