// SPDX-License-Identifier: Apache-2.0
// Two ranges as one: the tables of both with each name, stack and task once, so that they can be compared. Pure.
import { Frames, KIND_UNKNOWN } from "./data.js";

const DETAILS = ["path", "build", "source", "line"], RAW_UNKNOWN = 8;

class Joined {
	constructor() {
		this.strings = [""];
		this.known = new Map([["", 0]]);
		this.columns = [[], [], [], [], [], [], []];
		this.frameKeys = new Map();
		this.parent = [0];
		this.frame = [0];
		this.nodeKeys = new Map();
		this.task = { comm: [], pid: [], tid: [], process: [], container: [], unit: [] };
		this.taskKeys = new Map();
	}
	text(text) {
		let number = this.known.get(text);
		if (number === undefined) {
			this.known.set(text, number = this.strings.length);
			this.strings.push(text);
		}
		return number;
	}
	// The number of a row with these values, which is added if it is new.
	row(keys, columns, values, key = values.join()) {
		let number = keys.get(key);
		if (number === undefined) {
			keys.set(key, number = columns[0].length);
			values.forEach((value, i) => columns[i].push(value));
		}
		return number;
	}
	add(db) {
		const { frames } = db, frameOf = new Int32Array(frames.real), nodeOf = new Int32Array(db.nodes), taskOf = new Int32Array(db.tasks);
		for (let i = 0; i < frames.real; i++) {
			const kind = frames.kind[i] === KIND_UNKNOWN ? RAW_UNKNOWN : frames.kind[i], own = [this.text(frames.name[i]), this.text(frames.module[i]), kind];
			const more = DETAILS.map((which) => which === "line" ? frames.detail(i, which) : this.text(frames.detail(i, which)));
			frameOf[i] = this.row(this.frameKeys, this.columns, [...own, ...more], own.join());
		}
		for (let i = 1; i < db.nodes; i++) {
			const parent = nodeOf[db.parent[i]], frame = frameOf[db.frame[i]];
			nodeOf[i] = this.row(this.nodeKeys, [this.parent, this.frame], [parent, frame], parent * 0x4000000 + frame);
		}
		for (let i = 0; i < db.tasks; i++) {
			const values = Object.keys(this.task).map((name) => name === "pid" || name === "tid" ? db.task[name][i] : this.text(db.strings[db.task[name][i]]));
			taskOf[i] = this.row(this.taskKeys, Object.values(this.task), values);
		}
		const { count, node, task, value } = db.sides[0];
		return { count, node: node.map((one) => nodeOf[one]), task: task.map((one) => taskOf[one]), value };
	}
}

export function joinTables(after, before) {
	const joined = new Joined(), sides = [joined.add(after), joined.add(before)];
	const count = joined.columns[0].length, nodes = joined.parent.length;
	return {
		head: { ...after.head, before: before.head.profile, frames: count, nodes, tasks: joined.task.pid.length }, strings: joined.strings,
		frames: new Frames(joined.strings, count, joined.columns), nodes, parent: Int32Array.from(joined.parent), frame: Int32Array.from(joined.frame),
		tasks: joined.task.pid.length, task: joined.task, sides,
	};
}
