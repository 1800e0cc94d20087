/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the profile that a filter leaves of another one: what passes is judge.c's to say.
 */
#include "profile/filter.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/fail.h"
#include "profile/copy.h"
#include "profile/judge.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

/* The work of one filter_apply. */
struct copier {
	const struct profile *from;
	struct profile *to;
	struct copy copy;
	struct judge judge;
	uint32_t *nodes, *samples; /* numbers in `to` */
};

static void copier_free(struct copier *copier)
{
	copy_free(&copier->copy);
	judge_end(&copier->judge);
	free(copier->nodes);
	free(copier->samples);
	profile_free(copier->to);
}

static int copier_prepare(struct copier *copier)
{
	int err = profile_new(&copier->to);

	copier->nodes = calloc(profile_count(copier->from, PROFILE_NODES), sizeof(*copier->nodes));
	copier->samples = calloc(profile_count(copier->from, PROFILE_SAMPLES), sizeof(*copier->samples));
	if (err || !copier->nodes || !copier->samples)
		return -ENOMEM;
	return copy_begin(&copier->copy, copier->from, copier->to);
}

/* A parent's number is smaller than its node's: one pass in order has every one. */
static int copy_nodes(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_NODES); i++) {
		const struct profile_node *node = profile_node(copier->from, i);

		copier->nodes[i] = copier->nodes[node->parent];
		if (!judge_hides(&copier->judge, node->frame))
			copier->nodes[i] = profile_add_node(copier->to, copier->nodes[node->parent],
							    copier->copy.frames[node->frame]);
		if (copier->nodes[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_samples(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_SAMPLES); i++) {
		const struct profile_sample *old = profile_sample(copier->from, i);
		const struct judge_who who = { old->process, old->tid, old->comm, old->labels };
		struct profile_sample sample;

		if (!judge_stack(&copier->judge, old->stack) || !judge_who(&copier->judge, &who))
			continue;
		sample = copy_sample(&copier->copy, i, copier->nodes[old->stack]);
		copier->samples[i] = profile_add_sample(copier->to, &sample);
		if (copier->samples[i] == PROFILE_FULL || copy_values(&copier->copy, i, copier->samples[i]))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_EVENTS); i++) {
		struct profile_event event = *profile_event(copier->from, i);

		event.sample = copier->samples[event.sample];
		if (event.sample && profile_add_event(copier->to, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_meta(struct copier *copier)
{
	struct profile_meta meta = *profile_meta(copier->from);
	int err = 0;

#define TRANSLATE(field) meta.field = copier->copy.strings[meta.field];
	WICK_META_STRINGS(TRANSLATE)
#undef TRANSLATE
	*profile_meta(copier->to) = meta;
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_COUNTERS) && !err; i++) {
		const struct profile_counter *counter = profile_counter(copier->from, i);

		err = profile_add_counter(copier->to, profile_text(copier->from, counter->group, NULL),
					  profile_text(copier->from, counter->name, NULL), counter->value);
	}
	return err;
}

int filter_apply(const struct filter *filter, const struct profile *from, struct profile **ret)
{
	struct copier copier = { .from = from };
	int err = copier_prepare(&copier);

	err = err ? err : judge_begin(&copier.judge, filter, from);
	err = err ? err : copy_nodes(&copier);
	err = err ? err : copy_types(&copier.copy);
	err = err ? err : copy_samples(&copier);
	err = err ? err : copy_meta(&copier);
	if (!err) {
		*ret = copier.to;
		copier.to = NULL;
	}
	copier_free(&copier);
	return err ? fail(err, "filter") : 0;
}
