// SPDX-License-Identifier: Apache-2.0
// What tests of a server's page share: servers to start and to stop, pages of theirs in which nothing may go wrong and
// nobody else may be asked, and what stands on them.
"use strict";
const { spawn } = require("child_process");
const { join } = require("path");
const lib = require("./lib.js");

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

// Starts a tool that prints its port when it serves.
function serve(tool, ...words) {
	return new Promise((resolve, reject) => {
		const child = spawn(join(process.env.TOOLS, tool), words, { stdio: ["ignore", "pipe", "inherit"] });
		running.add(child);
		child.stdout.once("data", (port) => resolve({ child, port: +port, url: `http://127.0.0.1:${+port}` }));
		child.once("exit", (code) => {
			running.delete(child);
			reject(new Error(`${tool} ended with ${code}`));
		});
	});
}

function stop({ child }) {
	return new Promise((resolve) => {
		child.once("exit", resolve);
		child.kill("SIGTERM");
	});
}

// A page of a server; `quiet` waits for nothing.
async function visit(server, fragment = "", { quiet = false, ...options } = {}) {
	const page = await lib.newPage({ allowed: (url) => url.startsWith(server.url + "/"), ...options });
	await page.goto(server.url + "/" + (fragment ? "#" + fragment : ""));
	if (!quiet)
		await page.waitForSelector("body.ready", { timeout: 30000 });
	return page;
}

const answer = (page) => lib.text(page, "#answer");
const pill = (page) => page.locator("#live").getAttribute("data-kind");
// The parts of the address, decoded.
const parts = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

// Functions of the table with their share of what was running, above nothing; then back to the flame graph.
async function functions(page) {
	await page.keyboard.press("6");
	await page.waitForSelector(".table .rows .row");
	const rows = await page.locator(".rows .row").evaluateAll((all) => all.map((row) => [row.querySelector(".name").textContent, row.children[0].textContent]));
	await page.goBack();
	await page.waitForSelector("#view .flame");
	return Object.fromEntries(rows.filter(([, self]) => self !== "0.0 %").sort((a, b) => a[0] < b[0] ? -1 : 1));
}

// How many samples the foot says are shown, and of how many seconds.
async function shown(page) {
	const found = /([\d,]+) samples in ([\d.]+) s/.exec(await lib.text(page, "#facts"));
	return found ? [+found[1].replace(/,/g, ""), +found[2]] : null;
}

// A point of the strip: parts of its width and height, without its axes.
async function point(page, x, y) {
	const box = await lib.boxOf(page.locator("#strip canvas"));
	return [box.x + 54 + x * (box.width - 54), box.y + y * (box.height - 18)];
}

async function drag(page, from, to, { shift = false } = {}) {
	if (shift)
		await page.keyboard.down("Shift");
	await page.mouse.move(...await point(page, ...from));
	await page.mouse.down();
	await page.mouse.move(...await point(page, (from[0] + to[0]) / 2, (from[1] + to[1]) / 2));
	await page.mouse.move(...await point(page, ...to));
	await page.mouse.up();
	if (shift)
		await page.keyboard.up("Shift");
}

const loaded = (page) => lib.until(page, () => document.querySelector("#view").getAttribute("aria-busy") === "false" && document.querySelector("#strip").classList.contains("asked"));

module.exports = { serve, stop, visit, answer, pill, parts, functions, shown, point, drag, loaded };
