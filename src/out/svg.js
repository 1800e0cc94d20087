"use strict";
// Makes a flame graph answer: zoom, search, keyboard, a window of any width. The picture is complete without it; what
// it needs to know is in the picture: data-s and data-n of a frame are where it begins and how much it has, in samples.
// A frame stands before those on it, and those from left to right. The address holds the state: ?x=&y=&s=&i=.
(function () {
	const svg = document.currentScript.ownerSVGElement;
	const $ = (id) => svg.getElementById(id);
	const PAD = 10, INSET = 3, LEAST = 3;
	const inverted = "inverted" in svg.dataset, fixed = "fixed" in svg.dataset;
	const details = $("details"), foot = $("foot");
	const size = parseFloat(getComputedStyle(details).fontSize), line = size * 1.5;
	const height = parseFloat(svg.dataset.height), detailsY = parseFloat(details.getAttribute("y"));
	const footText = [...foot.children].map((part) => part.textContent).join(" ");
	const frames = [...$("frames").querySelectorAll("g")].map(read);
	if (!frames.length)
		return;
	const root = frames[0], frameByElement = new Map(frames.map((frame) => [frame.g, frame]));
	let zoomed = root, current = root, described = null, term = "", ignoreCase = false, width = 0, box = null;

	// ---- What is in the picture ----

	function read(g, index) {
		const rect = g.querySelector("rect");
		return {
			g, rect, index, text: g.querySelector("text"), title: g.firstChild.textContent,
			start: +g.dataset.s, value: +g.dataset.n, x: rect.getAttribute("x"), y: rect.getAttribute("y"),
			shown: true, match: false,
		};
	}

	// Depth and parent follow from the order and the rows.
	function connect() {
		const rows = [...new Set(frames.map((frame) => +frame.y))].sort((a, b) => inverted ? a - b : b - a);
		const depths = new Map(rows.map((y, depth) => [y, depth]));
		const path = [];
		$("frames").setAttribute("role", "tree");
		$("frames").setAttribute("aria-label", "Stacks");
		for (const frame of frames) {
			frame.depth = depths.get(+frame.y);
			frame.parent = path[frame.depth - 1] || null;
			path[frame.depth] = frame;
			frame.end = frame.start + frame.value;
			frame.name = frame.title.slice(0, frame.title.lastIndexOf(" (" + commas(frame.value) + " "));
			frame.g.setAttribute("role", "treeitem");
			frame.g.setAttribute("aria-level", frame.depth + 1);
			frame.g.setAttribute("tabindex", frame === root ? 0 : -1);
		}
	}

	function commas(number) {
		return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
	}

	function percent(part, whole) {
		return (100 * part / whole).toFixed(1) + "%";
	}

	// ---- Text that fits ----

	const canvas = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");
	function measure(text, element) {
		const style = getComputedStyle(element);
		canvas.font = style.fontSize + " " + style.fontFamily;
		return canvas.measureText(text).width;
	}

	// The text, or its two ends around a dot where there is no room for all.
	function cut(text, room) {
		if (canvas.measureText(text).width <= room)
			return text;
		const letters = [...text];
		let low = 0, high = letters.length;
		const ends = (keep) => letters.slice(0, Math.ceil(keep / 2)).join("") + "…" +
			letters.slice(letters.length - Math.floor(keep / 2)).join("");
		while (low + 1 < high) {
			const middle = (low + high) >> 1;
			if (canvas.measureText(ends(middle)).width <= room)
				low = middle;
			else
				high = middle;
		}
		return low + 1 < LEAST ? "" : ends(low);
	}

	function label(frame, x, w) {
		const room = w - 2 * INSET, name = frame === root ? "all" : frame.name;
		const text = room < LEAST * size / 2 ? "" : cut(name, room);
		if (!frame.text && !text)
			return;
		if (!frame.text) {
			frame.text = document.createElementNS(svg.namespaceURI, "text");
			frame.text.setAttribute("y", INSET + +frame.y + parseFloat(frame.rect.getAttribute("height")) / 2);
			frame.g.append(frame.text);
		}
		frame.text.setAttribute("x", x + INSET);
		frame.text.textContent = text;
	}

	// Words in lines; gives back how many.
	function flow(element, text, y, most, taken) {
		const lines = [], room = width - 2 * PAD - taken;
		measure("", element);
		for (const word of text.split(" ")) {
			const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
			if (lines.length && canvas.measureText(longer).width <= room)
				lines[lines.length - 1] = longer;
			else if (lines.length && lines.length === most)
				lines[most - 1] = longer;
			else
				lines.push(word);
		}
		element.replaceChildren(...lines.map((words, index) => {
			const part = document.createElementNS(svg.namespaceURI, "tspan");
			part.setAttribute("x", PAD);
			part.setAttribute("y", y + index * line);
			part.textContent = cut(words, room);
			return part;
		}));
		return lines.length;
	}

	// ---- Layout ----

	function layout() {
		width = fixed ? svg.width.baseVal.value : Math.max(document.documentElement.clientWidth || innerWidth, 200);
		const scale = (width - 2 * PAD) / zoomed.value;
		measure("", $("frames"));
		for (const frame of frames) {
			const above = frame.depth < zoomed.depth;
			const covers = frame.start <= zoomed.start && frame.end >= zoomed.end;
			const within = frame.start >= zoomed.start && frame.end <= zoomed.end;
			frame.shown = above ? covers : within && (frame.depth > zoomed.depth || frame === zoomed);
			frame.g.classList.toggle("hide", !frame.shown);
			frame.g.classList.toggle("parent", frame.shown && above);
			if (!frame.shown)
				continue;
			const x = above ? PAD : PAD + (frame.start - zoomed.start) * scale;
			const w = above ? width - 2 * PAD : frame.value * scale;
			frame.rect.setAttribute("x", x);
			frame.rect.setAttribute("width", w);
			label(frame, x, w);
		}
		$("unzoom").classList.toggle("hide", zoomed === root);
		place();
	}

	// Everything around the frames.
	function place() {
		const narrow = width < 700, extra = narrow ? 2 * line : 0;
		const y = height + extra + line / 2;
		const lines = flow(foot, footText, y, 0, 0);
		const total = y + lines * line;
		const right = width - PAD;
		if (!fixed)
			svg.setAttribute("width", width);
		svg.setAttribute("height", total);
		svg.setAttribute("viewBox", "0 0 " + width + " " + total);
		$("ignorecase").setAttribute("x", right);
		$("search").setAttribute("x", right - 2.5 * size);
		$("matched").setAttribute("x", right);
		const side = 2 * Math.max(zoomed === root ? 0 : measure("Reset Zoom", $("unzoom")),
			measure($("search").textContent, $("search")) + 2.5 * size) + 4 * PAD;
		for (const text of [$("title"), $("subtitle")].filter(Boolean)) {
			measure("", text);
			text.textContent = cut(text.dataset.text, text.id === "title" ? width - side : width - 2 * PAD);
			text.setAttribute("x", width / 2);
		}
		stick();
		describe(described);
	}

	// Of a graph that is higher than the window, title and details stay in sight.
	function stick() {
		const top = svg.getBoundingClientRect().top, narrow = width < 700;
		const below = Math.min(0, innerHeight - top - height - (narrow ? 2 * line : 0));
		$("tail").firstElementChild.setAttribute("height", 2 * size + 9 + (narrow ? 2 * line : 0));
		for (const [id, by] of [["head", Math.max(0, -top)], ["tail", below]]) {
			$(id).setAttribute("transform", "translate(0 " + by + ")");
			$(id).classList.toggle("stuck", by !== 0);
		}
	}

	function describe(frame) {
		const matched = $("matched");
		described = frame;
		if (!frame)
			return details.replaceChildren();
		let text = svg.dataset.nametype + " " + frame.title;
		if (frame.parent)
			text += " · " + percent(frame.value, frame.parent.value) + " of its parent";
		if (zoomed !== root && frame.depth > zoomed.depth)
			text += " · " + percent(frame.value, zoomed.value) + " of this view";
		const taken = matched.classList.contains("hide") ? 0 : measure(matched.textContent, matched) + PAD;
		flow(details, text, detailsY, width < 700 ? 3 : 1, taken);
	}

	// ---- Zoom ----

	function zoom(frame, keep) {
		zoomed = frame;
		layout();
		search();
		if (!keep)
			remember(true);
	}

	// ---- Search ----

	// The share of the view that matching frames cover: what is on a frame that matches is counted once.
	function search() {
		let matcher = null, covered = zoomed.start, sum = 0;
		try {
			matcher = term ? new RegExp(term, ignoreCase ? "i" : "") : null;
			if (box)
				box.setCustomValidity("");
		} catch (error) {
			if (box)
				box.setCustomValidity("Not a regular expression");
		}
		for (const frame of frames) {
			frame.match = matcher !== null && matcher.test(frame === root ? "all" : frame.name);
			frame.g.classList.toggle("match", frame.match);
			if (!frame.match || !frame.shown)
				continue;
			if (frame.end > covered) {
				sum += Math.min(frame.end, zoomed.end) - Math.max(frame.start, covered);
				covered = frame.end;
			}
		}
		const share = 100 * sum / zoomed.value;
		$("matched").textContent = "Matched: " + (share === 100 ? share : share.toFixed(1)) + "%";
		$("matched").classList.toggle("hide", !matcher);
		$("search").textContent = term ? "Reset Search" : "Search";
		$("search").classList.toggle("show", term !== "");
		$("ignorecase").classList.toggle("show", ignoreCase);
		$("ignorecase").setAttribute("aria-pressed", ignoreCase);
		place();
	}

	function find(text) {
		term = text;
		search();
		remember(false);
	}

	function openBox() {
		if (box)
			return box.focus();
		const html = "http://www.w3.org/1999/xhtml";
		const holder = document.createElementNS(svg.namespaceURI, "foreignObject");
		const wide = Math.min(320, width - 2 * PAD);
		holder.id = "find";
		for (const [name, value] of [["x", width - PAD - wide], ["y", 4], ["width", wide], ["height", 3 * size - 8]])
			holder.setAttribute(name, value);
		box = document.createElementNS(html, "input");
		box.type = "text";
		box.value = term;
		box.placeholder = "Regular expression" + (ignoreCase ? ", ignoring case" : "");
		box.setAttribute("aria-label", "Search for functions by regular expression");
		box.setAttribute("spellcheck", "false");
		box.setAttribute("autocapitalize", "off");
		box.addEventListener("input", () => find(box.value));
		box.addEventListener("blur", closeBox);
		holder.append(box);
		$("head").append(holder);
		box.focus();
		box.select();
	}

	function closeBox() {
		const holder = box && box.parentNode;
		box = null;
		if (holder)
			holder.remove();
	}

	function searchButton() {
		if (term)
			find("");
		else
			openBox();
	}

	function toggleCase() {
		ignoreCase = !ignoreCase;
		search();
		remember(false);
	}

	// ---- The address ----

	function remember(step) {
		const state = new URLSearchParams(location.search);
		for (const [key, value] of [["x", zoomed !== root && zoomed.x], ["y", zoomed !== root && zoomed.y],
			["s", term], ["i", ignoreCase && "1"]]) {
			if (value)
				state.set(key, value);
			else
				state.delete(key);
		}
		const query = state.toString(), address = location.pathname + (query && "?" + query);
		if (query === location.search.slice(1))
			return;
		try {
			history[step ? "pushState" : "replaceState"](null, "", address + location.hash);
		} catch (error) {
			// Some browsers refuse it for files: the graph works without.
		}
	}

	function recall() {
		const state = new URLSearchParams(location.search);
		term = state.get("s") || "";
		ignoreCase = state.get("i") === "1";
		zoom(frames.find((frame) => frame.x === state.get("x") && frame.y === state.get("y")) || root, true);
	}

	// ---- Mouse, touch and keys ----

	function frameOf(target) {
		const g = target.closest && target.closest("#frames > g");
		return g ? frameByElement.get(g) : null;
	}

	function select(frame) {
		current.g.setAttribute("tabindex", -1);
		current = frame;
		current.g.setAttribute("tabindex", 0);
		current.g.focus();
		describe(frame);
	}

	// The widest frame on this one.
	function widest(frame) {
		let best = null;
		for (let i = frame.index + 1; i < frames.length && frames[i].depth > frame.depth; i++)
			if (frames[i].parent === frame && frames[i].shown && (!best || frames[i].value > best.value))
				best = frames[i];
		return best;
	}

	function beside(frame, step) {
		for (let i = frame.index + step; frames[i]; i += step)
			if (frames[i].depth === frame.depth && frames[i].shown)
				return frames[i];
		return null;
	}

	function move(key) {
		const from = current.shown ? current : zoomed;
		const towardsLeaf = key === (inverted ? "ArrowDown" : "ArrowUp");
		return key === "ArrowLeft" ? beside(from, -1) : key === "ArrowRight" ? beside(from, 1) :
			key === "Home" ? root : towardsLeaf ? widest(from) : from.parent;
	}

	// True if the key was for us.
	function press(event) {
		const key = event.key, control = event.ctrlKey || event.metaKey;
		if (key === "F3" || (control && key.toLowerCase() === "f")) {
			openBox();
		} else if (control && key.toLowerCase() === "i") {
			toggleCase();
		} else if (key === "Escape") {
			if (box) {
				closeBox();
				current.g.focus();
			} else if (term) {
				find("");
			} else if (zoomed !== root) {
				zoom(root);
			} else {
				return false;
			}
		} else if (box) {
			if (key !== "Enter")
				return false;
			closeBox();
			select(frames.find((frame) => frame.match && frame.shown) || current);
		} else if (control || event.altKey) {
			return false;
		} else if (key === "/") {
			openBox();
		} else if (key === "Enter" || key === " ") {
			const button = event.target.closest && event.target.closest(".button");
			if (button)
				button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
			else
				zoom(current);
		} else if (key === "Backspace") {
			if (zoomed.parent)
				zoom(zoomed.parent);
		} else if (/^(Arrow|Home)/.test(key)) {
			const next = move(key);
			if (next)
				select(next);
		} else {
			return false;
		}
		return true;
	}

	function click(event) {
		const frame = frameOf(event.target), button = event.target.closest && event.target.closest(".button");
		if (frame) {
			select(frame);
			zoom(frame);
			describe(frame);
		} else if (button) {
			({ unzoom: () => zoom(root), search: searchButton, ignorecase: toggleCase })[button.id]();
		}
	}

	connect();
	details.setAttribute("aria-live", "polite");
	$("matched").setAttribute("aria-live", "polite");
	for (const button of svg.querySelectorAll(".button")) {
		button.setAttribute("role", "button");
		button.setAttribute("tabindex", 0);
		button.classList.toggle("hide", button.id === "unzoom");
	}
	window.addEventListener("click", click);
	window.addEventListener("keydown", (event) => {
		if (press(event))
			event.preventDefault();
	});
	svg.addEventListener("mouseover", (event) => {
		const frame = frameOf(event.target);
		if (frame)
			describe(frame);
	});
	svg.addEventListener("mouseout", (event) => {
		if (frameOf(event.target))
			describe(null);
	});
	svg.addEventListener("focusin", (event) => {
		const frame = frameOf(event.target);
		if (frame)
			describe(current = frame);
	});
	window.addEventListener("scroll", stick);
	window.addEventListener("popstate", recall);
	let waiting = false;
	window.addEventListener("resize", () => {
		if (!waiting && !fixed)
			requestAnimationFrame(() => {
				waiting = false;
				layout();
			});
		waiting = true;
	});
	recall();
	if (!inverted && svg === document.documentElement)
		scrollTo(0, svg.getBoundingClientRect().height);
})();
