/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers behind one set of calls. See worker.h for what each of them does. */
#include "worker/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"

#define MEMORY ((uint64_t)512 << 20)
#define ROOT_SECONDS 10 /* of CPU, for one request */
#define USER_SECONDS 4
#define USER_NS (6 * NS_PER_SEC) /* for all of a user's, and a part of the time since */
#define USER_PERMILLE 100
#define USER_DEATHS 8

enum {
	POOL_ROOT = 0,
	POOL_USERS,
};

struct pool {
	struct worker *workers[POOL_WORKERS];
};

int pool_start(struct pool **ret, worker_serve *serve, void *arg, struct spawner *spawner)
{
	const struct worker_options options[POOL_WORKERS] = {
		[POOL_ROOT] = { .serve = serve,
				.arg = arg,
				.spawner = spawner,
				.memory_bytes = MEMORY,
				.cpu_seconds = ROOT_SECONDS },
		[POOL_USERS] = { .serve = serve,
				 .arg = arg,
				 .spawner = spawner,
				 .memory_bytes = MEMORY,
				 .cpu_seconds = USER_SECONDS,
				 .lazy = true,
				 .limits = { USER_NS, USER_PERMILLE, USER_DEATHS } },
	};
	struct pool *pool = calloc(1, sizeof(*pool));
	int err = pool ? 0 : -ENOMEM;

	*ret = pool;
	for (int i = 0; i < POOL_WORKERS && !err; i++)
		err = worker_start(&pool->workers[i], &options[i]);
	return err;
}

void pool_stop(struct pool *pool)
{
	for (int i = 0; i < POOL_WORKERS; i++)
		worker_stop(pool->workers[i]);
}

void pool_free(struct pool *pool)
{
	for (int i = 0; pool && i < POOL_WORKERS; i++)
		worker_free(pool->workers[i]);
	free(pool);
}

static struct worker *worker_of(const struct pool *pool, uint64_t maker)
{
	return pool->workers[maker ? POOL_USERS : POOL_ROOT];
}

int pool_ask(struct pool *pool, const struct worker_request *request)
{
	return worker_ask(worker_of(pool, request->maker), request);
}

int pool_pump(struct pool *pool)
{
	int err = 0;

	for (int i = 0; i < POOL_WORKERS && !err; i++)
		err = worker_pump(pool->workers[i], false);
	return err;
}

void pool_cancel(struct pool *pool, bool users)
{
	for (int i = users ? POOL_USERS : 0; i < POOL_WORKERS; i++)
		worker_cancel(pool->workers[i]);
}

bool pool_idle(const struct pool *pool)
{
	for (int i = 0; i < POOL_WORKERS; i++)
		if (!worker_idle(pool->workers[i]))
			return false;
	return true;
}

void pool_poll(const struct pool *pool, struct pollfd *list)
{
	for (int i = 0; i < POOL_WORKERS; i++)
		list[i] = (struct pollfd){ .fd = worker_poll_fd(pool->workers[i]),
					   .events = worker_poll_events(pool->workers[i]) };
}

int pool_timeout(const struct pool *pool)
{
	int root = worker_timeout(pool->workers[POOL_ROOT]), users = worker_timeout(pool->workers[POOL_USERS]);

	return root < users ? root : users;
}

const char *pool_reason(int err)
{
	switch (err) {
	case -ETIME:
		return "too_slow";
	case -EDQUOT:
		return "user_budget";
	case -ECANCELED:
		return "out_of_time";
	default:
		return "worker_died";
	}
}

uint64_t pool_took_ns(const struct pool *pool, uint64_t maker)
{
	return worker_took_ns(worker_of(pool, maker));
}

void pool_pids(const struct pool *pool, uint32_t ret[POOL_WORKERS])
{
	for (int i = 0; i < POOL_WORKERS; i++)
		ret[i] = (uint32_t)worker_pid(pool->workers[i]);
}

unsigned int pool_deaths(const struct pool *pool)
{
	return worker_deaths(pool->workers[POOL_ROOT]) + worker_deaths(pool->workers[POOL_USERS]);
}

unsigned int pool_refused(const struct pool *pool)
{
	return worker_refused(pool->workers[POOL_ROOT]) + worker_refused(pool->workers[POOL_USERS]);
}

uint64_t pool_max_rss(const struct pool *pool)
{
	return worker_max_rss(pool->workers[POOL_ROOT]) + worker_max_rss(pool->workers[POOL_USERS]);
}

uint64_t pool_cpu_us(const struct pool *pool)
{
	return worker_cpu_us(pool->workers[POOL_ROOT]) + worker_cpu_us(pool->workers[POOL_USERS]);
}
