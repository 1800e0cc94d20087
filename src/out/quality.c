/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up stacks by process. In: a profile. Out: a row for each process that has samples. Everything comes from the
 * stacks themselves: one that is not whole has a note at its root, whose name is the reason. Each sample with a user
 * part is whole or has one reason.
 */
#include "out/quality.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "profile/profile.h"

#define AT_LIMIT "depth" /* the one reason that is a limit of wick's and no trouble with the code */

/* What a stack is, from its root up to this node. */
struct stack {
	uint32_t depth; /* user frames */
	uint32_t cut;   /* frame: why it is not whole; 0 if it is */
	bool user;      /* has a user part, be it only a note why there is no more of it */
};

struct depth {
	uint32_t process, depth;
	uint64_t weight;
};

struct sums {
	const struct profile *profile;
	struct quality_row *rows; /* by number of process */
	struct stack *stacks;
	struct depth *depths;
	size_t depths_len;
	struct map reasons; /* process, string → count */
};

/* A node's parent comes before it, so one pass knows every stack. */
static struct stack *describe_stacks(const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_NODES);
	struct stack *stacks = calloc(count, sizeof(*stacks));

	for (uint32_t i = 1; stacks && i < count; i++) {
		const struct profile_node *node = profile_node(profile, i);
		uint32_t kind = profile_frame(profile, node->frame)->kind;
		bool frame = kind == FRAME_USER || kind == FRAME_JIT || kind == FRAME_VDSO;

		stacks[i] = stacks[node->parent];
		stacks[i].depth += frame;
		if (kind == FRAME_CUT && !stacks[i].cut)
			stacks[i].cut = node->frame;
		stacks[i].user |= frame || kind == FRAME_CUT;
	}
	return stacks;
}

static int compare_depths(const void *a, const void *b)
{
	const struct depth *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->depth > right->depth) - (left->depth < right->depth);
}

/* The least depth that half of the process's user samples do not exceed. */
static void find_medians(struct sums *sums)
{
	qsort(sums->depths, sums->depths_len, sizeof(*sums->depths), compare_depths);
	for (size_t i = 0; i < sums->depths_len;) {
		struct quality_row *row = &sums->rows[sums->depths[i].process];
		uint64_t half = row->user - row->user / 2, below = 0;
		bool found = false;

		for (; i < sums->depths_len && &sums->rows[sums->depths[i].process] == row; i++) {
			below += sums->depths[i].weight;
			if (!found && below >= half) {
				row->median_depth = sums->depths[i].depth;
				found = true;
			}
		}
	}
}

static int add_reason(struct sums *sums, const struct profile_sample *sample, uint32_t cut)
{
	uint32_t name = profile_frame(sums->profile, cut)->name;
	uint64_t *count = map_put(&sums->reasons, (uint64_t)sample->process << 32 | name);

	if (!count)
		return -ENOMEM;
	*count += sample->value;
	if (!strcmp(profile_text(sums->profile, name, NULL), AT_LIMIT))
		sums->rows[sample->process].cut += sample->value;
	return 0;
}

static int sum_samples(struct sums *sums)
{
	uint32_t samples = profile_count(sums->profile, PROFILE_SAMPLES);
	int err = 0;

	for (uint32_t i = 1; i < samples && !err; i++) {
		const struct profile_sample *sample = profile_sample(sums->profile, i);
		const struct stack *stack = &sums->stacks[sample->stack];
		struct quality_row *row = &sums->rows[sample->process];

		row->process = sample->process;
		row->samples += sample->value;
		if (!stack->user)
			continue;
		row->user += sample->value;
		if (stack->cut)
			err = add_reason(sums, sample, stack->cut);
		else
			row->whole += sample->value;
		sums->depths[sums->depths_len++] = (struct depth){ sample->process, stack->depth, sample->value };
	}
	return err;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct quality_row *left = a, *right = b;
	const struct profile_process *x = profile_process(context, left->process);
	const struct profile_process *y = profile_process(context, right->process);

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int compare_reasons(const void *a, const void *b)
{
	const struct quality_reason *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return (left->name > right->name) - (left->name < right->name);
}

static int list_reasons(const struct map *counts, struct quality *quality)
{
	const struct map_slot *slot;
	size_t at = 0;

	quality->reasons = calloc(counts->len + 1, sizeof(*quality->reasons));
	if (!quality->reasons)
		return -ENOMEM;
	while ((slot = map_next(counts, &at)))
		quality->reasons[quality->reasons_len++] =
			(struct quality_reason){ (uint32_t)(slot->key >> 32), (uint32_t)slot->key, slot->value };
	qsort(quality->reasons, quality->reasons_len, sizeof(*quality->reasons), compare_reasons);
	return 0;
}

int quality_init(struct quality *quality, const struct profile *profile)
{
	uint32_t processes = profile_count(profile, PROFILE_PROCESSES);
	autofree struct stack *stacks = describe_stacks(profile);
	autofree struct depth *depths = calloc(profile_count(profile, PROFILE_SAMPLES), sizeof(*depths));
	struct sums sums = { .profile = profile, .stacks = stacks, .depths = depths };
	int err = -ENOMEM;

	quality->rows = sums.rows = calloc(processes, sizeof(*sums.rows));
	if (stacks && depths && sums.rows)
		err = sum_samples(&sums);
	err = err ? err : list_reasons(&sums.reasons, quality);
	map_free(&sums.reasons);
	if (err)
		return err;
	find_medians(&sums);
	qsort_r(sums.rows, processes, sizeof(*sums.rows), compare_rows, (void *)profile);
	while (quality->rows_len < processes && sums.rows[quality->rows_len].samples)
		quality->rows_len++;
	return 0;
}

void quality_free(struct quality *quality)
{
	free(quality->rows);
	free(quality->reasons);
	*quality = (struct quality){ 0 };
}

const struct quality_reason *quality_reasons(const struct quality *quality, uint32_t process, size_t *ret_len)
{
	size_t low = 0, high = quality->reasons_len, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (quality->reasons[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < quality->reasons_len && quality->reasons[end].process == process;)
		end++;
	*ret_len = end - low;
	return end > low ? &quality->reasons[low] : NULL;
}
