/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions go to one of two processes of worker/worker.h. One that was held up in the first is asked again in the
 * second, which has more time; from then on all questions of its user go there, so that nobody else waits for him. One
 * that could only be answered by way of a process that is not root's is asked there too.
 *
 * Invariant: each question is answered once; copies are within COPIES_BYTES, and those of a user within a part of that.
 */
#include "collect/helpers.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/files.h"
#include "collect/sampler.h"
#include "worker/confine.h"
#include "worker/worker.h"

#define PLAIN_NS (1 * NS_PER_SEC) /* for one question */
#define SUSPECT_NS (2 * NS_PER_SEC)
#define USER_NS (6 * NS_PER_SEC) /* for all questions of a user, and a part of the time since */
#define USER_PERMILLE 50
#define USER_STUCK 2
#define CPU_SECONDS 10
#define QUESTIONS_MAX 4096
#define COPY_BYTES ((uint64_t)64 << 20)
#define COPIES_BYTES ((uint64_t)192 << 20)

enum lane {
	LANE_PLAIN = 0,
	LANE_SUSPECT,
};

struct question {
	struct helpers *helpers;
	enum lane lane;
	struct helper_request request;
};

struct helpers {
	struct worker *lanes[HELPERS];
	struct map copies; /* user → bytes of the copies that are kept for him */
	uint64_t copied;
	uint64_t stuck;
	size_t questions; /* that wait */
};

/* It does little, and a file may be gone if it comes late. Whoever was asked to be modest is. */
static int enter(int socket, uint64_t memory_bytes)
{
	if (!getpriority(PRIO_PROCESS, 0))
		setpriority(PRIO_PROCESS, 0, PRIO_MIN);
	return confine_helper(socket, memory_bytes);
}

int helpers_start(struct helpers **ret, struct spawner *spawner)
{
	static const uint64_t times[HELPERS] = { [LANE_PLAIN] = PLAIN_NS, [LANE_SUSPECT] = SUSPECT_NS };
	struct helpers *helpers = calloc(1, sizeof(*helpers));
	int err = helpers ? 0 : -ENOMEM;

	*ret = helpers;
	for (int i = 0; i < HELPERS && !err; i++)
		err = worker_start(&helpers->lanes[i], &(struct worker_options){
							       .serve = files_serve,
							       .spawner = spawner,
							       .enter = enter,
							       .cpu_seconds = CPU_SECONDS,
							       .wall_ns = times[i],
							       .by_wall = true,
							       .lazy = i != LANE_PLAIN,
							       .limits = { USER_NS, USER_PERMILLE, USER_STUCK },
						       });
	return err;
}

void helpers_free(struct helpers *helpers)
{
	if (!helpers)
		return;
	for (int i = 0; i < HELPERS; i++)
		worker_free(helpers->lanes[i]);
	map_free(&helpers->copies);
	free(helpers);
}

bool helpers_is_plain(const struct wire_place *place)
{
	return !place->level && files_is_local(place->magic);
}

/* ---- copies ---- */

/* How large one more copy for a user may be. */
static uint64_t copy_room(const struct helpers *helpers, uint64_t user)
{
	const uint64_t *own = map_get(&helpers->copies, user);
	uint64_t left = helpers->copied < COPIES_BYTES ? COPIES_BYTES - helpers->copied : 0;
	uint64_t own_left = own && *own < COPY_BYTES ? COPY_BYTES - *own : own ? 0 : COPY_BYTES;

	return left < own_left ? left : own_left;
}

static void copy_kept(struct helpers *helpers, uint64_t user, uint64_t bytes)
{
	uint64_t *own = map_put(&helpers->copies, user);

	helpers->copied += bytes;
	if (own)
		*own += bytes;
}

void helpers_copy_closed(struct helpers *helpers, uint64_t user, uint64_t bytes)
{
	uint64_t *own = map_get(&helpers->copies, user);

	helpers->copied -= bytes < helpers->copied ? bytes : helpers->copied;
	if (own)
		*own -= bytes < *own ? bytes : *own;
}

/* ---- questions ---- */

static int ask_lane(struct question *question);

static void give(struct question *question, const struct opened *opened, int fd, const char *text, size_t len)
{
	if (fd >= 0 && opened->copied)
		copy_kept(question->helpers, question->request.user, opened->size);
	question->helpers->questions--;
	question->request.done(question->request.arg, opened, fd, text, len);
	free(question);
}

static void answered(void *arg, int err, const void *reply, size_t len)
{
	struct question *question = arg;
	struct opened opened = { 0 };
	int fd = err ? -1 : worker_take_fd(question->helpers->lanes[question->lane]);

	if (err == -ETIME || err == -EPIPE)
		question->helpers->stuck++;
	if (!err && len >= sizeof(opened))
		memcpy(&opened, reply, sizeof(opened));
	else
		opened.err = err == -EDQUOT || err == -ECANCELED || err == -ENOMEM ? err : -ETIMEDOUT;
	if (question->lane == LANE_PLAIN && (err == -ETIME || opened.err == -EAGAIN)) {
		question->lane = LANE_SUSPECT;
		if (!ask_lane(question))
			return;
	}
	if (!opened.err && fd < 0 && question->request.opening.kind != OPENING_MAPS) {
		files_raise_limit(); /* it came, and there was no room for it */
		opened.err = -EMFILE;
	}
	give(question, &opened, fd, opened.err ? NULL : (const char *)reply + sizeof(opened),
	     opened.err ? 0 : len - sizeof(opened));
}

static int ask_lane(struct question *question)
{
	const struct helper_request *request = &question->request;
	const int fds[] = { sampler_look_program(request->sampler), sampler_map_fd(request->sampler, SAMPLER_LOOKS) };

	question->request.opening.aloof = question->lane == LANE_PLAIN && request->user != WIRE_USER_ROOT;
	question->request.opening.asker = (uint8_t)(WIRE_ASKER_HELPER + question->lane);
	question->request.opening.copy_max = copy_room(question->helpers, request->user);
	return worker_ask(question->helpers->lanes[question->lane],
			  &(struct worker_request){
				  .bytes = &request->opening,
				  .len = offsetof(struct opening, path) +
					 strnlen(request->opening.path, sizeof(request->opening.path) - 1) + 1,
				  .fds = fds,
				  .fds_len = 2,
				  .user = request->user,
				  .done = answered,
				  .arg = question,
			  });
}

int helpers_ask(struct helpers *helpers, const struct helper_request *request)
{
	struct question *question = helpers->questions < QUESTIONS_MAX ? malloc(sizeof(*question)) : NULL;
	bool plain = request->plain && !worker_was_stuck(helpers->lanes[LANE_PLAIN], request->user) &&
		     !worker_was_stuck(helpers->lanes[LANE_SUSPECT], request->user);
	int err;

	if (!question)
		return -ENOMEM;
	*question = (struct question){ helpers, plain ? LANE_PLAIN : LANE_SUSPECT, *request };
	err = ask_lane(question);
	if (err)
		free(question);
	helpers->questions += !err;
	return err;
}

/* ---- all of them ---- */

int helpers_pump(struct helpers *helpers)
{
	int err = 0;

	for (int i = 0; i < HELPERS && !err; i++)
		err = worker_pump(helpers->lanes[i], false);
	return err;
}

void helpers_cancel(struct helpers *helpers, bool users)
{
	for (int i = users ? LANE_SUSPECT : 0; i < HELPERS; i++)
		worker_cancel(helpers->lanes[i]);
}

bool helpers_idle(const struct helpers *helpers)
{
	for (int i = 0; i < HELPERS; i++)
		if (!worker_idle(helpers->lanes[i]))
			return false;
	return true;
}

void helpers_poll(const struct helpers *helpers, struct pollfd *list)
{
	for (int i = 0; i < HELPERS; i++)
		list[i] = (struct pollfd){ .fd = worker_poll_fd(helpers->lanes[i]),
					   .events = worker_poll_events(helpers->lanes[i]) };
}

int helpers_timeout(const struct helpers *helpers)
{
	int first = worker_timeout(helpers->lanes[LANE_PLAIN]), second = worker_timeout(helpers->lanes[LANE_SUSPECT]);

	return first < second ? first : second;
}

void helpers_pids(const struct helpers *helpers, uint32_t ret[HELPERS])
{
	for (int i = 0; i < HELPERS; i++)
		ret[i] = (uint32_t)worker_pid(helpers->lanes[i]);
}

void helpers_stop(struct helpers *helpers)
{
	for (int i = 0; i < HELPERS; i++)
		worker_stop(helpers->lanes[i]);
}

void helpers_stats(const struct helpers *helpers, struct helpers_stats *ret)
{
	*ret = (struct helpers_stats){ .stuck = helpers->stuck };
	for (int i = 0; i < HELPERS; i++) {
		ret->refused += worker_refused(helpers->lanes[i]);
		ret->hanging += worker_stuck(helpers->lanes[i]);
		ret->max_rss += worker_max_rss(helpers->lanes[i]);
		ret->cpu_us += worker_cpu_us(helpers->lanes[i]);
	}
}
