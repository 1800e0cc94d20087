// SPDX-License-Identifier: Apache-2.0
// From rows and chips to the tree that is shown. In: the tables of data.js, compiled chips, what stands at the root. Out:
// a call tree in arrays, parents before children, with self and total of each side. Pure; the cost is that of the rows.
import { taskText } from "./filters.js";
import { KIND_GROUP, KIND_MODULE, KIND_NONE } from "./data.js";

// Per task the number of its group; per group its frame, 0 for those without one.
function groupTasks(db, by) {
	const of = new Int32Array(db.tasks), frames = [0], known = new Map([["", 0]]);
	for (let task = 1; task < db.tasks && by !== "none"; task++) {
		const text = taskText(db, task, by);
		if (!known.has(text)) {
			known.set(text, frames.length);
			frames.push(db.frames.add(text, KIND_GROUP));
		}
		of[task] = known.get(text);
	}
	return { of, frames };
}

// Rows that pass, those of one group together, in the order of the tree within it.
function chooseRows(db, side, chips, groups, verdicts) {
	const { count, node, task, value } = side, { taskPass, leafPass, need, never } = chips, { of, frames } = groups;
	const starts = new Int32Array(frames.length + 1), chosen = new Int32Array(count);
	let kept = 0;
	for (let i = 0; i < count; i++) {
		const at = node[i];
		if (!value[i] || !taskPass[task[i]] || !leafPass[db.frame[at]])
			continue;
		if (verdicts && ((verdicts[at] & need) !== need || verdicts[at] & never))
			continue;
		chosen[kept++] = i;
		starts[of[task[i]] + 1]++;
	}
	for (let group = 0; group < frames.length; group++)
		starts[group + 1] += starts[group];
	const next = starts.slice(), rows = new Int32Array(kept);
	for (let i = 0; i < kept; i++)
		rows[next[of[task[chosen[i]]]]++] = chosen[i];
	return { rows, starts };
}

class TreeBuilder {
	constructor(room, sides, merge) {
		this.count = 1;
		this.parent = new Int32Array(room);
		this.frame = new Int32Array(room);
		this.self = Array.from({ length: sides }, () => new Float64Array(room));
		this.places = merge ? new Map() : null;
	}
	grow() {
		const larger = (old) => {
			const out = new old.constructor(old.length * 2);
			out.set(old);
			return out;
		};
		this.parent = larger(this.parent);
		this.frame = larger(this.frame);
		this.self = this.self.map(larger);
	}
	// `alone`: it is known that the parent has no such child yet.
	child(parent, frame, alone) {
		const key = parent * 0x1000000 + frame;
		if (!alone) {
			const found = this.places.get(key);
			if (found !== undefined)
				return found;
			this.places.set(key, this.count);
		}
		if (this.count === this.parent.length)
			this.grow();
		this.parent[this.count] = parent;
		this.frame[this.count] = frame;
		return this.count++;
	}
}

// Where a node of the data goes, below where its parent went.
function makeStep(db, chips, builder, verdicts) {
	const { hide, foldAll, foldFrames, foldModules, focus, cut } = chips, { frame: frames, parent } = db;
	const plain = !builder.places;
	if (plain)
		return (node, place) => builder.child(place, frames[node], true);
	return (node, place) => {
		let frame = frames[node];
		if (focus && (verdicts[node] & focus) !== focus || cut && verdicts[parent[node]] & cut || hide && hide[frame])
			return place;
		if (foldModules && foldModules[frame])
			frame = db.frames.add(db.frames.module[frame], KIND_MODULE);
		const above = builder.frame[place];
		if (place && frame === above && db.frames.kind[frame] === KIND_MODULE)
			return place;
		if (place && (foldAll || foldFrames && foldFrames[frame]) && db.frames.fn[frame] === db.frames.fn[above])
			return place;
		return builder.child(place, frame, false);
	};
}

function judgeNodes(db, bits) {
	const verdicts = new Int32Array(db.nodes);
	for (let i = 1; i < db.nodes; i++)
		verdicts[i] = verdicts[db.parent[i]] | (db.frames.kind[db.frame[i]] === KIND_NONE ? 0 : bits[db.frame[i]]);
	return verdicts;
}

// The paths of one group: what is known of them is kept in `place` as long as `stamp` has the group's number.
function addGroup(db, side, rows, builder, sums, step, root, drop, place, stamp, number) {
	const path = [], { parent } = db;
	for (const row of rows) {
		let node = side.node[row], at;
		path.length = 0;
		while (node && stamp[node] !== number) {
			path.push(node);
			node = parent[node];
		}
		at = node ? place[node] : root;
		while (path.length) {
			node = path.pop();
			place[node] = at = step(node, at);
			stamp[node] = number;
		}
		if (at !== root || !drop)
			builder.self[sums][at] += side.value[row];
	}
}

export function buildTree(db, chips, by) {
	const groups = groupTasks(db, by), verdicts = chips.bits ? judgeNodes(db, chips.bits) : null;
	const merge = !!(chips.hide || chips.foldAll || chips.foldFrames || chips.foldModules || chips.focus || chips.cut);
	const builder = new TreeBuilder(db.nodes + 1024, db.sides.length, merge);
	const step = makeStep(db, chips, builder, verdicts), place = new Int32Array(db.nodes), stamp = new Int32Array(db.nodes);
	const chosen = db.sides.map((side) => chooseRows(db, side, chips, groups, verdicts));
	groups.frames.forEach((frame, group) => {
		const own = chosen.map(({ rows, starts }) => rows.subarray(starts[group], starts[group + 1]));
		if (!own.some((rows) => rows.length))
			return;
		const root = group ? builder.child(0, frame, true) : 0;
		// A stack of which nothing is left is dropped, as wick report does it.
		own.forEach((rows, s) => addGroup(db, db.sides[s], rows, builder, s, step, root, !!chips.hide, place, stamp, group + 1));
	});
	return finishTree(builder);
}

function finishTree(builder) {
	const { count } = builder, parent = builder.parent.subarray(0, count), frame = builder.frame.subarray(0, count);
	const self = builder.self.map((one) => one.subarray(0, count)), first = new Int32Array(count), next = new Int32Array(count);
	const total = self.map((one) => one.slice());
	for (let i = count - 1; i > 0; i--) {
		const up = parent[i];
		for (const one of total)
			one[up] += one[i];
		next[i] = first[up];
		first[up] = i;
	}
	return { count, parent, frame, self, total, first, next };
}

// Each function once: how much of it was running, and was on the stack; a stack counts once.
export function sumFunctions(db, tree) {
	const { fn, fnFrame, kind } = db.frames, active = new Int32Array(fnFrame.length);
	const self = tree.self.map(() => new Float64Array(fnFrame.length)), total = tree.self.map(() => new Float64Array(fnFrame.length));
	let at = tree.first[0];
	while (at) {
		const own = fn[tree.frame[at]];
		for (let s = 0; s < self.length; s++) {
			self[s][own] += tree.self[s][at];
			if (!active[own])
				total[s][own] += tree.total[s][at];
		}
		active[own]++;
		if (tree.first[at]) {
			at = tree.first[at];
			continue;
		}
		for (;;) {
			active[fn[tree.frame[at]]]--;
			if (tree.next[at]) {
				at = tree.next[at];
				break;
			}
			at = tree.parent[at];
			if (!at)
				break;
		}
	}
	const list = [];
	for (let i = 0; i < fnFrame.length; i++)
		if (kind[fnFrame[i]] !== KIND_GROUP && total.some((one) => one[i] > 0))
			list.push(i);
	return { list: Int32Array.from(list), self, total };
}

// The functions that were running most, the first of them.
export function runningMost(sums, most) {
	const top = [], self = sums.self[0];
	for (const fn of sums.list) {
		let at = top.length;
		while (at && self[top[at - 1]] < self[fn])
			at--;
		if (at === most)
			continue;
		top.splice(at, 0, fn);
		top.length = Math.min(top.length, most);
	}
	return top;
}

// How much of all has a frame that matches; and of how many functions.
export function sumMatches(db, tree, match) {
	const inside = new Uint8Array(tree.count), found = new Set();
	let sum = 0;
	for (let i = 1; i < tree.count; i++) {
		const yes = match[tree.frame[i]];
		if (yes) {
			found.add(db.frames.fn[tree.frame[i]]);
			if (!inside[tree.parent[i]])
				sum += tree.total[0][i];
		}
		inside[i] = yes | inside[tree.parent[i]];
	}
	return { sum, functions: found.size };
}

// Sums by the kind or module of what was running, or by the group at the root, the largest first.
export function sumBy(db, tree, key) {
	const sums = new Map(), group = key === "group" ? new Int32Array(tree.count) : null, { kind, module, name } = db.frames;
	for (let i = 1; i < tree.count; i++) {
		const frame = tree.frame[i];
		if (group)
			group[i] = kind[frame] === KIND_GROUP ? frame : group[tree.parent[i]];
		if (!tree.self[0][i])
			continue;
		const of = key === "kind" ? kind[frame] : key === "module" ? module[frame] : group[i] ? name[group[i]] : "";
		sums.set(of, (sums.get(of) || 0) + tree.self[0][i]);
	}
	return [...sums].sort((a, b) => b[1] - a[1]);
}

const Z = 1.959963984540054; // of the normal distribution, for 95 %

function wilson(count, sum) {
	if (!sum)
		return { is: 0, low: 0, high: 1 };
	const p = count / sum, centre = (p + Z * Z / (2 * sum)) / (1 + Z * Z / sum);
	const half = Z / (1 + Z * Z / sum) * Math.sqrt(p * (1 - p) / sum + Z * Z / (4 * sum * sum));
	return { is: p, low: count ? centre - half : 0, high: count < sum ? centre + half : 1 };
}

// How a share changed, in points of percent, with the interval of 95 % (Newcombe); as src/profile/diff.c does it.
export function changeOf(before, beforeSum, after, afterSum) {
	const old = wilson(before, beforeSum), now = wilson(after, afterSum), points = now.is - old.is;
	const low = points - Math.hypot(now.is - now.low, old.high - old.is), high = points + Math.hypot(now.high - now.is, old.is - old.low);
	return { points: 100 * points, low: 100 * low, high: 100 * high, real: low > 0 || high < 0 };
}

// Functions that surely run more or less than before, the largest change first.
export function largestChanges(sums, tree) {
	const change = (fn) => changeOf(sums.self[1][fn], tree.total[1][0], sums.self[0][fn], tree.total[0][0]);
	return [...sums.list].map((fn) => ({ fn, ...change(fn) })).filter((one) => one.real).sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
}
