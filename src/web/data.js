// SPDX-License-Identifier: Apache-2.0
// The block of data, unpacked into arrays: docs/format-page.md says what stands where. In: base64 or bytes. Out: the
// tables of frames, of the tree of stacks, of tasks and of rows, all by number; what does not fit together is refused.
import { inflate } from "./inflate.js";

export const KINDS = ["native", "kernel", "JIT", "vDSO", "inlined", "incomplete", "no stack", "group", "module", "unknown"];
export const KIND_KERNEL = 1, KIND_JIT = 2, KIND_INLINE = 4, KIND_CUT = 5, KIND_NONE = 6, KIND_GROUP = 7, KIND_MODULE = 8, KIND_UNKNOWN = 9;
const NAMELESS = 8, MAGIC = "wickpage", VERSION = 1;

export function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

export async function unpack(bytes) {
	if (typeof DecompressionStream !== "function")
		return inflate(bytes);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Columns {
	constructor(bytes) {
		this.bytes = bytes;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
		this.at = 0;
	}
	take(length) {
		const from = this.at;
		if (from + length > this.bytes.length)
			throw new Error("it ends too early");
		this.at += length;
		return this.bytes.subarray(from, this.at);
	}
	length() {
		this.take(4);
		return this.view.getUint32(this.at - 4, true);
	}
	text() {
		return new TextDecoder().decode(this.take(this.length()));
	}
	// So many numbers from index 1 on (or 0), each below the limit.
	numbers(count, limit, Kind = Uint32Array, first = 1) {
		const bytes = this.take(this.length()), out = new Kind(count);
		let at = 0;
		for (let i = first; i < count; i++) {
			let value = bytes[at++];
			if (value > 127) {
				let factor = 128, more = bytes[at++];
				value -= 128;
				for (; more > 127 && factor < 2 ** 56; more = bytes[at++], factor *= 128)
					value += (more - 128) * factor;
				value += more * factor;
			}
			if (!(value < limit))
				throw new Error("a number that is too large");
			out[i] = value;
		}
		if (at !== bytes.length)
			throw new Error("a column of another length");
		return out;
	}
}

function readRows(columns, count, nodes, tasks) {
	const node = columns.numbers(count, nodes, Uint32Array, 0);
	for (let i = 1; i < count; i++)
		node[i] += node[i - 1];
	if (count && node[count - 1] >= nodes)
		throw new Error("a stack that is not there");
	return { count, node, task: columns.numbers(count, tasks, Uint32Array, 0), value: columns.numbers(count, Infinity, Float64Array, 0) };
}

// Parents from how far up each node hangs of the one before it.
function readParents(up, count) {
	const parent = new Int32Array(count), path = [0];
	let depth = 0;
	for (let i = 1; i < count; i++) {
		const at = depth - up[i];
		if (at < 0)
			throw new Error("a node above the root");
		parent[i] = path[at];
		depth = at + 1;
		path[depth] = i;
	}
	return parent;
}

// The frames, with room for more: groups and folded modules are frames too.
export class Frames {
	constructor(strings, count, columns) {
		const name = columns[0], module = columns[1], kind = columns[2];
		const known = new Map();
		this.name = new Array(count);
		this.module = new Array(count);
		this.kind = new Array(count);
		this.fn = new Int32Array(count);
		this.fnFrame = [];
		for (let i = 0; i < count; i++) {
			const key = name[i] * strings.length + module[i];
			let fn = known.get(key);
			if (fn === undefined) {
				known.set(key, fn = this.fnFrame.length);
				this.fnFrame.push(i);
			}
			this.fn[i] = fn;
			this.name[i] = strings[name[i]];
			this.module[i] = strings[module[i]];
			this.kind[i] = kind[i] & NAMELESS && (kind[i] & 7) < KIND_CUT ? KIND_UNKNOWN : kind[i] & 7;
		}
		this.count = this.real = count;
		this.added = new Map();
		this.strings = strings;
		this.more = columns.slice(3);
	}
	// A frame that stands for something else: a process, a module.
	add(name, kind) {
		const key = kind + name;
		let frame = this.added.get(key);
		if (frame === undefined) {
			this.added.set(key, frame = this.count++);
			this.name.push(name);
			this.module.push(kind === KIND_MODULE ? name : "");
			this.kind.push(kind);
			const fns = new Int32Array(this.count);
			fns.set(this.fn);
			fns[frame] = this.fnFrame.length;
			this.fnFrame.push(frame);
			this.fn = fns;
			this.ranks = null;
		}
		return frame;
	}
	// The place of each frame's name among all names.
	rank() {
		if (!this.ranks) {
			const order = Array.from(this.name, (_, i) => i), names = this.name;
			order.sort((a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b);
			this.ranks = new Int32Array(this.count);
			order.forEach((frame, i) => this.ranks[frame] = i);
		}
		return this.ranks;
	}
	detail(frame, which) {
		const at = ["path", "build", "source", "line"].indexOf(which);
		if (frame >= this.real)
			return "";
		return which === "line" ? this.more[at][frame] : this.strings[this.more[at][frame]];
	}
}

export function decode(bytes) {
	const columns = new Columns(bytes);
	if (new TextDecoder().decode(columns.take(MAGIC.length)) !== MAGIC)
		throw new Error("it does not begin as it should");
	const head = JSON.parse(columns.text());
	if (head.version !== VERSION)
		throw new Error("it is of version " + head.version + ", and this page reads " + VERSION);
	const strings = columns.text().split("\n"), limit = strings.length;
	const fields = [limit, limit, 16, limit, limit, limit, 2 ** 32].map((most) => columns.numbers(head.frames, most));
	const parent = readParents(columns.numbers(head.nodes, head.nodes), head.nodes);
	const frame = columns.numbers(head.nodes, head.frames);
	const task = {};
	for (const name of ["comm", "pid", "tid", "process", "container", "unit"])
		task[name] = columns.numbers(head.tasks, name === "pid" || name === "tid" ? 2 ** 32 : limit);
	const after = readRows(columns, head.rows, head.nodes, head.tasks);
	const before = readRows(columns, head.before_rows, head.nodes, head.tasks);
	return {
		head, strings, frames: new Frames(strings, head.frames, fields), nodes: head.nodes, parent, frame,
		tasks: head.tasks, task, sides: head.before ? [after, before] : [after],
	};
}
