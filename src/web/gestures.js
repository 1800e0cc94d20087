// SPDX-License-Identifier: Apache-2.0
// Pointer, wheel and fingers on a flame graph: hover tells, a click selects, a double click zooms, a right click or a long
// press opens the menu, dragging moves, two fingers or Ctrl and the wheel stretch.
import { byId, el, fill } from "./dom.js";
import { changeText, countText, formatValue, percent } from "./format.js";
import { changeOf } from "./model.js";

const LONG_PRESS_MS = 500, MOVED = 6, DOUBLE_MS = 350;

function showTip(app, flame, node, x, y) {
	const tip = byId("tip"), { tree } = flame, frame = tree.frame[node], total = tree.total[0][node], name = node || frame ? tree.frames.name[frame] : "all";
	fill(tip, el("b", {}, name.slice(0, 600)),
		el("span", {}, countText(app.head, total) +
			(app.state.unit === "seconds" || app.state.unit === "cores" ? ` · ${formatValue(app.head, app.state.unit, total)}` : "") + ` · ${percent(total, app.tree.total[0][0])} of all` +
			(flame.zoomed ? ` · ${percent(total, tree.total[0][flame.zoomed])} of view` : "") + (node ? ` · ${percent(total, tree.total[0][tree.parent[node]])} of parent` : "")),
		app.compare ? el("span", {}, changeText(changeOf(tree.total[1][node], app.tree.total[1][0], total, app.tree.total[0][0]))) : null,
		tree.frames.module[frame] ? el("span", {}, tree.frames.module[frame].slice(0, 200)) : null);
	tip.hidden = false;
	tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
	tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 18) + "px";
}

export function hideTip() {
	byId("tip").hidden = true;
}

// Stretches the graph around a point: 1 leaves it as it is.
function stretch(flame, factor, px) {
	const total = flame.tree.total[0][0], width = flame.to - flame.from, at = flame.from + px / flame.host.clientWidth * width;
	const wide = Math.min(total, Math.max(total / 1e7, width / factor)), from = Math.min(total - wide, Math.max(0, at - (at - flame.from) / width * wide));
	flame.look(from, from + wide);
}

function move(flame, px) {
	const total = flame.tree.total[0][0], width = flame.to - flame.from, from = Math.min(total - width, Math.max(0, flame.from - px / flame.host.clientWidth * width));
	flame.look(from, from + width);
}

export function wireGestures(app, flame, act) {
	const { canvas, host } = flame, fingers = new Map();
	let press = 0, moved = false, last = { node: -1, time: 0 }, start = null;
	const point = (event) => {
		const box = host.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	};
	canvas.addEventListener("pointerdown", (event) => {
		fingers.set(event.pointerId, point(event));
		moved = false;
		start = { at: point(event), scroll: host.scrollTop };
		clearTimeout(press);
		if (event.pointerType !== "mouse")
			press = setTimeout(() => {
				const node = flame.hit(...start.at);
				moved = true;
				if (node >= 0) {
					act.select(flame, node);
					act.menu(event.clientX, event.clientY);
				}
			}, LONG_PRESS_MS);
		hideTip();
	});
	canvas.addEventListener("pointermove", (event) => {
		const [x, y] = point(event), old = fingers.get(event.pointerId);
		if (!old) {
			const node = flame.hit(x, y);
			flame.hover(node);
			canvas.style.cursor = node >= 0 ? "pointer" : "default";
			return node >= 0 && event.pointerType === "mouse" ? showTip(app, flame, node, event.clientX, event.clientY) : hideTip();
		}
		if (Math.hypot(x - start.at[0], y - start.at[1]) > MOVED) {
			if (!moved && event.pointerType === "mouse")
				canvas.setPointerCapture(event.pointerId);
			moved = true;
			clearTimeout(press);
		}
		if (fingers.size === 2) {
			const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
			const factor = Math.max(8, Math.abs(x - other[0])) / Math.max(8, Math.abs(old[0] - other[0]));
			stretch(flame, factor, (x + other[0]) / 2);
		} else if (moved) {
			move(flame, x - old[0]);
			if (event.pointerType === "mouse")
				flame.scrollTo(start.scroll - (y - start.at[1]));
		}
		fingers.set(event.pointerId, [x, y]);
	});
	const end = (event) => {
		const own = fingers.delete(event.pointerId);
		clearTimeout(press);
		if (!own || moved || event.type !== "pointerup" || event.button)
			return;
		const node = flame.hit(...point(event)), now = performance.now();
		if (node >= 0 && node === last.node && now - last.time < DOUBLE_MS)
			act.enter(flame, node);
		else if (node >= 0)
			act.select(flame, node);
		last = { node, time: now };
		canvas.focus({ preventScroll: true });
	};
	for (const type of ["pointerup", "pointercancel"])
		canvas.addEventListener(type, end);
	canvas.addEventListener("pointerleave", () => {
		flame.hover(-1);
		hideTip();
	});
	canvas.addEventListener("contextmenu", (event) => {
		const node = flame.hit(...point(event));
		event.preventDefault();
		hideTip();
		if (node >= 0 && !moved) {
			act.select(flame, node);
			act.menu(event.clientX, event.clientY);
		}
	});
	canvas.addEventListener("wheel", (event) => {
		hideTip();
		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			stretch(flame, Math.exp(-event.deltaY / 200), point(event)[0]);
		} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			event.preventDefault();
			move(flame, -(event.deltaX || event.deltaY));
		}
	}, { passive: false });
}
