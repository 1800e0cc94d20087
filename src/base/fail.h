/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detail of the last error of this thread. Functions return 0 or -errno and leave the words here; the command
 * prints them once, as `wick: what failed: why: what to do`. Library code never prints.
 */
#ifndef WICK_BASE_FAIL_H
#define WICK_BASE_FAIL_H

/* Keeps "<words>: <strerror(-err)>" and returns err. */
int fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Keeps the words alone and returns err: for when errno's text would say nothing, or something wrong. */
int fail_plain(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds ": <words>" to what is kept: what to do about it. Returns err. */
int fail_hint(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is kept, never NULL; control characters are made visible. */
const char *fail_text(void);

#endif
