/* SPDX-License-Identifier: Apache-2.0 */
/* A moment as people and programs write it: 14:03, 14:03:20, 2026-03-01T14:03:20Z, -15m, now, ms since 1970. */
#ifndef WICK_HTTP_WHEN_H
#define WICK_HTTP_WHEN_H

#include <stdint.h>

/*
 * In ns since 1970. A time of day is the last such moment before `now_ns`; what names no zone is local time. -EINVAL
 * with fail() set for anything else, and for moments before 1970 or after the year 9999.
 */
int when_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns);

#endif
