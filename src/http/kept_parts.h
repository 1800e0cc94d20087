/* SPDX-License-Identifier: Apache-2.0 */
/* What kept.c, which has profiles, and kept_curves.c, which has counts over time, share. */
#ifndef WICK_HTTP_KEPT_PARTS_H
#define WICK_HTTP_KEPT_PARTS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/kept.h"
#include "http/replay.h"

#define KEPT_FRESH_SLOTS 128

struct filter;
struct query;
struct store;

struct kept_second {
	uint64_t middle_ns;
	size_t bytes;
};

struct kept {
	char *folder;
	struct live *live;
	pthread_mutex_t store_lock; /* of the handle */
	struct store *store;
	uint64_t used_ns;
	pthread_mutex_t lock;                         /* of all below */
	struct replay *fresh;                         /* seconds that are not in the store, oldest first */
	struct kept_second seconds[KEPT_FRESH_SLOTS]; /* what is known of each of them */
	size_t fresh_len;
	uint64_t latest_ns, sealed_ns; /* ends of the last second, and of the last window in the store */
	struct kept_status status;
	struct buf metrics;
};

/* The handle is there if it is 0; release it in either case. -ENOENT: there is no store yet. */
int kept_hold_store(struct kept *kept);
void kept_release_store(struct kept *kept);

/* Of the seconds alone; -ENODATA. */
int kept_fresh_profile(struct kept *kept, uint64_t from_ns, uint64_t to_ns, struct profile **ret);
/* Replaces it by what passes. */
int kept_filter(const struct filter *filter, struct profile **profile);

int kept_series(void *context, const struct query *query, struct buf *out);
int kept_heat(void *context, const struct query *query, struct buf *out);

#endif
