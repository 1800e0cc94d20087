// SPDX-License-Identifier: Apache-2.0
// What tests of the page share: TAP, a browser, a page with everything that no page may do gathered in `trouble`.
"use strict";
const { chromium } = require("playwright-core");
const { join } = require("path");

const state = { count: 0, failed: 0, browser: null, folder: "", pictures: "" };

function ok(name, yes, more) {
	console.log((yes ? "ok " : "not ok ") + ++state.count + " - " + name);
	if (!yes) {
		state.failed++;
		if (more !== undefined)
			console.error("# " + JSON.stringify(more));
	}
	return !!yes;
}

const is = (name, got, wanted) => ok(name, JSON.stringify(got) === JSON.stringify(wanted), { got, wanted });

// A page that has not gone anywhere; `allowed` says which addresses may be asked for, `before` runs first in it.
async function newPage({ allowed, before, ...options }) {
	const context = await state.browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", acceptDownloads: true, ...options });
	const page = await context.newPage();
	page.trouble = [];
	page.on("pageerror", (error) => page.trouble.push("error: " + error.message));
	page.on("console", (message) => page.trouble.push("console: " + message.text()));
	page.on("dialog", (dialog) => page.trouble.push("dialog: " + dialog.message()) && dialog.dismiss());
	page.on("request", (request) => {
		const url = request.url();
		if (!allowed(url) && !url.startsWith("blob:"))
			page.trouble.push("request: " + url);
	});
	await page.addInitScript(() => {
		window.violations = [];
		document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
	});
	if (before)
		await page.addInitScript(before);
	return page;
}

// Opens a file of the folder; `fragment` is behind the #, `quiet` waits for nothing.
async function open(file, { fragment = "", quiet = false, ...options } = {}) {
	const address = "file://" + join(state.folder, file), page = await newPage({ allowed: (url) => url.split("#")[0] === address, ...options });
	await page.goto(address + (fragment ? "#" + fragment : ""));
	if (!quiet)
		await page.waitForSelector("body.ready, #old h1", { timeout: 60000 });
	return page;
}

async function done(name, page) {
	is(name + ": no errors, messages, requests or dialogs", page.trouble, []);
	is(name + ": nothing against the policy", await page.evaluate(() => window.violations), []);
	await page.context().close();
}

const text = (page, selector) => page.locator(selector).evaluate((element) => element.innerText.trim());
const has = (page, selector) => page.locator(selector).count().then((count) => count > 0);
const picture = (page, name) => page.screenshot({ path: join(state.pictures, name + ".png") });

// Asks until the answer is yes, or a minute is over. (The policy forbids what playwright would wait with.)
async function until(page, question, argument) {
	const deadline = Date.now() + 60000;
	while (!await page.evaluate(question, argument))
		if (Date.now() > deadline)
			throw new Error("still not so: " + question);
}

// What the inspector says, by its headings.
const details = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#details dt")].map((dt) => [dt.textContent, dt.nextElementSibling.textContent])));
const path = (page) => page.locator("#path .text").allTextContents();
const selected = (page) => page.evaluate(() => document.querySelector("#details h2")?.textContent ?? "");
// Where an element is, once it is there: rows are made anew when the window changes.
const boxOf = async (locator) => {
	for (let tries = 0; ; tries++) {
		const box = await locator.boundingBox();
		if (box || tries === 50)
			return box;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
};
const fragment = (page) => page.evaluate(() => decodeURIComponent(location.hash.replace(/\+/g, " ")));
const chips = (page) => page.locator("#chips .chip").evaluateAll((all) => all.map((one) => one.querySelector("b").textContent + ":" + one.querySelector("span").textContent));

async function addChip(page, chip) {
	await page.fill("#chip-input", chip);
	await page.press("#chip-input", "Enter");
	await page.evaluate(() => document.activeElement.blur());
}

// Selects the frame of that name by the keyboard: search finds it, n goes there.
async function choose(page, name) {
	await page.fill("#search", "/^" + name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + "$/");
	await page.press("#search", "Enter");
	await page.fill("#search", "");
	await page.evaluate(() => document.activeElement.blur());
}

// How many colours a canvas has: a blank one has one.
const colours = (page) => page.locator("#view canvas").first().evaluate((canvas) => {
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = new Set();
	for (let i = 0; i < data.length; i += 4 * 7)
		seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
	return seen.size;
});

// What is out of the window's sides, or of the part that scrolls.
const overflow = (page) => page.evaluate(() => {
	const width = document.documentElement.clientWidth;
	return [...document.querySelectorAll("header > *, .bar, #strip, #strip .stage, #answer, #legend, main, #inspector, footer > *")].filter((one) => one.offsetWidth)
		.filter((one) => one.getBoundingClientRect().right > width + 1 || one.getBoundingClientRect().left < -1).map((one) => one.id || one.className).concat(document.documentElement.scrollWidth > width ? ["the page"] : []);
});

// Texts with less contrast than 4.5 to what is behind them.
const faint = (page) => page.evaluate(() => {
	const parse = (colour) => colour.match(/[\d.]+/g).map(Number), part = (value) => value <= 10.31 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
	const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
	const behind = (element) => {
		for (; element; element = element.parentElement) {
			const colour = parse(getComputedStyle(element).backgroundColor);
			if (colour.length < 4 || colour[3] === 1)
				return colour;
		}
		return [255, 255, 255];
	};
	const bad = [];
	for (const element of document.querySelectorAll("body *")) {
		if (!element.offsetWidth || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
			continue;
		const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
		if ((one + 0.05) / (two + 0.05) < 4.5)
			bad.push([element.className || element.id || element.tagName, element.textContent.slice(0, 30), ((one + 0.05) / (two + 0.05)).toFixed(2)]);
	}
	return bad;
});

async function main(folder, pictures, tests) {
	Object.assign(state, { folder, pictures });
	state.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
	for (const [name, test] of Object.entries(tests))
		try {
			await test();
		} catch (error) {
			ok(name + " runs to its end", false, error.stack);
		}
	await state.browser.close();
	console.log("1.." + state.count);
	process.exit(state.failed ? 1 : 0);
}

module.exports = { ok, is, newPage, open, done, text, has, picture, details, path, selected, fragment, chips, addChip, choose, until, boxOf, colours, overflow, faint, main };
