/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows, or minutes, of an hour in one. Most of what one window has, others of its hour have as well: the hour
 * says which (who, stack) there are and how often, and the bundle in which of the windows they were. That takes about a
 * third of the bytes of windows that are packed each for itself.
 */
#ifndef WICK_STORE_BUNDLE_H
#define WICK_STORE_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct window;

#define BUNDLE_WINDOWS_MAX 4096
#define BUNDLE_VALUE_MAX (1u << 25) /* samples in all, but for one window */

/* The windows of a bundle, in their order. */
struct bundle {
	struct window *windows;
	size_t len;
};

void bundle_free(struct bundle *bundle);

/* What is known of each of them beside its columns. */
struct bundle_span {
	uint64_t from, to; /* ns since 1970 */
	uint64_t windows;  /* that it is made of: a minute of several */
	uint64_t value;    /* the sum of its samples */
	uint64_t lost;
};

void bundle_spans(const struct bundle_span *spans, size_t len, struct buf *ret);
int bundle_read_spans(struct bundle_span **ret, size_t *ret_len, const void *data, size_t len); /* free() it */

/* Columns of windows that are arranged: their heads, and their bodies by those of `sum`, which has all their rows. */
int bundle_heads(const struct window *windows, size_t len, struct buf *ret);
/* -ERANGE if `sum` is not what the windows add up to, or if a value is 0: they cannot be a bundle then. */
int bundle_bodies(const struct window *windows, size_t len, const struct window *sum, struct buf *ret);

/* From columns; the heads first. -EBADMSG if they are not what was written. */
int bundle_read_heads(struct bundle *ret, const void *data, size_t len);
int bundle_read_bodies(struct bundle *bundle, const struct window *sum, const void *data, size_t len);

#endif
