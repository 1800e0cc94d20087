/* SPDX-License-Identifier: Apache-2.0 */
/* How the frames of each process were found: the kernel side counts that for all of them together only. Pure. */
#ifndef WICK_COLLECT_WAYS_H
#define WICK_COLLECT_WAYS_H

#include <stdbool.h>

struct map;
struct profile;
struct profile_frame;

/* Does an unwind row say how to find the caller of a user frame? */
typedef bool ways_has_row(void *arg, const struct profile_frame *frame);

/* Fills in the ways of all processes. `early`: sample → how many of it were unwound in user space. */
int ways_count(struct profile *profile, const struct map *early, ways_has_row *has_row, void *arg);

#endif
