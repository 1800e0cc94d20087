// SPDX-License-Identifier: Apache-2.0
// What a person does to a flame graph, done in Chromium: svg.js FOLDER PICTURES. Speaks TAP; tests/browser/svg.t makes
// the graphs and calls it. What is looked at is what a person would see: boxes on the screen, texts, the address.
"use strict";
const { chromium } = require("playwright-core");
const { join } = require("path");

const [folder, pictures] = process.argv.slice(2);
let count = 0, failed = 0, browser;

function ok(name, yes, more) {
	console.log((yes ? "ok " : "not ok ") + ++count + " - " + name);
	if (!yes) {
		failed++;
		if (more !== undefined)
			console.error("# " + JSON.stringify(more));
	}
	return yes;
}

function is(name, got, wanted) {
	return ok(name, JSON.stringify(got) === JSON.stringify(wanted), { got, wanted });
}

// A page with the file; `trouble` gathers what no graph may do: errors, requests for anything else, dialogs.
async function open(file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
	const page = await context.newPage();
	const address = "file://" + join(folder, file);
	page.trouble = [];
	page.on("pageerror", (error) => page.trouble.push("error: " + error.message));
	page.on("console", (message) => page.trouble.push("console: " + message.text()));
	page.on("dialog", (dialog) => page.trouble.push("dialog: " + dialog.message()) && dialog.dismiss());
	page.on("request", (request) => {
		if (request.url().split(/[?#]/)[0] !== address && !request.url().startsWith("file://" + folder + "/"))
			page.trouble.push("request: " + request.url());
	});
	await page.goto(address + (options.query || ""));
	return page;
}

async function done(name, page) {
	is(name + ": no errors, requests or dialogs", page.trouble, []);
	await page.context().close();
}

// The frames that can be seen: their title and where they are.
function frames(page) {
	return page.evaluate(() => [...document.querySelectorAll("#frames > g")].map((g) => {
		const box = g.querySelector("rect").getBoundingClientRect();
		return {
			title: g.querySelector("title").textContent, name: g.querySelector("title").textContent.replace(/ \(.*/, ""),
			x: box.x, y: box.y, width: box.width, right: box.right,
			hidden: getComputedStyle(g).display === "none", faded: +getComputedStyle(g).opacity < 1,
			colour: getComputedStyle(g.querySelector("rect")).fill,
		};
	}).filter((frame) => !frame.hidden));
}

async function frame(page, name) {
	return (await frames(page)).find((one) => one.name === name);
}

async function click(page, name) {
	const one = await frame(page, name);
	await page.mouse.click(one.x + one.width / 2, one.y + 5);
}

function text(page, id) {
	return page.evaluate((which) => {
		const element = document.getElementById(which);
		const lines = [...element.querySelectorAll("tspan")];
		return getComputedStyle(element).display === "none" ? null :
			lines.length ? lines.map((line) => line.textContent).join(" ") : element.firstChild ? element.firstChild.textContent : "";
	}, id);
}

// What sticks out: names out of their frames, anything out of the window's sides, texts in each other.
function overflow(page) {
	return page.evaluate(() => {
		const bad = [], width = document.documentElement.clientWidth, texts = [];
		for (const g of document.querySelectorAll("#frames > g")) {
			const name = g.querySelector("text"), box = g.querySelector("rect").getBoundingClientRect();
			if (getComputedStyle(g).display === "none")
				continue;
			if (box.left < 0 || box.right > width + 0.1)
				bad.push(["a frame out of the window", g.textContent]);
			if (name && name.textContent) {
				const inner = name.getBoundingClientRect();
				if (inner.left < box.left || inner.right > box.right + 0.1)
					bad.push(["a name out of its frame", name.textContent, inner.right - box.right]);
			}
		}
		for (const element of document.querySelectorAll("svg > text, #head > text, #tail > text")) {
			const box = element.getBoundingClientRect();
			if (!box.width)
				continue;
			if (box.left < 0 || box.right > width + 0.1)
				bad.push(["a text out of the window", element.textContent]);
			for (const [other, there] of texts)
				if (box.left < there.right && there.left < box.right && box.top + 2 < there.bottom && there.top + 2 < box.bottom)
					bad.push(["texts in each other", element.textContent, other.textContent]);
			texts.push([element, box]);
		}
		return bad;
	});
}

const near = (a, b) => Math.abs(a - b) < 0.2;

// The page itself knows its address at once; who looks from outside hears of it later.
const here = (page) => page.evaluate(() => location.href);

async function zooming() {
	const page = await open("shares.svg");
	const before = await frames(page);
	is("all frames are there", before.map((one) => one.name).join(" "), "all app main alpha Alpha beta beta alpha gamma");
	is("no zoom to reset yet", await text(page, "unzoom"), null);
	await click(page, "alpha");
	const after = await frames(page);
	is("zoom: what is under it, it, and what is on it", after.map((one) => one.name).join(" "), "all app main alpha Alpha beta");
	is("zoom: ancestors are faded", after.map((one) => +one.faded).join(""), "111000");
	ok("zoom: ancestors and the frame are as wide as the window", after.slice(0, 4).every((one) => near(one.width, 1180)), after);
	ok("zoom: what is on it keeps its share", near(after.find((one) => one.name === "beta").width, 1180 * 60 / 70), after);
	is("zoom: the button is there", await text(page, "unzoom"), "Reset Zoom");
	ok("zoom: the address has it", /[?&]x=10\.0&y=\d+$/.test(await here(page)), await here(page));
	const address = await here(page);
	await click(page, "main");
	is("a faded ancestor widens the view", (await frames(page)).map((one) => one.name).join(" "),
		"all app main alpha Alpha beta beta alpha gamma");
	await page.goBack();
	is("back goes back", await here(page), address);
	is("to what was there", (await frames(page)).length, 6);
	await page.reload();
	is("the address alone brings it back", (await frames(page)).map((one) => one.name).join(" "), "all app main alpha Alpha beta");
	await page.locator("#unzoom").click();
	is("reset: all is back", await frames(page).then((list) => list.map((one) => one.width)), before.map((one) => one.width));
	ok("reset: the address is empty again", !(await here(page)).includes("?"), await here(page));
	await done("zoom", page);
}

async function searching() {
	const page = await open("shares.svg");
	const purple = (list) => list.filter((one) => one.colour === "rgb(230, 0, 230)").map((one) => one.name).join(" ");
	await page.keyboard.press("Control+f");
	await page.keyboard.type("^alph");
	is("search: matches are purple", purple(await frames(page)), "alpha alpha");
	is("search: the share that they cover, once", await text(page, "matched"), "Matched: 90.0%");
	await page.keyboard.press("Enter");
	is("search: the box goes", await page.locator("input").count(), 0);
	ok("search: the address has it", (await here(page)).endsWith("?s=%5Ealph"), await here(page));
	await page.keyboard.press("Control+i");
	is("ignoring case: more match", purple(await frames(page)), "alpha Alpha alpha");
	ok("ignoring case: the address has it", (await here(page)).endsWith("&i=1"), await here(page));
	await page.reload();
	is("the address alone brings it back", [purple(await frames(page)), await text(page, "matched")], ["alpha Alpha alpha", "Matched: 90.0%"]);
	await page.locator("#ignorecase").click();
	is("the case counts again", purple(await frames(page)), "alpha alpha");
	await click(page, "beta");
	is("zoomed: the share of what is shown", await text(page, "matched"), "Matched: 100%");
	await page.locator("#unzoom").click();
	await page.locator("#search").click();
	is("reset: nothing is purple", [purple(await frames(page)), await text(page, "matched"), await text(page, "search")], ["", null, "Search"]);
	await page.keyboard.press("F3");
	await page.keyboard.type("(");
	ok("what is no expression is said", await page.locator("input:invalid").count() === 1);
	is("and matches nothing", purple(await frames(page)), "");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await page.locator("#search").click();
	await page.keyboard.type("gamma");
	is("by the button", [purple(await frames(page)), await text(page, "matched")], ["gamma", "Matched: 10.0%"]);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	is("Escape ends it", [purple(await frames(page)), (await here(page)).includes("?")], ["", false]);
	await done("search", page);
}

async function keys() {
	const page = await open("shares.svg");
	const focused = () => page.evaluate(() => document.activeElement.querySelector("title")?.textContent.replace(/ \(.*/, "") || "");
	await page.keyboard.press("Tab");
	is("Tab goes to the graph", await focused(), "all");
	for (const [key, name] of [["ArrowUp", "app"], ["ArrowUp", "main"], ["ArrowUp", "alpha"], ["ArrowRight", "beta"], ["ArrowRight", "gamma"],
		["ArrowRight", "gamma"], ["ArrowLeft", "beta"], ["ArrowUp", "alpha"], ["ArrowDown", "beta"]]) {
		await page.keyboard.press(key);
		is(key + ": " + name, await focused(), name);
	}
	ok("the focus can be seen", await page.evaluate(() => getComputedStyle(document.activeElement.querySelector("rect")).strokeWidth) === "2px");
	ok("details of what has it", (await text(page, "details")).startsWith("Function: beta (20 samples, 20.00%)"), await text(page, "details"));
	await page.keyboard.press("Enter");
	is("Enter zooms", (await frames(page)).map((one) => one.name).join(" "), "all app main beta alpha");
	await page.keyboard.press("Backspace");
	is("Backspace steps out", (await frames(page)).length, 9);
	await page.keyboard.press("Enter");
	await page.keyboard.press("Escape");
	ok("Escape resets", !(await here(page)).includes("?"), await here(page));
	await page.keyboard.press("/");
	await page.keyboard.type("alpha");
	await page.keyboard.press("Enter");
	is("/ searches, Enter goes to the first match", await focused(), "alpha");
	let stops = [];
	for (let i = 0; i < 3; i++) {
		await page.keyboard.press("Tab");
		stops.push(await page.evaluate(() => document.activeElement?.id));
	}
	is("Tab reaches the buttons", stops.filter((id) => id === "search" || id === "ignorecase").join(" "), "search ignorecase");
	await page.locator("#search").focus();
	await page.keyboard.press("Enter");
	is("and Enter presses them", await text(page, "search"), "Search");
	await done("keys", page);
}

async function reading() {
	const page = await open("shares.svg");
	is("the document has a name", await page.evaluate(() => document.documentElement.getAttribute("aria-labelledby")), "title");
	const tree = await page.evaluate(() => [...document.querySelectorAll("[role=tree] > [role=treeitem]")]
		.map((item) => item.getAttribute("aria-level") + " " + item.querySelector("title").textContent));
	is("every frame is an item with level and title", [tree.length, tree[3]], [9, "4 alpha (70 samples, 70.00%)"]);
	const snapshot = await (await page.context().newCDPSession(page)).send("Accessibility.getFullAXTree");
	const names = snapshot.nodes.filter((node) => node.role && node.role.value === "treeitem").map((node) => node.name && node.name.value);
	ok("a screen reader gets the titles", names.includes("gamma (10 samples, 10.00%)"), names);
	ok("buttons are buttons", snapshot.nodes.some((node) => node.role && node.role.value === "button" && node.name.value === "Search"));
	const one = await frame(page, "gamma");
	await page.mouse.move(one.x + 5, one.y + 5);
	is("hovering shows details", await text(page, "details"), "Function: gamma (10 samples, 10.00%) · 10.0% of its parent");
	await page.mouse.move(600, 300);
	is("and leaving takes them away", await text(page, "details"), "");
	await done("reading", page);
}

async function sizes() {
	for (const [name, viewport] of [["phone", { width: 360, height: 640 }], ["window", { width: 1200, height: 800 }], ["wide", { width: 2000, height: 900 }]]) {
		for (const file of ["graph.svg", "inverted.svg", "tall.svg"]) {
			const page = await open(file, { viewport });
			const width = await page.evaluate(() => document.documentElement.clientWidth);
			ok(`${file} on a ${name}: as wide as the window`, near((await frames(page))[0].width, width - 20), await frames(page).then((list) => list[0]));
			is(`${file} on a ${name}: everything in its place`, await overflow(page), []);
			ok(`${file} on a ${name}: no scrolling sideways`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
			await page.screenshot({ path: join(pictures, file.replace(".svg", `-${name}.png`)) });
			await page.keyboard.press("/");
			await page.keyboard.type("o|level");
			await page.keyboard.press("Enter");
			await page.keyboard.press("Enter");
			is(`${file} on a ${name}: zoomed and searched, too`, await overflow(page), []);
			await page.screenshot({ path: join(pictures, file.replace(".svg", `-${name}-zoomed.png`)) });
			await done(`${file} on a ${name}`, page);
		}
	}
	const page = await open("graph.svg");
	await page.setViewportSize({ width: 500, height: 700 });
	await page.waitForFunction(() => Math.abs(document.querySelector("#frames rect").getBoundingClientRect().width - (document.documentElement.clientWidth - 20)) < 1);
	is("a window made smaller: everything in its place", await overflow(page), []);
	await done("resizing", page);
	const fixed = await open("fixed.svg");
	ok("--width is kept", near((await frames(fixed))[0].width, 780), (await frames(fixed))[0]);
	await done("--width", fixed);
	const tall = await open("tall.svg");
	const root = await frame(tall, "all");
	ok("a high graph opens at its root", root.y > 0 && root.y < 800, root);
	ok("with the title in sight", await tall.evaluate(() => document.getElementById("title").getBoundingClientRect().top >= 0));
	await done("a high graph", tall);
}

async function colours() {
	const seen = {};
	for (const colorScheme of ["light", "dark"]) {
		const page = await open("graph.svg", { colorScheme });
		seen[colorScheme] = await page.evaluate(() => ({
			ground: getComputedStyle(document.querySelector("stop")).stopColor,
			title: getComputedStyle(document.getElementById("title")).fill,
			frame: getComputedStyle(document.querySelector("#frames rect")).fill,
		}));
		await page.screenshot({ path: join(pictures, `graph-${colorScheme}.png`) });
		await done(colorScheme, page);
	}
	const light = (rgb) => rgb.match(/\d+/g).reduce((sum, part) => sum + +part, 0);
	ok("light: dark on light", light(seen.light.ground) > 600 && light(seen.light.title) < 150, seen);
	ok("dark: light on dark", light(seen.dark.ground) < 150 && light(seen.dark.title) > 600, seen);
	is("frames have the same colours", seen.dark.frame, seen.light.frame);
	const page = await open("coloured.svg", { colorScheme: "dark" });
	is("--bgcolors is kept in the dark", await page.evaluate(() => getComputedStyle(document.querySelector("stop")).stopColor), "rgb(255, 255, 255)");
	await done("--bgcolors", page);
}

async function hostile() {
	const page = await open("hostile.svg");
	for (const one of await frames(page))
		await page.mouse.move(one.x + one.width / 2, one.y + 5);
	for (const one of (await frames(page)).map((each) => each.name).slice(1, 8)) {
		if (await frame(page, one))
			await click(page, one);
		await page.locator("#unzoom").click({ timeout: 1000 }).catch(() => 0);
	}
	await page.keyboard.press("/");
	await page.keyboard.type("<script>|onload");
	await page.keyboard.press("Enter");
	is("hostile names: no script ran", await page.evaluate(() => window.hit), undefined);
	is("hostile names: one script in the document", await page.evaluate(() => document.querySelectorAll("script").length), 1);
	is("hostile names: no elements of theirs", await page.evaluate(() => document.querySelectorAll("image, b, [onload], [onmouseover], [style]").length), 0);
	ok("hostile names: shown as they are", (await frames(page)).some((one) => one.title.startsWith("<script>window.hit = 1</script> (")));
	await done("hostile names", page);
}

async function compared() {
	const page = await open("compared.svg");
	const rgb = async (name) => (await frame(page, name)).colour.match(/\d+/g).map(Number);
	const [grew, shrank, same] = [await rgb("grew"), await rgb("shrank"), await rgb("same")];
	ok("a comparison: what grew is red", grew[0] > grew[1] && grew[0] > grew[2], grew);
	ok("a comparison: what shrank is blue", shrank[2] > shrank[0] && shrank[2] > shrank[1], shrank);
	is("a comparison: the rest is white", same, [255, 255, 255]);
	ok("a comparison: titles have the change", (await frame(page, "grew")).title.includes("+"), (await frame(page, "grew")).title);
	await page.screenshot({ path: join(pictures, "compared.png") });
	await click(page, "grew");
	ok("a comparison: zoomed", (await frame(page, "grew")).width > 1100 && (await frame(page, "main")).faded);
	is("a comparison: everything in its place", await overflow(page), []);
	await done("a comparison", page);
}

async function still() {
	const page = await open("still.html");
	const sizes = await page.evaluate(() => [...document.images].map((image) => [image.complete, image.naturalWidth, image.naturalHeight > 100]));
	is("a still picture in an <img>", sizes, [[true, 1200, true], [true, 1200, true]]);
	await page.screenshot({ path: join(pictures, "still.png") });
	await done("still", page);
	const plain = await open("graph.svg", { javaScriptEnabled: false });
	is("without scripts: everything in its place", await overflow(plain), []);
	await done("without scripts", plain);
}

(async () => {
	browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
	for (const part of [zooming, searching, keys, reading, sizes, colours, compared, hostile, still])
		await part();
	await browser.close();
	console.log("1.." + count);
	process.exit(failed ? 1 : 0);
})().catch((error) => {
	console.log("Bail out! " + error.stack.replace(/\n/g, " "));
	process.exit(1);
});
