// SPDX-License-Identifier: Apache-2.0
// What the timeline and the heat map share: a canvas as wide as there is room, an axis of time below, fingers, mouse and
// wheel on it. Whoever uses it says what to draw, and is told which part was dragged over.
import { byId, el, fill } from "./dom.js";
import { timeMarks } from "./ranges.js";

const AXIS = 18; // pixels, below
const LEFT = 54; // for what the other axis says
const DRAG_LEAST = 4, MARK_WIDTH = 90;

// Lines beside the pointer; null: none.
export function showWords(at, lines) {
	const tip = byId("tip");
	tip.hidden = !at;
	if (!at)
		return;
	fill(tip, lines.map((line, i) => el(i ? "span" : "b", {}, line)));
	tip.style.left = Math.max(4, Math.min(at.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
	tip.style.top = (at.clientY + 22 + tip.offsetHeight > innerHeight ? at.clientY - tip.offsetHeight - 14 : at.clientY + 22) + "px";
}

export class Plot {
	// tell: draw(context, width, height), drag(from, to, keys, over), over(point), key(event), zoom(factor, at), pan(part), reset()
	constructor(label, tell) {
		this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": label });
		this.host = el("div", { class: "plot" }, this.canvas);
		this.context = this.canvas.getContext("2d", { alpha: false });
		this.tell = tell;
		this.queued = 0;
		this.observer = new ResizeObserver(() => this.redraw());
		this.observer.observe(this.host);
		wirePointers(this);
	}
	get width() {
		return Math.max(10, this.host.clientWidth - LEFT);
	}
	get height() {
		return Math.max(10, this.host.clientHeight - AXIS);
	}
	colour(name) {
		return this.style.getPropertyValue("--" + name).trim();
	}
	redraw() {
		cancelAnimationFrame(this.queued);
		this.queued = requestAnimationFrame(() => this.paint());
	}
	paint() {
		const { host, canvas, context } = this, ratio = devicePixelRatio || 1, width = host.clientWidth, height = host.clientHeight;
		if (!width || !height)
			return;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		this.style = getComputedStyle(host);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = this.colour("ground");
		context.fillRect(0, 0, width, height);
		context.font = "11px system-ui, sans-serif";
		context.save();
		context.translate(LEFT, 0);
		this.tell.draw(context, this.width, this.height);
		context.restore();
	}
	axis(context, from, to, x) {
		context.fillStyle = this.colour("quiet");
		context.strokeStyle = this.colour("line");
		context.textBaseline = "middle";
		context.textAlign = "center";
		for (const { at, text } of timeMarks(from, to, Math.max(2, this.width / MARK_WIDTH))) {
			const left = Math.round(x(at)) + 0.5, half = context.measureText(text).width / 2;
			context.beginPath();
			context.moveTo(left, this.height);
			context.lineTo(left, this.height + 4);
			context.stroke();
			context.fillText(text, Math.min(this.width - half, Math.max(half - LEFT + 2, left)), this.height + 11);
		}
	}
	// Words at the left, such as how many cores.
	side(context, y, text) {
		context.fillStyle = this.colour("quiet");
		context.textAlign = "right";
		context.textBaseline = "middle";
		const words = context.measureText(text).width > LEFT - 8 ? text.split(" ") : [text];
		words.forEach((word, i) => context.fillText(word, -6, Math.min(this.height - 5, Math.max(7, y)) + 12 * i));
	}
	// Lines across, where nothing is known.
	hatch(context, left, right, top, bottom, colour) {
		context.save();
		context.beginPath();
		context.rect(left, top, Math.max(2, right - left), bottom - top);
		context.clip();
		context.fillStyle = this.colour("panel");
		context.fillRect(left, top, Math.max(2, right - left), bottom - top);
		context.strokeStyle = colour;
		context.lineWidth = 1;
		context.beginPath();
		for (let x = Math.floor((left - bottom) / 7) * 7; x < right + 7; x += 7) {
			context.moveTo(x, bottom);
			context.lineTo(x + bottom - top, top);
		}
		context.stroke();
		context.restore();
	}
	// A marked part, with its letter.
	mark(context, left, top, right, bottom, letter, colour) {
		const wide = Math.max(2, right - left);
		context.fillStyle = colour;
		context.globalAlpha = letter === null ? 0.05 : 0.16;
		context.fillRect(left, top, wide, bottom - top);
		context.globalAlpha = 1;
		context.strokeStyle = colour;
		context.lineWidth = 1.5;
		context.strokeRect(left + 0.5, top + 0.75, wide - 1, bottom - top - 1.5);
		if (!letter)
			return;
		context.fillRect(left, top, 14, 14);
		context.fillStyle = this.colour("ground");
		context.textAlign = "center";
		context.textBaseline = "middle";
		context.font = "bold 11px system-ui, sans-serif";
		context.fillText(letter, left + 7, top + 7.5);
		context.font = "11px system-ui, sans-serif";
	}
	destroy() {
		this.observer.disconnect();
		cancelAnimationFrame(this.queued);
		this.host.remove();
	}
}

function wirePointers(plot) {
	const { canvas, tell } = plot, fingers = new Map();
	let start = null, moved = false;
	const point = (event) => {
		const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - LEFT, y = event.clientY - box.top;
		return { x: Math.min(plot.width, Math.max(0, x)), y: Math.min(plot.height, Math.max(0, y)), clientX: event.clientX, clientY: event.clientY, shift: event.shiftKey, touch: event.pointerType === "touch" };
	};
	canvas.addEventListener("pointerdown", (event) => {
		if (event.button)
			return;
		fingers.set(event.pointerId, point(event));
		start = point(event);
		moved = fingers.size > 1;
		canvas.setPointerCapture(event.pointerId);
		tell.over(null);
	});
	canvas.addEventListener("pointermove", (event) => {
		const at = point(event), old = fingers.get(event.pointerId);
		if (!old)
			return tell.over(at);
		if (fingers.size === 2) {
			const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
			tell.zoom(Math.max(8, Math.abs(at.x - other.x)) / Math.max(8, Math.abs(old.x - other.x)), (at.x + other.x) / 2);
			start = null;
		} else if (start) {
			moved = moved || Math.hypot(at.x - start.x, at.y - start.y) > DRAG_LEAST;
			if (moved)
				tell.drag(start, at, false);
		}
		return fingers.set(event.pointerId, at);
	});
	const end = (event) => {
		const own = fingers.delete(event.pointerId), from = start;
		if (!fingers.size)
			start = null;
		if (own && from && event.type === "pointerup" && !fingers.size)
			return moved ? tell.drag(from, point(event), true) : tell.click(point(event));
		return own && moved && tell.drag(null, null, true);
	};
	for (const type of ["pointerup", "pointercancel"])
		canvas.addEventListener(type, end);
	canvas.addEventListener("pointerleave", () => tell.over(null));
	canvas.addEventListener("dblclick", () => tell.reset());
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			tell.zoom(1, 0, (event.deltaX || event.deltaY) / plot.width);
		else
			tell.zoom(Math.exp(-event.deltaY / 300), point(event).x);
	}, { passive: false });
	canvas.addEventListener("keydown", (event) => {
		if (!event.ctrlKey && !event.metaKey && !event.altKey && tell.key(event)) {
			event.preventDefault();
			event.stopPropagation();
		}
	});
}
