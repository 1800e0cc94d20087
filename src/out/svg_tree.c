/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of a profile as one tree for a flame graph: process, then frames. In: a profile, or two to compare. Out: a
 * node for each frame of each path, with what passes through it.
 *
 * Invariant: a node's number is greater than its parent's. Stacks of the profile share their beginnings already, so
 * each (process, node of the profile) is visited once and nothing is looked up by hash; what then still stands twice
 * under one parent (two addresses of one function) is left to the layout, which merges where it draws.
 */
#include "out/svg_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/index.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "out/out.h"
#include "out/svg.h"
#include "profile/profile.h"

#define NO_PARENT UINT32_MAX
#define AHEAD 6
#define AHEAD_LEVELS 4
#define NO_LABEL 0u /* the empty text: of a sample that belongs to nobody */

struct build {
	struct svg_tree *tree;
	const struct profile *profile;
	bool before;      /* values are those before */
	uint32_t *frames; /* frame -> label */
	uint32_t *comms;  /* string -> label of a process of that name, + 1 */
	uint32_t *groups; /* sample -> label of its process */
	uint32_t *order;  /* samples by group */
	uint32_t *seen;   /* node of the profile -> node, of the process in hand if not smaller than its first */
	uint32_t *path;
	size_t path_cap;
	double least;      /* value that is drawn */
	struct map places; /* reversed only: (parent, label) -> node */
	struct buf text;
};

static const char *const suffixes[FRAME_KINDS] = {
	[FRAME_KERNEL] = "_[k]",
	[FRAME_JIT] = "_[j]",
	[FRAME_INLINE] = "_[i]",
};

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

void svg_harmless(struct buf *out, const char *text, size_t len)
{
	if (is_plain(text, len)) {
		buf_add(out, text, len);
		return;
	}
	for (size_t at = 0; at < len;) {
		uint32_t code = 0;
		size_t size = text_utf8(text + at, len - at, &code);
		/* U+FFFE and U+FFFF are characters of UTF-8, but not of XML. */
		bool harmless = size && !text_is_control(code) && (code & 0xfffe) != 0xfffe;

		size = size ? size : 1;
		for (size_t i = 0; i < size && !harmless; i++)
			buf_addf(out, "\\x%02x", (unsigned char)text[at + i]);
		if (harmless)
			buf_add(out, text + at, size);
		at += size;
	}
}

/* The label of the text in build->text, which is empty again after that. */
static uint32_t intern_label(struct build *build)
{
	uint32_t label = buf_error(&build->text) ? UINT32_MAX
						 : intern_bytes(build->tree->labels, build->text.data, build->text.len);

	buf_clear(&build->text);
	return label;
}

static uint32_t frame_label(struct build *build, uint32_t number)
{
	const struct profile_frame *frame = profile_frame(build->profile, number);
	const char *suffix = frame->kind < FRAME_KINDS ? suffixes[frame->kind] : NULL;
	size_t len;
	const char *name = profile_text(build->profile, frame->name, &len);

	if (frame->name && frame->kind != FRAME_CUT)
		svg_harmless(&build->text, name, len);
	else
		out_frame_text(build->profile, number, &build->text);
	if (suffix)
		buf_adds(&build->text, suffix);
	return intern_label(build);
}

/* Whether each frame has a label of its own: then what the profile tells apart is apart. */
static int label_frames(struct build *build)
{
	uint32_t count = profile_count(build->profile, PROFILE_FRAMES), before = intern_count(build->tree->labels);

	build->frames = calloc(count, sizeof(*build->frames));
	if (!build->frames)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		build->frames[i] = frame_label(build, i);
		if (build->frames[i] == UINT32_MAX)
			return -ENOMEM;
	}
	build->tree->merged &= intern_count(build->tree->labels) - before == count - 1;
	return 0;
}

static uint32_t comm_label(struct build *build, uint32_t number)
{
	const struct profile_sample *sample = profile_sample(build->profile, number);
	uint32_t comm = sample->comm ? sample->comm : profile_process(build->profile, sample->process)->comm, label;
	size_t len;
	const char *text;

	if (!comm && !sample->process && sample->stack)
		return NO_LABEL;
	if (build->comms[comm])
		return build->comms[comm] - 1;
	text = profile_text(build->profile, comm, &len);
	if (comm)
		svg_harmless(&build->text, text, len);
	else
		buf_adds(&build->text, "[unnamed]");
	label = intern_label(build);
	build->comms[comm] = label + 1;
	return label;
}

static bool same_owner(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->comm == b->comm && a->process == b->process && !a->stack == !b->stack;
}

/* The label of each sample's process, and the samples in the order of these. */
static int group_samples(struct build *build)
{
	uint32_t count = profile_count(build->profile, PROFILE_SAMPLES), labels, of_nobody = 0;
	autofree uint32_t *places = NULL;

	build->comms = calloc(profile_count(build->profile, PROFILE_STRINGS), sizeof(*build->comms));
	build->groups = calloc(count, sizeof(*build->groups));
	build->order = calloc(count, sizeof(*build->order));
	if (!build->comms || !build->groups || !build->order)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		bool again =
			i > 1 && same_owner(profile_sample(build->profile, i), profile_sample(build->profile, i - 1));

		build->groups[i] = again ? build->groups[i - 1] : comm_label(build, i);
		if (build->groups[i] == UINT32_MAX)
			return -ENOMEM;
		of_nobody += build->groups[i] == NO_LABEL;
	}
	/* The frames of some stand beside the names of the processes of others. */
	build->tree->merged &= !of_nobody || of_nobody == count - 1;
	labels = intern_count(build->tree->labels);
	places = calloc((size_t)labels + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		places[build->groups[i] + 1]++;
	for (uint32_t i = 0; i < labels; i++)
		places[i + 1] += places[i];
	for (uint32_t i = 1; i < count; i++)
		build->order[places[build->groups[i]]++] = i;
	return 0;
}

static int grow(struct svg_tree *tree)
{
	uint32_t cap = tree->cap ? tree->cap + tree->cap / 2 : 1024;
	struct svg_node *nodes;
	uint64_t *before;

	if (cap <= tree->cap)
		return -ENOMEM;
	nodes = reallocarray(tree->nodes, cap, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	tree->nodes = nodes;
	if (tree->before) {
		before = reallocarray(tree->before, cap, sizeof(*before));
		if (!before)
			return -ENOMEM;
		tree->before = before;
	}
	tree->cap = cap;
	return 0;
}

/* A new node under the parent; 0 if memory is out. */
static uint32_t add_node(struct svg_tree *tree, uint32_t parent, uint32_t label)
{
	uint32_t number = tree->len;

	if (tree->len == tree->cap && grow(tree))
		return 0;
	tree->nodes[number] = (struct svg_node){ .parent = parent, .label = label, .next = tree->nodes[parent].first };
	tree->nodes[parent].first = number;
	if (tree->before)
		tree->before[number] = 0;
	tree->len++;
	return number;
}

static int push(struct build *build, size_t depth, uint32_t number)
{
	if (depth == build->path_cap) {
		size_t cap = build->path_cap ? build->path_cap * 2 : 256;
		uint32_t *path = reallocarray(build->path, cap, sizeof(*path));

		if (!path)
			return -ENOMEM;
		build->path = path;
		build->path_cap = cap;
	}
	build->path[depth] = number;
	return 0;
}

static uint32_t label_of(const struct build *build, uint32_t node)
{
	return build->frames[profile_node(build->profile, node)->frame];
}

/* The node of a stack under `top`: up to what this process has met already, then down. Parents have smaller numbers. */
static int place_stack(struct build *build, uint32_t stack, uint32_t top, uint32_t first, uint32_t *ret)
{
	uint32_t node = stack, at;
	size_t depth = 0;

	for (; node && build->seen[node] < first; node = profile_node(build->profile, node)->parent) {
		int err = push(build, depth++, node);

		if (err)
			return err;
	}
	at = node ? build->seen[node] : top;
	while (depth--) {
		at = add_node(build->tree, at, label_of(build, build->path[depth]));
		if (!at)
			return -ENOMEM;
		build->seen[build->path[depth]] = at;
	}
	*ret = at;
	return 0;
}

static void add_value(struct build *build, uint32_t node, uint64_t value)
{
	if (build->before)
		build->tree->before[node] += value;
	else
		build->tree->nodes[node].value += value;
}

/* Samples of one process after those of another, so that `seen` is of one process at a time. */
static int add_samples(struct build *build)
{
	uint32_t count = profile_count(build->profile, PROFILE_SAMPLES), first = 0, label = NO_LABEL, top = 0;

	build->seen = calloc(profile_count(build->profile, PROFILE_NODES), sizeof(*build->seen));
	if (!build->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i + 1 < count; i++) {
		const struct profile_sample *sample = profile_sample(build->profile, build->order[i]);
		uint32_t own = build->groups[build->order[i]], node;
		int err;

		if (!i || own != label) {
			first = build->tree->len;
			label = own;
			top = label == NO_LABEL ? 0 : add_node(build->tree, 0, label);
			if (label != NO_LABEL && !top)
				return -ENOMEM;
		}
		err = place_stack(build, sample->stack, top, first, &node);
		if (err)
			return err;
		add_value(build, node, sample->value);
	}
	return 0;
}

/* A node of the profile as one process has it. */
struct met {
	uint64_t value;
	uint32_t node;
	uint32_t parent; /* among those that were met, or NO_PARENT */
	uint32_t made;   /* its node of the tree, or 0 */
};

/* What one process has, parents first. */
struct met_list {
	struct met *list;
	uint32_t len, cap;
	uint32_t first; /* what `seen` says of list[0]; what it says of other processes is less */
};

static int meet(struct met_list *met, uint32_t node, uint32_t parent)
{
	if (met->len == met->cap) {
		uint32_t cap = met->cap ? met->cap * 2 : 1024;
		struct met *grown = cap > met->cap ? reallocarray(met->list, cap, sizeof(*grown)) : NULL;

		if (!grown)
			return -ENOMEM;
		met->list = grown;
		met->cap = cap;
	}
	met->list[met->len++] = (struct met){ .node = node, .parent = parent };
	return met->first > UINT32_MAX - met->len ? -ENOMEM : 0;
}

/* Walks up to what this process has met already, then down; the value is that of the leaf. */
static int meet_stack(struct build *build, struct met_list *met, const struct profile_sample *sample)
{
	const struct profile_node *nodes = profile_node(build->profile, 0);
	uint32_t node = sample->stack, at = NO_PARENT;
	size_t depth = 0;
	int err = 0;

	for (; node && build->seen[node] < met->first && !err; node = nodes[node].parent)
		err = push(build, depth++, node);
	if (node)
		at = build->seen[node] - met->first;
	while (depth-- && !err) {
		err = meet(met, build->path[depth], at);
		at = met->len - 1;
		build->seen[build->path[depth]] = met->first + at;
	}
	if (!err && at != NO_PARENT)
		met->list[at].value += sample->value;
	return err;
}

/*
 * Of what was met, what is drawn and what stands beside it. What stands on a frame that is not drawn is one node
 * without a name: the order of lines asks whether something goes on through a frame, not what.
 */
static int make_nodes(struct build *build, struct met_list *met, uint32_t top, bool top_wide)
{
	struct svg_tree *tree = build->tree;

	for (uint32_t i = 0; i < met->len; i++) {
		struct met *one = &met->list[i];
		bool rooted = one->parent == NO_PARENT;
		uint32_t parent = rooted ? top : met->list[one->parent].made, number = 0;
		bool wide = rooted ? top_wide : parent && (double)tree->nodes[parent].value >= build->least;

		if (!wide)
			tree->hidden += one->value > 0;
		if (wide)
			one->made = number = add_node(tree, parent, label_of(build, one->node));
		else if (parent)
			number = tree->nodes[parent].first ? tree->nodes[parent].first
							   : add_node(tree, parent, SVG_HIDDEN);
		if (!number && (wide || parent))
			return -ENOMEM;
		if (number)
			tree->nodes[number].value += one->value;
	}
	return 0;
}

/* Begins to fetch what samples further on will read: of each its stack, a few steps later its caller, and so on. */
static void fetch_ahead(const struct build *build, uint32_t at, uint32_t to)
{
	const struct profile_node *nodes = profile_node(build->profile, 0);

	if (at + (AHEAD_LEVELS + 1) * AHEAD >= to)
		return;
	__builtin_prefetch(profile_sample(build->profile, build->order[at + (AHEAD_LEVELS + 1) * AHEAD]));
	for (uint32_t level = 0; level < AHEAD_LEVELS; level++) {
		uint32_t sample = build->order[at + (AHEAD_LEVELS - level) * AHEAD];
		uint32_t node = profile_sample(build->profile, sample)->stack;

		for (uint32_t i = 0; i < level; i++)
			node = nodes[node].parent;
		__builtin_prefetch(&nodes[node]);
		__builtin_prefetch(&build->seen[node]);
	}
}

/* The samples of one process: order[from..to). */
static int add_process(struct build *build, struct met_list *met, uint32_t from, uint32_t to)
{
	uint32_t label = build->groups[build->order[from]], top = 0;
	struct svg_tree *tree = build->tree;
	uint64_t sum = 0;
	int err = 0;

	met->first += met->len;
	met->len = 0;
	for (uint32_t i = from; i < to && !err; i++) {
		const struct profile_sample *sample = profile_sample(build->profile, build->order[i]);

		fetch_ahead(build, i, to);
		sum += sample->value;
		err = meet_stack(build, met, sample);
	}
	for (uint32_t i = met->len; i-- > 0;)
		if (met->list[i].parent != NO_PARENT)
			met->list[met->list[i].parent].value += met->list[i].value;
	if (!err && label != NO_LABEL) {
		top = add_node(tree, 0, label);
		if (!top)
			return -ENOMEM;
		tree->nodes[top].value = sum;
	}
	tree->nodes[0].value += sum;
	return err ? err : make_nodes(build, met, top, !top || (double)sum >= build->least);
}

/*
 * Of a large profile most frames are too narrow to be drawn. Where nothing needs to be merged, so that none of them can
 * become wider, they are only counted.
 */
static int add_wide(struct build *build, const struct svg_options *options)
{
	uint32_t count = profile_count(build->profile, PROFILE_SAMPLES);
	struct met_list met = { .first = 1 };
	uint64_t total = 0;
	int err = 0;

	build->seen = calloc(profile_count(build->profile, PROFILE_NODES), sizeof(*build->seen));
	if (!build->seen)
		return -ENOMEM;
	index_large_pages(build->seen, profile_count(build->profile, PROFILE_NODES) * sizeof(*build->seen));
	for (uint32_t i = 1; i < count; i++)
		total += profile_sample(build->profile, i)->value;
	build->least = svg_least(total, options);
	build->tree->summed = true;
	for (uint32_t from = 0, to; from + 1 < count && !err; from = to) {
		to = from + 1;
		while (to + 1 < count && build->groups[build->order[to]] == build->groups[build->order[from]])
			to++;
		err = add_process(build, &met, from, to);
	}
	free(met.list);
	return err;
}

static uint32_t child(struct build *build, uint32_t parent, uint32_t label)
{
	uint64_t *place = map_put(&build->places, (uint64_t)parent << 32 | label);

	if (place && !*place)
		*place = add_node(build->tree, parent, label);
	return place ? (uint32_t)*place : 0;
}

/* From the leaf to the process: such paths share nothing in the profile. */
static int add_reversed(struct build *build)
{
	for (uint32_t i = 1; i < profile_count(build->profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(build->profile, i);
		uint32_t at = 0;

		for (uint32_t node = sample->stack; node; node = profile_node(build->profile, node)->parent) {
			at = child(build, at, label_of(build, node));
			if (!at)
				return -ENOMEM;
		}
		if (build->groups[i] != NO_LABEL) {
			at = child(build, at, build->groups[i]);
			if (!at)
				return -ENOMEM;
		}
		add_value(build, at, sample->value);
	}
	return 0;
}

static int add_profile(struct svg_tree *tree, const struct profile *profile, bool is_before,
		       const struct svg_options *options)
{
	struct build build = { .tree = tree, .profile = profile, .before = is_before };
	int err = label_frames(&build);

	err = err ? err : group_samples(&build);
	if (!err && options->reverse)
		err = add_reversed(&build);
	else if (!err && tree->merged && strcmp(options->colors, "chain") != 0) /* which joins what is apart */
		err = add_wide(&build, options);
	else if (!err)
		err = add_samples(&build);
	map_free(&build.places);
	buf_free(&build.text);
	free(build.path);
	free(build.seen);
	free(build.order);
	free(build.groups);
	free(build.comms);
	free(build.frames);
	return err;
}

int svg_tree_build(struct svg_tree *tree, const struct profile *before, const struct profile *after,
		   const struct svg_options *options)
{
	int err = intern_new(&tree->labels);

	tree->before = before ? calloc(1, sizeof(*tree->before)) : NULL;
	err = err ? err : before && !tree->before ? -ENOMEM : grow(tree);
	if (err)
		return err;
	tree->nodes[0] = (struct svg_node){ 0 };
	tree->len = 1;
	tree->merged = !before;
	if (before) {
		tree->before[0] = 0;
		err = add_profile(tree, before, true, options);
	}
	err = err ? err : add_profile(tree, after, false, options);
	if (options->reverse && !before)
		tree->merged = true;
	for (uint32_t i = tree->len; !err && !tree->summed && i-- > 1;) {
		tree->nodes[tree->nodes[i].parent].value += tree->nodes[i].value;
		if (tree->before)
			tree->before[tree->nodes[i].parent] += tree->before[i];
	}
	return err;
}

void svg_tree_free(struct svg_tree *tree)
{
	intern_free(tree->labels);
	free(tree->nodes);
	free(tree->before);
	*tree = (struct svg_tree){ 0 };
}
