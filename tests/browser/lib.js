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

// Opens a file of the folder; `fragment` is behind the #, `quiet` waits for nothing.
async function open(file, options = {}) {
	const { fragment = "", quiet = false, before, ...rest } = options;
	const context = await state.browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", acceptDownloads: true, ...rest });
	const page = await context.newPage(), address = "file://" + join(state.folder, file);
	page.trouble = [];
	page.on("pageerror", (error) => page.trouble.push("error: " + error.message));
	page.on("console", (message) => page.trouble.push("console: " + message.text()));
	page.on("dialog", (dialog) => page.trouble.push("dialog: " + dialog.message()) && dialog.dismiss());
	page.on("request", (request) => {
		const url = request.url();
		if (url.split("#")[0] !== address && !url.startsWith("blob:"))
			page.trouble.push("request: " + url);
	});
	await page.addInitScript(() => {
		window.violations = [];
		document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
	});
	if (before)
		await page.addInitScript(before);
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

// Asks until the answer is yes, or ten seconds are over. (The policy forbids what playwright would wait with.)
async function until(page, question, argument) {
	const deadline = Date.now() + 10000;
	while (!await page.evaluate(question, argument))
		if (Date.now() > deadline)
			throw new Error("still not so: " + question);
}

// What the inspector says, by its headings.
const details = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#details dt")].map((dt) => [dt.textContent, dt.nextElementSibling.textContent])));
const path = (page) => page.locator("#path .text").allTextContents();
const selected = (page) => page.evaluate(() => document.querySelector("#details h2")?.textContent ?? "");
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

module.exports = { ok, is, open, done, text, has, picture, details, path, selected, fragment, chips, addChip, choose, until, main };
