/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as a tree, from the root of stacks to their leaves, or from a function to its callers. A line is a chain of
 * functions of which each has but one successor worth showing; it holds the share of its first one, and what was spent
 * in its functions themselves.
 *
 * Nothing that weighs the limit or more is left out: neither a branch, nor a difference between the first function of a
 * line and a later one. There is one exception: where the tree is too deep for the width, only the heaviest branch goes
 * on. So the recursion is as deep as the page is wide, whatever the file holds.
 */
#include "out/report_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "profile/profile.h"

#define NUMBERS_WIDTH (2 * REPORT_SHARE_WIDTH + 4)
#define LINES_MAX 40 /* of a tree that is one section among others */
#define CAP_MIN 24   /* a name in a chain is not cut below this */
#define KERNEL_MARK "[kernel] "
#define AROUND_WIDTH 6 /* of a name: indent, brackets, arrow */

/* A function of a chain, and how often it stands there in a row. */
struct link {
	uint32_t node, times;
};

struct chain {
	struct link *links;
	size_t len, cap;
	uint32_t end; /* its last node */
};

struct paths {
	const struct report *report;
	const struct tree *tree;
	uint64_t limit;
	size_t levels; /* of branches, at most */
	bool callers;  /* upside down: leaves are groups */
	bool whole;    /* long chains go on in the next line */
	struct chain chain;
	struct buf prefix; /* the lines of the tree to the left */
	struct buf text;   /* a chain as it will be shown */
	struct buf out;
	int err;
};

static uint32_t label_of(const struct paths *paths, uint32_t node)
{
	return paths->tree->nodes[node].label;
}

static bool is_kernel(const struct paths *paths, uint32_t node)
{
	uint32_t label = node ? label_of(paths, node) : TALLY_GROUP;

	return !tally_is_group(label) && paths->report->tally.functions[label].kind == FRAME_KERNEL;
}

static uint32_t heaviest(const struct paths *paths, uint32_t node)
{
	return paths->tree->children[paths->tree->nodes[node].first];
}

/* How many of its children are worth showing: the first ones. */
static uint32_t count_shown(const struct paths *paths, uint32_t node)
{
	const struct tree_node *at = &paths->tree->nodes[node];
	uint32_t count = 0;

	while (count < at->count) {
		uint64_t total = paths->tree->nodes[paths->tree->children[at->first + count]].total;

		if (!total || total < paths->limit)
			break;
		count++;
	}
	return count;
}

static void chain_add(struct paths *paths, uint32_t node)
{
	struct chain *chain = &paths->chain;

	chain->end = node;
	if (chain->len && label_of(paths, chain->links[chain->len - 1].node) == label_of(paths, node)) {
		chain->links[chain->len - 1].times++;
		return;
	}
	if (chain->len == chain->cap) {
		size_t cap = chain->cap ? 2 * chain->cap : 64;
		struct link *links = reallocarray(chain->links, cap, sizeof(*links));

		if (!links) {
			paths->err = -ENOMEM;
			return;
		}
		chain->links = links;
		chain->cap = cap;
	}
	chain->links[chain->len++] = (struct link){ node, 1 };
}

/* From the node on, as long as there is one way to go and nothing is lost by not saying so. Returns the self time. */
static uint64_t find_chain(struct paths *paths, uint32_t node, size_t level)
{
	uint64_t whole = paths->tree->nodes[node].total, self = 0;

	paths->chain.len = 0;
	while (!paths->err) {
		const struct tree_node *at = &paths->tree->nodes[node];
		uint32_t shown = count_shown(paths, node);
		uint64_t next;

		chain_add(paths, node);
		self += at->self;
		if (!shown)
			break;
		next = paths->tree->nodes[heaviest(paths, node)].total;
		if (level < paths->levels && (shown > 1 || (whole - next && whole - next >= paths->limit)))
			break;
		node = heaviest(paths, node);
	}
	return self;
}

/* Where the kernel begins, a name is marked; one that is an address says so itself. */
static bool has_mark(const struct paths *paths, uint32_t node, uint32_t before)
{
	return is_kernel(paths, node) && !is_kernel(paths, before) &&
	       paths->report->tally.functions[label_of(paths, node)].named;
}

/* One element of a chain; `before` is the node shown before it. */
static void add_element(struct paths *paths, struct link link, uint32_t before, size_t cap)
{
	const struct tally *tally = &paths->report->tally;
	uint32_t node = link.node, label = label_of(paths, node);
	const char *name = tally_is_group(label) ? tally_group(tally, label)->name : tally->functions[label].name;

	if (tally_is_group(label) && paths->callers)
		buf_addc(&paths->text, '(');
	if (has_mark(paths, node, before))
		buf_adds(&paths->text, KERNEL_MARK);
	columns_add(&paths->text, name, strlen(name), cap);
	if (tally_is_group(label) && paths->callers)
		buf_addc(&paths->text, ')');
	if (link.times > 1)
		buf_addf(&paths->text, " ×%u", link.times);
}

static const char *arrow_after(const struct paths *paths, uint32_t node)
{
	if (tally_is_group(label_of(paths, node)))
		return ": ";
	return paths->callers ? " ← " : " → ";
}

/* The chain with only so many elements at its ends; 0 and its length for all of it. Its columns. */
static size_t render(struct paths *paths, size_t head, size_t tail, size_t cap)
{
	const struct chain *chain = &paths->chain;
	size_t omitted = chain->len - head - tail;
	uint32_t before = paths->tree->nodes[chain->links[0].node].parent;

	buf_clear(&paths->text);
	for (size_t i = 0; i < chain->len; i++) {
		if (i == head && omitted) {
			buf_addf(&paths->text, "… %zu%s", omitted, paths->callers ? " ← " : " → ");
			i += omitted;
			if (i == chain->len)
				break;
		}
		add_element(paths, chain->links[i], before, cap);
		before = chain->links[i].node;
		if (i + 1 < chain->len)
			buf_adds(&paths->text, arrow_after(paths, before));
	}
	return buf_error(&paths->text) ? 0 : columns_of(paths->text.data, paths->text.len);
}

/* Where not even two names fit as they are: the last one, and whose it is, cut to what room there is. */
static void render_ends(struct paths *paths, size_t head, size_t width)
{
	size_t least = render(paths, head, 1, 1);

	render(paths, head, 1, least < width ? 1 + (width - least) / (head + 1) : 1);
}

/* The chain in one line: what matters most of it is where it ends; of callers, where it begins. */
static void render_fitting(struct paths *paths, size_t width)
{
	size_t len = paths->chain.len, cap = width / 2 > CAP_MIN ? width / 2 : CAP_MIN;
	bool grouped = tally_is_group(label_of(paths, paths->chain.links[0].node));
	bool stack_root = paths->tree->nodes[paths->chain.links[0].node].parent && !paths->callers &&
			  tally_is_group(label_of(paths, paths->tree->nodes[paths->chain.links[0].node].parent));
	size_t fixed = stack_root && !grouped && len > 1 ? 0 : 1, grown;

	if (len <= width && (render(paths, 0, len, width) <= width || render(paths, 0, len, cap) <= width))
		return;
	for (grown = 1; fixed + grown < len; grown++)
		if ((paths->callers ? render(paths, grown, fixed, cap) : render(paths, fixed, grown, cap)) > width)
			break;
	grown -= grown > 1;
	if (fixed + grown > len)
		fixed = len - grown;
	if ((paths->callers ? render(paths, grown, fixed, cap) : render(paths, fixed, grown, cap)) > width)
		render_ends(paths, grouped && len > 1, width);
}

/* Takes off spaces at the end, which a chain that was broken leaves. */
static void end_line(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_addc(out, '\n');
}

/* The chain over as many lines as it takes. */
static void render_whole(struct paths *paths, size_t width)
{
	const struct chain *chain = &paths->chain;
	uint32_t before = paths->tree->nodes[chain->links[0].node].parent;
	size_t used = 0;

	buf_clear(&paths->text);
	for (size_t i = 0; i < chain->len; i++) {
		size_t start = paths->text.len, columns;
		size_t extra = AROUND_WIDTH + (has_mark(paths, chain->links[i].node, before) ? strlen(KERNEL_MARK) : 0);

		add_element(paths, chain->links[i], before, width > extra + 1 ? width - extra : 1);
		if (i + 1 < chain->len)
			buf_adds(&paths->text, arrow_after(paths, chain->links[i].node));
		before = chain->links[i].node;
		if (buf_error(&paths->text))
			return;
		columns = columns_of(paths->text.data + start, paths->text.len - start);
		if (used &&
		    used + columns > width + (i + 1 < chain->len)) { /* the blank after an arrow may hang over */
			end_line(&paths->out);
			buf_addf(&paths->out, "%*s", NUMBERS_WIDTH, "");
			buf_add(&paths->out, paths->prefix.data, paths->prefix.len);
			buf_adds(&paths->out, "  ");
			used = 2;
		}
		used += columns;
		buf_add(&paths->out, paths->text.data + start, paths->text.len - start);
	}
	buf_clear(&paths->text);
}

static void print_numbers(struct paths *paths, uint32_t node, uint64_t self)
{
	const struct report *report = paths->report;

	report_share(report, paths->tree->nodes[node].total, &paths->out);
	buf_adds(&paths->out, "  ");
	if (!paths->callers && report_percent(self, report->tally.total) >= 0.05)
		report_share(report, self, &paths->out);
	else
		buf_addf(&paths->out, "%*s", REPORT_SHARE_WIDTH, "");
	buf_adds(&paths->out, "  ");
}

static void print_children(struct paths *paths, uint32_t node, size_t level);

static void print_chain(struct paths *paths, uint32_t node, size_t level, bool last)
{
	size_t prefix = paths->prefix.len, width = paths->report->width - NUMBERS_WIDTH;
	uint64_t self = find_chain(paths, node, level);
	size_t indent = level ? 2 * (level - 1) : 0;
	uint32_t end;

	if (paths->err || buf_error(&paths->prefix))
		return;
	end = paths->chain.end;
	print_numbers(paths, node, self);
	buf_add(&paths->out, paths->prefix.data, prefix);
	if (level > 1)
		buf_adds(&paths->out, last ? "└─" : "├─");
	if (level > 1)
		buf_adds(&paths->prefix, last ? "  " : "│ ");
	width -= indent < width / 2 ? indent : width / 2;
	if (paths->whole)
		render_whole(paths, width);
	else
		render_fitting(paths, width);
	if (paths->text.len && !buf_error(&paths->text)) /* a last name that is too long by itself */
		columns_add(&paths->out, paths->text.data, paths->text.len, width);
	end_line(&paths->out);
	print_children(paths, end, level);
	if (!buf_error(&paths->prefix)) {
		paths->prefix.len = prefix;
		if (paths->prefix.data)
			paths->prefix.data[prefix] = '\0';
	}
}

static void print_children(struct paths *paths, uint32_t node, size_t level)
{
	uint32_t shown = count_shown(paths, node);

	if (level >= paths->levels)
		return;
	for (uint32_t i = 0; i < shown && !paths->err; i++)
		print_chain(paths, paths->tree->children[paths->tree->nodes[node].first + i], level + 1,
			    i + 1 == shown);
}

static int print_tree(struct paths *paths, double percent)
{
	/* Rounded up: what is shown as the limit has reached it. */
	double limit = percent / 100 * (double)paths->report->tally.total;

	paths->limit = limit >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)limit;
	paths->limit += (double)paths->limit < limit;
	paths->levels = (paths->report->width - NUMBERS_WIDTH) / 4;
	buf_clear(&paths->out);
	print_children(paths, 0, 0);
	if (!paths->err)
		paths->err = buf_error(&paths->out) ? -ENOMEM : buf_error(&paths->text);
	return paths->err;
}

static size_t count_lines(const struct buf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	return lines;
}

/* The tree at the limit asked for, or at the first of these at which it is not too long. */
static int choose_tree(struct paths *paths, double *ret_percent)
{
	static const double percents[] = { 1, 2, 3, 5, 10, 20 };
	const struct report_options *options = paths->report->options;
	int err = 0;

	if (options->percent_limit >= 0 || paths->whole || paths->callers) {
		*ret_percent = options->percent_limit >= 0 ? options->percent_limit : percents[0];
		return print_tree(paths, *ret_percent);
	}
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents) && !err; i++) {
		*ret_percent = percents[i];
		err = print_tree(paths, percents[i]);
		if (count_lines(&paths->out) <= LINES_MAX)
			break;
	}
	return err;
}

static int show(struct report *report, struct paths *paths)
{
	autobuf struct buf heading = { 0 };
	double percent;
	int err = choose_tree(paths, &percent);

	if (!err) {
		buf_adds(&heading,
			 paths->callers ? " SHARE          FUNCTION AND ITS CALLERS" : " TOTAL    SELF  PATH");
		if (percent > 0)
			buf_addf(&heading, " (from %g %% on)", percent);
		err = buf_error(&heading);
	}
	if (!err) {
		buf_addc(report->out, '\n');
		report_heading(report, heading.data);
		buf_add(report->out, paths->out.data, paths->out.len);
	}
	return err;
}

int report_tree(struct report *report, const struct tree *tree, bool callers)
{
	struct paths paths = { .report = report, .tree = tree, .callers = callers, .whole = report->options->tree };
	int err = show(report, &paths);

	free(paths.chain.links);
	buf_free(&paths.prefix);
	buf_free(&paths.text);
	buf_free(&paths.out);
	return err;
}
