// SPDX-License-Identifier: Apache-2.0
// When within their seconds samples were taken: seconds across, milliseconds down, darker for more. A rectangle is exactly
// its moments: within one second a range, over several a range and the part of each second.
import { Plot, showWords } from "./plot.js";
import { clock, readSpan } from "./ranges.js";
import { plural } from "./format.js";

const SHADES = 24, SECOND_MS = 1000;
// From little to much, on light and on dark ground; even in lightness, safe for colour-blind eyes.
const SCALES = { light: [[238, 242, 247], [250, 205, 120], [222, 110, 50], [140, 26, 60], [60, 8, 50]], dark: [[32, 36, 44], [84, 32, 92], [180, 54, 84], [245, 130, 60], [252, 235, 150]] };

function shade(scale, part) {
	const at = Math.min(0.999, part) * (scale.length - 1), i = Math.floor(at), t = at - i;
	return scale[i].map((one, k) => Math.round(one + (scale[i + 1][k] - one) * t));
}

const isDark = () => {
	const { theme } = document.documentElement.dataset;
	return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export class Heat {
	constructor(strip) {
		this.strip = strip;
		this.dragged = null;
		this.cursor = null;
		this.picture = document.createElement("canvas");
		this.plot = new Plot("Heat map, seconds across, milliseconds down: arrows move, with Shift they stretch the part, Escape lets go", {
			draw: (context, width, height) => this.draw(context, width, height), drag: (from, to, done) => this.drag(from, to, done), click: (at) => this.choose(this.cell(at), this.cell(at)),
			over: (at) => this.over(at), key: (event) => this.key(event), zoom: (factor, at, pan) => strip.zoom(factor, at / this.plot.width, pan), reset: () => strip.see(null),
		});
		this.host = this.plot.host;
		this.host.classList.add("heat");
	}
	// The column and row of a point.
	cell(at) {
		const { columns, rows } = this.strip.heat || { columns: 1, rows: 1 };
		return [Math.min(columns - 1, Math.floor(at.x / this.plot.width * columns)), Math.min(rows - 1, Math.floor(at.y / this.plot.height * rows))];
	}
	paintCells() {
		const { heat } = this.strip, { columns, rows, counts } = heat, scale = SCALES[isDark() ? "dark" : "light"], key = scale[0][0] + ":" + columns;
		if (this.painted === heat && this.look === key)
			return;
		const context = this.picture.getContext("2d"), image = new ImageData(columns, rows), shades = Array.from({ length: SHADES + 1 }, (_, i) => shade(scale, i / SHADES));
		for (let column = 0; column < columns; column++)
			for (let row = 0; row < rows; row++) {
				const count = counts[column * rows + row], at = 4 * (row * columns + column), colour = shades[count ? Math.max(3, Math.round(SHADES * count / heat.most)) : 0];
				image.data.set([...colour, 255], at);
			}
		this.picture.width = columns;
		this.picture.height = rows;
		context.putImageData(image, 0, 0);
		this.painted = heat;
		this.look = key;
	}
	draw(context, width, height) {
		const { strip, plot } = this, { heat } = strip;
		if (!heat || !heat.columns)
			return;
		this.paintCells();
		context.imageSmoothingEnabled = false;
		context.drawImage(this.picture, 0, 0, width, height);
		const end = heat.from_ms + heat.columns * SECOND_MS, x = (at) => (at - heat.from_ms) / (end - heat.from_ms) * width;
		for (const gap of strip.gaps)
			if (gap.to_ms > heat.from_ms && gap.from_ms < end)
				plot.hatch(context, Math.max(0, x(gap.from_ms)), Math.min(width, x(gap.to_ms)), 0, height, plot.colour("quiet"));
		plot.axis(context, heat.from_ms, end, x);
		for (const [part, text] of [[0, "0 ms"], [0.5, "500"], [1, "1000"]])
			plot.side(context, part * height, text);
		for (const [which, span] of Object.entries(strip.spans()))
			if (span && which !== "live")
				this.drawSpan(context, width, height, span, which);
		if (this.dragged)
			this.drawBox(context, width, height, ...this.dragged, "accent", "");
	}
	drawBox(context, width, height, [c0, r0], [c1, r1], colour, letter) {
		const { columns, rows } = this.strip.heat;
		this.plot.mark(context, c0 / columns * width, r0 / rows * height, (c1 + 1) / columns * width, (r1 + 1) / rows * height, letter, this.plot.colour(colour));
	}
	// A range: in one second a part of its column, else whole columns, or their part.
	drawSpan(context, width, height, { from, to }, which) {
		const { heat } = this.strip, band = which === "a" ? readSpan(this.strip.offsets) : null, x = (at) => (at - heat.from_ms) / SECOND_MS / heat.columns * width;
		const first = Math.floor(from / SECOND_MS) * SECOND_MS, y = (ms) => ms / SECOND_MS * height, colour = this.plot.colour(which === "b" ? "second" : "accent");
		if (to <= heat.from_ms || from >= heat.from_ms + heat.columns * SECOND_MS)
			return;
		if (to <= first + SECOND_MS)
			this.plot.mark(context, x(first), y(from - first), x(first + SECOND_MS), y(to - first), "", colour);
		else
			this.plot.mark(context, Math.max(-1, x(first)), band ? y(band.from) : 0, Math.min(width + 1, x(Math.ceil(to / SECOND_MS) * SECOND_MS)), band ? y(band.to) : height, band ? "" : which.toUpperCase(), colour);
	}
	box(one, two) {
		return [[Math.min(one[0], two[0]), Math.min(one[1], two[1])], [Math.max(one[0], two[0]), Math.max(one[1], two[1])]];
	}
	drag(start, at, done) {
		this.dragged = start ? this.box(this.cell(start), this.cell(at)) : null;
		if (start && done) {
			const [one, two] = this.dragged;
			this.dragged = null;
			this.choose(one, two);
		} else if (start) {
			showWords(at, [this.words(...this.dragged)]);
		}
		this.plot.redraw();
	}
	words(one, two) {
		const span = this.span(one, two);
		return this.strip.words(span, span.offsets);
	}
	// The moments of a rectangle.
	span([c0, r0], [c1, r1]) {
		const { heat } = this.strip, each = SECOND_MS / heat.rows, from = heat.from_ms + c0 * SECOND_MS;
		if (c0 === c1)
			return { from: from + r0 * each, to: from + (r1 + 1) * each, offsets: "" };
		return { from, to: heat.from_ms + (c1 + 1) * SECOND_MS, offsets: r0 === 0 && r1 === heat.rows - 1 ? "" : r0 * each + "-" + (r1 + 1) * each };
	}
	choose(one, two, quiet) {
		if (this.strip.heat)
			this.strip.choose("a", this.span(one, two), quiet);
	}
	over(at) {
		const { heat } = this.strip;
		this.plot.canvas.style.cursor = "crosshair";
		if (!at || !heat || at.touch)
			return showWords(null);
		const [column, row] = this.cell(at), each = SECOND_MS / heat.rows;
		return showWords(at, [clock(heat.from_ms + column * SECOND_MS, { fine: 1, day: true }), `${row * each}–${(row + 1) * each} ms: ${plural(heat.counts[column * heat.rows + row] || 0, "sample")}`]);
	}
	key(event) {
		const { heat } = this.strip, way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
		if (this.strip.zoomKey(event.key))
			return true;
		if (event.key === "Escape") {
			this.cursor = null;
			return this.strip.letGo();
		}
		if (!way || !heat)
			return false;
		const inside = ([column, row]) => [Math.min(heat.columns - 1, Math.max(0, column)), Math.min(heat.rows - 1, Math.max(0, row))], cursor = this.cursor;
		const at = cursor ? inside([cursor.at[0] + way[0], cursor.at[1] + way[1]]) : inside([heat.columns >> 1, 0]);
		this.cursor = { at, from: cursor && event.shiftKey ? cursor.from : at };
		this.choose(...this.box(this.cursor.from, at), true);
		return true;
	}
	destroy() {
		this.plot.destroy();
	}
}
