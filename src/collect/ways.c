/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller is found by the row of the frame if there is one, else by frame pointer: which of the two is a matter of the
 * frame alone, so it is asked once for each, and stacks are added up along the tree. The frame next to a cut led
 * nowhere and counts for none. Before names are given: those put inlined functions into the tree.
 */
#include "collect/ways.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "profile/profile.h"

struct found {
	uint32_t row, fp; /* from the root to this node, plus one; 0: not looked at */
};

enum known { NOT_ASKED, HAS_ROW, HAS_NONE };

struct ways {
	const struct profile *profile;
	ways_has_row *has_row;
	void *arg;
	struct found *nodes;
	unsigned char *frames; /* enum known */
	uint32_t nodes_len, frames_len;
	uint32_t *path; /* nodes on the way to one that is known */
	size_t path_cap;
};

int ways_new(struct ways **ret, const struct profile *profile, ways_has_row *has_row, void *arg)
{
	struct ways *ways = calloc(1, sizeof(*ways));

	if (!ways)
		return -ENOMEM;
	*ways = (struct ways){ .profile = profile, .has_row = has_row, .arg = arg };
	*ret = ways;
	return 0;
}

void ways_free(struct ways *ways)
{
	if (!ways)
		return;
	free(ways->nodes);
	free(ways->frames);
	free(ways->path);
	free(ways);
}

/* Zeroes behind what there is, up to as many as there are now and some more. */
static int grow(void **list, uint32_t *len, uint32_t need, size_t size)
{
	uint64_t cap = need + (uint64_t)need / 2;
	char *grown;

	if (need <= *len)
		return 0;
	cap = cap < UINT32_MAX ? cap : UINT32_MAX;
	grown = reallocarray(*list, cap, size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *len * size, 0, (cap - *len) * size);
	*list = grown;
	*len = (uint32_t)cap;
	return 0;
}

static int follow_profile(struct ways *ways)
{
	void *nodes = ways->nodes, *frames = ways->frames;
	int err = grow(&nodes, &ways->nodes_len, profile_count(ways->profile, PROFILE_NODES), sizeof(*ways->nodes));

	ways->nodes = nodes;
	err = err ? err : grow(&frames, &ways->frames_len, profile_count(ways->profile, PROFILE_FRAMES), 1);
	ways->frames = frames;
	if (!err)
		ways->nodes[0] = (struct found){ 1, 1 };
	return err;
}

static bool frame_has_row(struct ways *ways, uint32_t frame)
{
	if (ways->frames[frame] == NOT_ASKED)
		ways->frames[frame] =
			ways->has_row(ways->arg, profile_frame(ways->profile, frame)) ? HAS_ROW : HAS_NONE;
	return ways->frames[frame] == HAS_ROW;
}

/* One whose parent is known. */
static void look_at(struct ways *ways, uint32_t number)
{
	const struct profile *profile = ways->profile;
	const struct profile_node *node = profile_node(profile, number);
	uint32_t kind = profile_frame(profile, node->frame)->kind;
	uint32_t below = profile_frame(profile, profile_node(profile, node->parent)->frame)->kind;
	struct found *found = &ways->nodes[number];

	*found = ways->nodes[node->parent];
	if (kind == FRAME_KERNEL || kind == FRAME_CUT || (node->parent && below == FRAME_CUT))
		return;
	if (frame_has_row(ways, node->frame))
		found->row++;
	else
		found->fp++;
}

static int find(struct ways *ways, uint32_t number)
{
	size_t len = 0;

	for (; !ways->nodes[number].row; number = profile_node(ways->profile, number)->parent) {
		if (len == ways->path_cap) {
			size_t cap = ways->path_cap ? ways->path_cap * 2 : 128;
			uint32_t *grown = reallocarray(ways->path, cap, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			ways->path = grown;
			ways->path_cap = cap;
		}
		ways->path[len++] = number;
	}
	while (len--)
		look_at(ways, ways->path[len]);
	return 0;
}

int ways_add(struct ways *ways, const struct profile_sample *sample, uint64_t early, struct profile_ways *into)
{
	int err = follow_profile(ways);
	uint64_t late = early < sample->value ? early : sample->value, row, fp;

	err = err ? err : find(ways, sample->stack);
	if (err)
		return err;
	row = ways->nodes[sample->stack].row - 1;
	fp = ways->nodes[sample->stack].fp - 1;
	into->user += late * (row + fp);
	into->row += (sample->value - late) * row;
	into->fp += (sample->value - late) * fp;
	return 0;
}

int ways_count(struct profile *profile, const struct map *early, ways_has_row *has_row, void *arg)
{
	struct ways *ways = NULL;
	int err = ways_new(&ways, profile, has_row, arg);

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES) && !err; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		const uint64_t *slot = map_get(early, i);

		err = ways_add(ways, sample, slot ? *slot : 0, &profile_process(profile, sample->process)->ways);
	}
	ways_free(ways);
	return err;
}
