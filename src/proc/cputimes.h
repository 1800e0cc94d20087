/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs' lines of /proc/stat: what each of them, and all together, have done since boot. */
#ifndef WICK_PROC_CPUTIMES_H
#define WICK_PROC_CPUTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUTIMES_ALL UINT32_MAX

struct cputimes {
	uint32_t cpu;                /* CPUTIMES_ALL: all together */
	uint64_t user, kernel, idle; /* in sysconf(_SC_CLK_TCK) a second */
};

/*
 * The next of these lines: start with *at = 0. False after the last, which is where other lines begin; one that cannot
 * be right is passed over.
 */
bool cputimes_next(const char *text, size_t len, size_t *at, struct cputimes *ret);

#endif
