/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that does for us what may go wrong: the worker parses the files of targets without any privileges; a helper
 * opens them and may be held up (collect/helpers.h). It is given open descriptors, returns small answers over a socket,
 * and may die of any of them, or never answer: that costs the one request under way. Nobody waits for its end.
 *
 * Requests are queued and answered one at a time: those that are wanted soon first, then those of the user who has had
 * least. Nothing here blocks unless it says so.
 */
#ifndef WICK_WORKER_WORKER_H
#define WICK_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fds.h"
#include "worker/shares.h"

#define WORKER_FDS FDS_MAX /* with one request, at most */
#define WORKER_STUCK 8     /* processes that were given up and have not ended, at most */
#define WORKER_NO_LIMIT 0

struct buf;
struct spawner;

/*
 * Runs in the process for each request: appends the answer, and may give a descriptor with it, which is closed then.
 * Whatever it does to the process stays there.
 */
typedef void worker_serve(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply,
			  int *ret_fd);

struct worker_options {
	worker_serve *serve;
	int (*enter)(int socket, uint64_t memory_bytes); /* the first thing that it does; NULL: confine() */
	uint64_t memory_bytes;                           /* of its own, files not counted */
	unsigned int cpu_seconds;                        /* for one request */
	uint64_t wall_ns;                                /* likewise; 0: some times as much, the machine may be busy */
	struct shares_limits limits;                     /* of each user */
	bool lazy;                                       /* none runs before there is a request */
	bool by_wall;                                    /* his time is what passes, not CPU time */
	struct spawner *spawner;                         /* what it is forked from; NULL: from us */
	void *arg; /* for it: each process begins with it as it was when that was forked */
};

struct worker;

int worker_start(struct worker **ret, const struct worker_options *options);
/* Ends the process: what it used is known then. */
void worker_stop(struct worker *worker);
void worker_free(struct worker *worker); /* requests that wait are dropped */

/*
 * Called once for each request: the answer, or why there is none: -EPIPE the process died, -ETIME it took too long,
 * -EDQUOT the user has had his share, -EBUSY too many are stuck, -ECANCELED time is up.
 */
typedef void worker_done(void *arg, int err, const void *reply, size_t len);

struct worker_request {
	const void *bytes;
	size_t len;
	const int *fds; /* duplicated */
	size_t fds_len;
	uint64_t user;  /* who is charged for it; 0: root */
	uint64_t maker; /* who may have written what is to be read: a process serves one, and no other after him */
	bool soon;      /* before all that are not: for what is small and waited for */
	worker_done *done;
	void *arg;
};

int worker_ask(struct worker *worker, const struct worker_request *request);

/* Sends and receives what is possible. With `wait`, until nothing is left to be answered. */
int worker_pump(struct worker *worker, bool wait);

/* Answers all that wait with -ECANCELED, and ends the process if it is serving one. */
void worker_cancel(struct worker *worker);

bool worker_idle(const struct worker *worker); /* nothing is queued */

/* What to poll for, to know when worker_pump has something to do; and for how long at most, in ms. */
int worker_poll_fd(const struct worker *worker);
short worker_poll_events(const struct worker *worker);
int worker_timeout(const struct worker *worker);

/* While an answer is given: the time that it took, and the descriptor that came with it, the caller's from then on. */
uint64_t worker_took_ns(const struct worker *worker);
int worker_take_fd(struct worker *worker);

/* Whether a process was ever held up by what this user owns. */
bool worker_was_stuck(const struct worker *worker, uint64_t user);

pid_t worker_pid(const struct worker *worker); /* changes when it is started anew; 0: none runs */
unsigned int worker_deaths(const struct worker *worker);
unsigned int worker_stuck(const struct worker *worker);   /* that have not ended although they were told to */
unsigned int worker_refused(const struct worker *worker); /* requests of users who have had their share */
uint64_t worker_max_rss(const struct worker *worker);     /* of those that have ended; bytes */
uint64_t worker_cpu_us(const struct worker *worker);      /* of those, and of the one that runs */

#endif
