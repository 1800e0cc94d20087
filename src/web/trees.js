// SPDX-License-Identifier: Apache-2.0
// Trees as views walk them: children of a node on demand, in the order asked for, with their places from left to right.
// A call tree has all its nodes; those merged from the leaves, from callers or from callees make theirs when opened.
const NO_KIDS = new Int32Array(0);

class ShownTree {
	constructor(frames) {
		this.frames = frames;
		this.byName = true;
		this.cache = new Map();
	}
	setOrder(byName) {
		if (this.byName !== byName)
			this.cache.clear();
		this.byName = byName;
	}
	// Children from left to right; their places are set with them.
	kids(node) {
		let kids = this.cache.get(node);
		if (kids)
			return kids;
		kids = this.find(node);
		if (kids.length > 1) {
			const rank = this.frames.rank(), { frame, byName } = this, total = this.total[0];
			kids.sort((a, b) => !byName && total[b] - total[a] || rank[frame[a]] - rank[frame[b]]);
		}
		let x = this.x[node];
		for (const kid of kids) {
			this.x[kid] = x;
			x += this.total[0][kid];
		}
		this.cache.set(node, kids);
		return kids;
	}
	path(node) {
		const out = [];
		for (; node > 0; node = this.parent[node])
			out.unshift(node);
		return out;
	}
	// With the root, where that is a function.
	wholePath(node) {
		return this.frame[0] ? [0, ...this.path(node)] : this.path(node);
	}
	depth(node) {
		let depth = 0;
		for (; node > 0; node = this.parent[node])
			depth++;
		return depth;
	}
	names(node) {
		return this.path(node).map((one) => this.frames.name[this.frame[one]]);
	}
	// The node with these names from the root on; of a path that is not there, as far as it is.
	find_path(names) {
		let at = 0;
		for (const name of names) {
			const kid = this.kids(at).find((one) => this.frames.name[this.frame[one]] === name);
			if (kid === undefined)
				break;
			at = kid;
		}
		return at;
	}
}

export class CallTree extends ShownTree {
	constructor(frames, built) {
		super(frames);
		Object.assign(this, built);
		this.x = new Float64Array(this.count);
	}
	find(node) {
		let count = 0;
		for (let kid = this.first[node]; kid; kid = this.next[kid])
			count++;
		if (!count)
			return NO_KIDS;
		const kids = new Int32Array(count);
		for (let kid = this.first[node], i = 0; kid; kid = this.next[kid])
			kids[i++] = kid;
		return kids;
	}
}

// Merged from nodes of a call tree. A node here stands for `places`, nodes of the tree, which weigh what `weights` do.
class MergedTree extends ShownTree {
	constructor(source) {
		super(source.frames);
		this.source = source;
		this.byName = source.byName;
		this.frame = [0];
		this.parent = [0];
		this.x = [0];
		this.total = source.total.map(() => [0]);
		this.self = source.total.map(() => [0]);
		this.places = [null];
		this.weights = [null];
	}
	make(parent, frame) {
		this.frame.push(frame);
		this.parent.push(parent);
		this.x.push(0);
		this.places.push([]);
		this.weights.push([]);
		for (let s = 0; s < this.total.length; s++) {
			this.total[s].push(0);
			this.self[s].push(0);
		}
		return this.frame.length - 1;
	}
}

// From what was running, or from a function, up to who called it. `weigh` has the weight of each start.
export class CallersTree extends MergedTree {
	constructor(source, starts, weigh, top) {
		super(source);
		this.weigh = weigh;
		this.top = top;
		this.places[0] = starts;
		this.weights[0] = starts;
		for (let s = 0; s < weigh.length; s++)
			for (const start of starts)
				this.total[s][0] += weigh[s][start];
		if (top !== undefined)
			this.frame[0] = top;
	}
	find(node) {
		const { source, weigh } = this, made = new Map(), places = this.places[node], weights = this.weights[node];
		const above = node || this.top !== undefined;
		for (let i = 0; i < places.length; i++) {
			const place = above ? source.parent[places[i]] : places[i], weight = weights[i];
			if (!place) {
				for (let s = 0; s < weigh.length; s++)
					this.self[s][node] += weigh[s][weight];
				continue;
			}
			const frame = source.frame[place];
			let kid = made.get(frame);
			if (kid === undefined)
				made.set(frame, kid = this.make(node, frame));
			this.places[kid].push(place);
			this.weights[kid].push(weight);
			for (let s = 0; s < weigh.length; s++)
				this.total[s][kid] += weigh[s][weight];
		}
		return Int32Array.from(made.values());
	}
}

// From a function down to what it called.
export class CalleesTree extends MergedTree {
	constructor(source, starts, top) {
		super(source);
		this.frame[0] = top;
		this.places[0] = starts;
		this.weigh_in(0, starts);
	}
	weigh_in(node, places) {
		for (let s = 0; s < this.total.length; s++)
			for (const place of places) {
				this.total[s][node] += this.source.total[s][place];
				this.self[s][node] += this.source.self[s][place];
			}
	}
	find(node) {
		const { source } = this, made = new Map();
		for (const place of this.places[node])
			for (let kid = source.first[place]; kid; kid = source.next[kid]) {
				const frame = source.frame[kid];
				let own = made.get(frame);
				if (own === undefined)
					made.set(frame, own = this.make(node, frame));
				this.places[own].push(kid);
			}
		for (const own of made.values())
			this.weigh_in(own, this.places[own]);
		return Int32Array.from(made.values());
	}
}

export function invertTree(tree) {
	const leaves = [];
	for (let i = 1; i < tree.count; i++)
		if (tree.self.some((one) => one[i] > 0))
			leaves.push(i);
	return new CallersTree(tree, leaves, tree.self);
}

// Where a function is on the stack, not counting where it is above itself.
export function outermost(tree, fn) {
	const { frames, frame, parent } = tree, out = [], of = frames.fn;
	for (let i = 1; i < tree.count; i++) {
		if (of[frame[i]] !== fn)
			continue;
		let above = parent[i];
		while (above && of[frame[above]] !== fn)
			above = parent[above];
		if (!above)
			out.push(i);
	}
	return out;
}
