/* SPDX-License-Identifier: Apache-2.0 */
/* A moment as people and programs write it: 14:03, 14:03:20, 2026-03-01T14:03:20Z, -15m, now, ms since 1970. */
#ifndef WICK_BASE_WHEN_H
#define WICK_BASE_WHEN_H

#include <stdint.h>

struct buf;

/*
 * In ns since 1970. A time of day is the last such moment before `now_ns`; what names no zone is local time. -EINVAL
 * with fail() set for anything else, and for moments before 1970 or after the year 9999.
 */
int when_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns);

/*
 * [from, to): without `from` it begins in 1970, without `to` it ends now. A time of day for its end that is not after
 * its beginning is the next one after it. In whole ms. -EINVAL with fail() set, also for a range with nothing in it.
 */
int when_parse_range(const char *from, const char *to, uint64_t now_ns, uint64_t *ret_from, uint64_t *ret_to);

/* Appends 2026-03-01T14:03:20, in local time: as when_parse reads it. */
void when_add(struct buf *out, uint64_t ns);

#endif
