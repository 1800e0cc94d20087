// SPDX-License-Identifier: Apache-2.0
// CPU over time, stacked; on top of it the curve of the selected function. Dragging chooses range A, with Shift range B;
// where nothing was recorded, and where samples were lost, it is hatched.
import { Plot, showWords } from "./plot.js";
import { clock, roundUp } from "./ranges.js";

const SPILL = 1.5, GRIP = 6, TOLD = 6, SNAP = 7, ROUND = [60000, 10000, 1000, 100, 10]; // ms, within so many pixels

export class Timeline {
	constructor(strip) {
		this.strip = strip;
		this.dragged = null;
		this.plot = new Plot("CPU over time: arrows move the range, with Shift its end; plus and minus zoom, 0 shows all, Escape lets go", {
			draw: (context, width, height) => this.draw(context, width, height), drag: (from, to, done) => this.drag(from, to, done), click: () => {},
			over: (at) => this.over(at), key: (event) => this.key(event), zoom: (factor, at, pan) => strip.zoom(factor, at / this.plot.width, pan), reset: () => strip.see(null),
		});
		this.host = this.plot.host;
		this.host.classList.add("timeline");
	}
	x(at) {
		const { from, to } = this.strip.view;
		return (at - from) / (to - from) * this.plot.width;
	}
	time(x) {
		const { from, to } = this.strip.view;
		return Math.round(from + x / this.plot.width * (to - from));
	}
	// To a round moment that is not seen to be another.
	snap(moment) {
		const pixel = (this.strip.view.to - this.strip.view.from) / this.plot.width, step = ROUND.find((one) => one <= SNAP * pixel) || 1;
		return Math.round(moment / step) * step;
	}
	// Values of a cell to cores, or to samples a second where the rate is not known.
	scale() {
		const { series, hz } = this.strip, seconds = (series.to_ms - series.from_ms) / series.cells / 1000;
		return 1 / (seconds * (hz || 1));
	}
	draw(context, width, height) {
		const { strip, plot } = this, { series, view } = strip;
		if (!view)
			return;
		if (series)
			this.drawCurves(context, width, height);
		for (const gap of strip.gaps)
			plot.hatch(context, Math.max(0, this.x(gap.from_ms)), Math.min(width, this.x(gap.to_ms)), 0, height, plot.colour("quiet"));
		for (const { at_ms, ms } of strip.losses())
			plot.hatch(context, Math.max(0, this.x(at_ms)), Math.max(this.x(at_ms) + 6, this.x(at_ms + ms)), 0, 10, plot.colour("bad"));
		if (series && strip.curve)
			this.drawCurve(context, strip.curve, height);
		plot.axis(context, view.from, view.to, (at) => this.x(at));
		for (const [which, span] of Object.entries({ ...strip.spans(), ...this.dragged ? { [this.dragged.which]: this.dragged } : {} }))
			if (span && span.to > view.from && span.from < view.to)
				plot.mark(context, Math.max(-1, this.x(span.from)), 0, Math.min(width + 1, this.x(span.to)), height, which === "live" ? null : which.toUpperCase(), plot.colour(which === "b" ? "second" : "accent"));
	}
	drawCurves(context, width, height) {
		const { series, cpus, hz } = this.strip, scale = this.scale(), sums = new Float64Array(series.cells), own = new Float64Array(series.cells);
		for (const { values } of series.curves)
			values.forEach((value, i) => sums[i] += value);
		let top = 0;
		for (const sum of sums)
			top = Math.max(top, sum * scale);
		this.top = roundUp(hz && cpus && top > 0.6 * cpus && top <= SPILL * cpus ? cpus : top);
		const cell = (series.to_ms - series.from_ms) / series.cells, left = (i) => this.x(series.from_ms + i * cell);
		for (const { name, values } of series.curves) {
			context.fillStyle = this.strip.colourOf(name);
			for (let i = 0; i < series.cells; i++) {
				if (!values[i])
					continue;
				const from = Math.max(0, Math.round(left(i))), to = Math.min(width, Math.max(from + 1, Math.round(left(i + 1)))), y = Math.max(0, height - (own[i] + values[i]) * scale / this.top * height);
				if (to > from)
					context.fillRect(from, y, to - from, Math.max(0, height - own[i] * scale / this.top * height - y));
				own[i] += values[i];
			}
		}
		const unit = hz ? this.top === 1 ? " core" : " cores" : "/s";
		this.plot.side(context, 0, this.top + unit);
		this.plot.side(context, height, "0");
		context.strokeStyle = this.plot.colour("line");
		context.setLineDash([2, 3]);
		context.beginPath();
		for (const part of [0.5, 1]) {
			context.moveTo(0, Math.round(height * (1 - part)) + 0.5);
			context.lineTo(width, Math.round(height * (1 - part)) + 0.5);
		}
		context.stroke();
		context.setLineDash([]);
	}
	drawCurve(context, curve, height) {
		const cell = (curve.to_ms - curve.from_ms) / curve.cells, factor = 1000 / cell / (this.strip.hz || 1);
		const values = curve.curves.length ? curve.curves[0].values : new Array(curve.cells).fill(0);
		for (const [colour, wide] of [[this.plot.colour("ground"), 4], [this.plot.colour("ink"), 1.75]]) {
			context.strokeStyle = colour;
			context.lineWidth = wide;
			context.lineJoin = "round";
			context.beginPath();
			values.forEach((value, i) => {
				const y = Math.max(1, height - value * factor / this.top * height) - 0.5;
				context.lineTo(this.x(curve.from_ms + i * cell), y);
				context.lineTo(this.x(curve.from_ms + (i + 1) * cell), y);
			});
			context.stroke();
		}
		context.lineWidth = 1;
	}
	// Which range a drag is of: one whose edge it took, B with Shift, or where the button says so, else A.
	grip(start) {
		for (const [which, span] of Object.entries(this.strip.spans()))
			if (span && which !== "live")
				for (const [edge, other] of [["from", "to"], ["to", "from"]])
					if (Math.abs(this.x(span[edge]) - start.x) <= GRIP)
						return { which, fixed: span[other] };
		return { which: start.shift || this.strip.second ? "b" : "a", fixed: this.snap(this.time(start.x)) };
	}
	drag(start, at, done) {
		if (!start) {
			this.dragged = this.held = null;
			return this.plot.redraw();
		}
		this.held = this.held || this.grip(start);
		const { which, fixed } = this.held, moment = this.snap(this.time(at.x)), span = { which, from: Math.min(fixed, moment), to: Math.max(fixed, moment) };
		this.dragged = done ? null : span;
		if (done) {
			this.held = null;
			if (span.to > span.from)
				this.strip.choose(which, span);
		} else {
			showWords(at, [this.strip.words(span)]);
		}
		return this.plot.redraw();
	}
	over(at) {
		const { series, gaps } = this.strip;
		if (!at || !series || at.touch)
			return showWords(null);
		const moment = this.time(at.x), gap = gaps.find((one) => one.from_ms <= moment && moment < one.to_ms), i = Math.floor((moment - series.from_ms) / (series.to_ms - series.from_ms) * series.cells);
		const edge = Object.entries(this.strip.spans()).some(([which, span]) => span && which !== "live" && (Math.abs(this.x(span.from) - at.x) <= GRIP || Math.abs(this.x(span.to) - at.x) <= GRIP));
		this.plot.canvas.style.cursor = edge ? "ew-resize" : "crosshair";
		if (gap)
			return showWords(at, [`nothing kept: ${gap.why}`, `${clock(gap.from_ms, { fine: 1 })} → ${clock(gap.to_ms, { fine: 1 })}`]);
		if (i < 0 || i >= series.cells)
			return showWords(null);
		const scale = this.scale(), unit = this.strip.hz ? "cores" : "samples/s";
		const told = series.curves.filter(({ values }) => values[i]).sort((a, b) => b.values[i] - a.values[i]).slice(0, TOLD).map(({ name, values }) => `${(values[i] * scale).toFixed(2)} ${unit}  ${(name || this.strip.nameless()).slice(0, 80)}`);
		const fn = this.strip.curve && this.strip.curve.curves.length ? this.strip.curve.curves[0] : null;
		if (fn && this.strip.curve.cells === series.cells)
			told.push(`${((fn.values[i] || 0) * scale).toFixed(2)} ${unit}  ${fn.name.slice(0, 80)}, the line`);
		return showWords(at, [clock(moment, { fine: 1, day: true }), ...told.length ? told : ["idle"]]);
	}
	// Keys on the timeline; whether it knew it.
	key(event) {
		const { strip } = this, { view } = strip, which = strip.second ? "b" : "a", way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (strip.zoomKey(event.key))
			return true;
		if (event.key === "Escape")
			return strip.letGo();
		if (!way || !view)
			return false;
		const whole = view.to - view.from, step = Math.max(whole > 60000 ? 1000 : 20, whole / 50), span = strip.spans()[which];
		if (!span) {
			const middle = view.from + whole * (which === "b" ? 0.3 : 0.5);
			strip.choose(which, { from: middle, to: middle + whole / 10 }, true);
		} else if (event.shiftKey) {
			strip.choose(which, { from: span.from, to: Math.max(span.from + step, span.to + way * step) }, true);
		} else {
			strip.choose(which, { from: span.from + way * step, to: span.to + way * step }, true);
		}
		return true;
	}
	destroy() {
		this.plot.destroy();
	}
}
