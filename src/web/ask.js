// SPDX-License-Identifier: Apache-2.0
// Asking the server: blocks of data, JSON, and events as they come. What fails says so in a sentence.
import { decode, unpack } from "./data.js";

class Refused extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

async function ask(path, parameters, signal) {
	const query = new URLSearchParams();
	for (const [name, value] of parameters)
		if (value !== "" && value !== undefined && value !== null)
			query.append(name, value);
	const answer = await fetch(path + (query.size === 0 ? "" : "?" + query), { signal, cache: "no-store" });
	if (answer.status === 401)
		location.assign("/login");
	if (!answer.ok) {
		const said = await answer.json().catch(() => null);
		throw new Refused(answer.status, said && said.error ? said.error : "the server said " + answer.status);
	}
	return answer;
}

export async function askJson(path, parameters, signal) {
	return (await ask(path, parameters, signal)).json();
}

// The tables of a range; null if nothing is kept of it.
export async function askBlock(range, signal) {
	const parameters = [["format", "page"], ["from", range.from], ["to", range.to], ["offsets", range.offsets]];
	const answer = await ask("/api/profile", parameters, signal);
	if (answer.status === 204)
		return null;
	return decode(await unpack(new Uint8Array(await answer.arrayBuffer())));
}

// Chips that the server knows too, as its filters; of several of a kind it takes one expression.
export function filtersOf(chips) {
	const kinds = { process: [], focus: [], ignore: [] };
	for (const chip of chips) {
		const regex = /^\/([^]+)\/$/.exec(chip.value), part = chip.key === "fn" || chip.key === "ignore";
		const text = regex ? regex[1] : part ? escapeName(chip.value) : "^" + escapeName(chip.value) + "$";
		if (chip.key === "process" && !chip.not)
			kinds.process.push(/^\d+$/.test(chip.value) ? chip.value : text);
		else if (chip.key === "ignore" || chip.key === "fn" && chip.not)
			kinds.ignore.push(text);
		else if (["fn", "focus", "callers"].includes(chip.key) && !chip.not && !kinds.focus.length)
			kinds.focus.push(text);
	}
	return Object.entries(kinds).filter(([, list]) => list.length).map(([kind, list]) => ["filter", kind + ":" + list.join("|")]);
}

// Of chips what curves can be asked by: whose samples, and one function that is on their stacks. `left` are the others.
export function curveFilters(chips) {
	const fn = chips.find((chip) => ["focus", "callers"].includes(chip.key) && !chip.not && !chip.value.startsWith("/"));
	const left = chips.filter((chip) => chip !== fn && (chip.key !== "process" || chip.not) && !["hide", "foldrec", "foldmod"].includes(chip.key));
	return { filters: filtersOf(chips.filter((chip) => chip.key === "process")), fn: fn ? fn.value : "", left };
}

// For an expression of the server's, which has no braces: any character instead.
export function escapeName(name) {
	return name.slice(0, 120).replace(/[\\^$.*+?()[\]|]/g, "\\$&").replace(/[{}]/g, ".") + (name.length > 120 ? ".*" : "");
}

// Server-sent events until they end: tell(name, data). fetch, not EventSource: it says why it was refused.
export async function listen(path, tell, signal) {
	const answer = await ask(path, [], signal), reader = answer.body.getReader(), decoder = new TextDecoder();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return;
		rest += decoder.decode(value, { stream: true });
		const parts = rest.split("\n\n");
		rest = parts.pop();
		for (const part of parts) {
			const lines = part.split("\n"), field = (name) => lines.filter((line) => line.startsWith(name + ":")).map((line) => line.slice(name.length + 1).trimStart());
			const data = field("data").join("\n");
			if (data)
				tell(field("event")[0] || "message", JSON.parse(data));
		}
	}
}
