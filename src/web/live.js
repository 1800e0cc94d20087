// SPDX-License-Identifier: Apache-2.0
// What the server tells each second, added up: dictionaries that only grow, seconds of which the last fifteen minutes are
// kept, and of a window its sums, to which the new second is added and from which the old one is taken. Out: the same
// tables that data.js reads from a block. Pure.
import { Frames } from "./data.js";

const KEEP_MS = 900000, SLACK_MS = 1500, WHO_MOST = 2 ** 20;

export class LiveData {
	constructor() {
		this.era = "";
		this.seconds = [];
		this.window = 60000;
	}
	get end() {
		const last = this.seconds[this.seconds.length - 1];
		return last ? last.at_ms + last.ms : 0;
	}
	get start() {
		return this.seconds.length ? Math.max(this.seconds[0].at_ms, this.end - this.window) : 0;
	}
	// Everything anew.
	begin(all) {
		Object.assign(this, { era: all.era, host: all.host, hz: all.hz, cpus: all.cpus, first: all.first_ms, health: all.health || {}, seconds: [], sums: new Map(), from: 0 });
		this.strings = [""];
		this.known = new Map([["", 0]]);
		this.columns = [[0], [0], [0]];
		this.parent = [0];
		this.frame = [0];
		this.who = { comm: [0], pid: [0], tid: [0], process: [0], container: [0], unit: [0] };
		this.labels = new Set();
		this.grow(all);
		for (const second of all.seconds || [])
			this.add(second);
	}
	text(text) {
		let number = this.known.get(text);
		if (number === undefined) {
			this.known.set(text, number = this.strings.length);
			this.strings.push(text);
		}
		return number;
	}
	grow({ frames = [], who = [], nodes = [] }) {
		for (const [name, module, kind] of frames)
			[this.text(name), this.text(module), kind].forEach((value, i) => this.columns[i].push(value));
		for (const [pid, process, comm, labels = {}] of who) {
			const values = { comm: this.text(comm || process), pid, tid: 0, process: this.text(process), container: this.text(labels.container || ""), unit: this.text(labels.unit || "") };
			Object.entries(values).forEach(([name, value]) => this.who[name].push(value));
			Object.keys(labels).forEach((label) => this.labels.add(label));
		}
		for (let i = 0; i + 1 < nodes.length; i += 2) {
			this.parent.push(nodes[i]);
			this.frame.push(nodes[i + 1] + 1);
		}
	}
	// A second more; false if it is of another era, and everything has to be asked for again.
	second(second) {
		if (second.era !== this.era)
			return false;
		this.grow(second);
		this.add(second);
		return true;
	}
	weigh(second, sign) {
		const { samples } = second;
		for (let i = 0; i + 2 < samples.length; i += 3) {
			const key = samples[i] * WHO_MOST + samples[i + 1] + 1, sum = (this.sums.get(key) || 0) + sign * samples[i + 2];
			if (sum)
				this.sums.set(key, sum);
			else
				this.sums.delete(key);
		}
	}
	add(second) {
		this.seconds.push(second);
		this.weigh(second, 1);
		this.expire();
		let gone = 0;
		while (this.seconds[gone].at_ms + this.seconds[gone].ms <= this.end - KEEP_MS)
			gone++;
		this.seconds.splice(0, gone);
		this.from -= gone;
	}
	// `from` is the first second that is in the sums.
	expire() {
		for (; this.seconds[this.from].at_ms + this.seconds[this.from].ms <= this.end - this.window; this.from++)
			this.weigh(this.seconds[this.from], -1);
	}
	setWindow(ms) {
		this.window = ms;
		this.sums = new Map();
		this.from = 0;
		this.seconds.forEach((second) => this.weigh(second, 1));
		if (this.seconds.length)
			this.expire();
	}
	// Whether the window is older than what was heard, and more of it is kept.
	get isShort() {
		const heard = this.seconds[0].at_ms;
		return heard > this.end - this.window + SLACK_MS && this.first < heard - SLACK_MS;
	}
	shown() {
		return this.seconds.slice(this.from);
	}
	sum(what) {
		return this.shown().reduce((sum, second) => sum + (second[what] || 0), 0);
	}
	profile() {
		const lost = this.sum("lost"), missed = this.sum("missed"), whole = this.health.whole_percent || undefined; // 0: nothing measured yet
		const duration = this.shown().reduce((sum, second) => sum + second.ms, 0), text = [lost ? `lost ${lost}` : "nothing lost"];
		if (missed)
			text.push(`missed ${missed}`);
		if (whole !== undefined)
			text.unshift(`stacks ${whole.toFixed(1)} % whole`);
		return { hz: this.hz, cpus: this.cpus, host: this.host, unit: "samples", event: "cpu-clock", wall_ns: this.start * 1e6, duration_ns: duration * 1e6, quality: text.join(" · "), missed,
			expected: this.hz * this.cpus * duration / 1000, user_stacks: whole === undefined ? 0 : 100, whole_stacks: whole,
			problems: lost ? [{ count: lost, what: "lost ", words: "samples that came faster than they could be read", group: "lost" }] : [] };
	}
	// The tables, of the window.
	tables() {
		const count = this.columns[0].length, nodes = this.parent.length, tasks = this.who.pid.length, none = new Uint32Array(count);
		const rows = { count: this.sums.size, node: new Uint32Array(this.sums.size), task: new Uint32Array(this.sums.size), value: new Float64Array(this.sums.size) };
		let i = 0;
		for (const [key, value] of this.sums) {
			rows.node[i] = Math.floor(key / WHO_MOST);
			rows.task[i] = key % WHO_MOST;
			rows.value[i++] = value;
		}
		return {
			head: { profile: this.profile(), frames: count, nodes, tasks }, strings: this.strings, frames: new Frames(this.strings, count, [...this.columns, none, none, none, none]),
			nodes, parent: Int32Array.from(this.parent), frame: Int32Array.from(this.frame), tasks, task: this.who, sides: [rows],
		};
	}
}
