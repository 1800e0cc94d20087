/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Durations are CLOCK_MONOTONIC (BPF's bpf_ktime_get_ns); the wall clock is only for people, read once. */
#ifndef WICK_BASE_CLOCK_H
#define WICK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

#endif
