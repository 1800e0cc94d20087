/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that open the files of targets for us. Whatever a target's file system or process does, no call here waits
 * for it: a helper that does not answer in time is given up, with the one question it was asked, and so is the user
 * whose files do that again and again. Two of them: one for what the kernel says is plain, one for all that may be
 * held up.
 */
#ifndef WICK_COLLECT_HELPERS_H
#define WICK_COLLECT_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/opening.h"

#define HELPERS 2

struct helpers;
struct pollfd;
struct sampler;
struct spawner;
struct wire_place;

int helpers_start(struct helpers **ret, struct spawner *spawner);
void helpers_free(struct helpers *helpers);

/*
 * Called once for each question. `opened->err` says why there is nothing: -ETIMEDOUT it was held up, -EDQUOT the user
 * has had his share, -ECANCELED time is up, or what opening it came to. The descriptor is the caller's; negative:
 * none.
 */
typedef void helper_done(void *arg, const struct opened *opened, int fd, const char *text, size_t len);

struct helper_request {
	struct opening opening;
	struct sampler *sampler;
	uint64_t user; /* of the process that it is for */
	bool plain;    /* nobody but root has a say in where it is */
	helper_done *done;
	void *arg;
};

int helpers_ask(struct helpers *helpers, const struct helper_request *request);

/* A copy that was handed out is no longer kept. */
void helpers_copy_closed(struct helpers *helpers, uint64_t user, uint64_t bytes);

/* Whether the kernel side says that a file is where nobody but root can hold it up. */
bool helpers_is_plain(const struct wire_place *place);

/* As worker_pump, worker_cancel, worker_idle, for all of them. */
int helpers_pump(struct helpers *helpers);
void helpers_cancel(struct helpers *helpers, bool users); /* only what users have made, or may hold up */
bool helpers_idle(const struct helpers *helpers);
void helpers_poll(const struct helpers *helpers, struct pollfd *list); /* HELPERS of them */
int helpers_timeout(const struct helpers *helpers);                    /* ms */

void helpers_pids(const struct helpers *helpers, uint32_t ret[HELPERS]);

struct helpers_stats {
	uint64_t stuck;   /* questions that were held up */
	uint64_t refused; /* of users who have had their share */
	uint64_t hanging; /* processes that have not ended yet */
	uint64_t max_rss, cpu_us;
};
void helpers_stats(const struct helpers *helpers, struct helpers_stats *ret);
void helpers_stop(struct helpers *helpers); /* what they used is known then */

#endif
