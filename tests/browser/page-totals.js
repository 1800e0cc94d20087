// SPDX-License-Identifier: Apache-2.0
// Every view adds up to what wick report says of the same file and filter: page-totals.js FOLDER PICTURES. tests/browser/
// page-totals.t has made the reports. Functions are compared one by one, in the percent that both print.
"use strict";
const { readFileSync } = require("fs");
const { join } = require("path");
const { ok, is, open, done, details, selected, addChip, main } = require("./lib.js");

const [folder, pictures] = process.argv.slice(2);

// Of a report: functions as [name, self, total], and how many samples there are.
function readReport(file) {
	const functions = [];
	for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
		const row = /^ *([\d.]+)% +([\d.]+)%  (.*?)  +(\S+)  +\S/.exec(line);
		if (line.startsWith(" TOTAL"))
			break;
		if (row)
			functions.push([row[3].trim(), (+row[1]).toFixed(1), (+row[2]).toFixed(1)]);
	}
	const head = readFileSync(join(folder, file), "utf8"), samples = /([\d,]+) of [\d,]+ samples/.exec(head) || /([\d,]+) samples/.exec(head);
	return { functions, samples: samples ? +samples[1].replace(/,/g, "") : -1 };
}

// The report cuts long names in the middle.
function sameNames(got, wanted) {
	return got.map((row) => {
		const cut = wanted.find(([name]) => name.includes("…") && row[0].startsWith(name.split("…")[0]) && row[0].endsWith(name.split("…")[1]));
		return cut ? [cut[0], ...row.slice(1)] : row;
	});
}

const number = (text) => text.startsWith("<") ? "0.0" : (+text.replace(" %", "")).toFixed(1);

async function tableRows(page) {
	await page.keyboard.press("6");
	const rows = await page.locator(".rows .row").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
	return rows.map(([self, total, name]) => [name, number(self), number(total)]);
}

// The figures of the nodes beside each other on the first level, by walking over them.
async function firstLevel(page, key, out) {
	const found = [];
	await page.keyboard.press(key);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await page.keyboard.press(out);
	for (let i = 0; i < 200; i++)
		await page.keyboard.press("ArrowLeft");
	for (let last = null; ;) {
		const at = await page.evaluate(() => location.hash);
		if (at === last)
			return found;
		last = at;
		found.push([await selected(page), +/\(([\d,]+) samples?\)/.exec((await details(page)).Total)[1].replace(/,/g, "")]);
		await page.keyboard.press("ArrowRight");
	}
}

const sum = (pairs) => pairs.reduce((all, one) => all + one[1], 0);
const byName = (a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[2] - b[2];

const tests = {};
readFileSync(join(folder, "chips"), "utf8").replace(/\n$/, "").split("\n").map((line) => line.trim()).forEach((line, i) => {
	tests["filter " + (i + 1)] = async () => {
		const page = await open("busy.html", { viewport: { width: 1900, height: 1600 } }), name = line || "no filter", wanted = readReport(`report-${i + 1}.txt`);
		for (const chip of line.split(" ").filter(Boolean))
			await addChip(page, chip);
		const table = await tableRows(page);
		is(name + ": functions of the table", sameNames(table.filter((row) => row[1] !== "0.0"), wanted.functions).sort(byName), wanted.functions.sort(byName));
		const flame = await firstLevel(page, "1", "ArrowUp"), icicle = await firstLevel(page, "2", "ArrowDown"), inverted = await firstLevel(page, "3", "ArrowDown");
		ok(name + ": there are samples", wanted.samples > 0, wanted.samples);
		is(name + ": flame, icicle and inverted add up", [sum(flame), sum(icicle), sum(inverted)], [wanted.samples, wanted.samples, wanted.samples]);
		await page.keyboard.press("Escape");
		await page.keyboard.press("4");
		const tree = await page.locator(".rows .row[aria-level='1']").evaluateAll((all) => all.map((row) => [row.querySelector(".name > span").textContent, row.children[0].textContent]));
		is(name + ": the tree's first level is the flame graph's", tree.map(([one, share]) => [one, number(share)]).sort(byName),
			flame.map(([one, count]) => [one, (100 * count / wanted.samples).toFixed(1)]).sort(byName));
		const hottest = wanted.functions.filter(([fn]) => !fn.includes("…")).sort((a, b) => b[1] - a[1])[0];
		await page.evaluate((fn) => location.hash = location.hash.replace(/v=tree/, "v=sandwich") + "&fn=" + encodeURIComponent(fn), hottest[0]);
		await page.waitForSelector(".sandwich");
		is(name + ": the sandwich of the hottest function", [await selected(page), number((await details(page)).Total.split(" (")[0])], [hottest[0], hottest[2]]);
		await done(name, page);
	};
});

main(folder, pictures, tests);
