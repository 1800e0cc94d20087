/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are gathered as lists of frames until there are BATCH of them or FRAMES frames. Then, level after level from
 * the root, the nodes of all of them are looked for in one call. What is not there yet is added stack after stack; what
 * a stack shares with the one before is copied from that.
 *
 * Invariant: stacks[0] is the one before the first that is gathered, with its nodes; at the start it is empty.
 */
#include "profile/bulk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

#define BATCH BULK_MOST
#define FRAMES 16384 /* a stack may be longer; then it ends its batch */

struct stack {
	size_t first; /* in frames and nodes */
	size_t depth;
	size_t shared; /* with the stack before it */
	size_t found;  /* nodes that are known */
};

struct bulk {
	struct profile *profile;
	uint32_t *frames, *nodes; /* of all stacks, one after the other */
	size_t len, cap;
	struct stack stacks[BATCH + 1];
	struct profile_sample samples[BATCH + 1];
	bulk_added *added;
	void *context;
	size_t count; /* of stacks, stacks[0] included; the last may not be finished */
};

static int make_room(struct bulk *bulk, size_t more)
{
	size_t cap = bulk->cap ? bulk->cap : FRAMES;
	uint32_t *grown;

	if (bulk->len + more <= bulk->cap)
		return 0;
	while (cap < bulk->len + more)
		cap *= 2;
	grown = reallocarray(bulk->frames, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	bulk->frames = grown;
	grown = reallocarray(bulk->nodes, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	bulk->nodes = grown;
	bulk->cap = cap;
	return 0;
}

int bulk_new(struct bulk **ret, struct profile *profile)
{
	struct bulk *bulk = calloc(1, sizeof(*bulk));

	if (!bulk)
		return -ENOMEM;
	if (make_room(bulk, 1)) { /* what has no frames points into it too */
		bulk_free(bulk);
		return -ENOMEM;
	}
	bulk->profile = profile;
	bulk->count = 1;
	*ret = bulk;
	return 0;
}

void bulk_free(struct bulk *bulk)
{
	if (!bulk)
		return;
	free(bulk->frames);
	free(bulk->nodes);
	free(bulk);
}

void bulk_tell(struct bulk *bulk, bulk_added *added, void *context)
{
	bulk->added = added;
	bulk->context = context;
}

int bulk_begin(struct bulk *bulk, size_t shared)
{
	const struct stack *before = &bulk->stacks[bulk->count - 1];
	int err = make_room(bulk, shared);

	if (err)
		return err;
	if (shared > before->depth)
		return -EINVAL;
	bulk->stacks[bulk->count] = (struct stack){ .first = bulk->len, .depth = shared, .shared = shared };
	if (shared)
		memcpy(bulk->frames + bulk->len, bulk->frames + before->first, shared * sizeof(*bulk->frames));
	bulk->len += shared;
	return 0;
}

int bulk_frame(struct bulk *bulk, uint32_t frame)
{
	if (bulk->len == bulk->cap && make_room(bulk, 1))
		return -ENOMEM;
	bulk->frames[bulk->len++] = frame;
	bulk->stacks[bulk->count].depth++;
	return 0;
}

int bulk_end(struct bulk *bulk, const struct profile_sample *sample)
{
	bulk->samples[bulk->count++] = *sample;
	return bulk->count > BATCH || bulk->len >= FRAMES ? bulk_flush(bulk) : 0;
}

/* Looks for the nodes of these stacks at a level; those of which there is one yet go on to the next. */
static size_t find_level(struct bulk *bulk, uint16_t *active, size_t len, size_t level)
{
	struct profile_node asked[BATCH];
	uint32_t answers[BATCH];
	size_t left = 0;

	for (size_t i = 0; i < len; i++) {
		const struct stack *stack = &bulk->stacks[active[i]];
		size_t at = stack->first + level;

		asked[i] = (struct profile_node){ level ? bulk->nodes[at - 1] : PROFILE_NONE, bulk->frames[at] };
	}
	profile_find_nodes(bulk->profile, asked, len, answers);
	for (size_t i = 0; i < len; i++) {
		struct stack *stack = &bulk->stacks[active[i]];

		if (!answers[i])
			continue;
		bulk->nodes[stack->first + level] = answers[i];
		stack->found = level + 1;
		if (stack->depth > level + 1)
			active[left++] = active[i];
	}
	return left;
}

/* What is left of a stack, in one piece: who walks up from its leaf later finds it together. */
static void add_rest(struct bulk *bulk, struct stack *stack)
{
	uint32_t *nodes = bulk->nodes + stack->first;

	if (stack->found < stack->shared) { /* the stack before has them by now */
		memcpy(nodes + stack->found, bulk->nodes + stack[-1].first + stack->found,
		       (stack->shared - stack->found) * sizeof(*nodes));
		stack->found = stack->shared;
	}
	if (stack->found < stack->depth)
		profile_add_chain(bulk->profile, stack->found ? nodes[stack->found - 1] : PROFILE_NONE,
				  bulk->frames + stack->first + stack->found, stack->depth - stack->found,
				  nodes + stack->found);
}

/* The last stack becomes the one before the next. */
static void start_again(struct bulk *bulk)
{
	struct stack last = bulk->stacks[bulk->count - 1];

	if (last.depth) {
		memmove(bulk->frames, bulk->frames + last.first, last.depth * sizeof(*bulk->frames));
		memmove(bulk->nodes, bulk->nodes + last.first, last.depth * sizeof(*bulk->nodes));
	}
	bulk->stacks[0] = (struct stack){ .depth = last.depth };
	bulk->len = last.depth;
	bulk->count = 1;
}

int bulk_flush(struct bulk *bulk)
{
	uint16_t active[BATCH];
	uint32_t numbers[BATCH];
	size_t len = 0;
	int err = 0;

	for (size_t i = 1; i < bulk->count; i++)
		if (bulk->stacks[i].depth > bulk->stacks[i].shared)
			active[len++] = (uint16_t)i;
	for (size_t level = 0; len; level++)
		len = find_level(bulk, active, len, level);
	for (size_t i = 1; i < bulk->count; i++)
		add_rest(bulk, &bulk->stacks[i]);
	for (size_t i = 1; i < bulk->count; i++) {
		const struct stack *stack = &bulk->stacks[i];

		bulk->samples[i].stack = stack->depth ? bulk->nodes[stack->first + stack->depth - 1] : PROFILE_NONE;
	}
	err = profile_add_samples(bulk->profile, bulk->samples + 1, bulk->count - 1, numbers);
	if (!err && bulk->added)
		err = bulk->added(bulk->context, numbers, bulk->count - 1);
	start_again(bulk);
	return err;
}
