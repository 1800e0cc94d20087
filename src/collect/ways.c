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

#include "base/cleanup.h"
#include "base/map.h"
#include "profile/profile.h"

struct found {
	uint32_t row, fp; /* from the root to this node */
};

static struct found *describe_nodes(const struct profile *profile, ways_has_row *has_row, void *arg)
{
	uint32_t count = profile_count(profile, PROFILE_NODES), frames = profile_count(profile, PROFILE_FRAMES);
	struct found *nodes = calloc(count, sizeof(*nodes));
	autofree bool *rows = calloc(frames, sizeof(*rows));

	for (uint32_t i = 1; rows && i < frames; i++)
		rows[i] = has_row(arg, profile_frame(profile, i));
	for (uint32_t i = 1; nodes && rows && i < count; i++) {
		const struct profile_node *node = profile_node(profile, i);
		uint32_t kind = profile_frame(profile, node->frame)->kind;
		uint32_t below = profile_frame(profile, profile_node(profile, node->parent)->frame)->kind;

		nodes[i] = nodes[node->parent];
		if (kind == FRAME_KERNEL || kind == FRAME_CUT || (node->parent && below == FRAME_CUT))
			continue;
		if (rows[node->frame])
			nodes[i].row++;
		else
			nodes[i].fp++;
	}
	if (!rows) {
		free(nodes);
		return NULL;
	}
	return nodes;
}

int ways_count(struct profile *profile, const struct map *early, ways_has_row *has_row, void *arg)
{
	autofree struct found *nodes = describe_nodes(profile, has_row, arg);

	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		const struct found *found = &nodes[sample->stack];
		struct profile_ways *ways = &profile_process(profile, sample->process)->ways;
		const uint64_t *slot = map_get(early, i);
		uint64_t late = slot && *slot < sample->value ? *slot : slot ? sample->value : 0;

		ways->user += late * (found->row + found->fp);
		ways->row += (sample->value - late) * found->row;
		ways->fp += (sample->value - late) * found->fp;
	}
	return 0;
}
