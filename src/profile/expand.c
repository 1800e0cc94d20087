/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces frames in the tree of stacks. In: lists of frames for some frames. Out: the same profile with its nodes,
 * samples and events made anew. A parent has a smaller number than its node, so one pass in order finds the new place
 * of every parent before it is needed: the cost does not grow with the depth of stacks.
 */
#include "profile/expand.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "profile/profile.h"

struct expand {
	struct map places; /* frame → index into frames: a count, then the list */
	uint32_t *frames;
	size_t len, cap;
};

int expand_new(struct expand **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void expand_free(struct expand *expand)
{
	if (!expand)
		return;
	map_free(&expand->places);
	free(expand->frames);
	free(expand);
}

static int reserve(struct expand *expand, size_t more)
{
	size_t cap = expand->cap ? expand->cap : 64;
	uint32_t *grown;

	while (cap < expand->len + more)
		cap *= 2;
	if (cap == expand->cap)
		return 0;
	grown = reallocarray(expand->frames, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	expand->frames = grown;
	expand->cap = cap;
	return 0;
}

int expand_frame(struct expand *expand, uint32_t frame, const uint32_t *list, size_t len)
{
	uint64_t *place;

	if (!len)
		return 0;
	if (len > UINT32_MAX || reserve(expand, len + 1))
		return -ENOMEM;
	place = map_put(&expand->places, frame);
	if (!place)
		return -ENOMEM;
	*place = expand->len;
	expand->frames[expand->len++] = (uint32_t)len;
	for (size_t i = 0; i < len; i++)
		expand->frames[expand->len++] = list[i];
	return 0;
}

const uint32_t *expand_list(const struct expand *expand, uint32_t frame, size_t *ret_len)
{
	const uint64_t *place = map_get(&expand->places, frame);

	*ret_len = place ? expand->frames[*place] : 0;
	return place ? &expand->frames[*place + 1] : NULL;
}

static uint32_t add_chain(const struct expand *expand, struct profile *profile, uint32_t parent, uint32_t frame)
{
	size_t len;
	const uint32_t *list = expand_list(expand, frame, &len);

	if (!list)
		return profile_add_node(profile, parent, frame);
	while (len--) /* outermost first */
		parent = profile_add_node(profile, parent, list[len]);
	return parent;
}

static int add_nodes(const struct expand *expand, struct profile *profile, const struct profile_stacks *old,
		     uint32_t *numbers)
{
	for (uint32_t i = 1; i < old->nodes_len; i++) {
		numbers[i] = add_chain(expand, profile, numbers[old->nodes[i].parent], old->nodes[i].frame);
		if (numbers[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int add_samples(struct profile *profile, const struct profile_stacks *old, const uint32_t *nodes,
		       uint32_t *numbers)
{
	const struct types *types = &old->types;

	if (types_set(profile, types->list, types->len, types->shown))
		return -ENOMEM;
	for (uint32_t i = 1; i < old->samples_len; i++) {
		struct profile_sample sample = old->samples[i];
		size_t row = (size_t)i * types->len;

		sample.stack = nodes[sample.stack];
		numbers[i] = profile_add_sample(profile, &sample);
		if (numbers[i] == PROFILE_FULL ||
		    (row < types->values_len && types_add(profile, numbers[i], types->values + row)))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < old->events_len; i++) {
		struct profile_event event = old->events[i];

		event.sample = numbers[event.sample];
		if (profile_add_event(profile, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

int expand_apply(const struct expand *expand, struct profile *profile)
{
	autofree uint32_t *nodes = calloc(profile_count(profile, PROFILE_NODES), sizeof(*nodes));
	autofree uint32_t *samples = calloc(profile_count(profile, PROFILE_SAMPLES), sizeof(*samples));
	struct profile_stacks old = { 0 };
	int err;

	if (!expand->len)
		return 0;
	err = nodes && samples ? profile_take_stacks(profile, &old) : -ENOMEM;
	err = err ? err : add_nodes(expand, profile, &old, nodes);
	err = err ? err : add_samples(profile, &old, nodes, samples);
	profile_stacks_free(&old);
	return err;
}
