/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts samples in order of time. In: a profile with events, without, or with some lost. Out: records whose counts add
 * up, sample by sample, to the profile's values: events as they were, and what has none at steady times over the whole
 * recording, so that a picture over time shows no structure that was not measured.
 */
#include "out/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/profile.h"

#define STEP_NS 10000000u /* where neither duration nor period is known */

static int by_time(const void *a, const void *b)
{
	const struct timeline_record *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->sample != right->sample)
		return left->sample < right->sample ? -1 : 1;
	return left->cpu < right->cpu ? -1 : left->cpu > right->cpu;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Takes the events off what each sample has left: an event more than was counted is not believed. */
static void add_events(const struct profile *profile, uint64_t *left, struct timeline *timeline)
{
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_EVENTS); i++) {
		const struct profile_event *event = profile_event(profile, i);

		if (!left[event->sample])
			continue;
		left[event->sample]--;
		timeline->list[timeline->len++] = (struct timeline_record){
			.time_ns = event->time_us > UINT64_MAX / 1000 ? UINT64_MAX : event->time_us * 1000,
			.count = 1,
			.sample = event->sample,
			.cpu = event->cpu,
		};
	}
}

struct rest {
	uint64_t total;
	uint64_t span_ns; /* all of it takes so long */
	bool apart;
};

static struct rest measure(const struct profile *profile, const uint64_t *left, size_t events, uint64_t apart)
{
	const struct profile_meta *meta = profile_meta(profile);
	struct rest rest = { .span_ns = meta->duration_ns };

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		rest.total = add_capped(rest.total, left[i]);
	if (!rest.span_ns && __builtin_mul_overflow(rest.total, meta->period ? meta->period : STEP_NS, &rest.span_ns))
		rest.span_ns = UINT64_MAX;
	rest.apart = add_capped(rest.total, events) <= apart;
	return rest;
}

static void add_rest(const struct profile *profile, const uint64_t *left, const struct rest *rest,
		     struct timeline *timeline)
{
	uint64_t before = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		uint64_t records = rest->apart || !left[i] ? left[i] : 1;

		for (uint64_t k = 0; k < records; k++) {
			uint64_t count = rest->apart ? 1 : left[i];

			timeline->list[timeline->len++] = (struct timeline_record){
				.time_ns = (uint64_t)((unsigned __int128)before * rest->span_ns / rest->total),
				.count = count,
				.sample = i,
				.cpu = TIMELINE_NO_CPU,
			};
			before = add_capped(before, count);
		}
	}
}

static bool in_order(const struct timeline *timeline)
{
	for (size_t i = 1; i < timeline->len; i++)
		if (by_time(&timeline->list[i - 1], &timeline->list[i]) > 0)
			return false;
	return true;
}

int timeline_new(const struct profile *profile, uint64_t apart, struct timeline *ret)
{
	uint32_t samples = profile_count(profile, PROFILE_SAMPLES);
	size_t events = profile_count(profile, PROFILE_EVENTS) - 1;
	autofree uint64_t *left = calloc(samples, sizeof(*left));
	struct rest rest;

	if (!left)
		return -ENOMEM;
	for (uint32_t i = 1; i < samples; i++) {
		left[i] = profile_sample(profile, i)->value;
		ret->total = add_capped(ret->total, left[i]);
	}
	ret->list = calloc(events + samples, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	add_events(profile, left, ret);
	rest = measure(profile, left, ret->len, apart);
	if (rest.apart) {
		struct timeline_record *grown = reallocarray(ret->list, ret->len + rest.total + 1, sizeof(*ret->list));

		if (!grown)
			return -ENOMEM;
		ret->list = grown;
	}
	add_rest(profile, left, &rest, ret);
	if (!in_order(ret))
		qsort(ret->list, ret->len, sizeof(*ret->list), by_time);
	return 0;
}

void timeline_free(struct timeline *timeline)
{
	free(timeline->list);
	*timeline = (struct timeline){ 0 };
}
