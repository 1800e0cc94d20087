/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers: one reads what nobody but root can have written, the other what users have. So what a user writes can
 * neither hold up nor take over the process that reads everybody's libraries.
 */
#ifndef WICK_WORKER_POOL_H
#define WICK_WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/worker.h"

#define POOL_WORKERS 2
#define POOL_ANYONE (1ULL << 33) /* as the maker of what it cannot be told who may have written it */

struct pollfd;
struct pool;

/* `arg` is for serve, and `spawner`: as in struct worker_options. */
int pool_start(struct pool **ret, worker_serve *serve, void *arg, struct spawner *spawner);
void pool_stop(struct pool *pool); /* what they used is known then */
void pool_free(struct pool *pool);

/* As worker_ask; which of them is asked follows from who made it. */
int pool_ask(struct pool *pool, const struct worker_request *request);
int pool_pump(struct pool *pool);
void pool_cancel(struct pool *pool, bool users); /* only what users have made */
bool pool_idle(const struct pool *pool);
void pool_poll(const struct pool *pool, struct pollfd *list); /* POOL_WORKERS of them */
int pool_timeout(const struct pool *pool);                    /* ms */

/* Why there is no answer, in one word, for those who look at the quality of a profile. */
const char *pool_reason(int err);

/* While an answer about what somebody made is given: the CPU time that it took. */
uint64_t pool_took_ns(const struct pool *pool, uint64_t maker);

void pool_pids(const struct pool *pool, uint32_t ret[POOL_WORKERS]);
unsigned int pool_deaths(const struct pool *pool);
unsigned int pool_refused(const struct pool *pool);
uint64_t pool_max_rss(const struct pool *pool);
uint64_t pool_cpu_us(const struct pool *pool);

#endif
