// SPDX-License-Identifier: Apache-2.0
// What is seen, as a file: the picture as SVG or PNG, the stacks that the chips leave as folded lines or for pprof.
import { KIND_GROUP, KIND_INLINE, KIND_JIT, KIND_KERNEL } from "./data.js";
import { download, toast } from "./dom.js";
import { ROW } from "./flame.js";
import { countText, fitName, formatValue, secondsOf } from "./format.js";

const PNG_MOST = 16000, SUFFIXES = { [KIND_KERNEL]: "_[k]", [KIND_JIT]: "_[j]", [KIND_INLINE]: "_[i]" };

const escapeMarkup = (text) => text.replace(/[&<>"']/g, (one) => "&#" + one.charCodeAt(0) + ";");

function svgText(app, flame) {
	const { tree, rows } = flame, width = Math.max(300, flame.host.clientWidth), scale = width / (flame.to - flame.from), height = rows.length * ROW;
	const out = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12">`];
	rows.forEach((row, depth) => {
		const y = flame.up ? height - (depth + 1) * ROW : depth * ROW;
		for (const node of row) {
			const left = Math.max(0, (tree.x[node] - flame.from) * scale), right = Math.min(width, (tree.x[node] + tree.total[0][node] - flame.from) * scale);
			const frame = tree.frame[node], name = node || frame ? tree.frames.name[frame] : "all", fill = node || frame ? flame.fillOf(node) : "#d2d2d6";
			const about = `${name} (${countText(app.head, tree.total[0][node])}, ${formatValue(app.head, "percent", tree.total[0][node], tree.total[0][0])})`;
			const text = right - left > 26 ? fitName(name, Math.floor((right - left - 8) / 7.3)) : "";
			out.push(`<g><title>${escapeMarkup(about)}</title><rect x="${left.toFixed(2)}" y="${y}" width="${Math.max(0.5, right - left - 0.5).toFixed(2)}" height="${ROW - 1}" fill="${fill}"/>` +
				(text ? `<text x="${(left + 4).toFixed(2)}" y="${y + 13}" fill="${flame.inkOf(fill)}">${escapeMarkup(text)}</text>` : "") + "</g>");
		}
	});
	return out.join("\n") + "\n</svg>\n";
}

function pngOf(flame) {
	const canvas = document.createElement("canvas"), ratio = devicePixelRatio || 1, width = flame.host.clientWidth;
	const height = Math.min(PNG_MOST / ratio, flame.rows.length * ROW), context = canvas.getContext("2d", { alpha: false });
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	context.scale(ratio, ratio);
	context.fillStyle = getComputedStyle(flame.host).getPropertyValue("--ground");
	context.fillRect(0, 0, width, height);
	flame.drawRows(context, width, flame.up ? flame.height - height : 0, height, flame.tree.depth(flame.zoomed));
	return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Each stack that has samples of its own, from the root: frames and node.
function* stacksOf(tree) {
	for (let node = 1; node < tree.count; node++)
		if (tree.self.some((side) => side[node] > 0))
			yield node;
}

export function foldedText(app) {
	const { tree, db } = app, lines = new Map(), { name, kind } = db.frames;
	for (const node of stacksOf(tree)) {
		const line = tree.path(node).map((one) => name[tree.frame[one]] + (SUFFIXES[kind[tree.frame[one]]] || "")).join(";");
		const counts = tree.self.map((side) => side[node]), old = lines.get(line);
		lines.set(line, old ? old.map((count, i) => count + counts[i]) : counts);
	}
	return [...lines].sort((a, b) => a[0] < b[0] ? -1 : 1).map(([line, counts]) => line + " " + [...counts].reverse().join(" ") + "\n").join("");
}

// Protocol buffers, as far as pprof's need them.
class Message {
	constructor() {
		this.bytes = [];
	}
	varint(value) {
		for (; value > 127; value = Math.floor(value / 128))
			this.bytes.push(value % 128 | 128);
		this.bytes.push(value);
		return this;
	}
	number(field, value) {
		return value ? this.varint(field << 3).varint(value) : this;
	}
	part(field, bytes) {
		this.varint(field << 3 | 2).varint(bytes.length);
		for (let i = 0; i < bytes.length; i++)
			this.bytes.push(bytes[i]);
		return this;
	}
	numbers(field, values) {
		const packed = new Message();
		values.forEach((value) => packed.varint(value));
		return this.part(field, packed.bytes);
	}
}

export function pprofBytes(app) {
	const { tree, db, head } = app, { frames } = db, out = new Message(), strings = new Map([["", 0]]), mappings = new Map(), seen = new Set();
	const nanoseconds = secondsOf(head) * 1e9, labelled = app.state.by !== "none";
	const text = (value) => strings.get(value) ?? (strings.set(value, strings.size), strings.size - 1);
	const type = (field, what, unit) => out.part(field, new Message().number(1, text(what)).number(2, text(unit)).bytes);
	type(1, "samples", "count");
	if (nanoseconds)
		type(1, "cpu", "nanoseconds");
	for (const node of stacksOf(tree)) {
		const path = tree.path(node), group = frames.kind[tree.frame[path[0]]] === KIND_GROUP ? tree.frame[path.shift()] : 0, value = tree.self[0][node];
		const used = path.map((one) => tree.frame[one]).reverse();
		if (!value)
			continue;
		used.forEach((frame) => seen.add(frame));
		const sample = new Message().numbers(1, used).numbers(2, nanoseconds ? [value, Math.round(value * nanoseconds)] : [value]);
		if (group && labelled)
			sample.part(3, new Message().number(1, text(app.state.by === "process" ? "comm" : app.state.by)).number(2, text(frames.name[group])).bytes);
		out.part(2, sample.bytes);
	}
	for (const frame of seen) {
		const path = frames.detail(frame, "path") || frames.module[frame], key = path + "\n" + frames.detail(frame, "build");
		if (!mappings.has(key)) {
			mappings.set(key, mappings.size + 1);
			out.part(3, new Message().number(1, mappings.size).number(5, text(path)).number(6, text(frames.detail(frame, "build"))).number(7, 1).bytes);
		}
		const line = new Message().number(1, frame).number(2, frames.detail(frame, "line") || 0);
		out.part(4, new Message().number(1, frame).number(2, mappings.get(key)).part(4, line.bytes).bytes);
		out.part(5, new Message().number(1, frame).number(2, text(frames.name[frame])).number(4, text(frames.detail(frame, "source"))).bytes);
	}
	if (head.profile.wall_ns)
		out.number(9, head.profile.wall_ns);
	out.number(10, head.profile.duration_ns);
	if (nanoseconds) {
		type(11, "cpu", "nanoseconds");
		out.number(12, Math.round(nanoseconds));
	}
	const encoder = new TextEncoder();
	for (const string of strings.keys())
		out.part(6, encoder.encode(string));
	return Uint8Array.from(out.bytes);
}

async function gzip(bytes) {
	if (typeof CompressionStream !== "function")
		return bytes;
	return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());
}

export function exportItems(app) {
	const flame = app.view.flame ? app.view.flame() : null, base = app.fileBase;
	const save = (name, data, type) => {
		download(base + name, data, type);
		toast("Saved as " + base + name);
	};
	return [
		flame && { name: "Picture as SVG", run: () => save(".svg", svgText(app, flame), "image/svg+xml") },
		flame && { name: "Picture as PNG", run: async () => save(".png", await pngOf(flame), "image/png") },
		{ name: "Stacks as folded lines", run: () => save(".folded", foldedText(app), "text/plain") },
		{ name: "Stacks for pprof", run: async () => save(".pb.gz", await gzip(pprofBytes(app)), "application/octet-stream") },
	].filter((item) => item);
}
