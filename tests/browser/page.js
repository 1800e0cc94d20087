// SPDX-License-Identifier: Apache-2.0
// What a person does to the page, done in Chromium: page.js FOLDER PICTURES. Speaks TAP; tests/browser/page.t makes the
// files and calls it. What is looked at is what a person would see, read or hear: texts, boxes, the address, files.
"use strict";
const { execFileSync } = require("child_process");
const { readFileSync } = require("fs");
const { join } = require("path");
const { ok, is, open, done, text, has, picture, details, path, selected, fragment, chips, addChip, choose, until, boxOf, colours, overflow, faint, main } = require("./lib.js");

const [folder, pictures] = process.argv.slice(2);
const VIEWS = ["flame", "icicle", "inverted", "tree", "sandwich", "table"];
const LUA = ["redis-server", "_start", "__libc_start_main", "main", "aeMain", "aeProcessEvents", "readQueryFromClient", "processCommand", "call", "evalCommand", "lua_pcall", "luaD_call", "luaV_execute"];

// Where the selected frame is.
const mark = (page) => boxOf(page.locator(".mark:not(.hover):visible").first());
const still = (page) => until(page, () => new Promise((resolve) => {
	const where = () => JSON.stringify([...document.querySelectorAll(".mark")].map((one) => one.style.cssText)), first = where();
	requestAnimationFrame(() => requestAnimationFrame(() => resolve(where() === first)));
}));

// How far apart colours are (CIE Lab) to eyes without one kind of cones: the least of all pairs. (Machado and others, 2009.)
function leastApart(colours) {
	const eyes = [[0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881], [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998]];
	const times = (m, [a, b, c]) => [0, 3, 6].map((i) => Math.max(0, m[i] * a + m[i + 1] * b + m[i + 2] * c)), root = (t) => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
	const lab = (eye, colour) => {
		const linear = colour.match(/\d+/g).slice(0, 3).map((part) => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
		const [x, y, z] = times([0.4339, 0.3763, 0.1899, 0.2126, 0.7152, 0.0722, 0.0177, 0.1095, 0.8728], times(eye, linear)).map(root);
		return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
	};
	const all = eyes.flatMap((eye) => colours.flatMap((one, i) => colours.slice(i + 1).map((two) => Math.hypot(...lab(eye, one).map((part, k) => part - lab(eye, two)[k])))));
	return Math.min(...all);
}

async function saved(page, item) {
	await page.keyboard.press("e");
	const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#menu button:has-text("${item}")`)]);
	const to = join(folder, download.suggestedFilename());
	await download.saveAs(to);
	return to;
}

const folded = (file, ...options) => execFileSync(process.env.WICK, ["convert", file, "-f", "folded", "-o", "-", ...options], { encoding: "utf8" }).trim().split("\n").sort();

const tests = {
	async opening() {
		const page = await open("busy.html");
		is("opening: the answer on top", await text(page, "#answer"), "redis-server used 53.9 % of this; luaV_execute alone 22.5 %.");
		is("opening: the machine", await text(page, "#host"), "shop1");
		ok("opening: a picture", await colours(page) > 5);
		ok("opening: the foot has samples, quality, losses and cost", /1,580 samples in 10\.0 s · 2 CPUs · 99 Hz · stacks 96\.7 % whole.*lost 3: ring 3.*wick used 0\.08 % CPU/.test(await text(page, "#facts")), await text(page, "#facts"));
		await page.click("#facts summary");
		ok("opening: what to do about losses", (await text(page, "#facts")).includes("raise --ring-bytes"));
		ok("opening: three of 1,580 are no reason for red", !await has(page, "footer.worrying"));
		is("opening: nothing sticks out", await overflow(page), []);
		await picture(page, "page-light");
		ok("opening: where to look first", /Running most\s+22\.5 %\s+luaV_execute\s+14\.1 %\s+std::_Rb_tree<…>::find/.test(await text(page, "#details")), await text(page, "#details"));
		await page.click("#details button:has-text('dictAddRaw')");
		is("opening: and from there to the frame", await selected(page), "dictAddRaw");
		await done("opening", page);
	},
	async views() {
		const page = await open("busy.html");
		for (const [i, view] of VIEWS.entries()) {
			await page.click(`#views button:text-is("${view[0].toUpperCase() + view.slice(1)}")`);
			is(view + ": chosen by a click", await page.locator("#views [aria-selected=true]").textContent(), view[0].toUpperCase() + view.slice(1));
			ok(view + ": shown", view === "tree" || view === "table" ? await page.locator(".rows .row").count() > 10 : await colours(page) > 3);
			is(view + ": nothing sticks out", await overflow(page), []);
			await page.keyboard.press(String((i + 1) % 6 + 1));
			await page.keyboard.press(String(i + 1));
			ok(view + ": chosen by a key, in the address", view === "flame" ? !(await fragment(page)).includes("v=") : (await fragment(page)).includes("v=" + view), await fragment(page));
			await picture(page, "page-" + view);
		}
		await done("views", page);
	},
	async selecting() {
		const page = await open("busy.html");
		await choose(page, "luaV_execute");
		is("selecting: the path is a list", await path(page), LUA);
		is("selecting: figures", await details(page), { Total: "36.7 % (580 samples)", Self: "22.5 % (356 samples)", "Of parent": "100.0 %", Everywhere: "36.7 % (580 samples)",
			"… of which self": "22.5 % (356 samples)", Kind: "native", Module: "/usr/lib/x86_64-linux-gnu/liblua5.1.so.0", ...("Build id" in await details(page) ? { "Build id": (await details(page))["Build id"] } : {}) });
		const snapshot = await page.locator("#inspector").ariaSnapshot();
		ok("selecting: the accessibility tree has the path", /list "Selected path"/.test(snapshot) && snapshot.includes("luaV_execute") && snapshot.includes("redis-server"), snapshot);
		ok("selecting: the graph can be reached and has a name", await page.evaluate(() => {
			const canvas = document.querySelector("canvas");
			return canvas.tabIndex === 0 && canvas.getAttribute("aria-label").startsWith("Flame graph") && canvas.getAttribute("aria-describedby") === "path";
		}));
		ok("selecting: callers and callees", /Callers\s+100.0 %\s+luaD_call\s+Callees\s+20.7 %\s+luaH_getstr/.test(await text(page, "#details")), await text(page, "#details"));
		ok("selecting: the command", (await text(page, ".command")) === "wick report --tree busy.wick");
		const box = await mark(page);
		await page.mouse.click(box.x + 20, box.y + box.height + 8);
		is("selecting: a click below selects the caller", await selected(page), "luaD_call");
		await page.mouse.move(box.x + 30, box.y + 5);
		ok("hovering: name, counts, shares", /luaV_execute\s+580 samples · 36.7 % of all · 100.0 % of parent/.test(await text(page, "#tip")), await text(page, "#tip"));
		await page.keyboard.press("ArrowUp");
		is("selecting: up is the callee", await selected(page), "luaV_execute");
		await page.keyboard.press("ArrowDown");
		is("selecting: down is the caller", await selected(page), "luaD_call");
		await page.click("#path button:has-text('aeMain')");
		is("selecting: from the list", await selected(page), "aeMain");
		await page.keyboard.press("Escape");
		is("selecting: Escape selects nothing", [await selected(page), await path(page)], ["", []]);
		await done("selecting", page);
	},
	async zooming() {
		const page = await open("busy.html");
		await choose(page, "evalCommand");
		const width = (await mark(page)).width;
		await page.keyboard.press("Enter");
		await until(page, (old) => document.querySelector(".mark").offsetWidth > old * 1.5, width);
		await still(page);
		ok("zooming: as wide as the view", Math.abs((await mark(page)).width - await page.locator(".flame").evaluate((one) => one.clientWidth)) < 3);
		is("zooming: of the view", (await details(page))["Of parent"], "79.9 %");
		ok("zooming: in the address", (await fragment(page)).includes("z=redis-server;_start"));
		await picture(page, "page-zoomed");
		await page.keyboard.press("Backspace");
		await still(page);
		ok("zooming: Backspace goes to what is wider", /z=[^&]*;call(&|$)/.test(await fragment(page)), await fragment(page));
		await page.goBack();
		ok("zooming: back is the zoom before", /z=[^&]*;evalCommand(&|$)/.test(await fragment(page)), await fragment(page));
		await page.goBack();
		ok("zooming: back again is none", !(await fragment(page)).includes("z="));
		const box = await boxOf(page.locator("canvas"));
		await choose(page, "main");
		const at = await mark(page);
		await page.mouse.dblclick(at.x + at.width / 2, at.y + 9);
		await still(page);
		ok("zooming: a double click", (await fragment(page)).includes("z="));
		await page.goto(page.url().split("#")[0]);
		await choose(page, "evalCommand");
		const wide = (await mark(page)).width, wider = (old) => document.querySelector(".mark").offsetWidth > old * 1.2;
		await page.mouse.move(box.x + 600, box.y + 500);
		await page.keyboard.down("Control");
		await page.mouse.wheel(0, -100);
		await page.keyboard.up("Control");
		await until(page, wider, wide);
		ok("zooming: Ctrl and the wheel stretch", true);
		const held = (await mark(page)).x;
		await page.keyboard.down("Shift");
		await page.mouse.wheel(0, -60);
		await page.keyboard.up("Shift");
		await until(page, (old) => Math.abs(document.querySelector(".mark").getBoundingClientRect().x - old) > 5, held);
		ok("zooming: Shift and the wheel move", true);
		await page.keyboard.press("Escape");
		await until(page, (old) => Math.abs(document.querySelector(".mark").offsetWidth - old) < 3, wide);
		ok("zooming: Escape lets go", true);
		await page.locator("canvas").evaluate((canvas) => [1, 2].forEach(() => canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -40, ctrlKey: true, clientX: 600, clientY: 500, cancelable: true }))));
		await until(page, (old) => document.querySelector(".mark").offsetWidth > old * 1.4, wide);
		ok("zooming: two turns of the wheel between two pictures both count", true);
		await page.keyboard.press("Escape");
		await until(page, (old) => Math.abs(document.querySelector(".mark").offsetWidth - old) < 3, wide);
		const finger = (type, pointerId, x) => page.locator("canvas").dispatchEvent(type, { pointerId, pointerType: "touch", clientX: box.x + x, clientY: box.y + 500, bubbles: true });
		for (const [type, id, x] of [["pointerdown", 1, 500], ["pointerdown", 2, 600], ["pointermove", 2, 800], ["pointerup", 2, 800], ["pointerup", 1, 500]]) {
			await finger(type, id, x);
			await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
		}
		await until(page, wider, wide);
		ok("zooming: two fingers stretch", true);
		await done("zooming", page);
	},
	async chips() {
		const cases = [["process:node", "188 of 1,580", "process:node"], ["process:812", "852 of 1,580", "process:812"], ["container:shop-frontend", "188 of 1,580"], ["-container:shop-frontend", "1,392 of 1,580", "not container:shop-frontend"],
			["unit:[no unit]", null], ["thread:/node/", "188 of 1,580"], ["module:liblua5.1.so.0", "580 of 1,580"], ["kind:kernel", "191 of 1,580"], ["kind:JIT", "76 of 1,580"], ["fn:luaH", "224 of 1,580", "function:luaH"],
			["fn:/^luaH_get/", "184 of 1,580", "function:/^luaH_get/"], ["focus:luaV_execute", "580 of 1,580"], ["hide:main", "1,580 of 1,580"], ["ignore:lua", "1,000 of 1,580"], ["callers:luaH_getstr", "184 of 1,580", "only callers of:luaH_getstr"],
			["foldrec:*", "1,580 of 1,580", "fold recursion:"], ["foldmod:redis-server", "1,580 of 1,580", "fold module:redis-server"], ["main", null, "function:main"]];
		const page = await open("busy.html");
		for (const [chip, share, shown] of cases) {
			await addChip(page, chip);
			is("chip " + chip + ": shown", await chips(page), [shown || chip]);
			if (share)
				ok("chip " + chip + ": leaves " + share, (await text(page, "#share")).startsWith(share + " samples"), await text(page, "#share"));
			ok("chip " + chip + ": in the address", (await fragment(page)).includes("f="));
			await page.goBack();
			is("chip " + chip + ": back undoes it", await chips(page), []);
		}
		await page.goForward();
		is("chips: forward does it again", await chips(page), ["function:main"]);
		await addChip(page, "process:node");
		await page.click("#chips button >> nth=0");
		is("chips: a cross takes one away", await chips(page), ["process:node"]);
		await page.keyboard.press("-");
		is("chips: - takes the last one away", await chips(page), []);
		await page.keyboard.press("z");
		is("chips: z undoes", await chips(page), ["process:node"]);
		await addChip(page, "fn:/(/");
		is("chips: what is no regular expression is refused", [await chips(page), (await text(page, "#toast")).includes("not a regular expression")], [["process:node"], true]);
		const link = await page.evaluate(() => location.hash);
		await done("chips", page);
		const other = await open("busy.html", { fragment: link.slice(1) });
		is("chips: a link shows the same", [await chips(other), await text(other, "#share")], [["process:node"], "188 of 1,580 samples, 11.9 %"]);
		await done("a link", other);
	},
	async shaping() {
		const page = await open("busy.html", { fragment: "f=foldrec:*" });
		await choose(page, "fib");
		is("folded recursion: one frame", (await path(page)).filter((name) => name === "fib").length, 1);
		await page.goto(page.url().split("#")[0] + "#f=focus:luaV_execute");
		await choose(page, "luaV_execute");
		is("focus: begins with the function", await path(page), ["redis-server", "luaV_execute"]);
		await page.goto(page.url().split("#")[0] + "#f=callers:luaV_execute");
		await choose(page, "luaV_execute");
		is("only callers: ends with the function", [(await details(page)).Self, (await path(page)).length], ["100.0 % (580 samples)", LUA.length]);
		await page.goto(page.url().split("#")[0] + "#f=hide:main&f=hide:/^ae/");
		await choose(page, "readQueryFromClient");
		is("hidden: its callees move up", await path(page), ["redis-server", "_start", "__libc_start_main", "readQueryFromClient"]);
		await page.goto(page.url().split("#")[0] + "#f=foldmod:liblua5.1.so.0");
		await choose(page, "liblua5.1.so.0");
		is("folded module: one frame", (await path(page)).slice(-2), ["evalCommand", "liblua5.1.so.0"]);
		await done("shaping", page);
	},
	async menu() {
		const page = await open("busy.html");
		const wanted = { Focus: "focus:luaV_execute", "Hide it": "hide:luaV_execute", Ignore: "ignore:/^luaV_execute$/", "Only its callers": "only callers of:luaV_execute",
			"Fold its recursion": "fold recursion:luaV_execute", "Fold frames of": "fold module:liblua5.1.so.0", "Fold all": "fold recursion:" };
		for (const [item, chip] of Object.entries(wanted)) {
			await choose(page, "luaV_execute");
			await page.keyboard.press(".");
			await page.click(`#menu button:has-text("${item}")`);
			is("menu: " + item, await chips(page), [chip]);
			await page.goBack();
		}
		await choose(page, "evalCommand");
		const box = await mark(page);
		await page.mouse.click(box.x + 10, box.y + 9, { button: "right" });
		ok("menu: by a right click", await page.locator("#menu").isVisible());
		is("menu: has roles", await page.locator("#menu [role=menuitem]").count() > 8, true);
		await picture(page, "page-menu");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		is("menu: the keyboard chooses", (await fragment(page)).includes("v=sandwich"), true);
		await page.goBack();
		await page.keyboard.press(".");
		await page.keyboard.press("Escape");
		ok("menu: Escape closes it", !await page.locator("#menu").isVisible());
		for (const [key, chip] of [["f", "focus:evalCommand"], ["h", "hide:evalCommand"], ["x", "ignore:/^evalCommand$/"], ["c", "only callers of:evalCommand"], ["r", "fold recursion:evalCommand"], ["m", "fold module:redis-server"], ["R", "fold recursion:"]]) {
			await choose(page, "evalCommand");
			await page.keyboard.press(key);
			is("key " + key, await chips(page), [chip]);
			await page.goBack();
		}
		await choose(page, "redis-server");
		await page.keyboard.press("p");
		is("key p", await chips(page), ["process:redis-server"]);
		await page.goBack();
		await choose(page, "evalCommand");
		await page.keyboard.press("w");
		is("key w", (await fragment(page)).includes("fn=evalCommand"), true);
		await done("menu", page);
	},
	async copying() {
		const page = await open("busy.html", { permissions: ["clipboard-read", "clipboard-write"] });
		await choose(page, "luaD_call");
		for (const [key, wanted] of [["y", LUA.slice(0, -1).join(";")], ["Y", "focus:luaD_call"], ["t", "wick report --tree busy.wick"]]) {
			await page.keyboard.press(key);
			await page.waitForSelector("#toast:visible");
			is("copying: key " + key, await page.evaluate(() => navigator.clipboard.readText()), wanted);
		}
		await page.keyboard.press("3");
		await choose(page, "luaH_mainposition");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("y");
		await until(page, async () => (await navigator.clipboard.readText()).endsWith(";luaH_mainposition"));
		is("copying: the command of an inverted graph", await text(page, ".command"), "wick report --callers luaH_mainposition busy.wick");
		ok("copying: an inverted stack is copied from the root on", !(await page.evaluate(() => navigator.clipboard.readText())).startsWith("luaH"));
		await page.keyboard.press("l");
		await until(page, () => document.getElementById("toast").textContent === "Link copied");
		is("copying: the link", await page.evaluate(() => navigator.clipboard.readText()), await page.evaluate(() => location.href));
		await page.goto(page.url().split("#")[0] + "#f=process:redis-server&f=fn:lua&f=hide:call&f=kind:native&f=-kind:kernel&f=-fn:je_&v=table");
		await page.click(".rows .row >> nth=0");
		const command = await text(page, ".command");
		is("copying: a command with filters", command, "wick report --process '^redis-server$' --focus lua --ignore je_ --hide '^call$' busy.wick");
		ok("copying: what has no option is named, once", (await text(page, "#details")).includes("no option for kind."));
		await addChip(page, "fn:/LUAV/i");
		await page.click(".rows .row >> nth=0");
		ok("copying: and so is a filter of small and large letters alike", (await text(page, "#details")).includes("no option for fn, kind."), await text(page, "#details"));
		const printed = execFileSync("sh", ["-c", command.replace(/^wick/, process.env.WICK)], { cwd: folder, encoding: "utf8" });
		ok("copying: the command prints the same", printed.includes("61.4%  100.0%  luaV_execute") || /61\.4% +100\.0% +luaV_execute/.test(printed), printed.slice(0, 400));
		await done("copying", page);
	},
	async searching() {
		const page = await open("busy.html");
		await page.keyboard.press("/");
		await page.keyboard.type("luah");
		is("search: live count and share", await text(page, "#matched"), "2 functions, 14.2 %");
		await page.keyboard.press("Enter");
		const first = await path(page);
		await page.evaluate(() => document.activeElement.blur());
		await page.keyboard.press("n");
		const second = await path(page);
		ok("search: n is another one", first.length && second.length && JSON.stringify(first) !== JSON.stringify(second), { first, second });
		await page.keyboard.press("N");
		is("search: N is the one before", await path(page), first);
		is("search: the first is the largest", [first.at(-1), (await details(page)).Total], ["luaH_getstr", "7.6 % (120 samples)"]);
		await picture(page, "page-search");
		await page.fill("#search", "/^lua[HV]_/");
		is("search: a regular expression", await text(page, "#matched"), "3 functions, 36.7 %");
		await page.fill("#search", "/(/");
		is("search: one that is none", [await text(page, "#matched"), await page.getAttribute("#search", "aria-invalid")], ["not a regular expression", "true"]);
		await page.fill("#search", "nothing-like-it");
		is("search: no match", await text(page, "#matched"), "no match");
		await page.fill("#search", "lua");
		await page.evaluate(() => document.activeElement.blur());
		await page.keyboard.press("6");
		is("search: the table has what matches", (await page.locator(".rows .row .name").allTextContents()).every((name) => /lua/i.test(name)), true);
		await page.keyboard.press("4");
		ok("search: the tree marks it", await page.locator(".rows .row.match").count() > 3);
		await done("search", page);
	},
	async looks() {
		const page = await open("busy.html");
		await choose(page, "luaV_execute");
		for (const [unit, value] of [["samples", "580 (36.7 %)"], ["seconds", "5.86 s (36.7 %)"], ["cores", "0.59 cores (36.7 %)"]]) {
			await page.keyboard.press("u");
			is("unit: " + unit, (await details(page)).Total, value);
		}
		await page.keyboard.press("u");
		const left = (await mark(page)).x;
		await page.keyboard.press("o");
		await until(page, (old) => Math.abs(document.querySelector(".mark").getBoundingClientRect().x - old) > 20, left);
		ok("order: the largest is left", (await mark(page)).x < 5, await mark(page));
		for (const [mode, item] of [["module", "liblua5.1.so.0 36.7 %"], ["process", "redis-server 53.9 %"], ["warm", null]]) {
			await page.keyboard.press("k");
			is("colours: " + mode, await page.inputValue("#colour"), mode);
			if (item)
				ok("colours: the legend says " + item, (await page.locator("#legend li").allTextContents()).includes(item), await page.locator("#legend li").allTextContents());
		}
		for (const mode of ["kind", "module", "process"]) {
			await page.selectOption("#colour", mode);
			const swatches = await page.locator("#legend .swatch").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
			ok(`colours: by ${mode}, eyes without red or green cones tell them apart`, swatches.length > 3 && leastApart(swatches) > 7, [leastApart(swatches), swatches]);
		}
		await page.click("#legend button:has-text('node')");
		is("legend: filters", await chips(page), ["process:node"]);
		await page.goBack();
		await page.click("#legend button:has-text('node')", { modifiers: ["Shift"] });
		is("legend: with Shift, all but these", await chips(page), ["not process:node"]);
		await page.goBack();
		await page.selectOption("#by", "container");
		await choose(page, "shop-frontend");
		is("groups: by container", [await path(page), (await details(page)).Total], [["shop-frontend"], "11.9 % (188 samples)"]);
		is("groups: the answer is of them", await text(page, "#answer"), "3f4e5d6c7b8a used 53.9 % of this; luaV_execute alone 22.5 %.");
		await page.click("#legend button:has-text('shop-frontend')");
		is("groups: the legend filters by them", [await chips(page), (await text(page, "#share")).slice(0, 12)], [["container:shop-frontend"], "188 of 1,580"]);
		await page.goBack();
		await page.keyboard.press("d");
		is("dark", await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(21, 23, 28)");
		await page.keyboard.press("i");
		ok("i hides the inspector", !await page.locator("#inspector").isVisible());
		await page.keyboard.press("?");
		const listed = await text(page, "#help");
		ok("? lists the keys", ["search", "the next match", "copy stack", "fold all recursion", "export"].every((word) => listed.includes(word)), listed);
		await page.keyboard.press("6");
		ok("? is in front: no other key does anything", !(await fragment(page)).includes("v=table"), await fragment(page));
		await page.keyboard.press("Escape");
		ok("Escape closes the list", !await page.locator("#help").isVisible());
		await page.keyboard.press("+");
		is("+ goes to the filters", await page.evaluate(() => document.activeElement.id), "chip-input");
		await done("looks", page);
	},
	async table() {
		const page = await open("busy.html", { fragment: "v=table" }), column = (at) => page.locator(`.rows .row > span:nth-child(${at})`).allTextContents();
		is("table: most self first", (await column(3)).slice(0, 2).map((name) => name.slice(0, 12)), ["luaV_execute", "std::_Rb_tre"]);
		await page.click(".heads button:has-text('Total')");
		const totals = (await column(2)).map(parseFloat);
		ok("table: by total", totals.every((value, i) => !i || totals[i - 1] >= value), totals);
		await page.click(".heads button:has-text('Function')");
		await page.click(".heads button:has-text('Function')");
		const names = await column(3);
		ok("table: by name", names.every((value, i) => !i || names[i - 1] <= value), names);
		await page.click(".heads button:has-text('Self')");
		await page.click(".rows .row:has-text('dictAddRaw')");
		is("table: a click selects", [await selected(page), (await details(page)).Everywhere], ["dictAddRaw", "8.2 % (129 samples)"]);
		await page.keyboard.press("Enter");
		ok("table: Enter opens the sandwich", (await fragment(page)).includes("v=sandwich") && (await fragment(page)).includes("fn=dictAddRaw"));
		await page.keyboard.press("ArrowUp");
		is("sandwich: up is a caller", await selected(page), "dbAdd");
		await page.keyboard.press("Escape");
		await page.keyboard.press("ArrowDown");
		is("sandwich: down is a callee", [await selected(page), await path(page)], ["je_malloc", ["dictAddRaw", "je_malloc"]]);
		await page.setViewportSize({ width: 900, height: 700 });
		await page.keyboard.press("6");
		const long = page.locator(".rows .row .name:has-text('_Rb_tree')").first();
		ok("table: names are cut in the middle, and whole on hovering", (await long.textContent()).endsWith("::find") && /^std::.*<std::.*::find$/.test(await long.getAttribute("title")), await long.textContent());
		await done("table", page);
	},
	async tree() {
		const page = await open("busy.html", { fragment: "v=tree" });
		ok("tree: has an order of its own", await page.locator("#order").isDisabled());
		await page.click(".rows .row:has-text('redis-server') >> nth=0");
		const starts = () => page.locator(".rows .row .name > span:text-is('_start')").count(), before = await starts();
		await page.keyboard.press("ArrowLeft");
		is("tree: left closes", [await page.locator(".rows .row >> nth=0").getAttribute("aria-expanded"), await path(page)], ["false", ["redis-server"]]);
		await page.keyboard.press("ArrowRight");
		is("tree: right opens", await starts(), before);
		await page.keyboard.press("ArrowDown");
		is("tree: down is the next row", await path(page), ["redis-server", "_start"]);
		is("tree: rows say what they are", await page.locator(".rows .row >> nth=0").evaluate((row) => [row.getAttribute("role"), row.getAttribute("aria-level"), row.getAttribute("aria-expanded")]), ["treeitem", "1", "true"]);
		await done("tree", page);
	},
	async narrow() {
		for (const colorScheme of ["light", "dark"]) {
			const page = await open("busy.html", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme });
			is("360 px: nothing sticks out", await overflow(page), []);
			is("360 px: every view and choice is in sight", await page.locator("#views button, .bar select").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > 360).map((one) => one.textContent)), []);
			ok("360 px: the foot is whole", await page.locator("#facts").evaluate((one) => one.scrollHeight <= one.clientHeight + 1));
			await page.fill("#search", "lua");
			ok("360 px: what is searched for can be read", (await boxOf(page.locator("#search"))).width > 120);
			await page.fill("#search", "");
			const box = await boxOf(page.locator("canvas"));
			await page.touchscreen.tap(box.x + 250, box.y + box.height - 100);
			ok("360 px: a tap selects, a sheet tells", await selected(page) !== "" && await page.locator("#inspector").isVisible());
			is("360 px: nothing sticks out with the sheet", await overflow(page), []);
			await until(page, () => {
				const pane = document.querySelector(".flame");
				return pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1;
			});
			ok("360 px: the root stays in sight above the sheet", true);
			await picture(page, "page-narrow-" + colorScheme);
			const { x, y } = await mark(page);
			await page.locator("canvas").dispatchEvent("pointerdown", { pointerId: 7, pointerType: "touch", clientX: x + 5, clientY: y + 5, bubbles: true });
			await page.waitForSelector("#menu:visible", { timeout: 5000 });
			ok("360 px: a long press opens the menu", true);
			await page.keyboard.press("Escape");
			await page.click("#inspector-close");
			ok("360 px: the sheet closes", !await page.locator("#inspector").isVisible());
			for (const view of VIEWS) {
				await page.keyboard.press(String(VIEWS.indexOf(view) + 1));
				is("360 px: " + view + " fits", await overflow(page), []);
				if (view === "tree")
					ok("360 px: names of deep rows can be read", (await page.locator(".rows .row[aria-level='13'] .name > span").first().textContent()).length > 5 && (await boxOf(page.locator(".rows .row[aria-level='13'] .name > span").first())).x < 300);
			}
			await done("360 px", page);
		}
	},
	async lying() {
		const page = await open("busy.html", { viewport: { width: 740, height: 360 }, hasTouch: true, isMobile: true });
		await choose(page, "luaV_execute");
		const { width, height } = await boxOf(page.locator(".flame"));
		ok("740 × 360 px: most of it can be the picture", width > 400 && height > 250, [width, height]);
		await page.locator("main").evaluate((main) => main.scrollIntoView());
		ok("740 × 360 px: which is a swipe away", (await boxOf(page.locator(".flame"))).y < 90);
		is("740 × 360 px: nothing sticks out", await overflow(page), []);
		await picture(page, "page-lying");
		await done("740 × 360 px", page);
	},
	async contrast() {
		for (const colorScheme of ["light", "dark"])
			for (const view of VIEWS) {
				const page = await open("busy.html", { colorScheme, fragment: "v=" + view + "&f=process:redis-server&q=lua" });
				await page.keyboard.press("n");
				is(`contrast: ${view}, ${colorScheme}`, await faint(page), []);
				if (view === "flame")
					await picture(page, "page-" + colorScheme);
				await page.context().close();
			}
	},
	async motion() {
		const page = await open("busy.html", { reducedMotion: "reduce" });
		await choose(page, "evalCommand");
		await page.keyboard.press("Enter");
		ok("reduced motion: the zoom is there at once", Math.abs((await mark(page)).width - await page.locator(".flame").evaluate((one) => one.clientWidth)) < 3);
		await done("reduced motion", page);
	},
	async comparing() {
		const page = await open("compared.html");
		is("compare: the answer", await text(page, "#answer"), "grew grew most, by 44.4 points; 2 functions changed by more than noise.");
		is("compare: the names", await text(page, "#host"), "before.folded → after.folded");
		is("compare: the legend", await page.locator("#legend li").allTextContents(), ["grew", "shrank", "within noise"]);
		await page.keyboard.press("6");
		const rows = Object.fromEntries(await page.locator(".rows .row").evaluateAll((all) => all.map((row) => [row.children[6].textContent, row.children[5].textContent])));
		is("compare: what is noise is said", [rows.grew, rows.shrank, rows.rare], ["grew", "shrank", "noise"]);
		const table = execFileSync(process.env.WICK, ["diff", "--width", "200", "before.folded", "after.folded"], { cwd: folder, encoding: "utf8" });
		const shown = await page.locator(".rows .row >> nth=0").evaluate((row) => [...row.children].map((cell) => cell.textContent));
		const said = /([+-][\d.]+) +([+-][\d.]+) +([+-][\d.]+) .* grew +grew/.exec(table);
		is("compare: the interval is that of wick diff", [shown[0], shown[2]], [said[1], said[2] + " … " + said[3]]);
		await picture(page, "page-compare-table");
		await page.keyboard.press("1");
		await picture(page, "page-compare");
		ok("compare: where to look first", /Changed most, in points\s+\+44\.\d+\s+grew/.test(await text(page, "#details")), await text(page, "#details"));
		ok("compare: the foot has both", /before: 1,002 samples.*\n*after: 1,103 samples/.test(await text(page, "#facts")), await text(page, "#facts"));
		await choose(page, "grew");
		is("compare: the command", await text(page, ".command"), "wick diff before.folded after.folded");
		const at = await mark(page);
		await page.mouse.move(at.x + 20, at.y + 9);
		ok("compare: hovering tells the change", /\+44\.\d+ points \(\+/.test(await text(page, "#tip")), await text(page, "#tip"));
		await page.setViewportSize({ width: 360, height: 740 });
		await page.keyboard.press("6");
		ok("compare: at 360 px the functions are in sight", await until(page, () => {
			const box = document.querySelector(".rows .row .name")?.getBoundingClientRect();
			return box && box.width > 0 && box.x < 200;
		}).then(() => true, () => false));
		await done("compare", page);
		const times = await open("times.html");
		ok("compare: of times, noise cannot be told, and that is said", (await text(times, "#answer")).startsWith("Values are not numbers of samples"));
		await done("compare times", times);
	},
	async exporting() {
		const page = await open("busy.html", { fragment: "f=process:redis-server" });
		const lines = readFileSync(await saved(page, "folded"), "utf8").trim().split("\n").sort();
		is("export: folded lines are wick's", lines, folded(join(folder, "busy.wick"), "--process", "^redis-server$"));
		const bare = (line) => line.replace(/_\[[a-z]\]/g, "");
		const pprof = folded(await saved(page, "pprof"), "--type", "samples");
		is("export: pprof has as many stacks and samples", [pprof.length, pprof.reduce((sum, line) => sum + +/\d+$/.exec(line)[0], 0)], [new Set(lines.map(bare)).size, 852]);
		ok("export: pprof has the names", pprof.some((line) => bare(line).includes("luaD_call;luaV_execute")), pprof[0]);
		const svg = readFileSync(await saved(page, "SVG"), "utf8");
		ok("export: SVG", svg.startsWith("<svg") && svg.includes("<title>luaV_execute (580 samples, 68.1 %)</title>"), svg.slice(0, 200));
		ok("export: PNG", readFileSync(await saved(page, "PNG")).subarray(1, 4).toString() === "PNG");
		await done("export", page);
	},
	async hostile() {
		const page = await open("hostile.html");
		for (const key of "123456")
			await page.keyboard.press(key);
		await page.locator(".rows .row").first().click();
		const names = await page.locator(".rows .row .name").allTextContents();
		ok("hostile names: are shown as they are", names.includes("<script>window.hit = 1</script>") && names.some((name) => name.includes("\\x1b[31mred")), names);
		await addChip(page, "fn:<img src=x onerror=window.hit=1>");
		await page.goBack();
		const svg = readFileSync(await (await page.keyboard.press("1"), saved(page, "SVG")), "utf8");
		ok("hostile names: the SVG has no element of theirs", !/<script|<img|<image/.test(svg));
		is("hostile names: are inert", await page.evaluate(() => window.hit), undefined);
		is("hostile names: make no elements", await page.evaluate(() => document.querySelectorAll("img, image, #app script, #app b[onclick]").length), 0);
		await done("hostile", page);
		const linked = await open("busy.html", { fragment: "v=%3Cscript%3E&f=fn:%3Cimg%20src=x%20onerror=window.hit=1%3E&q=/(/&z=%00;;;&s=x;y&u=zz&sort=%2C&fn=__proto__" });
		is("hostile links: are inert", await linked.evaluate(() => window.hit), undefined);
		ok("hostile links: say that nothing passes", (await text(linked, "#view")).includes("No samples pass"));
		await done("hostile links", linked);
	},
	async policy() {
		const page = await open("busy.html");
		const tried = await page.evaluate(async () => {
			const script = document.createElement("script"), image = new Image();
			script.textContent = "window.hit = 1";
			document.body.append(script);
			image.src = "http://127.0.0.1:9/x.png";
			const fetched = await fetch("http://127.0.0.1:9/x").then(() => "fetched", () => "refused");
			return [window.hit, fetched];
		});
		is("policy: refuses scripts and requests", tried, [undefined, "refused"]);
		await until(page, () => ["script-src-elem", "img-src", "connect-src"].every((one) => window.violations.some((text) => text.startsWith(one))));
		ok("policy: refuses pictures too", true);
		await page.context().close();
	},
	async states() {
		let page = await open("empty.html");
		ok("no samples: said", (await text(page, "#view")).includes("There are no samples in this profile"));
		await picture(page, "page-empty");
		await done("no samples", page);
		page = await open("one.html");
		is("one stack", await text(page, "#answer"), "sh used 100.0 % of this; main alone 100.0 %.");
		await done("one stack", page);
		page = await open("elsewhere.html");
		is("a function that is not the first process's", await text(page, "#answer"), "a used 66.0 % of this; w (mostly in b) 33.0 %.");
		await done("elsewhere", page);
		page = await open("one.html");
		await choose(page, "main");
		is("one sample", (await details(page)).Total, "100.0 % (1 sample)");
		await done("one stack", page);
		page = await open("busy.html", { fragment: "f=process:node&f=fn:lua" });
		ok("nothing passes: said, with a way out", (await text(page, "#view")).includes("No samples pass these filters"));
		await page.click("#view button:has-text('without process:node')");
		ok("nothing passes: the way out", (await text(page, "#share")).startsWith("580 of"));
		await done("nothing passes", page);
		for (const file of ["damaged.html", "cut.html", "nonsense.html"]) {
			page = await open(file);
			ok(file + ": said", /damaged.*It cannot be read: .*copy it again/s.test(await text(page, "#old")), await text(page, "#old"));
			await done(file, page);
		}
		page = await open("damaged.html", { before: () => delete window.DecompressionStream });
		ok("damaged, unpacked by the page: said", (await text(page, "#old")).includes("damaged"));
		await done("damaged, unpacked by the page", page);
		page = await open("busy.html", { before: () => delete window.DecompressionStream });
		is("without DecompressionStream: the same", await text(page, "#answer"), "redis-server used 53.9 % of this; luaV_execute alone 22.5 %.");
		await done("without DecompressionStream", page);
		page = await open("busy.html", { javaScriptEnabled: false, quiet: true });
		ok("an old browser, or no scripts: a sentence", (await page.locator("#old").textContent()).includes("needs a browser"));
		ok("an old browser: nothing else", !await page.locator("#app").isVisible());
		await page.context().close();
	},
	async extremes() {
		let page = await open("deep.html", { fragment: "v=icicle" });
		await page.fill("#search", "level1024");
		is("1,024 deep: found", await text(page, "#matched"), "1 function, 50.0 %");
		await page.press("#search", "Enter");
		is("1,024 deep: the last is selected", await selected(page), "level1024");
		const linked = await open("deep.html", { fragment: "v=icicle&" + (await fragment(page)).match(/s=[^&]*/)[0].replace("level1024", "level1000") });
		await until(linked, () => document.querySelector(".flame").scrollTop > 1000);
		ok("1,024 deep: a link brings what it selects into sight", await linked.locator(".mark:not(.hover)").isVisible());
		await done("1,024 deep, linked", linked);
		ok("1,024 deep: its row is in sight", await page.locator(".mark:not(.hover)").isVisible());
		for (const key of ["1", "3", "4", "5", "6"])
			await page.evaluate(() => document.activeElement.blur()).then(() => page.keyboard.press(key));
		await done("1,024 deep", page);
		page = await open("long.html");
		for (const key of "234561")
			await page.keyboard.press(key);
		await page.keyboard.press("ArrowUp");
		await page.keyboard.press("ArrowUp");
		is("names of 100 kB: whole in the inspector", (await selected(page)).length, 100000);
		is("names of 100 kB: nothing sticks out", await overflow(page), []);
		await done("names of 100 kB", page);
		page = await open("sources.html");
		await choose(page, "work");
		is("a file and line of another tool's profile", (await details(page)).Source, "src/work.c:40");
		await done("sources", page);
		page = await open("million.html");
		ok("1,000,000 stacks: drawn", await colours(page) > 3);
		ok("1,000,000 stacks: counted", (await text(page, "#facts")).startsWith("1,000,000 samples"));
		await page.fill("#search", "u999999");
		is("1,000,000 stacks: searched", await text(page, "#matched"), "1 function, < 0.1 %");
		await page.press("#search", "Enter");
		is("1,000,000 stacks: one too narrow to be drawn is found and zoomed to", await selected(page), "u999999");
		await page.goBack();
		await page.fill("#search", "");
		await page.evaluate(() => document.activeElement.blur());
		for (const key of "345612")
			await page.keyboard.press(key);
		await addChip(page, "process:p3");
		ok("1,000,000 stacks: filtered", (await text(page, "#share")).startsWith("142,857 of 1,000,000"), await text(page, "#share"));
		await done("1,000,000 stacks", page);
	},
};

main(folder, pictures, tests);
