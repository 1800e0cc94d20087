// SPDX-License-Identifier: Apache-2.0
// All that is known of what is selected: how much, of what, where it is from, who calls it and what it calls; and the
// path to it as a list, which is what the picture is to those who do not see it.
import { KINDS, KIND_GROUP } from "./data.js";
import { byId, columnsIn, copyText, el, fill } from "./dom.js";
import { changeText, countText, escapeRegex, fitName, formatValue, percent, plural, shellWord, signed } from "./format.js";
import { changeOf } from "./model.js";
import { CalleesTree, CallersTree, outermost } from "./trees.js";

const NEIGHBOURS = 6, BESIDE_NAME = 100; // pixels of a line of the panel that are not its name's

function exact(value) {
	return /^\/[^]+\/$/.test(value) ? value.slice(1, -1) : "^" + escapeRegex(value) + "$";
}

function anywhere(value) {
	return /^\/[^]+\/$/.test(value) ? value.slice(1, -1) : escapeRegex(value);
}

// The command that prints the same, and the chips that it has no option for.
export function reportCommand(app) {
	const { state } = app, words = ["wick", app.compare ? "diff" : "report"];
	// What wick report cannot say: that letters are small or large alike, and a number of a process beside a name.
	const numbers = state.chips.filter((chip) => chip.key === "process" && !chip.not), mixed = numbers.length > 1 && numbers.some((chip) => /^\d+$/.test(chip.value));
	const odd = state.chips.filter((chip) => /^\/[^]+\/i$/.test(chip.value) || mixed && chip.key === "process"), chips = state.chips.filter((chip) => !odd.includes(chip));
	const of = (...keys) => chips.filter((chip) => keys.includes(chip.key));
	const option = (name, list, form) => list.length && words.push("--" + name, shellWord(list.map((chip) => form(chip.value)).join("|")));
	const needs = of("fn", "focus", "callers").filter((chip) => !chip.not);
	option("process", of("process").filter((chip) => !chip.not), (value) => /^\d+$/.test(value) ? value : exact(value));
	option("focus", needs.slice(0, 1), needs[0] && needs[0].key !== "fn" ? exact : anywhere);
	option("ignore", chips.filter((chip) => chip.key === "ignore" || chip.key === "fn" && chip.not), anywhere);
	option("hide", of("hide"), exact);
	const left = new Set([...odd, ...of("thread", "container", "unit", "module", "kind", "foldrec", "foldmod"), ...needs.slice(1),
		...of("process", "focus", "callers").filter((chip) => chip.not)].map((chip) => chip.key));
	const file = decodeURIComponent(location.pathname.split("/").pop()).replace(/\.html?$/, "") || "cpu", { before, profile } = app.head;
	if (app.server && app.compare)
		return { text: app.server.command(words, left), left };
	if (app.compare)
		return { text: [...words, shellWord(before.name || "before.wick"), shellWord(profile.name || "after.wick")].join(" "), left };
	if (state.by === "thread" || state.by === "container" || state.by === "unit" || state.by === "pid")
		words.push("--by", state.by === "pid" ? "process" : state.by);
	if ((state.view === "sandwich" || state.view === "inverted") && app.selected >= 0)
		words.push("--callers", shellWord(app.db.frames.name[app.shown.frame[app.shown.wholePath(app.selected)[0]]]));
	else if (state.view !== "table")
		words.push("--tree");
	if (app.server)
		return { text: app.server.command(words, left), left };
	words.push(shellWord(profile.name || file + ".wick"));
	return { text: words.join(" "), left };
}

function row(name, ...value) {
	return [el("dt", {}, name), el("dd", {}, ...value)];
}

// A line that is also a button: a share, a name.
function line(share, name, run) {
	return el("button", { class: "line", title: name.slice(0, 2000), onclick: run },
		el("span", { class: "share" }, share), el("span", { class: "text" }, fitName(name, columnsIn(Math.max(200, byId("inspector").clientWidth - BESIDE_NAME)))));
}

// The largest neighbours of a function: its callers or its callees.
function neighbours(app, title, tree, go) {
	const kids = [...tree.kids(0)].sort((a, b) => tree.total[0][b] - tree.total[0][a]), whole = tree.total[0][0], { frames } = app.db;
	if (!kids.length)
		return [el("h3", {}, title), el("p", { class: "quiet" }, "none")];
	const item = (kid) => el("li", {}, line(percent(tree.total[0][kid], whole), frames.name[tree.frame[kid]], () => go(frames.fn[tree.frame[kid]])));
	return [el("h3", {}, title), el("ul", {}, kids.slice(0, NEIGHBOURS).map(item)),
		kids.length > NEIGHBOURS ? el("p", { class: "quiet" }, "and " + plural(kids.length - NEIGHBOURS, "other")) : null];
}

function figures(app, frame) {
	const { tree, head, state, shown, selected } = app, whole = tree.total[0][0], value = (number) => formatValue(head, state.unit, number, whole);
	const both = (number) => state.unit === "percent" ? `${value(number)} (${countText(head, number)})` : `${value(number)} (${percent(number, whole)})`;
	const rows = [];
	if (selected >= 0 && shown) {
		const total = shown.total[0][selected], parent = shown.total[0][shown.parent[selected]], zoomed = app.zoomTotal();
		rows.push(row("Total", both(total)), shown.weigh ? null : row("Self", both(shown.self[0][selected])), selected ? row("Of parent", percent(total, parent)) : null);
		if (zoomed && zoomed !== whole && !app.pair)
			rows.push(row("Of view", percent(total, zoomed)));
	}
	if (app.selectedFn >= 0 && app.db.frames.kind[frame] !== KIND_GROUP) {
		rows.push(row("Everywhere", both(app.sums.total[0][app.selectedFn])), row("… of which self", both(app.sums.self[0][app.selectedFn])));
		if (tree.total.length > 1) {
			const change = changeOf(app.sums.total[1][app.selectedFn], tree.total[1][0], app.sums.total[0][app.selectedFn], whole);
			rows.push(row("Change", changeText(change)));
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
	const { shown, selected } = app, frames = app.db.frames, path = selected >= 0 && shown ? shown.wholePath(selected).slice(-200) : [];
	byId("path-title").hidden = !path.length;
	fill(byId("path"), path.map((node) => el("li", { "aria-current": node === selected ? "true" : null },
		line(percent(shown.total[0][node], shown.total[0][0]), frames.name[shown.frame[node]], () => app.act.select(node, true)))));
}

// Nothing is selected: where to look first.
function starts(app) {
	const { frames } = app.db, { sums, tree } = app, name = (fn) => frames.name[frames.fnFrame[fn]];
	const item = (share, fn) => el("li", {}, line(share, name(fn), () => app.act.selectFn(fn, true)));
	const list = app.compare ? app.changes.slice(0, app.hottest.length).map(({ fn, points }) => item(signed(points), fn)) :
		app.hottest.filter((fn) => sums.self[0][fn]).map((fn) => item(percent(sums.self[0][fn], tree.total[0][0]), fn));
	return [list.length ? [el("h3", {}, app.compare ? "Changed most, in points" : "Running most"), el("ul", {}, list)] : null,
		el("p", { class: "quiet hint" }, "Select a frame to see what is known of it. Press ? for all keys.")];
}

export function showInspector(app) {
	const panel = byId("inspector"), body = byId("details"), { frames } = app.db, frame = app.selectedFrame();
	panel.classList.toggle("empty", frame < 0);
	showPath(app);
	if (frame < 0) {
		fill(body, app.isEmpty() ? null : starts(app));
		return;
	}
	const fn = frames.fn[frame], group = frames.kind[frame] === KIND_GROUP, places = group ? [] : outermost(app.tree, fn);
	const command = reportCommand(app);
	fill(body, el("h2", { title: "name" }, frames.name[frame]), el("dl", {}, figures(app, frame), group ? null : origin(app, frame)),
		el("div", { class: "actions" }, app.actions.filter((action) => action.inspector && (!action.when || action.when(app))).map((action) =>
			el("button", { onclick: () => action.run(app), title: action.key ? "key " + action.key : null }, action.short || action.name))),
		group ? null : neighbours(app, "Callers", new CallersTree(app.tree, places, app.tree.total, frame), app.act.selectFn),
		group ? null : neighbours(app, "Callees", new CalleesTree(app.tree, places, frame), app.act.selectFn),
		el("h3", {}, "The same in a terminal"), el("button", { class: "command", title: "copy", onclick: () => copyText(command.text, "Command") }, command.text),
		command.left.size ? el("p", { class: "quiet" }, `wick ${app.compare ? "diff" : "report"} has no option for `, [...command.left].join(", ") + ".") : null);
}
