/* SPDX-License-Identifier: Apache-2.0 */
/* How the frames of each process were found: the kernel side counts that for all of them together only. Pure. */
#ifndef WICK_COLLECT_WAYS_H
#define WICK_COLLECT_WAYS_H

#include <stdbool.h>
#include <stdint.h>

struct map;
struct profile;
struct profile_frame;
struct profile_sample;
struct profile_ways;
struct ways;

/* Does an unwind row say how to find the caller of a user frame? */
typedef bool ways_has_row(void *arg, const struct profile_frame *frame);

/* Each frame and stack is looked at once, when the first sample has it. The profile may grow meanwhile. */
int ways_new(struct ways **ret, const struct profile *profile, ways_has_row *has_row, void *arg);
void ways_free(struct ways *ways);
/* Adds those of a sample; `early` of it were unwound in user space. -ENOMEM. */
int ways_add(struct ways *ways, const struct profile_sample *sample, uint64_t early, struct profile_ways *into);

/* Fills in the ways of all processes. `early`: sample → how many of it were unwound in user space. */
int ways_count(struct profile *profile, const struct map *early, ways_has_row *has_row, void *arg);

#endif
