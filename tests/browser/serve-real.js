// SPDX-License-Identifier: Apache-2.0
// The page of `wick serve` under real load: serve-real.js FOLDER PICTURES, the server's address in URL. Speaks TAP;
// tests/kernel/serve-page.t starts the server, and programs that switch their hot function every ten seconds of the wall
// clock (switcher) and work in a rhythm of 200 ms (metronome).
"use strict";
const { ok, is, done, text, picture, selected, choose, until, overflow, main } = require("./lib.js");
const { visit, answer, parts, functions, point, drag, loaded } = require("./serving.js");

const [folder, pictures] = process.argv.slice(2), server = { url: process.env.URL };
const SWITCHER = "f=process:switcher", METRONOME = "f=process:metronome";

const poll = async (yes, seconds) => {
	const end = Date.now() + 1000 * seconds;
	let found = await yes();
	while (!found && Date.now() < end)
		found = await yes();
	return found;
};

// Until the server has everything before a moment.
const reached = (moment) => poll(async () => (await (await fetch(server.url + "/api/series?cells=10")).json()).to_ms > moment + 2000, 60);
const hot = async (page) => (/(alpha|beta) alone/.exec(await answer(page)) || [])[1];
let phase = 0; // the first ten seconds that are wholly there, in ms

const tests = {
	async live() {
		const page = await visit(server, "w=10&" + SWITCHER), first = await poll(() => hot(page), 30);
		phase = Math.ceil(Date.now() / 10000) * 10000;
		ok("live: names the hot function", !!first, await answer(page));
		ok("live: follows when another is hot", await poll(async () => (await hot(page)) && await hot(page) !== first, 60), await answer(page));
		await picture(page, "serve-real-live");
		await done("live", page);
	},
	async ranges() {
		await reached(phase + 20000);
		const [now, then] = [phase / 10000 % 2, (phase / 10000 + 1) % 2].map((odd) => odd ? "beta" : "alpha");
		for (const [from, wanted, other] of [[phase, now, then], [phase + 10000, then, now]]) {
			const page = await visit(server, `a=${from + 500}-${from + 9500}&` + SWITCHER);
			await loaded(page);
			const found = Object.keys(await functions(page));
			ok(`range: ${wanted} and not ${other}`, (await hot(page)) === wanted && !found.includes(other), [await answer(page), found]);
			await done("range", page);
		}
		const page = await visit(server, `a=${phase + 10500}-${phase + 19500}&b=${phase + 500}-${phase + 9500}&` + SWITCHER);
		await loaded(page);
		ok("compare: what grew", new RegExp(`^(${then} grew|${now} shrank) most`).test(await answer(page)), await answer(page));
		await picture(page, "serve-real-compare");
		await page.goto(server.url + `/#a=${phase + 10000}-${phase + 20000}&` + SWITCHER);
		await loaded(page);
		await page.keyboard.press("b");
		is("what changed: as long before", (await parts(page)).b, `${phase}-${phase + 10000}`);
		await loaded(page);
		ok("what changed: the answer", new RegExp(`^(${then} grew|${now} shrank) most`).test(await answer(page)), await answer(page));
		await done("compare", page);
	},
	async curve() {
		const page = await visit(server, `a=${phase}-${phase + 20000}`);
		await loaded(page);
		await choose(page, "alpha");
		await until(page, () => !!document.querySelector(".fn-curve"));
		is("curve: of the selected function", [await selected(page), await text(page, ".fn-curve")], ["alpha", "alpha"]);
		await picture(page, "serve-real-curve");
		await done("curve", page);
	},
	async heat() {
		const page = await visit(server, `strip=heat&of=process:metronome&t=${phase}-${phase + 20000}&` + METRONOME);
		await loaded(page);
		// How much of a line of the heat map is not blank
		const line = async (part) => {
			const [x, y] = await point(page, 0, part), [end] = await point(page, 1, part);
			return page.locator("#strip canvas").evaluate((canvas, [left, right, top]) => {
				const box = canvas.getBoundingClientRect(), copy = new OffscreenCanvas(right - left, 1).getContext("2d", { willReadFrequently: true });
				copy.drawImage(canvas, left - box.x, top - box.y, right - left, 1, 0, 0, right - left, 1);
				const { data } = copy.getImageData(0, 0, Math.floor(right - left), 1);
				let dark = 0;
				for (let i = 0; i < data.length; i += 4)
					dark += data[i] + data[i + 1] + data[i + 2] < 700;
				return dark / (data.length / 4);
			}, [Math.round(x), Math.round(end), Math.round(y)]);
		};
		await poll(async () => await line(0.05) > 0, 20);
		const beats = [0.05, 0.25, 0.45, 0.65, 0.85], on = [], off = [];
		for (const beat of beats) {
			on.push(await line(beat));
			off.push(await line(beat + 0.1));
		}
		const sum = (list) => list.reduce((all, one) => all + one);
		ok("heat: shows the rhythm of 200 ms", on.every((share, i) => share > off[i]) && sum(on) > 4 * sum(off) && sum(on) > 0.3, { on, off });
		await picture(page, "serve-real-heat");
		await drag(page, [2.5 / 20, 0.21], [17.5 / 20, 0.27]);
		await loaded(page);
		is("heat: exactly these moments", [(await parts(page)).a, (await parts(page)).ms], [`${phase + 2000}-${phase + 18000}`, "200-280"]);
		ok("heat: names the function", /^metronome used 100\.0 % of this; tick_work alone/.test(await answer(page)), await answer(page));
		await picture(page, "serve-real-heat-chosen");
		await drag(page, [2.5 / 20, 0.33], [17.5 / 20, 0.37]);
		await loaded(page);
		ok("heat: between the beats it hardly runs", (await text(page, "#view")).includes("No samples") || parseFloat((await text(page, "#share")).replace(/,/g, "")) < 10, await text(page, "#share"));
		await done("heat", page);
	},
	async hostile() {
		const page = await visit(server, `a=${phase}-${phase + 20000}&f=` + encodeURIComponent("process:<b onclick=hit>"));
		await loaded(page);
		ok("hostile names: are shown as they are", (await answer(page)).startsWith("<b onclick=hit> used 100.0 % of this; spin alone"), await answer(page));
		is("hostile names: make no elements", await page.evaluate(() => document.querySelectorAll("b[onclick]").length), 0);
		await page.setViewportSize({ width: 360, height: 740 });
		is("360 px: nothing sticks out", await overflow(page), []);
		await done("hostile", page);
	},
};

main(folder, pictures, tests);
