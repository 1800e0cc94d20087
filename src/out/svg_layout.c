/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the frames of a flame graph are. In: the tree. Out: rectangles in values of samples, each within the one under
 * it, in the order in which flamegraph.pl has them: that of the lines of folded stacks, sorted as bytes.
 *
 * In that order what ends in a function (`a;f 3`) can be apart from what goes on through it (`a;f;g 1`), when the name
 * of another lies between (`a;f.part.0 2`). Then it is two rectangles there, and so it is here.
 */
#include "out/svg_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/intern.h"
#include "out/svg.h"

#define PREFIX 8 /* bytes of a name that are compared at once */

/* What a child of the frame in hand has: samples that end in it, or that go on through it. */
struct item {
	uint64_t prefix; /* the first bytes, the first of them most significant; 0 for shorter names */
	const char *text;
	uint32_t len;
	uint32_t label, node;
	bool ends;
	uint64_t value, before;
};

/* A rectangle whose children have not been looked at yet. */
struct piece {
	uint64_t start, value;
	uint64_t closed;            /* of stacks that end without a waker, where this is the -- that ends them */
	uint64_t ends, ends_before; /* of samples that end in it */
	uint32_t node;              /* 0: nothing goes on through it */
	uint32_t label, depth;
	bool waker;
};

struct work {
	struct svg_layout *layout;
	struct svg_tree *tree;
	double least;  /* value that is drawn */
	double scale;  /* of values before */
	bool chain;    /* palette of that name: it tells wakers apart */
	uint32_t dash; /* the label --, if there is one; else UINT32_MAX */
	uint64_t drawn, splits;
	struct item *items;
	size_t items_len, items_cap;
	struct piece *pieces;
	size_t pieces_len, pieces_cap;
};

static int make_room(void *list, size_t size, size_t len, size_t *cap)
{
	void **at = list;
	size_t wanted = *cap ? *cap * 2 : 256;
	void *grown;

	if (len < *cap)
		return 0;
	grown = reallocarray(*at, wanted, size);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*cap = wanted;
	return 0;
}

/* What follows the name in its line. */
static void write_tail(const struct item *item, char tail[48])
{
	if (!item->ends)
		strcpy(tail, ";");
	else if (item->before)
		snprintf(tail, 48, " %" PRIu64 " %" PRIu64, item->before, item->value);
	else
		snprintf(tail, 48, " %" PRIu64, item->value);
}

/* One name is the beginning of the other: what follows it in its line decides. */
static int compare_tails(const struct item *a, const struct item *b)
{
	const struct item *shorter = a->len <= b->len ? a : b, *longer = shorter == a ? b : a;
	const char *rest = longer->text + shorter->len;
	char tail[48], other[48];
	size_t len, at = 0;
	int order;

	write_tail(shorter, tail);
	write_tail(longer, other);
	for (len = longer->len - shorter->len; at < len && tail[at] && tail[at] == rest[at];)
		at++;
	if (at < len)
		order = (unsigned char)tail[at] - (unsigned char)rest[at];
	else
		order = strcmp(tail + len, other);
	return shorter == a ? order : -order;
}

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	int order;

	if (a->prefix && b->prefix && a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	if (a->label == b->label && a->ends == b->ends)
		return (a->node > b->node) - (a->node < b->node);
	order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
	return order ? order : compare_tails(a, b);
}

static int add_item(struct work *work, uint32_t node, bool ends, uint64_t value, uint64_t before)
{
	struct item item = {
		.label = work->tree->nodes[node].label, .node = node, .ends = ends, .value = value, .before = before
	};
	size_t len;
	int err = make_room(&work->items, sizeof(*work->items), work->items_len, &work->items_cap);

	if (err)
		return err;
	item.text = intern_get(work->tree->labels, item.label, &len);
	item.len = (uint32_t)len;
	for (size_t i = 0; len >= PREFIX && i < PREFIX; i++)
		item.prefix = item.prefix << 8 | (unsigned char)item.text[i];
	work->items[work->items_len++] = item;
	return 0;
}

/* What a child has, as one item or two. */
static int add_child(struct work *work, uint32_t number)
{
	const struct svg_tree *tree = work->tree;
	uint64_t value = tree->nodes[number].value, before = tree->before ? tree->before[number] : 0;
	uint64_t through = 0, through_before = 0;
	int err = 0;

	for (uint32_t i = tree->nodes[number].first; i; i = tree->nodes[i].next) {
		through += tree->nodes[i].value;
		through_before += tree->before ? tree->before[i] : 0;
	}
	if (value != through || before != through_before)
		err = add_item(work, number, true, value - through, before - through_before);
	if (!err && (through || through_before))
		err = add_item(work, number, false, through, through_before);
	return err;
}

/* The children of `from` become children of `to`, which is of the same name. */
static void merge(struct svg_tree *tree, uint32_t to, uint32_t from)
{
	uint32_t *end = &tree->nodes[from].first;

	while (*end)
		end = &tree->nodes[*end].next;
	*end = tree->nodes[to].first;
	tree->nodes[to].first = tree->nodes[from].first;
	tree->nodes[from].first = 0;
}

/* The items from `at` on that are one rectangle: neighbours of one label. Returns how many. */
static size_t join(struct work *work, size_t at, struct piece *ret)
{
	size_t end = at;

	for (; end < work->items_len && work->items[end].label == work->items[at].label; end++) {
		const struct item *item = &work->items[end];

		ret->value += item->value;
		if (item->ends) {
			ret->ends += item->value;
			ret->ends_before += item->before;
		} else if (!ret->node) {
			ret->node = item->node;
		} else {
			merge(work->tree, ret->node, item->node);
		}
	}
	return end - at;
}

static int push(struct work *work, const struct piece *piece)
{
	int err = make_room(&work->pieces, sizeof(*work->pieces), work->pieces_len, &work->pieces_cap);

	if (!err)
		work->pieces[work->pieces_len++] = *piece;
	return err;
}

static void turn_round(struct piece *pieces, size_t len)
{
	for (size_t i = 0; i < len / 2; i++) {
		struct piece other = pieces[i];

		pieces[i] = pieces[len - 1 - i];
		pieces[len - 1 - i] = other;
	}
}

/* The palette chain: what ends without a waker ends in a -- of its own, which may go on as that of the next stack. */
static struct piece close_chain(const struct work *work, const struct piece *under)
{
	struct piece dash = { .start = under->start + under->closed, .label = work->dash, .depth = under->depth + 1 };

	if (work->chain && under->depth && !under->waker)
		dash.value = dash.closed = under->ends;
	return dash;
}

/* Puts what is on a frame on the pile, from left to right. */
static int push_pieces(struct work *work, const struct piece *under)
{
	uint64_t start = under->start + under->closed + under->ends;
	struct piece dash = close_chain(work, under);
	int err = 0;

	if (dash.value && (!work->items_len || work->items[0].label != work->dash))
		err = push(work, &dash);
	for (size_t i = 0; i < work->items_len && !err;) {
		struct piece piece = { .start = start, .label = work->items[i].label, .depth = under->depth + 1 };

		if (!i && piece.label == work->dash && dash.value)
			piece = dash;
		piece.waker = under->waker || (work->chain && under->label == work->dash && under->depth > 1);
		i += join(work, i, &piece);
		start = piece.start + piece.value;
		err = push(work, &piece);
	}
	return err;
}

/* The same, the leftmost on top. */
static int push_children(struct work *work, const struct piece *under)
{
	size_t bottom = work->pieces_len, children = 0;
	int err = 0;

	work->items_len = 0;
	if (under->node || !under->depth)
		for (uint32_t i = work->tree->nodes[under->node].first; i && !err; i = work->tree->nodes[i].next) {
			err = add_child(work, i);
			children += work->tree->nodes[i].value > 0;
		}
	if (work->items_len > 1)
		qsort(work->items, work->items_len, sizeof(*work->items), compare_items);
	err = err ? err : push_pieces(work, under);
	turn_round(work->pieces + bottom, work->pieces_len - bottom);
	work->splits += work->pieces_len - bottom - children;
	return err;
}

static int draw(struct work *work, const struct svg_frame *frame)
{
	struct svg_layout *layout = work->layout;
	int err = make_room(&layout->frames, sizeof(*layout->frames), layout->len, &layout->cap);

	if (err)
		return err;
	layout->frames[layout->len++] = *frame;
	layout->depth = frame->depth > layout->depth ? frame->depth : layout->depth;
	return 0;
}

static int64_t change(const struct work *work, const struct piece *piece)
{
	uint64_t before = piece->ends_before;
	double scaled = (double)before * work->scale;

	if (work->scale != 1)
		before = scaled < (double)INT64_MAX ? (uint64_t)scaled : INT64_MAX;
	return (int64_t)(piece->ends - before);
}

static int visit(struct work *work, const struct piece *piece)
{
	struct svg_layout *layout = work->layout;
	struct svg_frame frame = { .start = piece->start,
				   .value = piece->value,
				   .delta = change(work, piece),
				   .label = piece->label,
				   .depth = piece->depth,
				   .waker = piece->waker && piece->label != work->dash };
	uint64_t size = frame.delta < 0 ? -(uint64_t)frame.delta : (uint64_t)frame.delta;
	int err = 0;

	layout->max_delta = size > layout->max_delta ? size : layout->max_delta;
	if (!piece->depth || (double)piece->value >= work->least) {
		work->drawn++;
		err = draw(work, &frame);
	} else if (work->tree->merged) {
		return 0; /* nothing on it is wider, and there is nothing to merge: count_narrow counts it */
	} else {
		layout->narrow += piece->value > 0;
	}
	return err ? err : push_children(work, piece);
}

/* Of a tree that needed no merging, all that was not drawn. */
static void count_narrow(const struct work *work)
{
	uint64_t all = work->splits + work->tree->hidden;

	if (!work->tree->merged)
		return;
	for (uint32_t i = 1; i < work->tree->len; i++)
		all += work->tree->nodes[i].value > 0 && work->tree->nodes[i].label != SVG_HIDDEN;
	work->layout->narrow += all + 1 - work->drawn;
}

static int find_dash(struct work *work)
{
	if (!work->chain) {
		work->dash = UINT32_MAX;
		return 0;
	}
	work->dash = intern_text(work->tree->labels, "--");
	return work->dash == UINT32_MAX ? -ENOMEM : 0;
}

/* In the steps of the classic script, for the same rounding. */
double svg_least(uint64_t total, const struct svg_options *options)
{
	double room = (options->width ? options->width : SVG_WIDTH) - 2 * SVG_XPAD;
	double all = (double)(options->total ? options->total : total);

	return options->minwidth_share ? all * options->minwidth / 100 : options->minwidth / (room / all);
}

static void measure(struct work *work, const struct svg_options *options)
{
	double total = (double)work->tree->nodes[0].value;
	double before = work->tree->before ? (double)work->tree->before[0] : 0;

	work->scale = options->normalize && before > 0 ? total / before : 1;
	work->least = svg_least(work->layout->total, options);
}

int svg_layout_make(struct svg_layout *layout, struct svg_tree *tree, const struct svg_options *options)
{
	struct work work = { .layout = layout, .tree = tree, .chain = !strcmp(options->colors, "chain") };
	struct piece root = { .value = tree->nodes[0].value, .ends = tree->nodes[0].value };
	int err = find_dash(&work);

	if (options->total && options->total < root.value)
		return fail_plain(-EINVAL, "--total: %" PRIu64 " is less than there is: %" PRIu64, options->total,
				  root.value);
	layout->total = root.value && options->total ? options->total : root.value;
	layout->max_delta = 1;
	measure(&work, options);
	for (uint32_t i = tree->nodes[0].first; i; i = tree->nodes[i].next)
		root.ends -= tree->nodes[i].value;
	root.value = layout->total;
	if (!err && layout->total)
		err = push(&work, &root);
	while (work.pieces_len && !err) {
		struct piece piece = work.pieces[--work.pieces_len];

		err = visit(&work, &piece);
	}
	if (layout->total)
		count_narrow(&work);
	free(work.items);
	free(work.pieces);
	return err;
}

void svg_layout_free(struct svg_layout *layout)
{
	free(layout->frames);
	*layout = (struct svg_layout){ 0 };
}
