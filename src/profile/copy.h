/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries the records of one profile over into another, where they have other numbers: what filtering and merging
 * share. What is there already is found again, so nothing is doubled.
 */
#ifndef WICK_PROFILE_COPY_H
#define WICK_PROFILE_COPY_H

#include <stdint.h>

struct profile;
struct profile_sample;

struct copy {
	const struct profile *from;
	struct profile *to;
	uint32_t *strings, *files, *processes, *frames, *labels; /* numbers in `to`, by those in `from` */
};

/* Carries over everything but stacks, samples and events. 0 or -ENOMEM. copy_free is due in either case. */
int copy_begin(struct copy *copy, const struct profile *from, struct profile *to);
void copy_free(struct copy *copy);

/* Which types there are; for a profile that has no samples yet. */
int copy_types(const struct copy *copy);
/* A sample's values of those types; `to` is its number there. For profiles of the same types, or into one of none. */
int copy_values(const struct copy *copy, uint32_t number, uint32_t to);

/* The sample as it is in `to`, with this stack. */
struct profile_sample copy_sample(const struct copy *copy, uint32_t number, uint32_t stack);

#endif
