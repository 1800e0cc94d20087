/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a profile in the order of time: as recorded, or at steady times where that was not kept. */
#ifndef WICK_OUT_TIMELINE_H
#define WICK_OUT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#define TIMELINE_NO_CPU UINT32_MAX

struct profile;

struct timeline_record {
	uint64_t time_ns; /* since the profile's start */
	uint64_t count;
	uint32_t sample;
	uint32_t cpu; /* TIMELINE_NO_CPU: not known */
};

struct timeline {
	struct timeline_record *list;
	size_t len;
	uint64_t total; /* of all counts */
};

/*
 * Counts add up to the values of the samples. What has no event is one record; or one for each time that it was
 * counted, if all of them together are not more than `apart`. {0} before.
 */
int timeline_new(const struct profile *profile, uint64_t apart, struct timeline *ret);
void timeline_free(struct timeline *timeline);

#endif
