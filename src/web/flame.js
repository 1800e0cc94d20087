// SPDX-License-Identifier: Apache-2.0
// A flame graph on a canvas. In: a tree of trees.js, a painter, where it is zoomed. Out: a picture, and which node is
// where. What is drawn is found row by row: of each drawn frame those children that are in sight and at least half a
// pixel wide. Rows are kept, in order, for finding what is under the pointer by bisection.
import { fitName } from "./format.js";
import { MATCHED } from "./colours.js";
import { NAME_FONT, columnsIn, el, reducedMotion } from "./dom.js";

export const ROW = 19;
const LEAST = 0.5, TEXT_LEAST = 26, INSET = 4, EASE_MS = 200;

function partsOf(colour) {
	return colour.startsWith("#") ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) : colour.match(/\d+/g).map(Number);
}

// Black or white, whichever has more contrast.
function textOn(fill) {
	const light = partsOf(fill).map((part) => (part / 255) ** 2.2);
	return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.18 ? "#14161a" : "#ffffff";
}

// Where each drawn node of a graph began, as parts of the width: where it was in the old tree, or nothing wide in its parent.
function startsOf(graph, old, place) {
	const { tree, rows } = graph, twins = new Map([[0, 0]]), starts = new Map(), kids = new Map();
	const key = (from, node) => from.frames.name[from.frame[node]] + "\n" + from.frames.kind[from.frame[node]];
	const twinsOf = (parent) => {
		if (!kids.has(parent))
			kids.set(parent, new Map([...old.kids(parent)].map((kid) => [key(old, kid), kid])));
		return kids.get(parent);
	};
	for (const row of rows)
		for (const node of row) {
			const above = twins.get(tree.parent[node]), twin = node ? above === undefined ? undefined : twinsOf(above).get(key(tree, node)) : 0;
			if (twin !== undefined) {
				twins.set(node, twin);
				starts.set(node, place(twin));
			} else {
				const parent = tree.parent[node], [left, right] = starts.get(parent), at = left + (right - left) * (tree.x[node] - tree.x[parent]) / tree.total[0][parent];
				starts.set(node, [at, at]);
			}
		}
	return starts;
}

export class Flame {
	// `up`: the root is at the bottom.
	constructor(host, up, label) {
		this.up = up;
		this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": label, "aria-describedby": "path" });
		this.mark = el("div", { class: "mark", hidden: true });
		this.hoverMark = el("div", { class: "mark hover", hidden: true });
		this.spacer = el("div", { class: "spacer" });
		this.host = host;
		host.replaceChildren(this.spacer, el("div", { class: "stage" }, this.canvas, this.mark, this.hoverMark));
		this.context = this.canvas.getContext("2d", { alpha: false });
		this.rows = [];
		this.from = 0;
		this.to = 1;
		this.zoomed = 0;
		this.selected = -1;
		this.texts = new Map();
		this.below = 0; // how much of the picture is under the window: a root at the bottom stays where it is
		this.scrolled = () => {
			this.below = this.height - host.scrollTop - host.clientHeight;
			this.paint();
		};
		host.addEventListener("scroll", this.scrolled, { passive: true });
	}
	destroy() {
		this.host.removeEventListener("scroll", this.scrolled);
		cancelAnimationFrame(this.frameRequest);
		this.host.replaceChildren();
	}
	show(tree, painter, match) {
		if (tree !== this.tree)
			this.zoomed = 0;
		Object.assign(this, { tree, painter, match, fills: new Map() });
	}
	// Other data in the place of what is shown: each frame moves from where it was, found by its path, to where it is now.
	follow(tree, painter, match, zoomed) {
		const old = this.tree, scale = 1 / (this.to - this.from), from = this.from, start = performance.now();
		const held = Math.abs(this.goal()[0] - from) + Math.abs(this.goal()[1] - this.to) > 1e-9, whole = tree.total[0][0] / old.total[0][0];
		cancelAnimationFrame(this.frameRequest);
		this.show(tree, painter, match);
		this.zoomed = zoomed;
		[this.from, this.to] = held ? [from * whole, this.to * whole] : this.goal();
		this.layout();
		if (reducedMotion())
			return;
		this.moving = startsOf(this, old, (node) => [(old.x[node] - from) * scale, (old.x[node] + old.total[0][node] - from) * scale]);
		const step = (now) => {
			const t = Math.min(1, Math.max(0, (now - start) / EASE_MS));
			this.part = 1 - (1 - t) ** 3;
			if (t >= 1)
				this.moving = null;
			else
				this.frameRequest = requestAnimationFrame(step);
			this.paint();
		};
		step(start);
	}
	// From where to where a node is drawn, in pixels.
	edges(node, width) {
		const { tree } = this, scale = width / (this.to - this.from);
		let left = (tree.x[node] - this.from) * scale, right = left + tree.total[0][node] * scale;
		const old = this.moving && this.moving.get(node);
		if (old) {
			left = old[0] * width + (left - old[0] * width) * this.part;
			right = old[1] * width + (right - old[1] * width) * this.part;
		}
		this.left = Math.max(0, left);
		this.right = Math.min(width, right);
	}
	goal() {
		const { tree, zoomed } = this, width = tree.total[0][zoomed];
		return [tree.x[zoomed], tree.x[zoomed] + (width || 1)];
	}
	// Zoom to a node; widths ease unless that is not wanted.
	zoom(node, ease) {
		this.zoomed = node;
		const [from, to] = this.goal(), old = [this.from, this.to], start = performance.now();
		cancelAnimationFrame(this.frameRequest);
		this.hover(-1);
		if (!ease || reducedMotion()) {
			[this.from, this.to] = [from, to];
			this.layout();
			this.settle();
			return;
		}
		const step = (now) => {
			const t = Math.min(1, Math.max(0, (now - start) / EASE_MS)), k = 1 - (1 - t) ** 3;
			this.from = old[0] + (from - old[0]) * k;
			this.to = old[1] + (to - old[1]) * k;
			this.layout();
			if (t < 1)
				this.frameRequest = requestAnimationFrame(step);
			else
				this.settle();
		};
		this.frameRequest = requestAnimationFrame(step);
	}
	// From here to there, at once, whatever was easing. Of several between two pictures each counts, and one is laid out.
	look(from, to) {
		cancelAnimationFrame(this.frameRequest);
		[this.from, this.to] = [from, to];
		this.frameRequest = requestAnimationFrame(() => this.layout());
	}
	// What is in sight, row by row.
	layout() {
		this.moving = null;
		const { tree, from, to } = this, width = this.host.clientWidth, total = tree.total[0], { x } = tree;
		const least = LEAST * (to - from) / width;
		let row = [0];
		this.rows = [];
		while (row.length) {
			const below = [];
			this.rows.push(row);
			for (const node of row) {
				const kids = tree.kids(node);
				let low = 0, high = kids.length;
				while (low < high) {
					const middle = low + high >> 1;
					if (x[kids[middle]] + total[kids[middle]] > from)
						high = middle;
					else
						low = middle + 1;
				}
				for (; low < kids.length && x[kids[low]] < to; low++)
					if (total[kids[low]] >= least)
						below.push(kids[low]);
			}
			row = below;
		}
		const height = this.rows.length * ROW, room = this.host.clientHeight;
		this.height = Math.max(height, room);
		if (this.spacer.offsetHeight !== this.height)
			this.spacer.style.height = this.height + "px";
		if (this.up)
			this.host.scrollTop = this.height - room - this.below;
		this.paint();
	}
	scrollTo(y) {
		this.host.scrollTop = y;
		this.below = this.height - this.host.scrollTop - this.host.clientHeight;
	}
	top(depth) {
		return this.up ? this.height - (depth + 1) * ROW : depth * ROW;
	}
	fillOf(node) {
		let fill = this.fills.get(node);
		if (!fill)
			this.fills.set(node, fill = this.painter.fill(this.tree.frame[node], node, this.tree));
		return fill;
	}
	inkOf(fill) {
		let ink = this.texts.get(fill);
		if (!ink)
			this.texts.set(fill, ink = textOn(fill));
		return ink;
	}
	paint() {
		if (!this.tree)
			return;
		const { host, canvas, context, tree } = this, width = host.clientWidth, height = host.clientHeight, ratio = devicePixelRatio || 1;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		const style = getComputedStyle(host), zoomDepth = tree.depth(this.zoomed);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.ground = style.getPropertyValue("--ground").trim();
		context.fillStyle = this.ground;
		context.fillRect(0, 0, width, height);
		this.drawRows(context, width, host.scrollTop, height, zoomDepth);
		this.placeMark(this.mark, this.selected);
	}
	drawRows(context, width, scroll, height, zoomDepth) {
		const { tree, rows } = this;
		context.font = NAME_FONT;
		context.textBaseline = "middle";
		for (let depth = 0; depth < rows.length; depth++) {
			const y = this.top(depth) - scroll;
			if (y > height || y + ROW < 0)
				continue;
			for (const node of rows[depth])
				this.drawFrame(context, node, tree, y, width, depth < zoomDepth);
		}
	}
	// What is above the zoom is paler: mixed with the ground.
	pale(fill) {
		const key = this.ground + fill;
		let mixed = this.texts.get(key);
		if (!mixed) {
			const [one, two] = [partsOf(fill), partsOf(this.ground)];
			this.texts.set(key, mixed = `rgb(${one.map((part, i) => Math.round(part * 0.55 + two[i] * 0.45)).join(",")})`);
		}
		return mixed;
	}
	drawFrame(context, node, tree, y, width, faded) {
		this.edges(node, width);
		const { left, right } = this;
		const wide = Math.max(LEAST, right - left - (right - left > 2 ? 1 : 0)), frame = tree.frame[node];
		const own = this.match && this.match[frame] ? MATCHED : node || frame ? this.fillOf(node) : "#d2d2d6", fill = faded ? this.pale(own) : own;
		context.fillStyle = fill;
		context.fillRect(left, y, wide, ROW - 1);
		if (wide < TEXT_LEAST)
			return;
		const text = fitName(node || frame ? tree.frames.name[frame] : "all", columnsIn(wide - 2 * INSET));
		if (text) {
			context.fillStyle = this.inkOf(fill);
			context.fillText(text, left + INSET, y + ROW / 2);
		}
	}
	placeMark(mark, node) {
		const shown = node >= 0 ? this.box(node) : null;
		mark.hidden = !shown;
		if (shown) {
			mark.style.transform = `translate(${shown.left}px, ${shown.top}px)`;
			mark.style.width = shown.width + "px";
		}
	}
	// Where a node is on the screen, relative to the host; null if it is not drawn.
	box(node) {
		const { tree } = this, depth = tree.depth(node);
		if (!this.rows[depth] || !this.rows[depth].includes(node))
			return null;
		this.edges(node, this.host.clientWidth);
		const { left, right } = this;
		return { left, width: Math.max(2, right - left - 1), top: this.top(depth) - this.host.scrollTop, depth };
	}
	// The node at a point of the host, or -1.
	hit(px, py) {
		const { tree } = this, y = py + this.host.scrollTop;
		const depth = Math.floor((this.up ? this.height - y : y) / ROW), row = this.rows[depth];
		if (!row)
			return -1;
		const value = this.from + px / this.host.clientWidth * (this.to - this.from);
		let low = 0, high = row.length;
		while (low < high) {
			const middle = low + high >> 1;
			if (tree.x[row[middle]] <= value)
				low = middle + 1;
			else
				high = middle;
		}
		const node = low ? row[low - 1] : -1;
		return node >= 0 && value < tree.x[node] + tree.total[0][node] ? node : -1;
	}
	hover(node) {
		this.placeMark(this.hoverMark, node);
	}
	// Selects, and brings its row into sight.
	select(node, reveal) {
		this.selected = node;
		if (reveal && node >= 0) {
			const y = this.top(this.tree.depth(node)), { host } = this;
			if (y < host.scrollTop || y + ROW > host.scrollTop + host.clientHeight)
				this.scrollTo(y - host.clientHeight / 2);
		}
		this.placeMark(this.mark, node);
	}
	settle() {
		if (this.up && this.zoomed)
			this.select(this.selected, true);
	}
	// The next drawn node: "up" and "down" on the screen, "left" and "right" in the row.
	step(node, way) {
		const { tree } = this, out = this.up ? "up" : "down", depth = tree.depth(node);
		if (node < 0)
			return this.step(0, out);
		if (way === "up" || way === "down") {
			if (way !== out)
				return node ? tree.parent[node] : 0;
			const below = this.rows[depth + 1] ? this.rows[depth + 1].filter((one) => tree.parent[one] === node) : [];
			return below.length ? below.reduce((best, one) => tree.total[0][one] > tree.total[0][best] ? one : best) : node;
		}
		const row = this.rows[depth] || [], at = row.indexOf(node);
		return row[at + (way === "left" ? -1 : 1)] ?? node;
	}
}
