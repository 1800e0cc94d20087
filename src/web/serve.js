// SPDX-License-Identifier: Apache-2.0
// The page of a server: live, or any range of what is kept, or two of them. It listens to events, asks for blocks, and says
// how the server is. What was shown stays until there is something else to show; a server that is gone is asked again.
import { askBlock, filtersOf, listen } from "./ask.js";
import { showEmpty } from "./answer.js";
import { byId, el, fill, toast } from "./dom.js";
import { shellWord, thousands } from "./format.js";
import { joinTables } from "./join.js";
import { addKeys } from "./keys.js";
import { LiveData } from "./live.js";
import { App, fail, wire } from "./main.js";
import { clock, rangeOf, rangeText, readSpan, spanText } from "./ranges.js";
import { Strip } from "./strip.js";

const RETRY_MS = 1000, RETRY_MOST_MS = 8000, QUIET_MS = 5000, PRESS_MS = 400, AGAIN_LEAST_MS = 5000, AGAIN_MOST_MS = 30000, FILL_MS = 5000, STALE_MS = 30000;

function emptyTables(range) {
	const none = new LiveData();
	none.begin({ era: "", host: "", hz: 0, cpus: 0 });
	none.window = 0;
	const tables = none.tables();
	tables.head.profile = { ...tables.head.profile, duration_ns: range.to ? (range.to - range.from) * 1e6 : 0, quality: "", user_stacks: 0 };
	return tables;
}

class Server {
	constructor(app) {
		const words = (document.documentElement.dataset.source || "").split(" ");
		Object.assign(this, { app, isLive: words.includes("live"), hasTimes: words.includes("times"), hasGaps: words.includes("gaps"), live: new LiveData(), key: null, heard: 0, gone: 0, pressed: -PRESS_MS, loading: null, frozen: null });
		this.strip = new Strip(app, this);
		this.pill = el("button", { id: "live", class: "pill", onclick: () => this.gone ? this.wake && this.wake() : this.pause(true) });
		this.health = el("p", { id: "health" });
		this.notice = el("p", { id: "notice", role: "alert", hidden: true });
	}
	mount() {
		byId("host").after(this.pill);
		byId("facts").after(this.health);
		document.querySelector("header").after(this.notice);
		if (this.hasTimes)
			this.strip.mount();
		addEventListener("pointerdown", () => this.pressed = performance.now());
		document.addEventListener("visibilitychange", () => !document.hidden && this.tick());
		setInterval(() => this.showPill(), 1000);
		this.showPill();
	}
	keyOf(state) {
		return state.a ? `${state.a} ${state.offsets} ${state.b}` : this.isLive ? "live " + state.last : "all";
	}
	// The address has changed.
	changed(state, old) {
		if (this.key === this.keyOf(state) && this.app.db)
			this.app.render(state, old);
		else
			this.load(state);
		this.showAround(state);
	}
	showAround(state) {
		byId("answer").setAttribute("aria-live", this.isLive && !state.a ? "off" : "polite");
		this.showPill();
		if (this.hasTimes)
			this.strip.show(state);
	}
	// Brings what the state asks for; what is there stays until then.
	async load(state) {
		const key = this.keyOf(state), range = rangeOf(state) || { from: "", to: "" }, other = readSpan(state.b);
		clearTimeout(this.again);
		if (this.loading)
			this.loading.abort();
		this.loading = null;
		this.busy(false);
		if (!state.a && this.isLive) {
			this.live.setWindow(1000 * state.last);
			return this.live.end ? this.showLive(state) : this.wait("Waiting for the first second…");
		}
		if (this.frozen && this.frozen.key === key)
			return this.show(state, this.frozen.db, key);
		const loading = this.loading = new AbortController();
		this.busy(true);
		this.wait("Asking the server…");
		try {
			const blocks = await Promise.all([range, ...state.a && other ? [other] : []].map((one) => askBlock(one, loading.signal)));
			this.reached();
			this.show(this.app.state, this.build(blocks, range, other), key);
			this.notice.hidden = this.lacks !== "b";
			this.notice.textContent = this.lacks === "b" ? `No samples in B, ${rangeText(other)}: A is shown alone.` : "";
			return null;
		} catch (error) {
			if (error.name === "AbortError")
				return null;
			return this.failed(error, state);
		} finally {
			if (this.loading === loading) {
				this.loading = null;
				this.busy(false);
			}
		}
	}
	build([after, before], range, other) {
		const db = after || emptyTables(range), { profile } = db.head;
		profile.quality = (profile.quality || "").replace(/^losses are not known.*/, "losses within these moments are not known");
		this.lacks = before === null ? "b" : after ? "" : "a";
		if (!before)
			return db;
		db.head.profile.name = rangeText(range);
		before.head.profile.name = rangeText(other);
		return joinTables(db, before);
	}
	show(state, db, key, ticking) {
		const { app } = this;
		if (key !== this.keyOf(state))
			return;
		app.ticking = !!ticking;
		this.key = key;
		app.setData(db);
		app.render(state, null);
		app.ticking = false;
		byId("host").textContent = db.head.profile.host || this.live.host || "";
		document.title = [db.head.profile.host, "wick"].filter(Boolean).join(" · ");
		document.body.classList.add("ready");
		if (this.hasTimes && !ticking)
			this.strip.ask(state); // the curve of what is selected now
	}
	showLive(state) {
		const key = this.keyOf(state);
		this.lacks = "";
		if (this.live.isShort && this.hasTimes)
			this.showFilled(state, key);
		if (this.live.isShort && this.filled && this.filled.key === key)
			return;
		this.filled = null;
		this.show(state, this.live.tables(), key, this.key === key && this.app.view);
	}
	// As long as less was heard than the window is long, what is kept of it, every few seconds.
	async showFilled(state, key) {
		const to = this.live.end, from = Math.max(this.live.first, to - this.live.window);
		if (this.filling === key || this.filled && this.filled.key === key && to - this.filled.to < FILL_MS)
			return;
		this.filling = key;
		try {
			const db = await askBlock({ from, to });
			if (db && this.keyOf(this.app.state) === key) {
				this.filled = { key, from, to };
				this.show(this.app.state, db, key, this.key === key && this.app.view);
			}
		} catch (error) {
			if (this.filled && this.live.end - this.filled.to > STALE_MS)
				this.filled = null; // what was heard is shown instead
		}
		this.filling = null;
	}
	// What is seen while it is live.
	liveSpan() {
		return this.filled && this.filled.key === this.key ? this.filled : { from: this.live.start, to: this.live.end };
	}
	// A second more.
	tick() {
		const { state } = this.app, free = performance.now() - this.pressed > PRESS_MS;
		if (!this.live.end || document.hidden)
			return;
		if (!state.a && free)
			this.showLive(state);
		this.showPill();
		this.showHealth();
		if (!this.hasTimes)
			return;
		const { view } = this.strip, each = view && this.strip.series ? Math.min(AGAIN_MOST_MS, Math.max(AGAIN_LEAST_MS, (view.to - view.from) / this.strip.series.cells)) : AGAIN_LEAST_MS;
		if (!state.seen && !this.strip.asking && Date.now() - (this.asked || 0) > each) {
			this.asked = Date.now();
			this.strip.ask(state, true);
		}
	}
	busy(yes) {
		byId("view").setAttribute("aria-busy", String(yes));
	}
	wait(words) {
		if (!this.app.db)
			fill(byId("view"), el("div", { class: "message" }, el("p", { class: "quiet" }, words)));
	}
	reached() {
		this.gone = 0;
		this.retry = RETRY_MS;
		this.notice.hidden = true;
		this.showPill();
	}
	// Nobody answers, or with an error. The last picture stays; it is asked for again.
	failed(error, state) {
		const out = !error.status;
		if (out)
			this.gone = this.gone || Date.now();
		this.notice.hidden = out;
		this.notice.textContent = out ? "" : "The server could not answer: " + error.message + ".";
		this.retry = Math.min(RETRY_MOST_MS, 2 * (this.retry || RETRY_MS));
		if (out || error.status === 503)
			this.again = setTimeout(() => this.load(this.app.state), this.retry);
		if (!this.app.db)
			fill(byId("view"), el("div", { class: "message" }, el("h2", {}, out ? "The server does not answer" : "There is no answer to this"),
				el("p", {}, out ? "It is asked again by itself." : error.message + "."), el("div", { class: "actions" }, el("button", { onclick: () => this.load(state) }, "Ask again"))));
		this.showPill();
	}
	// Listens for as long as the page is open.
	async follow() {
		for (let wait = RETRY_MS; this.isLive; wait = Math.min(RETRY_MOST_MS, 2 * wait)) {
			const stop = new AbortController();
			let words = "";
			try {
				await listen("/api/events", (name, data) => {
					wait = RETRY_MS;
					if (!this.event(name, data))
						stop.abort();
				}, stop.signal);
			} catch (error) {
				words = error.status ? error.message : "";
			}
			this.gone = this.gone || Date.now();
			this.reason = words;
			this.showPill();
			await new Promise((resolve) => {
				this.wake = resolve;
				setTimeout(resolve, wait);
			});
		}
	}
	// What an event tells; false if all has to be heard anew.
	event(name, data) {
		this.heard = Date.now();
		if (this.gone)
			this.reached();
		if (name === "all") {
			byId("host").textContent = byId("host").textContent || data.host || "";
			const window = 1000 * this.app.state.last;
			this.live.window = window;
			this.live.begin(data);
			this.filled = null;
			this.key = this.app.state.a ? this.key : null;
			this.changed(this.app.state, null);
		} else if (name === "second") {
			if (!this.live.second(data))
				return false;
		} else if (name === "health") {
			this.live.health = { ...this.live.health, ...data };
		}
		if (name === "second" || name === "all")
			this.tick();
		return true;
	}
	showPill() {
		const { state } = this.app, { pill } = this, quiet = this.isLive && this.heard && Date.now() - this.heard > QUIET_MS;
		const kind = this.gone ? "gone" : !this.isLive ? "saved" : quiet ? "gone" : !this.heard ? "waiting" : state.a ? "held" : "on";
		const since = this.gone || this.heard, texts = {
			gone: `server gone since ${clock(since, { fine: 1 })}: the last picture stays, asking again`, saved: "saved profile", waiting: "connecting…", held: "back to live",
			on: `live ${this.live.hz || ""} Hz`,
		};
		if (pill.dataset.kind === kind && pill.textContent === texts[kind])
			return;
		pill.dataset.kind = kind;
		pill.disabled = kind === "saved" || kind === "waiting";
		pill.setAttribute("aria-live", "polite");
		pill.title = kind === "gone" ? "ask now" + (this.reason ? ": " + this.reason : "") : kind === "on" ? "pause: key Space" : kind === "held" ? "key Space" : "";
		fill(pill, el("i", { class: "dot" }), texts[kind]);
		document.body.classList.toggle("gone", kind === "gone");
	}
	showHealth() {
		const { health } = this.live, parts = [], size = (bytes) => bytes >= 1e9 ? (bytes / 1e9).toFixed(1) + " GB" : (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0) + " MB";
		const has = (name) => typeof health[name] === "number";
		if (has("cpu_percent"))
			parts.push(`wick uses ${health.cpu_percent.toFixed(2)} % CPU` + (has("rss_bytes") ? `, ${size(health.rss_bytes)}` : ""));
		if (has("store_bytes"))
			parts.push(`${size(health.store_bytes)} kept` + (this.live.first ? ` since ${clock(this.live.first, { day: true })}` : ""));
		if (health.lost)
			parts.push(`${thousands(health.lost)} lost since it began`);
		const text = parts.join(" · ");
		if (this.health.textContent !== text)
			this.health.textContent = text;
		this.health.classList.toggle("bad", !!health.note);
		if (health.note)
			this.health.textContent = health.note + (text ? " · " + text : "");
	}
	shownSpan() {
		if (this.app.state.a)
			return this.app.state.a;
		if (this.isLive)
			return this.live.end ? spanText(this.liveSpan().from, this.liveSpan().to) : "";
		return this.strip.whole ? spanText(this.strip.whole.from, this.strip.whole.to) : "";
	}
	// Live, or what is seen of it as a range.
	pause() {
		const { state, store } = this.app;
		if (!this.isLive || !this.live.end)
			return;
		if (state.a)
			return store.set({ a: "", b: "", offsets: "" });
		if (!this.filled)
			this.showLive(state);
		const a = this.shownSpan();
		this.frozen = { key: this.keyOf({ ...state, a, b: "", offsets: "" }), db: this.app.db };
		return store.set({ a, b: "", offsets: "" });
	}
	// This range and as long before it.
	whatChanged() {
		const { state, store } = this.app, span = readSpan(this.shownSpan()), first = this.live.first || (this.strip.whole ? this.strip.whole.from : 0);
		if (!span || !this.hasTimes)
			return toast(this.hasTimes ? "There is nothing to compare yet" : "It is not known when these samples were taken");
		const b = spanText(span.from - (span.to - span.from), span.from);
		if (span.from <= first)
			return toast("Nothing is kept of the time before this: choose a later range on the timeline");
		return store.set(state.b === b ? { b: "" } : { a: spanText(span.from, span.to), b });
	}
	// By its own length, earlier or later.
	shift(way) {
		const span = readSpan(this.shownSpan());
		if (span)
			this.app.store.set({ a: spanText(span.from + way * (span.to - span.from), span.to + way * (span.to - span.from)) });
	}
	// What is kept is known now: an empty range can say where the nearest samples are.
	timeKnown() {
		if (this.app.tree && this.app.isEmpty())
			this.showEmpty();
	}
	showEmpty() {
		const { app } = this, { state, store } = app, range = rangeOf(state), button = (text, patch) => el("button", { onclick: () => store.set(patch) }, text);
		if (app.whole > 0 && state.chips.length) {
			const near = this.strip.nearest(range || this.liveSpan());
			showEmpty(app);
			if (near)
				byId("view").querySelector(".actions").append(button(`The nearest that has some: ${rangeText(near)}`, { a: spanText(near.from, near.to), b: "", offsets: "" }));
			return null;
		}
		if (!range)
			return fill(byId("view"), el("div", { class: "message" }, el("h2", {}, this.isLive ? "Nothing ran in this time" : "There are no samples in this profile"),
				el("p", {}, this.isLive ? "As soon as anything does, it is here." : "What it was made from has none.")));
		const gap = this.strip.gaps.find((one) => one.from_ms < range.to && one.to_ms > range.from), { whole } = this.strip;
		const near = this.strip.nearest(range);
		return fill(byId("view"), el("div", { class: "message" }, el("h2", {}, "No samples in this range"), el("p", {}, rangeText(range)),
			el("p", {}, gap ? `Nothing was kept: ${gap.why}.` : whole && range.to <= whole.from ? `What is kept begins ${clock(whole.from, { day: true, fine: 1 })}.` :
				whole && range.from >= whole.to ? "That is yet to come." : "Nothing that was asked for ran on a CPU then, or nothing was recorded."),
			el("div", { class: "actions" }, near ? button(`The nearest that has some: ${rangeText(near)}`, { a: spanText(near.from, near.to), offsets: "" }) : null,
				button(this.isLive ? "Live" : "All there is", { a: "", b: "", offsets: "" }))));
	}
	// The same for a terminal.
	command(words, left) {
		const { state } = this.app, lengths = [state.a, state.b].map(readSpan).map((one) => one && one.to - one.from);
		if (state.offsets)
			left.add("milliseconds of each second");
		if (lengths[1] && lengths[0] !== lengths[1])
			left.add("ranges that are not equally long");
		const span = readSpan(this.shownSpan()), iso = (ms) => new Date(ms).toISOString(), other = readSpan(state.b);
		return [...words, ...span && this.hasTimes ? ["--from", iso(span.from), "--to", iso(span.to)] : [], ...other ? ["--against", iso(other.from)] : []].join(" ");
	}
	curl() {
		const { state } = this.app, span = readSpan(this.shownSpan()), query = new URLSearchParams();
		query.set("format", "report");
		if (span)
			[["from", span.from], ["to", span.to], ["offsets", state.offsets]].filter(([, value]) => value).forEach(([name, value]) => query.set(name, value));
		filtersOf(state.chips).filters.forEach(([name, value]) => query.append(name, value));
		return "curl " + shellWord(location.origin + "/api/profile?" + query);
	}
}

function startServed() {
	const app = new App(), server = app.server = new Server(app), { store } = app;
	addKeys([
		[["Space", " "], "pause; live again", () => server.pause()],
		[["b"], "what changed? compare with as long before", () => server.whatChanged()],
		[["["], "as long earlier", () => server.shift(-1)],
		[["]"], "as long later", () => server.shift(1)],
		[["7"], "timeline, heat map", () => server.hasTimes && server.strip.mode(app.state.strip === "heat" ? "time" : "heat")],
		[["← → + − 0"], "on the timeline: the range moves (with Shift its end), zoom in, out, all", null],
		[["a"], "let go of the range", () => store.set({ a: "", b: "", offsets: "" })],
	]);
	byId("old").hidden = true;
	byId("app").hidden = false;
	byId("path-title").hidden = true;
	wire(app);
	server.mount();
	server.changed(app.state, null);
	server.follow().catch((error) => fail("This page has come to an end", error.message));
}

startServed();
