// SPDX-License-Identifier: Apache-2.0
// Elements made from texts, never from markup: what is in a profile can only be shown.

const ROW_HEIGHT = 24; // as in page.css

export const byId = (id) => document.getElementById(id);

// el("button", { class: "x", onclick }, "text", element…); what begins with "on" is listened to.
export function el(tag, properties = {}, ...children) {
	const element = document.createElement(tag);
	if (tag === "button")
		element.type = "button"; // else Enter in a form presses it
	for (const [name, value] of Object.entries(properties)) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (value === true)
			element.setAttribute(name, "");
		else if (value !== false && value !== undefined && value !== null)
			element.setAttribute(name, value);
	}
	element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

export function fill(element, ...children) {
	element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

export const NAME_FONT = "12px ui-monospace, Menlo, Consolas, monospace"; // of names, in page.css too
let columnWidth = 0;

// How many columns of a name there is room for.
export function columnsIn(pixels) {
	if (!columnWidth) {
		const context = document.createElement("canvas").getContext("2d");
		context.font = NAME_FONT;
		columnWidth = context.measureText("MMMMMMMMMM").width / 10;
	}
	return Math.floor(pixels / columnWidth);
}

let toastTimer = 0;
export function toast(text) {
	const element = byId("toast");
	element.textContent = text;
	element.hidden = false;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => element.hidden = true, 2500);
}

export async function copyText(text, what) {
	try {
		await navigator.clipboard.writeText(text);
	} catch (error) {
		const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
		area.value = text;
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		if (!done) {
			toast("This browser does not let the page copy. The text: " + text);
			return;
		}
	}
	toast(what + " copied");
}

export function download(name, data, type) {
	const address = URL.createObjectURL(new Blob([data], { type }));
	const link = el("a", { href: address, download: name });
	document.body.append(link);
	link.click();
	link.remove();
	setTimeout(() => URL.revokeObjectURL(address), 60000);
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const isNarrow = () => matchMedia("(max-width: 760px)").matches;

// Rows of equal height of which only those in sight exist. make(index) gives an element whose data-of is the number that
// the handlers get: of a click, of a double click, and for the menu first of a selection.
export class RowList {
	constructor(properties, { click, enter, select, menu }) {
		this.body = el("div", { class: "rows", tabindex: "0", ...properties });
		this.scroller = el("div", { class: "scroller" }, this.body);
		this.count = 0;
		this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
		const on = (type, run) => this.body.addEventListener(type, (event) => {
			const row = event.target.closest(".row");
			if (row)
				run(+row.dataset.of, event);
		});
		on("click", click);
		on("dblclick", enter);
		on("contextmenu", (number, event) => {
			event.preventDefault();
			select(number);
			menu(event.clientX, event.clientY);
		});
	}
	show(count, make) {
		this.count = count;
		this.make = make;
		this.redraw();
	}
	redraw() {
		this.drawn = null;
		this.draw();
	}
	draw() {
		const { scroller, body, count } = this, height = ROW_HEIGHT;
		const from = Math.max(0, Math.floor(scroller.scrollTop / height) - 4);
		const to = Math.min(count, Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + 4);
		if (this.drawn === from + ":" + to)
			return;
		this.drawn = from + ":" + to;
		const rows = [];
		for (let i = from; i < to; i++)
			rows.push(this.make(i));
		body.style.height = (count - from) * height + "px";
		body.style.marginTop = from * height + "px";
		fill(body, rows);
	}
	reveal(index) {
		const { scroller } = this, height = ROW_HEIGHT, top = index * height;
		if (top < scroller.scrollTop + height)
			scroller.scrollTop = Math.max(0, top - height);
		else if (top + 3 * height > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = top + 3 * height - scroller.clientHeight;
	}
}
