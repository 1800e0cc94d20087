/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a profile up. Frames are named once, then samples are put into the tree of paths; everything else is read off
 * that tree, whose size does not depend on the number of samples. A stack that a group has seen is found again at its
 * longest known beginning, so shared beginnings cost nothing.
 */
#include "out/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "out/out.h"
#include "profile/profile.h"

#define NO_STACK "[no stack]"

struct tally_memory {
	struct intern *functions; /* "name;module": neither holds a semicolon */
	struct intern *modules, *groups;
	struct intern *texts;  /* names alone */
	uint32_t *function_of; /* by frame */
	uint32_t *pending;     /* nodes of a stack that are not in the tree yet */
	uint32_t *active;      /* by function, then by module: how often it is on the path */
	struct map places;     /* (group, node of the profile) to node of the tree */
	struct map members;    /* (group, process) */
	struct map group_self; /* (function, group) */
	struct buf scratch;
};

void tally_free(struct tally *tally)
{
	struct tally_memory *memory = tally->memory;

	free(tally->functions);
	free(tally->groups);
	free(tally->modules);
	tree_free(&tally->tree);
	if (!memory)
		return;
	intern_free(memory->functions);
	intern_free(memory->modules);
	intern_free(memory->groups);
	intern_free(memory->texts);
	free(memory->function_of);
	free(memory->pending);
	free(memory->active);
	map_free(&memory->places);
	map_free(&memory->members);
	map_free(&memory->group_self);
	buf_free(&memory->scratch);
	free(memory);
}

static int prepare(struct tally *tally)
{
	struct tally_memory *memory = calloc(1, sizeof(*memory));
	size_t frames = profile_count(tally->profile, PROFILE_FRAMES);
	size_t samples = profile_count(tally->profile, PROFILE_SAMPLES);
	int err;

	if (!memory)
		return -ENOMEM;
	tally->memory = memory;
	memory->function_of = calloc(frames, sizeof(*memory->function_of));
	memory->pending = calloc(profile_count(tally->profile, PROFILE_NODES), sizeof(*memory->pending));
	/* Numbers begin at 1, and each frame and sample brings at most one new name. */
	tally->functions = calloc(frames + 1, sizeof(*tally->functions));
	tally->modules = calloc(frames + 1, sizeof(*tally->modules));
	tally->groups = calloc(samples + 1, sizeof(*tally->groups));
	memory->active = calloc(2 * (frames + 1), sizeof(*memory->active));
	if (!memory->function_of || !memory->pending || !tally->functions || !tally->modules || !tally->groups ||
	    !memory->active)
		return -ENOMEM;
	err = intern_new(&memory->functions);
	err = err ? err : intern_new(&memory->modules);
	err = err ? err : intern_new(&memory->groups);
	err = err ? err : intern_new(&memory->texts);
	return err ? err : tree_init(&tally->tree);
}

/* The number of what is in scratch from there on; UINT32_MAX if memory is out. */
static uint32_t number_of(struct tally_memory *memory, struct intern *intern, size_t from)
{
	if (buf_error(&memory->scratch))
		return UINT32_MAX;
	return intern_bytes(intern, memory->scratch.data + from, memory->scratch.len - from);
}

static int name_frame(struct tally *tally, uint32_t number)
{
	struct tally_memory *memory = tally->memory;
	const struct profile_frame *frame = profile_frame(tally->profile, number);
	uint32_t function, module, name;
	size_t name_len;

	buf_clear(&memory->scratch);
	if (number)
		out_frame_text(tally->profile, number, &memory->scratch);
	else
		buf_adds(&memory->scratch, NO_STACK);
	name = number_of(memory, memory->texts, 0);
	buf_addc(&memory->scratch, ';');
	name_len = memory->scratch.len;
	if (number)
		out_function_module(tally->profile, number, &memory->scratch);
	else
		buf_addc(&memory->scratch, '-');
	module = number_of(memory, memory->modules, name_len);
	function = number_of(memory, memory->functions, 0);
	if (name == UINT32_MAX || module == UINT32_MAX || function == UINT32_MAX)
		return -ENOMEM;
	memory->function_of[number] = function;
	tally->functions[function] = (struct tally_function){
		.name = intern_get(memory->texts, name, NULL),
		.module = intern_get(memory->modules, module, NULL),
		.module_number = module,
		.kind = number ? frame->kind : FRAME_CUT,
		.named = !number || frame->name,
	};
	tally->modules[module].name = tally->functions[function].module;
	tally->modules[module].kind = frame->kind;
	if (frame->kind == FRAME_USER && profile_file(tally->profile, frame->file)->reason)
		tally->modules[module].reason = profile_file(tally->profile, frame->file)->reason;
	return 0;
}

static int name_frames(struct tally *tally)
{
	for (uint32_t i = 0; i < profile_count(tally->profile, PROFILE_FRAMES); i++) {
		int err = name_frame(tally, i);

		if (err)
			return err;
	}
	tally->functions_len = intern_count(tally->memory->functions);
	tally->modules_len = intern_count(tally->memory->modules);
	return 0;
}

static void add_label(const struct tally *tally, uint32_t set, const char *key, struct buf *out)
{
	while (set) {
		uint32_t rest, name, value;
		size_t len;
		const char *text;

		profile_label(tally->profile, set, &rest, &name, &value);
		text = profile_text(tally->profile, value, &len);
		if (len && !strcmp(profile_text(tally->profile, name, NULL), key)) {
			text_escape(out, text, text_label_len(text, len), ";");
			return;
		}
		set = rest;
	}
	buf_addf(out, "[no %s]", key);
}

static void add_group_name(const struct tally *tally, uint32_t number, enum tally_by by, struct buf *out)
{
	const struct profile_sample *sample = profile_sample(tally->profile, number);
	uint32_t frame = profile_node(tally->profile, sample->stack)->frame;

	switch (by) {
	case TALLY_NAME:
		out_comm_text(tally->profile, number, out);
		break;
	case TALLY_PROCESS:
		out_comm_text(tally->profile, number, out);
		buf_addf(out, " (%" PRIu32 ")", profile_process(tally->profile, sample->process)->pid);
		break;
	case TALLY_THREAD:
		out_comm_text(tally->profile, number, out);
		buf_addf(out, " (%" PRIu32 "/", profile_process(tally->profile, sample->process)->pid);
		if (sample->tid)
			buf_addf(out, "%" PRIu32 ")", sample->tid);
		else
			buf_adds(out, "-)");
		break;
	case TALLY_MODULE:
		if (frame)
			out_function_module(tally->profile, frame, out);
		else
			buf_adds(out, NO_STACK);
		break;
	case TALLY_CONTAINER:
		add_label(tally, sample->labels, "container", out);
		break;
	case TALLY_UNIT:
		add_label(tally, sample->labels, "unit", out);
		break;
	}
}

/* The sample's group, with its process as a member. */
static uint32_t group_of(struct tally *tally, uint32_t number, enum tally_by by)
{
	struct tally_memory *memory = tally->memory;
	uint32_t process = profile_sample(tally->profile, number)->process;
	uint64_t *member;
	uint32_t group;

	buf_clear(&memory->scratch);
	add_group_name(tally, number, by, &memory->scratch);
	group = number_of(memory, memory->groups, 0);
	member = group == UINT32_MAX ? NULL : map_put(&memory->members, (uint64_t)group << 32 | process);
	if (!member)
		return UINT32_MAX;
	if (!*member) {
		*member = 1;
		tally->groups[group].processes++;
		tally->groups[group].process = process;
	}
	tally->groups[group].name = intern_get(memory->groups, group, NULL);
	return group;
}

/* The tree's node of this stack in this group. */
static uint32_t place_of(struct tally *tally, uint32_t group, uint32_t stack)
{
	struct tally_memory *memory = tally->memory;
	uint32_t depth = 0, place = tree_child(&tally->tree, 0, TALLY_GROUP | group);
	uint64_t *known = NULL;

	if (!stack)
		return tree_child(&tally->tree, place, memory->function_of[0]);
	for (uint32_t node = stack; node && !known; node = profile_node(tally->profile, node)->parent) {
		known = map_get(&memory->places, (uint64_t)group << 32 | node);
		if (known)
			place = (uint32_t)*known;
		else
			memory->pending[depth++] = node;
	}
	while (depth--) {
		uint32_t node = memory->pending[depth];

		place = tree_child(&tally->tree, place, memory->function_of[profile_node(tally->profile, node)->frame]);
		known = place == TREE_FULL ? NULL : map_put(&memory->places, (uint64_t)group << 32 | node);
		if (!known)
			return TREE_FULL;
		*known = place;
	}
	return place;
}

static int add_samples(struct tally *tally, enum tally_by by)
{
	for (uint32_t i = 1; i < profile_count(tally->profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(tally->profile, i);
		uint32_t group = group_of(tally, i, by);
		uint32_t place = group == UINT32_MAX ? TREE_FULL : place_of(tally, group, sample->stack);
		uint64_t *self;

		if (place == TREE_FULL)
			return -ENOMEM;
		tally->tree.nodes[place].self += sample->value;
		self = map_put(&tally->memory->group_self, (uint64_t)tally->tree.nodes[place].label << 32 | group);
		if (!self)
			return -ENOMEM;
		*self += sample->value;
	}
	tally->groups_len = intern_count(tally->memory->groups);
	return 0;
}

int tally_compare(uint32_t left, uint32_t right, const void *context)
{
	const struct tally *tally = context;
	const struct tally_function *a, *b;
	int order;

	if (tally_is_group(left) && tally_is_group(right))
		return strcmp(tally_group(tally, left)->name, tally_group(tally, right)->name);
	if (tally_is_group(left) || tally_is_group(right))
		return tally_is_group(left) ? -1 : 1;
	a = &tally->functions[left];
	b = &tally->functions[right];
	order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module, b->module);
}

static void enter(const struct tree *tree, uint32_t node, void *context)
{
	struct tally *tally = context;
	const struct tree_node *at = &tree->nodes[node];
	struct tally_function *function;

	if (!node)
		return;
	if (tally_is_group(at->label)) {
		tally->groups[at->label & ~TALLY_GROUP].total = at->total;
		return;
	}
	function = &tally->functions[at->label];
	function->self += at->self;
	if (!tally->memory->active[at->label]++)
		function->total += at->total;
	if (!function->named && !tally->memory->active[tally->functions_len + function->module_number]++)
		tally->modules[function->module_number].unnamed += at->total;
}

static void leave(const struct tree *tree, uint32_t node, void *context)
{
	struct tally *tally = context;
	const struct tree_node *at = &tree->nodes[node];

	if (!node || tally_is_group(at->label))
		return;
	tally->memory->active[at->label]--;
	if (!tally->functions[at->label].named)
		tally->memory->active[tally->functions_len + tally->functions[at->label].module_number]--;
}

/* Of each function the group that runs it most, of each group the function. */
static void find_hottest(struct tally *tally)
{
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&tally->memory->group_self, &at))) {
		uint32_t number = (uint32_t)(slot->key >> 32), group_number = (uint32_t)slot->key;
		struct tally_function *function = &tally->functions[number];
		struct tally_group *group = &tally->groups[group_number];

		if (!function->group || slot->value > function->group_self ||
		    (slot->value == function->group_self &&
		     strcmp(group->name, tally->groups[function->group].name) < 0)) {
			function->group = group_number;
			function->group_self = slot->value;
		}
		if (!group->hottest || slot->value > group->hottest_self ||
		    (slot->value == group->hottest_self && tally_compare(number, group->hottest, tally) < 0)) {
			group->hottest = number;
			group->hottest_self = slot->value;
		}
	}
}

int tally_init(struct tally *tally, const struct profile *profile, enum tally_by by)
{
	int err;

	tally->profile = profile;
	err = prepare(tally);
	err = err ? err : name_frames(tally);
	err = err ? err : add_samples(tally, by);
	err = err ? err : tree_finish(&tally->tree, tally_compare, tally);
	err = err ? err : tree_walk(&tally->tree, enter, leave, tally);
	if (err)
		return err;
	tally->total = tally->tree.nodes[0].total;
	find_hottest(tally);
	return 0;
}
