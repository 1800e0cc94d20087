// SPDX-License-Identifier: Apache-2.0
// What a person does to the page of a server, done in Chromium: serve.js FOLDER PICTURES. Speaks TAP; tests/browser/serve.t
// makes the files and calls it. What has to come out is worked out here from the rule by which tests/tools/rhythm works.
"use strict";
const { join } = require("path");
const { ok, is, done, text, has, picture, selected, chips, addChip, choose, until, boxOf, colours, overflow, faint, main } = require("./lib.js");
const { serve, stop, visit, answer, pill, parts, functions, shown, point, drag, loaded } = require("./serving.js");

const [folder, pictures] = process.argv.slice(2);
const FROM = 1000 * process.env.SAVED_FROM, WHOLE = [FROM + 3, FROM + 179994]; // what the saved files have
const at = (seconds) => (FROM + 1000 * seconds - WHOLE[0]) / (WHOLE[1] - WHOLE[0]); // as a part of the timeline
const span = (from, to) => `${FROM + 1000 * from}-${FROM + 1000 * to}`;

// The functions that were running from one moment up to another, as the table has them.
function expected(from, to, low = 0, high = 1000, over = () => true) {
	const counts = {};
	const count = (name) => counts[name] = (counts[name] || 0) + 1;
	for (let second = Math.floor(from / 1000); second < to / 1000; second++)
		for (let ms = 3; ms < 1000; ms += 10) {
			const now = 1000 * second + ms;
			if (now < from || now >= to || ms < low || ms >= high || !over(second))
				continue;
			count(Math.floor(second / 20) % 2 ? "sort_step" : "hash_step");
			if (ms % 200 < 100)
				count("tick_work");
			else if (ms >= 950 && ms < 990)
				count("\"onload=\"window.hit=1");
		}
	const sum = Object.values(counts).reduce((all, one) => all + one, 0);
	return [sum, Object.fromEntries(Object.entries(counts).sort((a, b) => a[0] < b[0] ? -1 : 1).map(([name, one]) => [name, (100 * one / sum).toFixed(1) + " %"]))];
}

const recorded = (second) => second - FROM / 1000 < 60 || second - FROM / 1000 >= 120;

// That exactly this is shown.
async function showsExactly(name, page, from, to, low, high, over) {
	const [sum, shares] = expected(from, to, low, high, over);
	await loaded(page);
	is(name + ": as many samples", (await shown(page))[0], sum);
	is(name + ": the functions of that time and no other", await functions(page), shares);
}

const spanOf = (part) => part.split("-").map(Number);
const near = (got, wanted, by) => Math.abs(got - wanted) <= by;
const saved = () => serve("httpserve", join(folder, "saved.wick"), join(folder, "later.wick"));
const lively = (...words) => serve("rhythm", "data=" + join(folder, "data" + Math.random()), ...words);
const longer = { timeout: 60000 };

// Colours of the strip's canvas at a list of points, as numbers.
async function pixels(page, places) {
	const found = [];
	for (const place of places) {
		const [x, y] = await point(page, ...place);
		found.push(await page.locator("#strip canvas").evaluate((canvas, [px, py]) => {
			const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio, copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
			copy.drawImage(canvas, Math.round((px - box.x) * ratio), Math.round((py - box.y) * ratio), 1, 1, 0, 0, 1, 1);
			return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3).join();
		}, [x, y]));
	}
	return found;
}

// Until there are a few seconds.
const lives = (page) => until(page, () => parseFloat((/ in ([\d.]+) s/.exec(document.querySelector("#facts").textContent) || [])[1]) >= 3);

async function over(page, x, y) {
	await page.mouse.move(...await point(page, x, y));
	return text(page, "#tip");
}

const tests = {
	async live() {
		const server = await lively("past=60"), page = await visit(server, "w=10"), first = await answer(page);
		ok("live: says so, with the rate", /live 100 Hz/.test(await text(page, "#live")));
		is("live: the machine", await text(page, "#host"), "shop1");
		ok("live: the answer on top", /^switcher used [\d.]+ % of this; (hash_step|sort_step) alone/.test(first), first);
		const word = (sentence) => /(hash|sort)_step/.exec(sentence)[0], start = Date.now();
		while (word(await answer(page)) === word(first) && Date.now() - start < 60000)
			await page.evaluate(() => new Promise(requestAnimationFrame));
		ok("live: the picture follows when another function is hot", word(await answer(page)) !== word(first), await answer(page));
		ok("live: a window of 10 s has 10 s", (await shown(page))[1] <= 10, await shown(page));
		await choose(page, "run_loop");
		const place = await boxOf(page.locator(".mark:not(.hover)")), samples = (await shown(page))[0];
		await until(page, (old) => !document.querySelector("#facts").textContent.startsWith(old.toLocaleString("en") + " "), samples === 1540 ? -1 : samples);
		is("live: what is selected stays so while the data moves", await selected(page), "run_loop");
		ok("live: and where it is", near((await boxOf(page.locator(".mark:not(.hover)"))).x, place.x, 12), place);
		await page.selectOption("#last", "60");
		await until(page, () => / in (5\d|60)\.\d s/.test(document.querySelector("#facts").textContent));
		ok("live: a longer window has what is kept of it", true);
		ok("live: another window, in the address", (await parts(page)).w === undefined);
		ok("live: what wick costs is in the foot", /wick uses 0\.08 % CPU, 22 MB · 1\.2 MB kept since/.test(await text(page, "#health")), await text(page, "#health"));
		await picture(page, "serve-live");
		await done("live", page);
		await stop(server);
	},
	async easing() {
		const server = await lively("past=60");
		// How often the picture changes within half a second of the first change of a second
		const changes = (page) => page.evaluate(() => new Promise((resolve) => {
			const canvas = document.querySelector("#view canvas"), copy = new OffscreenCanvas(canvas.width, 1).getContext("2d", { willReadFrequently: true });
			let last = null, first = 0, count = 0, most = 0;
			const start = performance.now(), step = (now) => {
				copy.drawImage(canvas, 0, canvas.height - 105, canvas.width, 1, 0, 0, canvas.width, 1);
				const seen = copy.getImageData(0, 0, canvas.width, 1).data.join();
				if (last !== null && seen !== last) {
					[first, count] = now - first > 500 ? [now, 1] : [first, count + 1];
					most = Math.max(most, count);
				}
				last = seen;
				if (most > 2 || now - start > 15000)
					return resolve(most);
				return requestAnimationFrame(step);
			};
			requestAnimationFrame(step);
		}));
		const page = await visit(server, "w=10");
		await lives(page);
		ok("easing: widths move in steps", await changes(page) > 2);
		await done("easing", page);
		const still = await visit(server, "w=10", { reducedMotion: "reduce" });
		await lives(still);
		is("easing: not where less motion is asked for", await changes(still), 1);
		await done("no easing", still);
		await stop(server);
	},
	async pausing() {
		const server = await lively("past=60"), page = await visit(server);
		await lives(page);
		await page.keyboard.press(" ");
		const { a } = await parts(page), facts = await text(page, "#facts"), [from, to] = spanOf(a);
		ok("pause: becomes a range in the address", to - from >= 3000 && Date.now() - to < 30000, a);
		is("pause: says so", [await pill(page), await text(page, "#pause")], ["held", "▶ Live"]);
		// The server goes on
		for (let now = 0; now < to + 3000;)
			now = (await (await fetch(server.url + "/api/series?cells=10")).json()).to_ms;
		is("pause: the picture stays", await text(page, "#facts"), facts);
		const other = await visit(server, "a=" + a);
		is("pause: who gets the link sees the same", [(await shown(other))[0], await answer(other)], [expected(from, to)[0], await answer(page)]);
		await done("pause, linked", other);
		await page.keyboard.press(" ");
		is("pause: and on again", await pill(page), "on");
		await until(page, (old) => document.querySelector("#facts").textContent !== old, facts);
		await page.goBack();
		is("pause: back is the range", (await parts(page)).a, a);
		await page.click("#live");
		ok("pause: the word live leads back", !(await parts(page)).a);
		await done("pause", page);
		await stop(server);
	},
	async ranges() {
		const server = await saved(), page = await visit(server);
		is("saved: said", await text(page, "#live"), "saved profile");
		await showsExactly("saved: all of it", page, FROM, FROM + 180000, 0, 1000, recorded);
		await picture(page, "serve-saved");
		await drag(page, [at(22), 0.5], [at(38), 0.5]);
		let [from, to] = spanOf((await parts(page)).a);
		ok("range: dragged", near(from, FROM + 22000, 600) && near(to, FROM + 38000, 600), [from - FROM, to - FROM]);
		await showsExactly("range", page, from, to);
		is("range: its hot function is that of these seconds", Object.keys(await functions(page)).includes("hash_step"), false);
		is("range: in words", /\(1[56](\.\d)? s\)/.test(await text(page, "#range")), true);
		await picture(page, "serve-range");
		await drag(page, [at(38), 0.5], [at(50), 0.5]);
		[from, to] = spanOf((await parts(page)).a);
		ok("range: an edge can be moved", near(from, FROM + 22000, 600) && near(to, FROM + 50000, 600), [from - FROM, to - FROM]);
		await showsExactly("range, longer", page, from, to);
		await page.goBack();
		ok("range: back undoes", near(spanOf((await parts(page)).a)[1], FROM + 38000, 600));
		await showsExactly("range, again", page, ...spanOf((await parts(page)).a));
		const link = await page.evaluate(() => location.hash.slice(1)), other = await visit(server, link);
		is("range: a link shows the same", [await answer(other), await shown(other)], [await answer(page), await shown(page)]);
		await done("range, linked", other);
		await addChip(page, "process:metronome");
		await loaded(page);
		is("range: chips are of all", [await chips(page), Object.keys(await functions(page))], [["process:metronome"], ["tick_work"]]);
		await until(page, () => document.querySelectorAll(".strip-legend li button").length === 1);
		ok("range: of the timeline too", (await text(page, ".strip-legend")).startsWith("metronome 100.0 %"), await text(page, ".strip-legend"));
		await page.goBack();
		await page.keyboard.press("a");
		ok("range: let go of", !(await parts(page)).a);
		await page.selectOption("#over", "container");
		await until(page, () => /shop-frontend/.test(document.querySelector(".strip-legend").textContent));
		ok("timeline: by container", /\[no container\]/.test(await text(page, ".strip-legend")), await text(page, ".strip-legend"));
		await page.selectOption("#over", "unit");
		await until(page, () => /metronome\.service/.test(document.querySelector(".strip-legend").textContent));
		await page.click(".strip-legend button:has-text('shop.service')");
		is("timeline: its legend filters", await chips(page), ["unit:shop.service"]);
		await done("ranges", page);
		await stop(server);
	},
	async reaching() {
		const server = await saved(), page = await visit(server, "a=" + span(20, 30));
		await loaded(page);
		await page.focus("#strip canvas");
		const spans = async () => spanOf((await parts(page)).a).map((one) => one - FROM);
		await page.keyboard.press("ArrowRight");
		let [from, to] = await spans();
		ok("keys: the range moves", from > 20000 && near(to - from, 10000, 2), [from, to]);
		await page.keyboard.press("Shift+ArrowRight");
		ok("keys: and grows", (await spans())[0] === from && (await spans())[1] > to, await spans());
		await showsExactly("keys", page, ...spanOf((await parts(page)).a));
		await page.keyboard.press("+");
		await until(page, () => location.hash.includes("t="));
		ok("keys: the timeline zooms", near(spanOf((await parts(page)).t)[1] - spanOf((await parts(page)).t)[0], 90000, 2000), (await parts(page)).t);
		await page.keyboard.press("0");
		ok("keys: and shows all", !(await parts(page)).t);
		await page.keyboard.press("Escape");
		ok("keys: Escape lets go of the range", !(await parts(page)).a);
		await page.keyboard.press("ArrowRight");
		ok("keys: a range from nothing", !!(await parts(page)).a);
		await page.click("#second");
		await page.focus("#strip canvas");
		await page.keyboard.press("ArrowLeft");
		ok("keys: the second range", !!(await parts(page)).b, await parts(page));
		await page.goto(server.url + "/#a=" + span(20, 30));
		await loaded(page);
		await page.keyboard.press("]");
		is("keys: as long later", (await parts(page)).a, span(30, 40));
		await page.keyboard.press("[");
		is("keys: as long earlier", (await parts(page)).a, span(20, 30));
		// On a server that takes its time: what is zoomed is what is seen, whether its answer is there or not
		await page.route("**/api/series*", (route) => setTimeout(() => route.continue().catch(() => {}), 700));
		await page.focus("#strip canvas");
		await page.keyboard.press("+");
		await until(page, () => location.hash.includes("t="));
		await page.keyboard.press("0");
		await page.mouse.move(...await point(page, 0.1, 0.5));
		await page.mouse.wheel(0, -300);
		await until(page, () => location.hash.includes("t="));
		[from, to] = spanOf((await parts(page)).t);
		await page.unroute("**/api/series*");
		ok("wheel: zooms around the pointer", to - from < 100000 && near((WHOLE[0] + 0.1 * (WHOLE[1] - WHOLE[0]) - from) / (to - from), 0.1, 0.02), [from - FROM, to - FROM]);
		await page.click("#zoom-in");
		[from, to] = spanOf((await parts(page)).t);
		ok("zoom to the range", from <= FROM + 20000 && to >= FROM + 30000 && to - from < 20000, [from - FROM, to - FROM]);
		await done("reaching", page);
		const phone = await visit(server, "", { hasTouch: true, viewport: { width: 500, height: 800 } });
		await loaded(phone);
		const finger = async (type, part) => {
			const [x, y] = await point(phone, part, 0.5);
			await phone.locator("#strip canvas").dispatchEvent(type, { pointerId: 1, pointerType: "touch", isPrimary: true, button: 0, clientX: x, clientY: y, bubbles: true });
		};
		await phone.locator("#strip canvas").evaluate((canvas) => canvas.setPointerCapture = () => {}); // of a made-up finger there is none
		for (const [first, second, part] of [[at(20), at(40), "a"], [at(0), at(19), "b"]]) {
			if (part === "b")
				await phone.click("#second");
			await finger("pointerdown", first);
			await finger("pointermove", (first + second) / 2);
			await finger("pointermove", second);
			await finger("pointerup", second);
			ok("touch: a drag chooses " + part.toUpperCase(), !!(await parts(phone))[part], await parts(phone));
		}
		await done("touch", phone);
		await stop(server);
	},
	async comparing() {
		const server = await saved(), page = await visit(server);
		await loaded(page);
		await drag(page, [at(22), 0.5], [at(38), 0.5]);
		await drag(page, [at(2), 0.5], [at(18), 0.5], { shift: true });
		const { a, b } = await parts(page);
		ok("compare: shift-drag is the second range", near(spanOf(b)[0], FROM + 2000, 600) && near(spanOf(a)[0], FROM + 22000, 600), { a, b });
		await loaded(page);
		ok("compare: the answer", /^(hash_step shrank|sort_step grew) most, by 6\d\.\d points; 2 functions changed by more than noise\.$/.test(await answer(page)), await answer(page));
		is("compare: the legend", await page.locator("#legend li").allTextContents(), ["grew", "shrank", "within noise"]);
		const [before, after] = [expected(...spanOf(b))[0], expected(...spanOf(a))[0]].map((sum) => sum.toLocaleString("en"));
		ok("compare: the foot has both", new RegExp(`before: ${before} samples.*\\n*after: ${after} samples`).test(await text(page, "#facts")), await text(page, "#facts"));
		await picture(page, "serve-compare");
		await page.keyboard.press("6");
		const rows = Object.fromEntries(await page.locator(".rows .row").evaluateAll((all) => all.map((row) => [row.children[6].textContent, row.children[5].textContent])));
		is("compare: what is noise is said", [rows.sort_step, rows.hash_step, rows.tick_work], ["grew", "shrank", "noise"]);
		await page.keyboard.press("1");
		await page.click("#no-second");
		ok("compare: no longer", !(await parts(page)).b);
		await page.goto(server.url + "/#a=" + span(20, 40));
		await loaded(page);
		await page.keyboard.press("b");
		is("what changed: as long before", (await parts(page)).b, span(0, 20));
		await loaded(page);
		ok("what changed: the answer", /most, by 64\.9 points; 2 functions/.test(await answer(page)), await answer(page));
		ok("what changed: the command", /^wick diff --from 2023-11-14T22:13:40.000Z --to 2023-11-14T22:14:00.000Z --against 2023-11-14T22:13:20.000Z$/.test(await page.evaluate(() => {
			document.querySelector("#details button").click();
			return document.querySelector(".command").textContent;
		})), await text(page, ".command"));
		await page.keyboard.press("b");
		ok("what changed: once more is no comparison", !(await parts(page)).b);
		await page.goto(server.url + "/#a=" + span(0, 20));
		await loaded(page);
		await page.keyboard.press("b");
		ok("what changed: nothing is before the beginning", (await text(page, "#toast")).includes("Nothing is kept of the time before") && !(await parts(page)).b, await text(page, "#toast"));
		await done("compare", page);
		await stop(server);
	},
	async heat() {
		const server = await saved(), page = await visit(server, "strip=heat&t=" + span(0, 40));
		await loaded(page);
		const look = () => pixels(page, [...Array(9).keys()].map((i) => [0.51, (i + 0.5) / 10])), began = Date.now();
		let bands = await look();
		while (bands[0] === bands[1] && Date.now() - began < 10000)
			bands = await look();
		is("heat: shows the rhythm of 200 ms", bands.map((colour) => colour === bands[0] ? "#" : colour === bands[1] ? "." : "?").join(""), "#.#.#.#.#");
		await picture(page, "serve-heat");
		await drag(page, [5.5 / 40, 0.22], [14.5 / 40, 0.28]);
		let { a, ms } = await parts(page);
		is("heat: a rectangle over seconds is these milliseconds of each", [a, ms], [span(5, 15), "220-300"]);
		await showsExactly("heat, in the beat", page, FROM + 5000, FROM + 15000, 220, 300);
		ok("heat, in the beat: names the function", Object.keys(await functions(page)).includes("tick_work"));
		is("heat: as long as these moments", (await shown(page))[1], 0.8);
		await picture(page, "serve-heat-chosen");
		await drag(page, [5.5 / 40, 0.13], [14.5 / 40, 0.17]);
		await showsExactly("heat, between two beats", page, FROM + 5000, FROM + 15000, 120, 180);
		ok("heat, between two beats: it does not run", !Object.keys(await functions(page)).includes("tick_work"));
		await drag(page, [25.5 / 40, 0.41], [25.6 / 40, 0.45]);
		({ a, ms } = await parts(page));
		is("heat: within a second it is a range", [a, ms], [`${FROM + 25400}-${FROM + 25460}`, undefined]);
		await showsExactly("heat, within a second", page, FROM + 25400, FROM + 25460);
		await page.goBack();
		is("heat: back undoes", (await parts(page)).ms, "120-180");
		ok("heat: hovering tells", /\d\d-\d\d \d\d:\d\d:\d\d\s+200–220 ms: 4 samples/.test(await over(page, 10.5 / 40, 0.21)), await text(page, "#tip"));
		await page.focus("#strip canvas");
		for (const key of ["ArrowRight", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowDown"])
			await page.keyboard.press(key);
		({ a, ms } = await parts(page));
		is("heat: by the keyboard", [a, ms], [span(20, 22), "20-60"]);
		await page.keyboard.press("a");
		await loaded(page);
		await choose(page, "tick_work");
		await page.selectOption("#of", "fn:tick_work");
		await until(page, () => location.hash.includes("of=fn"));
		await loaded(page);
		const empty = async () => (await pixels(page, [[0.51, 0.15], [0.51, 0.05], [0.51, 0.75]]));
		const start = Date.now();
		let seen = await empty();
		while ((seen[0] !== seen[2] || seen[0] !== "238,242,247") && Date.now() - start < 10000)
			seen = await empty();
		ok("heat: of one function", seen[0] === "238,242,247" && seen[1] !== seen[0], seen);
		await picture(page, "serve-heat-function");
		await page.selectOption("#of", "process:switcher");
		await until(page, () => location.hash.includes("of=process"));
		await page.keyboard.press("7");
		ok("heat: 7 is the timeline again", !(await parts(page)).strip);
		await done("heat", page);
		await stop(server);
	},
	async curve() {
		const server = await saved(), page = await visit(server);
		await loaded(page);
		await choose(page, "alpha");
		await until(page, () => !!document.querySelector(".fn-curve"));
		is("curve: of the selected function", await text(page, ".fn-curve"), "alpha");
		const high = await over(page, at(10), 0.9), low = await over(page, at(30), 0.9);
		ok("curve: high while it ran", /\n1\.0\d cores\s+alpha, the line/.test(high) || /\n0\.9\d cores\s+alpha, the line/.test(high), high);
		ok("curve: low while it did not", /0\.00 cores\s+alpha, the line/.test(low), low);
		ok("curve: cores of processes are told", /1\.0\d cores\s+switcher|0\.9\d cores\s+switcher/.test(high), high);
		await picture(page, "serve-curve");
		await page.keyboard.press("Escape");
		await until(page, () => !document.querySelector(".fn-curve"));
		ok("curve: gone with the selection", true);
		await done("curve", page);
		await stop(server);
	},
	// What the chips leave is what the picture, the timeline and the heat map show, to the sample.
	async filters() {
		const lists = ["process:switcher", "-process:switcher", "process:/^me/", "process:200", "process:metronome (200)", "thread:/metro.*200/", "container:shop-frontend", "container:[no container]",
			"unit:/shop/ unit:metronome.service", "-unit:/shop/", "module:metronome", "-module:/^met/", "kind:native", "-kind:native", "fn:step", "fn:metronome", "fn:/hash|tick/", "fn:/HASH/i", "-fn:alpha",
			"fn:<script>", "focus:beta", "focus:bet", "callers:main", "ignore:tick", "hide:hash_step", "hide:/./", "foldrec:*", "process:switcher fn:beta kind:native", "fn:/\\b(?:alp|x)h\\w+?$/", "fn:/[^\\d\\]]lpha/"];
		const server = await lively("past=120"), now = 1000 * (Math.floor(Date.now() / 20000) * 20), range = `${now - 80000}-${now - 30000}`, sums = new Set();
		const page = await visit(server, "a=" + range);
		const total = (path) => page.evaluate(async (name) => {
			const { name: url } = performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname === name).pop(), said = await (await fetch(url)).json();
			return (said.counts || said.curves.map((one) => one.total)).reduce((sum, one) => sum + one, 0);
		}, path);
		const drawn = () => loaded(page).then(() => page.waitForSelector("#strip .stage[aria-busy=false]"));
		for (const list of lists) {
			const fragment = new URLSearchParams([["a", range], ["t", range], ...list.split(/ (?=-?[a-z]+:)/).map((one) => ["f", one])]);
			await page.evaluate((to) => location.hash = to, String(fragment));
			await until(page, (to) => [...document.querySelectorAll("#chips .chip")].map((one) => one.title).join(" ") === to, list);
			await drawn();
			const sum = +/^([\d,]+) of/.exec(await text(page, "#share"))[1].replace(/,/g, "");
			sums.add(sum);
			is(`filters, ${list}: the timeline has as many`, await total("/api/series"), sum);
			await page.evaluate((to) => location.hash = to, fragment + "&strip=heat");
			await page.waitForSelector("#strip.is-heat");
			await drawn();
			is(`filters, ${list}: the heat map too`, await total("/api/heat"), sum);
			is(`filters, ${list}: nothing to remark`, await text(page, ".strip-note"), "");
		}
		ok("filters: they differ", sums.size > 8, [...sums]);
		await page.evaluate((to) => location.hash = to, String(new URLSearchParams([["a", range], ["t", range], ["f", "fn:/(?=al)alpha/"]])));
		await until(page, () => document.querySelector(".strip-note").textContent.includes("no words"));
		is("filters: what the server cannot say is named", await text(page, ".strip-note"), "Over time not by fn:/(?=al)alpha/: the server has no words for that.");
		await page.evaluate((to) => location.hash = to, String(new URLSearchParams([["a", range], ["over", "container"]])));
		await page.click(".strip-legend button:has-text('[no container]')");
		is("filters: what is in no container can be chosen", await chips(page), ["container:[no container]"]);
		await loaded(page);
		ok("filters: and is there", /^metronome used/.test(await answer(page)), await answer(page));
		await done("filters", page);
		await stop(server);
	},
	// What was wrong once.
	async looks() {
		const server = await lively("past=120"), now = 1000 * (Math.floor(Date.now() / 20000) * 20), odd = "<img src=x onerror=window.hit=1>";
		let page = await visit(server, new URLSearchParams([["a", `${now - 80000}-${now - 30000}`], ["f", "process:" + odd]]).toString());
		await loaded(page);
		await until(page, () => document.querySelector(".strip-legend").textContent.includes("100.0 %"));
		const edge = await page.locator("#strip canvas").evaluate((canvas) => {
			const copy = new OffscreenCanvas(3, canvas.height).getContext("2d");
			copy.drawImage(canvas, 0, 0);
			return new Set(new Uint32Array(copy.getImageData(0, 0, 3, canvas.height).data.buffer)).size;
		});
		is("timeline: what stands beside it is whole", edge, 1);
		await done("a small share", page);
		page = await visit(server, "a=1600000000000-1600000060000");
		await page.waitForSelector("#view button:has-text('nearest')");
		ok("long ago: why, and the nearest", /What is kept begins \d\d-\d\d/.test(await text(page, "#view")), await text(page, "#view"));
		ok("long ago: nothing beside it", !await page.locator("#inspector").isVisible());
		is("long ago: the machine is named all the same", await text(page, "#host"), "shop1");
		await done("long ago", page);
		const beta = [40000, 60000, 80000].map((ago) => now - ago).find((from) => from / 20000 % 2 === 1);
		page = await visit(server, `a=${beta}-${beta + 20000}&f=fn:alpha`);
		await page.click("#view button:has-text('nearest')");
		await loaded(page);
		ok("not in this range: the nearest that has some of it", /^switcher used 100\.0 % of this; hash_step alone/.test(await answer(page)), await answer(page));
		await done("not in this range", page);
		page = await visit(server, "w=900");
		await until(page, () => parseFloat((/ in ([\d.]+) s/.exec(document.querySelector("#facts").textContent) || [])[1]) >= 100);
		const top = await page.evaluate(async () => (await (await fetch("/api/series?cells=400")).json()).curves.map((one) => one.values[399]));
		ok("timeline: it ends with a second that is whole", top.some((one) => one > 0), top);
		await stop(server);
		await until(page, () => document.querySelector("#live").dataset.kind === "gone");
		ok("gone: a picture of more than was heard stays too", parseFloat(/ in ([\d.]+) s/.exec(await text(page, "#facts"))[1]) >= 100, await text(page, "#facts"));
		page.trouble = page.trouble.filter((one) => !/console: Failed to load resource: net::ERR_/.test(one));
		await done("a longer picture", page);
		const busy = await serve("feed", "data=" + join(folder, "busy"), "past=3", "busy.wick"), other = await visit(busy, "a=" + `${now - 600000}-${now + 600000}`);
		await loaded(other);
		await other.waitForSelector(".strip-legend .swatch");
		const hues = await other.locator(".strip-legend .swatch").evaluateAll((all) => all.map((one) => one.style.background));
		ok("timeline: no colour twice", hues.length > 5 && new Set(hues).size === hues.length, hues);
		await done("colours", other);
		await stop(busy);
	},
	async gaps() {
		const server = await saved(), page = await visit(server);
		await loaded(page);
		await until(page, () => /nothing kept/.test(document.querySelector(".strip-legend").textContent));
		ok("gap: hovering tells why", /nothing kept: no file is of this time/.test(await over(page, at(90), 0.5)), await text(page, "#tip"));
		await drag(page, [at(70), 0.5], [at(110), 0.5]);
		await loaded(page);
		ok("gap: no samples, and why", /No samples in this range[^]*Nothing was kept: no file is of this time/.test(await text(page, "#view")), await text(page, "#view"));
		await picture(page, "serve-gap");
		const wide = (await page.goto(server.url + "/#a=" + span(20, 40) + "&b=" + span(70, 90)), await loaded(page), await text(page, "#notice"));
		ok("gap: nothing to compare with, said", /^No samples in B, .*: A is shown alone\.$/.test(wide), wide);
		await page.goto(server.url + "/#a=" + span(70, 110));
		await loaded(page);
		await page.click("#view button:has-text('nearest')");
		await loaded(page);
		ok("gap: the nearest that has some", (await shown(page))[0] > 0, await parts(page));
		await done("gaps", page);
		await stop(server);
		const live = await lively("past=120", "gap=3"), other = await visit(live);
		await until(other, () => /nothing kept/.test(document.querySelector(".strip-legend").textContent));
		ok("gap: of a store", true);
		await done("gaps of a store", other);
		await stop(live);
	},
	async gone() {
		const server = await lively("past=60"), page = await visit(server);
		await lives(page);
		await stop(server);
		await until(page, () => document.querySelector("#live").dataset.kind === "gone");
		const last = await answer(page);
		ok("gone: said", /^server gone since \d\d:\d\d:\d\d: the last picture stays, asking again$/.test(await text(page, "#live")), await text(page, "#live"));
		ok("gone: the last picture stays", await colours(page) > 3 && last.startsWith("switcher used"), last);
		await picture(page, "serve-gone");
		await page.keyboard.press("6");
		ok("gone: and can be looked at", await page.locator(".rows .row").count() > 3);
		await page.keyboard.press("1");
		const again = await lively("past=60", "listen=127.0.0.1:" + server.port);
		await page.waitForSelector("#live[data-kind=on]", longer);
		ok("gone: back by itself", true);
		await lives(page);
		ok("gone: live again, from anew", (await answer(page)).startsWith("switcher used"));
		page.trouble = page.trouble.filter((one) => !/console: Failed to load resource: net::ERR_/.test(one)); // the browser's own word on it
		await done("gone", page);
		await stop(again);
	},
	async narrow() {
		const server = await lively("past=120", "gap=2"), now = 1000 * (Math.floor(Date.now() / 20000) * 20), chosen = `a=${now - 40000}-${now - 20000}`;
		for (const colorScheme of ["light", "dark"])
			for (const [name, fragment] of [["live", ""], ["heat", "strip=heat&" + chosen + "&ms=200-300"], ["compare", chosen + `&b=${now - 60000}-${now - 40000}`], ["table", "v=table&" + chosen]]) {
				const page = await visit(server, fragment, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme });
				await loaded(page);
				is(`360 px, ${name}, ${colorScheme}: nothing sticks out`, await overflow(page), []);
				is(`360 px, ${name}, ${colorScheme}: contrast`, await faint(page), []);
				ok(`360 px, ${name}, ${colorScheme}: there is room for the picture`, (await boxOf(page.locator("#view"))).height > 150, await boxOf(page.locator("#view")));
				const wide = await page.locator(".strip-bar > *:visible").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.id));
				is(`360 px, ${name}, ${colorScheme}: every button in sight`, wide, []);
				await picture(page, `serve-narrow-${name}-${colorScheme}`);
				await done("360 px, " + name, page);
			}
		await stop(server);
	},
	async wide() {
		const server = await lively("past=300", "gap=2"), now = 1000 * (Math.floor(Date.now() / 20000) * 20), chosen = `a=${now - 40000}-${now - 20000}`;
		for (const colorScheme of ["light", "dark"])
			for (const [name, fragment] of [["live", ""], ["heat", "strip=heat&" + chosen + "&ms=200-300"], ["compare", chosen + `&b=${now - 60000}-${now - 40000}`], ["curve", chosen + "&s=switcher;_start;main;run_loop;beta"]]) {
				const page = await visit(server, fragment, { viewport: { width: 1600, height: 900 }, colorScheme });
				await loaded(page);
				is(`wide, ${name}, ${colorScheme}: nothing sticks out`, await overflow(page), []);
				is(`wide, ${name}, ${colorScheme}: contrast`, await faint(page), []);
				await picture(page, `serve-wide-${name}-${colorScheme}`);
				await done("wide, " + name, page);
			}
		await stop(server);
	},
	async hostile() {
		const server = await saved(), page = await visit(server);
		await loaded(page);
		ok("hostile names: are shown as they are", (await text(page, ".strip-legend")).includes("<img src=x"), await text(page, ".strip-legend"));
		for (const key of ["7", "7", "6", "5", "4", "1"])
			await page.keyboard.press(key);
		await page.click(".strip-legend button:has-text('<img')");
		await loaded(page);
		is("hostile names: as a chip", await chips(page), ["process:<img src=x onerror=window.hit=1>"]);
		is("hostile names: the functions", Object.keys(await functions(page)), ["\"onload=\"window.hit=1"]);
		await choose(page, "<script>window.hit=1</script>");
		await until(page, () => !!document.querySelector(".fn-curve"));
		is("hostile names: are inert", await page.evaluate(() => [window.hit, document.querySelectorAll("img, #app script").length]), [null, 0].map((one) => one === null ? undefined : one));
		await done("hostile names", page);
		const linked = await visit(server, "a=5-1&b=%3Cimg%3E&ms=999-9999&t=9-3&strip=%3Cscript%3E&over=%3Cb%3E&of=fn:%3Cimg%20src=x%20onerror=window.hit=1%3E&w=7");
		await loaded(linked);
		is("hostile links: are inert", await linked.evaluate(() => window.hit), undefined);
		ok("hostile links: show what there is", (await shown(linked))[0] === expected(FROM, FROM + 180000, 0, 1000, recorded)[0]);
		await done("hostile links", linked);
		await stop(server);
	},
	async untimed() {
		const server = await serve("httpserve", join(folder, "busy.wick")), page = await visit(server);
		is("without times: the same as in a file", await answer(page), "redis-server used 53.9 % of this; luaV_execute alone 22.5 %.");
		ok("without times: no strip", !await has(page, "#strip"));
		await page.keyboard.press("b");
		ok("without times: what changed is not known", (await text(page, "#toast")).includes("not known when"));
		await done("without times", page);
		await stop(server);
	},
	async shell() {
		const server = await saved(), page = await visit(server, "", { quiet: true, before: () => {
			const real = window.fetch;
			window.fetch = (...words) => new Promise((resolve) => window.go = resolve).then(() => real(...words));
		} });
		await page.waitForSelector("#strip canvas");
		ok("shell: painted before there is data", await page.locator("#views").isVisible() && (await text(page, "#view")).includes("Asking the server"), await text(page, "#view"));
		await picture(page, "serve-shell");
		await page.context().close();
		await stop(server);
	},
	async refusals() {
		const server = await saved(), page = await visit(server, "a=" + span(0, 20));
		await page.route("**/api/profile*", (route) => route.fulfill({ status: 500, contentType: "application/json", body: "{\"error\":\"the answer could not be made\"}" }));
		await page.keyboard.press("]");
		await page.waitForSelector("#notice:visible");
		is("an error: said", await text(page, "#notice"), "The server could not answer: the answer could not be made.");
		ok("an error: the last picture stays", await colours(page) > 2);
		await picture(page, "serve-error");
		await page.unroute("**/api/profile*");
		await page.keyboard.press("]");
		await until(page, () => document.querySelector("#notice").hidden);
		ok("an error: over with the next answer", true);
		page.trouble = page.trouble.filter((one) => !/status of 500/.test(one));
		await done("an error", page);
		await stop(server);
	},
};

const only = process.env.ONLY ? process.env.ONLY.split(",") : Object.keys(tests);
main(folder, pictures, Object.fromEntries(only.map((name) => [name, tests[name]])));
