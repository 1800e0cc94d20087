/* SPDX-License-Identifier: Apache-2.0 */
/* What the API says of a profile besides the profile itself. */
#ifndef WICK_HTTP_SUMMARY_H
#define WICK_HTTP_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct metrics;
struct metrics_tally;
struct profile;

/* CPU seconds by name of the process and by container, added to those that are there. 0 or -ENOMEM. */
int summary_tally(const struct profile *profile, struct metrics_tally *processes, struct metrics_tally *containers);
/* The accounting: what was counted, lost, left out, and how whole the stacks are. */
void summary_counters(const struct profile *profile, struct metrics *metrics);
/* The families of the tallies. */
void summary_seconds(const struct metrics_tally *processes, const struct metrics_tally *containers,
		     struct metrics *metrics);

/* What a sample is counted under: "process" (its name), or the value of a label such as "container"; may be empty. */
const char *summary_name(const struct profile *profile, uint32_t sample, const char *by, size_t *ret_len);

/* JSON: the processes that have samples, the busiest first. 0 or -ENOMEM. */
int summary_processes(const struct profile *profile, struct buf *out);

#endif
