// SPDX-License-Identifier: Apache-2.0
// Measures two pages in Chromium: page.js FOLDER SPEEDSCOPE STACKS; bench/page makes the files. Both come from one server
// on the loopback interface and are treated alike: opened, then stretched and let go by Ctrl and the wheel.
"use strict";
const { chromium } = require("playwright-core");
const { createServer } = require("http");
const { readFile, statSync } = require("fs");
const { extname, join, normalize } = require("path");

const [folder, speedscope, stacks] = process.argv.slice(2), rounds = +process.env.ROUNDS, REDRAWS = 40;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };
let missed = 0;

function serve() {
	const server = createServer((request, response) => {
		const path = normalize(decodeURIComponent(request.url.split("?")[0]));
		readFile(path.startsWith("/speedscope/") ? join(speedscope, path.slice(12)) : join(folder, path), (error, data) => {
			response.writeHead(error ? 404 : 200, { "Content-Type": TYPES[extname(path)] || "application/octet-stream" });
			response.end(error ? "" : data);
		});
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// Milliseconds from the navigation to the second frame drawn after the page says that it is there.
function watch(ready) {
	const seen = () => {
		if (!(0, eval)(ready))
			return requestAnimationFrame(seen);
		return requestAnimationFrame(() => requestAnimationFrame(() => window.firstPicture = performance.now()));
	};
	requestAnimationFrame(seen);
}

const PAGES = {
	wick: { path: "/page.html", ready: "document.body && document.body.classList.contains('ready')" },
	speedscope: { path: "/speedscope/index.html#profileURL=/profile.json", ready: "!/^speedscope$/.test(document.title) && !!document.title && !!document.querySelector('canvas')", key: "2" },
	million: { path: "/million.html", ready: "document.body && document.body.classList.contains('ready')" },
};

const frame = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function measure(browser, base, { path, ready, key }) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, bypassCSP: true, reducedMotion: "reduce" }), page = await context.newPage();
	const session = await context.newCDPSession(page), script = async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "ScriptDuration").value;
	await page.addInitScript(watch, ready);
	await page.goto(base + path);
	await page.waitForFunction(() => window.firstPicture, null, { timeout: 120000 });
	const first = await page.evaluate(() => window.firstPicture);
	if (key)
		await page.keyboard.press(key);
	await session.send("Performance.enable");
	await page.mouse.move(640, 500);
	await frame(page);
	await page.keyboard.down("Control");
	await page.mouse.wheel(0, -30);
	await frame(page);
	const before = await script();
	for (let i = 0; i < REDRAWS; i++) {
		await page.mouse.wheel(0, i % 20 < 10 ? -30 : 30);
		await frame(page);
	}
	const each = 1000 * (await script() - before) / REDRAWS;
	await page.keyboard.up("Control");
	if (process.env.PICTURES)
		await page.screenshot({ path: join(process.env.PICTURES, path.split(/[/.]/)[1] + ".png") });
	await context.close();
	return { first, each };
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

function target(title, got, most) {
	console.log(title.padEnd(58), got.toFixed(3) + ", at most " + most.toFixed(3) + ": " + (got <= most ? "reached" : "NOT reached"));
	missed |= got > most;
}

async function main() {
	const server = await serve(), base = "http://127.0.0.1:" + server.address().port;
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
	const got = { wick: [], speedscope: [], million: [] };
	for (let round = 0; round < rounds; round++)
		for (const name of ["wick", "speedscope"])
			got[name].push(await measure(browser, base, PAGES[name]));
	got.million.push(await measure(browser, base, PAGES.million));
	await browser.close();
	server.close();
	const of = (name, what) => median(got[name].map((one) => one[what])), size = (file) => statSync(join(folder, file)).size;
	console.log(`${stacks} distinct stacks; medians of ${rounds} rounds, ${REDRAWS} redraws each\n\n| | first picture, ms | script a redraw, ms | file, MB |\n|---|---|---|---|`);
	for (const [name, title, file] of [["wick", "wick's page", "page.html"], ["speedscope", "speedscope", "profile.json"], ["million", "wick's page, 1000000 stacks, once", "million.html"]])
		console.log(`| ${title} | ${of(name, "first").toFixed(0)} | ${of(name, "each").toFixed(2)} | ${(size(file) / 1e6).toFixed(2)} |`);
	console.log();
	target("time to the first picture, of speedscope's", of("wick", "first") / of("speedscope", "first"), 0.5);
	target("script for each redraw, of speedscope's", of("wick", "each") / of("speedscope", "each"), 0.5);
	target("size of the file, of speedscope's JSON", size("page.html") / size("profile.json"), 1 / 3);
	process.exit(missed ? 1 : 0);
}

main();
