// SPDX-License-Identifier: Apache-2.0
// The words around the picture: the answer in one sentence, the legend, the foot that says how far to trust it, and what
// stands there when there is nothing to show.
import { byId, el, fill, isNarrow } from "./dom.js";
import { chipText, compileChips } from "./filters.js";
import { KIND_GROUP } from "./data.js";
import { buildTree, sumBy } from "./model.js";
import { countText, fitName, percent, plural, secondsOf, thousands } from "./format.js";

const LOST_PERCENT = 1, WHOLE_PERCENT = 95;

// In which of the groups at the root a function was running most, and how much of it there.
function mostlyIn(db, tree, wanted) {
	const group = new Int32Array(tree.count), sums = new Map(), { fn, kind, name } = db.frames;
	for (let i = 1; i < tree.count; i++) {
		const frame = tree.frame[i];
		group[i] = kind[frame] === KIND_GROUP ? frame : group[tree.parent[i]];
		if (group[i] && tree.self[0][i] && fn[frame] === wanted)
			sums.set(group[i], (sums.get(group[i]) || 0) + tree.self[0][i]);
	}
	const [[frame, sum] = [0, 0]] = [...sums].sort((one, other) => other[1] - one[1]);
	return [frame ? name[frame] : "", sum];
}

export function answerText(app) {
	const { tree, db } = app, whole = tree.total[0][0], nameOf = (fn) => fitName(db.frames.name[db.frames.fnFrame[fn]], isNarrow() ? 36 : 100);
	if (tree.total.length > 1) {
		const real = app.changes, unit = app.head.profile.unit || "samples";
		if (unit !== "samples" && unit !== "count")
			return "Values are not numbers of samples: what is noise cannot be told, and colours show every change.";
		if (!real.length)
			return "Nothing changed by more than noise.";
		return `${nameOf(real[0].fn)} ${real[0].points > 0 ? "grew" : "shrank"} most, by ${Math.abs(real[0].points).toFixed(1)} points; ` +
			`${plural(real.length, "function")} changed by more than noise.`;
	}
	const [[group, used] = []] = sumBy(db, tree, "group").filter(([name]) => name && !name.startsWith("[no ")), [most] = app.hottest;
	if (most === undefined)
		return "";
	const self = app.sums.self[0][most], [where, there] = mostlyIn(db, tree, most), elsewhere = group && where !== group && where ? 2 * there > self ? ` (mostly in ${where})` : " (in several)" : "";
	return (group ? `${group} used ${percent(used, whole)} of this; ` : "") + `${nameOf(most)}${elsewhere || " alone"} ${percent(self, whole)}.`;
}

// How much of all the chips leave.
export function shareText(app) {
	const left = app.tree.total[0][0];
	return app.state.chips.length ? `${thousands(left)} of ${countText(app.head, app.whole)}, ${percent(left, app.whole)}` : "";
}

export function showLegend(app) {
	const { painter, store, tree } = app, sum = (one) => one.sum === undefined ? "" : " " + percent(one.sum, tree.total[0][0]);
	fill(byId("legend"), painter.legend.map((one) => {
		const swatch = el("i", { class: "swatch" });
		swatch.style.background = one.colour;
		if (!one.chip)
			return el("li", {}, el("span", {}, swatch, one.name + sum(one)));
		return el("li", {}, el("button", { title: "only these; with Shift: all but these",
			onclick: (event) => store.addChip({ ...one.chip, not: event.shiftKey }) }, swatch, one.name.slice(0, 80) + sum(one)));
	}));
}

// Red only where a decision could go wrong.
function isWorrying({ profile }, whole) {
	const lost = profile.problems.filter((one) => one.group === "lost").reduce((sum, one) => sum + one.count, 0);
	return 100 * lost > LOST_PERCENT * whole || profile.expected && 100 * profile.missed / profile.expected > LOST_PERCENT ||
		profile.user_stacks && 100 * profile.whole_stacks / profile.user_stacks < WHOLE_PERCENT;
}

function factsText(head, whole) {
	const { profile } = head, parts = [countText(head, whole)];
	if (profile.duration_ns)
		parts[0] += ` in ${(profile.duration_ns / 1e9).toFixed(1)} s`;
	if (profile.cpus)
		parts.push(plural(profile.cpus, "CPU"));
	if (profile.hz && secondsOf(head))
		parts.push(profile.hz + " Hz");
	return [...parts, profile.quality].filter(Boolean).join(" · ");
}

export function showFoot(app) {
	const { head } = app, sides = app.compare ? [["before: ", { profile: head.before }, app.wholeBefore], ["after: ", head, app.whole]] : [["", head, app.whole]];
	byId("foot").classList.toggle("worrying", sides.some(([, one, whole]) => isWorrying(one, whole)));
	fill(byId("facts"), sides.map(([title, one, whole]) => {
		const text = title + factsText(one, whole), { problems } = one.profile;
		return problems.length ? el("details", {}, el("summary", {}, text),
			el("ul", {}, problems.map((problem) => el("li", {}, `${problem.what} ${thousands(problem.count)}: ${problem.words}`)))) : el("p", {}, text);
	}));
}

// Nothing to show: why, and the nearest that has something.
export function showEmpty(app) {
	const { state, db, store, head } = app, host = byId("view");
	if (!state.chips.length) {
		fill(host, el("div", { class: "message" }, el("h2", {}, "There are no samples in this profile"),
			el("p", {}, head.profile.duration_ns ? "Nothing that was asked for ran on a CPU while it was recorded. Record for longer, or without filters such as -p." :
				"What it was made from has none.")));
		return;
	}
	const without = state.chips.map((chip) => {
		const rest = state.chips.filter((one) => one !== chip), tree = buildTree(db, compileChips(db, rest), state.by);
		return { chip, sum: tree.total[0][0] };
	}).sort((a, b) => b.sum - a.sum);
	fill(host, el("div", { class: "message" }, el("h2", {}, "No samples pass these filters"),
		el("p", {}, "Take one away, or all of them:"),
		el("div", { class: "actions" }, without.map(({ chip, sum }) => el("button", { onclick: () => store.removeChip(chip) },
			`without ${chipText(chip).slice(0, 80)}: ${countText(head, sum)}`)),
		el("button", { onclick: () => store.set({ chips: [], zoom: "", select: "" }) }, `without any: ${thousands(app.whole)}`))));
}
