/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few threads for answers that take time, so that the thread of the connections never waits. What is put in runs
 * once, in order, and comes back from work_done; there is never more of it than the bound.
 */
#ifndef WICK_HTTP_WORK_H
#define WICK_HTTP_WORK_H

struct work;

struct work_item {
	struct work_item *next;
	void (*run)(struct work_item *item);
};

/* `fd` is an eventfd that is written to when something is done. */
int work_new(struct work **ret, unsigned threads, unsigned bound, int fd);
/* Waits for what runs; what has not begun is dropped. */
void work_free(struct work *work);

/* -EBUSY when there is as much as may be. */
int work_put(struct work *work, struct work_item *item);
/* One that is done, or NULL. */
struct work_item *work_done(struct work *work);

#endif
