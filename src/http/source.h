/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a server's answers come from: a store that is written at the same time, or saved profiles (replay.h). All but
 * `greeting` may be called by several threads at once. Each returns 0 or -errno: -ENODATA if nothing is kept of the
 * range; what fail() says may have paths in it and is not sent.
 */
#ifndef WICK_HTTP_SOURCE_H
#define WICK_HTTP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct metrics;
struct profile;
struct query;

struct http_source {
	void *context;
	bool live;    /* it grows: the profile of the next seconds can be waited for */
	bool untimed; /* it is not known when samples were taken: no curves, no heat map */

	/* What was sampled from one moment up to another, in ns since 1970; the caller frees it. */
	int (*profile)(void *context, uint64_t from_ns, uint64_t to_ns, struct profile **ret);
	/*
	 * Of that range what fell into these milliseconds of its seconds: exactly those, or -ENODATA if it is not
	 * known when samples were taken. NULL: no moments are kept.
	 */
	int (*moments)(void *context, const struct query *query, struct profile **ret);
	/* Answers in JSON, appended. NULL: there are none of this source, and the path is not found. */
	int (*processes)(void *context, const struct query *query, struct buf *out);
	int (*series)(void *context, const struct query *query, struct buf *out);
	int (*heat)(void *context, const struct query *query, struct buf *out);
	int (*gaps)(void *context, const struct query *query, struct buf *out);
	/* The first event of whoever begins to listen: JSON. NULL: nothing is published. By the server's own thread. */
	int (*greeting)(void *context, struct buf *out);
	/* -EAGAIN while it cannot answer yet. What goes less well than it should is appended, as a sentence. */
	int (*ready)(void *context, struct buf *note);
	/* Of a live one: up to when it has everything, in ns since 1970; by the server's own thread. */
	uint64_t (*latest)(void *context);
	int (*metrics)(void *context, struct metrics *metrics);
};

#endif
