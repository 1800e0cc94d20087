/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker: a process without privileges that parses the files of targets. It is given open descriptors, returns
 * small answers over a socket, and may die of any of them: that costs the one request under way.
 *
 * Requests are queued and answered one at a time, in order of two kinds. Nothing here blocks unless it says so.
 */
#ifndef WICK_WORKER_WORKER_H
#define WICK_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_FDS 4 /* with one request, at most */

/* Runs in the worker for each request: appends the answer. Whatever it does to the process stays there. */
struct buf;
typedef void worker_serve(void *arg, const void *request, size_t len, const int *fds, size_t fds_len,
			  struct buf *reply);

struct worker_options {
	worker_serve *serve;
	uint64_t memory_bytes;    /* of its own, files not counted */
	unsigned int cpu_seconds; /* for one request */
	void *arg;                /* for it: each worker begins with it as it was when that was forked */
};

struct worker;

int worker_start(struct worker **ret, const struct worker_options *options);
/* Ends the process: what it used is known then. */
void worker_stop(struct worker *worker);
void worker_free(struct worker *worker); /* requests that wait are dropped */

/* Called once for each request: the answer, or why there is none: -EPIPE the worker died, -ETIME it took too long. */
typedef void worker_done(void *arg, int err, const void *reply, size_t len);

/* Queues a request. The descriptors are duplicated. */
int worker_ask(struct worker *worker, const void *request, size_t len, const int *fds, size_t fds_len,
	       worker_done *done, void *arg);
/* The same, before all requests that were not asked so: for what is small and waited for. */
int worker_ask_soon(struct worker *worker, const void *request, size_t len, const int *fds, size_t fds_len,
		    worker_done *done, void *arg);

/* Sends and receives what is possible. With `wait`, until nothing is left to be answered. */
int worker_pump(struct worker *worker, bool wait);

bool worker_idle(const struct worker *worker); /* nothing is queued */

/* What to poll for, to know when worker_pump has something to do. */
int worker_poll_fd(const struct worker *worker);
short worker_poll_events(const struct worker *worker);

/* While an answer is given: the CPU time that it took. */
uint64_t worker_took_ns(const struct worker *worker);

pid_t worker_pid(const struct worker *worker); /* changes when it is started anew */
unsigned int worker_deaths(const struct worker *worker);
uint64_t worker_max_rss(const struct worker *worker); /* of those that have ended; bytes */
uint64_t worker_cpu_us(const struct worker *worker);  /* of those, and of the one that runs */

#endif
