/* SPDX-License-Identifier: Apache-2.0 */
/* How many ticks of a CPU were missed: those that gaps in time speak of, but for what idle time explains. Pure. */
#ifndef WICK_COLLECT_MISSED_H
#define WICK_COLLECT_MISSED_H

#include <stdint.h>

/* What is known of the ticks of a CPU since they began. */
struct missed {
	uint64_t gaps;       /* that should have come in gaps between two ticks */
	uint64_t due;        /* that should have come at all */
	uint64_t fired;      /* that came, */
	uint64_t fired_idle; /* and of these, to a CPU that was idle */
	uint64_t idle;       /* that the time is worth in which it was idle */
};

uint64_t missed_ticks(const struct missed *missed);

/* The idle time of a CPU, from a counter that is read now and then. */
struct missed_idle {
	uint64_t seen_us; /* how the counter stood; 0: not known */
	uint64_t sum_us;
};

/* The counter stands at now_us. Since the last time it cannot have grown by more than most_us; 0 at the first time. */
void missed_idle_add(struct missed_idle *idle, uint64_t now_us, uint64_t most_us);

#endif
