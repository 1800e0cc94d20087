/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter says of the stacks of a profile, and of those who ran: judged once, then looked up. */
#ifndef WICK_PROFILE_JUDGE_H
#define WICK_PROFILE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

struct filter;
struct profile;

struct judge {
	const struct filter *filter;
	const struct profile *profile;
	uint32_t *frames;     /* by frame: bits of the terms that match it */
	uint32_t *nodes;      /* by node: bits of the terms met from the root to it */
	uint32_t no_frame;    /* bits for a sample without a stack */
	unsigned char *names; /* by term of tasks and string: whether it matches; 0: not known yet */
};

struct judge_who {
	uint32_t process, tid;
	uint32_t comm; /* string */
	uint32_t labels;
};

/* judge_end is due in either case. */
int judge_begin(struct judge *judge, const struct filter *filter, const struct profile *profile);
void judge_end(struct judge *judge);

bool judge_stack(const struct judge *judge, uint32_t node);
bool judge_hides(const struct judge *judge, uint32_t frame);
bool judge_who(struct judge *judge, const struct judge_who *who);

#endif
