/* SPDX-License-Identifier: Apache-2.0 */
/* The line that a sample of `perf script` begins with, and the comments at the start of its text. */
#ifndef WICK_IN_PERF_HEAD_H
#define WICK_IN_PERF_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct profile;

/* `COMM PID/TID [CPU] TIME: PERIOD EVENT: REST`; all but COMM, a number and EVENT may be missing. */
struct perf_head {
	struct span comm, event, rest; /* in the line */
	uint64_t time_us, period;
	uint32_t pid, tid, cpu;
	bool has_pid, has_cpu, has_time;
	bool is_record; /* no sample but something else that perf was asked to show */
};

bool perf_head_parse(struct span line, struct perf_head *ret);

/* Takes what is known of the machine from a line such as `# arch : x86_64`. */
void perf_comment(struct profile *profile, struct span line);

#endif
