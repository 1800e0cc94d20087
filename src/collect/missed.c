/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side counts what should have come between two ticks that are far apart. Some CPUs do not tick while they
 * are idle, and then a gap is no loss; the ticks at its ends do not tell, for both can be of work. So the idle time
 * that the machine itself counts is taken off, as far as no tick came in it. The rest is what is missing in work.
 *
 * Idle time begins and ends somewhere between two ticks, so what it is worth is off by a part of one each time. Between
 * two gaps there is a tick: by chance these parts add up to about the root of the number of ticks. That is no loss.
 *
 * Never is more missed than the gaps say, nor than the ticks that did not come.
 */
#include "collect/missed.h"

#include <math.h>

#define ROUNDED_US 20000 /* the counter is the sum of two, each in hundredths of a second */

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t missed_ticks(const struct missed *missed)
{
	uint64_t quiet = above(missed->idle, missed->fired_idle);
	uint64_t chance = (uint64_t)sqrt((double)lesser(quiet, missed->fired));

	return lesser(missed->gaps, above(above(missed->due, missed->fired), quiet + chance));
}

/*
 * A CPU that was offline may begin to count anew, and waiting for disks is counted in a way that can go back a little.
 * What the counter grew too much by rounding, it grows too little by the next time.
 */
void missed_idle_add(struct missed_idle *idle, uint64_t now_us, uint64_t most_us)
{
	uint64_t grown, rest;

	if (!idle->seen_us || now_us < idle->seen_us) {
		idle->sum_us += now_us <= most_us ? now_us : 0;
		idle->seen_us = now_us;
		return;
	}
	grown = now_us - idle->seen_us;
	rest = above(grown, most_us);
	idle->sum_us += grown - rest;
	idle->seen_us = now_us - lesser(rest, ROUNDED_US);
}
