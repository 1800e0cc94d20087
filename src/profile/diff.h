/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two profiles compared, function by function: in how many samples of each it was running (self), and in how many it
 * or what it called was (total). A function is a name in a module, so profiles of different builds can be compared.
 *
 * Samples are chance: the same program profiled twice gives different counts. An interval says where the true
 * difference lies, 95 times in 100; if 0 is in it, the difference may be nothing but noise.
 */
#ifndef WICK_PROFILE_DIFF_H
#define WICK_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct diff_memory;
struct profile;

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

struct diff_function {
	const char *name, *module;
	uint64_t self[DIFF_SIDES];
	uint64_t total[DIFF_SIDES];
};

struct diff {
	struct diff_function *functions; /* from 1 on */
	uint32_t len;
	uint64_t sums[DIFF_SIDES]; /* of all samples */
	bool counts;               /* values are numbers of samples: it can be told what is noise */
	struct diff_memory *memory;
};

/* In percentage points of all samples: the share after less the share before. */
struct diff_change {
	double points;
	double low, high; /* of the interval */
};

/* Appends a text of a frame; frame 0 stands for a sample without a stack. */
typedef void diff_text(const struct profile *profile, unsigned int frame, struct buf *out);

/* -EINVAL with fail() set if their values are of different units. diff_free is due in either case. */
int diff_init(struct diff *diff, const struct profile *before, const struct profile *after, diff_text *name,
	      diff_text *module);
void diff_free(struct diff *diff);

/* How a share changed: so many of the sums, before and after. */
struct diff_change diff_change(const struct diff *diff, const uint64_t counts[DIFF_SIDES]);

/* Larger than noise. */
static inline bool diff_is_real(const struct diff_change *change)
{
	return change->low > 0 || change->high < 0;
}

#endif
