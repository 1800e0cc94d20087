/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the socket to the worker. A message is its length in 32 bits and so many bytes; descriptors come with
 * the length. One request is under way at a time, so whoever was being served when the worker died is known; all
 * others are asked of the next worker. A process that does not end when it is killed hangs in a system call that
 * somebody holds up: it is left alone and looked after now and then.
 *
 * Invariant: each request that was queued is answered exactly once, unless the whole is freed.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/fds.h"
#include "worker/confine.h"
#include "worker/spawner.h"

#define MESSAGE_MAX ((uint32_t)64 << 20)
#define WALL_FACTOR 4 /* wall time allowed for a request, in its CPU time: the machine may be busy */
#define END_MS 500    /* for a process that was killed to end: it has no more to do than that */
#define WAIT_MS 100

struct request {
	struct request *next;
	uint64_t user, maker;
	bool soon; /* those come first */
	worker_done *done;
	void *arg;
	int fds[WORKER_FDS];
	size_t fds_len;
	size_t len;
	char bytes[];
};

struct worker {
	struct worker_options options;
	pid_t pid; /* 0: none runs */
	int socket;
	bool tainted;               /* it has read something, */
	uint64_t maker;             /* of this user */
	pid_t killed[WORKER_STUCK]; /* and not waited for yet; 0: free */
	struct shares shares;
	struct request *first, **last; /* the first is under way if `sent` is not 0 */
	size_t sent;                   /* bytes of it, with its length */
	uint64_t begun_ns;             /* when its first bytes were sent */
	uint64_t begun_cpu_ns;         /* what the worker had used by then */
	struct buf reply;
	int fd;   /* that came with it; -1: none */
	int nice; /* as it was when this began: whoever restarts it may be in a hurry, it is not */
	unsigned int deaths, refused;
	uint64_t max_rss, cpu_us;
};

/* ---- the worker's end ---- */

static int read_exact(int socket, void *into, size_t len, int *fds, size_t *fds_len)
{
	while (len) {
		int got_fds[WORKER_FDS];
		size_t got_len = 0;
		ssize_t got = fds_receive(socket, into, len, got_fds, WORKER_FDS, &got_len);

		if (got <= 0)
			return -EPIPE;
		if (got_len && fds) {
			memcpy(fds, got_fds, got_len * sizeof(int));
			*fds_len = got_len;
		}
		into = (char *)into + got;
		len -= (size_t)got;
	}
	return 0;
}

static int write_exact(int socket, const void *from, size_t len, int fd)
{
	while (len) {
		ssize_t put = fds_send(socket, from, len, &fd, fd >= 0);

		if (put <= 0)
			return -EPIPE;
		from = (const char *)from + put;
		len -= (size_t)put;
		fd = -1;
	}
	return 0;
}

static int serve_one(const struct worker_options *options, int fd)
{
	autobuf struct buf reply = { 0 };
	int fds[WORKER_FDS] = { 0 }, err;
	autoclose int given = -1;
	size_t fds_len = 0;
	uint32_t len;
	char *request;

	err = read_exact(fd, &len, sizeof(len), fds, &fds_len);
	if (err || len > MESSAGE_MAX)
		return -EPIPE;
	request = malloc(len ? len : 1);
	if (!request)
		return -ENOMEM;
	err = read_exact(fd, request, len, NULL, NULL);
	err = err ? err : confine_cpu(options->cpu_seconds);
	buf_u32(&reply, 0);
	if (!err)
		options->serve(options->arg, request, len, fds, fds_len, &reply, &given);
	free(request);
	for (size_t i = 0; i < fds_len; i++)
		close(fds[i]);
	if (err || buf_error(&reply) || reply.len - sizeof(len) > MESSAGE_MAX)
		return -EPIPE;
	len = (uint32_t)(reply.len - sizeof(len));
	memcpy(reply.data, &len, sizeof(len));
	return write_exact(fd, reply.data, reply.len, given);
}

static void worker_main(const struct worker_options *options, int nice, int fd)
{
	setpriority(PRIO_PROCESS, 0, nice);
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the other one */
	signal(SIGTERM, SIG_IGN);
	if ((options->enter ? options->enter : confine)(fd, options->memory_bytes))
		_exit(1);
	while (!serve_one(options, fd))
		;
	_exit(0);
}

/* ---- our end ---- */

static void drop_fd(struct worker *worker)
{
	if (worker->fd >= 0)
		close(worker->fd);
	worker->fd = -1;
}

static pid_t fork_here(const struct worker *worker, int socket)
{
	pid_t pid = fork();

	if (!pid)
		worker_main(&worker->options, worker->nice, socket);
	return pid < 0 ? -errno : pid;
}

static int spawn(struct worker *worker)
{
	struct spawner *spawner = worker->options.spawner;
	pid_t pid = -EPIPE;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting the worker");
	if (spawner)
		pid = spawner_fork(spawner, worker_main, &worker->options, worker->nice, pair[1]);
	if (pid < 0) /* it can be done without */
		pid = fork_here(worker, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return fail(pid, "starting the worker");
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	worker->pid = pid;
	worker->socket = pair[0];
	worker->sent = 0;
	worker->tainted = false;
	buf_clear(&worker->reply);
	drop_fd(worker);
	return 0;
}

/* Adds up what a process used, if it has ended. */
static bool has_ended(struct worker *worker, pid_t pid)
{
	struct rusage usage;
	int status;

	if (wait4(pid, &status, WNOHANG, &usage) == 0)
		return false;
	if ((uint64_t)usage.ru_maxrss * 1024 > worker->max_rss)
		worker->max_rss = (uint64_t)usage.ru_maxrss * 1024;
	worker->cpu_us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	return true;
}

/* How many of those that were killed have not ended. */
static unsigned int look_after_killed(struct worker *worker)
{
	unsigned int left = 0;

	for (size_t i = 0; i < WORKER_STUCK; i++) {
		if (worker->killed[i] && has_ended(worker, worker->killed[i]))
			worker->killed[i] = 0;
		left += worker->killed[i] != 0;
	}
	return left;
}

/* They end at once, unless somebody holds them up: waits for that, but not for long. */
static unsigned int wait_for_killed(struct worker *worker, unsigned int most)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + END_MS * NS_PER_MS;
	unsigned int left = look_after_killed(worker);

	while (left > most && clock_ns(CLOCK_MONOTONIC) < until) {
		poll(NULL, 0, 1);
		left = look_after_killed(worker);
	}
	return left;
}

/* Ends the process, if it has not ended by itself. Nobody waits for its end: it may hang. */
static void reap(struct worker *worker)
{
	pid_t pid = worker->pid;

	if (!pid)
		return;
	close(worker->socket);
	worker->pid = 0;
	worker->socket = -1;
	worker->sent = 0;
	buf_clear(&worker->reply);
	drop_fd(worker);
	kill(pid, SIGKILL);
	for (size_t i = 0; i < WORKER_STUCK; i++)
		if (!worker->killed[i]) { /* there is room: none is started when there is not */
			worker->killed[i] = pid;
			return;
		}
}

void worker_stop(struct worker *worker)
{
	reap(worker);
	wait_for_killed(worker, 0);
}

int worker_start(struct worker **ret, const struct worker_options *options)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->options = *options;
	worker->nice = getpriority(PRIO_PROCESS, 0);
	worker->socket = -1;
	worker->fd = -1;
	worker->last = &worker->first;
	worker->shares.limits = options->limits;
	worker->shares.begun_ns = clock_ns(CLOCK_MONOTONIC);
	*ret = worker;
	return options->lazy ? 0 : spawn(worker);
}

static void drop_request(struct worker *worker)
{
	struct request *request = worker->first;

	worker->first = request->next;
	if (!worker->first)
		worker->last = &worker->first;
	for (size_t i = 0; i < request->fds_len; i++)
		close(request->fds[i]);
	free(request);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	worker_stop(worker);
	while (worker->first)
		drop_request(worker);
	drop_fd(worker);
	shares_free(&worker->shares);
	buf_free(&worker->reply);
	free(worker);
}

int worker_ask(struct worker *worker, const struct worker_request *asked)
{
	struct request *request;

	if (asked->len > MESSAGE_MAX || asked->fds_len > WORKER_FDS)
		return -E2BIG;
	request = calloc(1, sizeof(*request) + sizeof(uint32_t) + asked->len);
	if (!request)
		return -ENOMEM;
	*request = (struct request){ .user = asked->user,
				     .maker = asked->maker,
				     .soon = asked->soon,
				     .done = asked->done,
				     .arg = asked->arg,
				     .len = sizeof(uint32_t) + asked->len };
	for (size_t i = 0; i < asked->fds_len; i++) {
		request->fds[i] = fcntl(asked->fds[i], F_DUPFD_CLOEXEC, 3);
		if (request->fds[i] < 0) {
			int err = -errno;

			while (i--)
				close(request->fds[i]);
			free(request);
			return err;
		}
	}
	request->fds_len = asked->fds_len;
	memcpy(request->bytes, &(uint32_t){ (uint32_t)asked->len }, sizeof(uint32_t));
	memcpy(request->bytes + sizeof(uint32_t), asked->bytes, asked->len);
	*worker->last = request;
	worker->last = &request->next;
	return 0;
}

/*
 * Those that are wanted soon come first; then those of a user who has had less; then what the process serves already.
 */
static bool comes_before(const struct worker *worker, const struct request *a, const struct request *b)
{
	uint64_t a_used = shares_used(&worker->shares, a->user), b_used = shares_used(&worker->shares, b->user);

	if (a->soon != b->soon)
		return a->soon;
	if (a_used != b_used)
		return a_used < b_used;
	return worker->tainted && a->maker == worker->maker && b->maker != worker->maker;
}

/* Puts the request that is to be served next in the first place. */
static void choose(struct worker *worker)
{
	struct request **best = &worker->first, **at, *chosen;

	for (at = &worker->first; *at; at = &(*at)->next)
		if (comes_before(worker, *at, *best))
			best = at;
	chosen = *best;
	if (best == &worker->first)
		return;
	if (worker->last == &chosen->next)
		worker->last = best;
	*best = chosen->next;
	chosen->next = worker->first;
	worker->first = chosen;
}

/* Answers the first request and takes it off the queue. The callback may queue more. */
static void answer(struct worker *worker, int err, const void *reply, size_t len)
{
	struct request *request = worker->first;
	worker_done *done = request->done;
	void *arg = request->arg;

	worker->sent = 0;
	drop_request(worker);
	done(arg, err, reply, len);
}

/* The CPU time of the worker that runs. */
static uint64_t used_ns(const struct worker *worker)
{
	clockid_t clock;

	return worker->pid && !clock_getcpuclockid(worker->pid, &clock) ? clock_ns(clock) : 0;
}

uint64_t worker_took_ns(const struct worker *worker)
{
	uint64_t now = worker->options.by_wall ? clock_ns(CLOCK_MONOTONIC) : used_ns(worker);
	uint64_t begun = worker->options.by_wall ? worker->begun_ns : worker->begun_cpu_ns;

	return now > begun ? now - begun : 0;
}

/* The process died, or must: the request under way pays for it. */
static void replace(struct worker *worker, int err)
{
	bool under_way = worker->sent > 0;

	if (under_way)
		shares_charge(&worker->shares, worker->first->user, worker_took_ns(worker), true);
	reap(worker);
	worker->deaths++;
	if (under_way)
		answer(worker, err, NULL, 0);
}

/* Makes sure that a process is there for the first request. False if that one was answered instead. */
static bool get_ready(struct worker *worker)
{
	const struct request *request;
	int err = 0;

	choose(worker);
	request = worker->first;
	if (!shares_may(&worker->shares, request->user, clock_ns(CLOCK_MONOTONIC))) {
		worker->refused++;
		answer(worker, -EDQUOT, NULL, 0);
		return false;
	}
	if (worker->tainted && worker->maker != request->maker)
		reap(worker); /* what he wrote may have taken it over: nobody else is served by it */
	if (!worker->pid)
		err = wait_for_killed(worker, WORKER_STUCK - 1) >= WORKER_STUCK ? -EBUSY : spawn(worker);
	if (err) {
		answer(worker, err, NULL, 0);
		return false;
	}
	worker->tainted = true;
	worker->maker = request->maker;
	worker->begun_ns = clock_ns(CLOCK_MONOTONIC);
	worker->begun_cpu_ns = used_ns(worker);
	return true;
}

/* False when the socket takes no more for now. */
static bool send_some(struct worker *worker)
{
	const struct request *request = worker->first;
	size_t sent = worker->sent;
	ssize_t put; /* descriptors go with the first bytes */

	put = fds_send(worker->socket, request->bytes + sent, request->len - sent, request->fds,
		       sent ? 0 : request->fds_len);
	if (put <= 0)
		return false; /* full; or the worker is gone, which receiving will find out */
	worker->sent += (size_t)put;
	return true;
}

/* -EAGAIN when there is nothing for now, -EPIPE when the worker is gone. */
static int receive_some(struct worker *worker)
{
	char bytes[65536];
	int fds[WORKER_FDS];
	size_t fds_len = 0;
	ssize_t got = worker->pid ? fds_receive(worker->socket, bytes, sizeof(bytes), fds, WORKER_FDS, &fds_len) : -1;

	if (!worker->pid)
		return -EAGAIN;
	for (size_t i = 0; i < fds_len; i++) {
		drop_fd(worker);
		worker->fd = fds[i];
	}
	if (got == 0)
		return -EPIPE;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	buf_add(&worker->reply, bytes, (size_t)got);
	return buf_error(&worker->reply);
}

static uint64_t deadline(const struct worker *worker)
{
	uint64_t wall = worker->options.wall_ns;

	return worker->begun_ns + (wall ? wall : worker->options.cpu_seconds * WALL_FACTOR * NS_PER_SEC);
}

/* Hands the answer over if all of it is there. */
static bool take_reply(struct worker *worker)
{
	struct buf reply = worker->reply;
	uint32_t len;

	if (reply.len < sizeof(len))
		return false;
	memcpy(&len, reply.data, sizeof(len));
	if (len > MESSAGE_MAX || !worker->sent) { /* it has gone mad */
		replace(worker, -EPIPE);
		return true;
	}
	if (reply.len - sizeof(len) < len)
		return false;
	worker->reply = (struct buf){ 0 };
	shares_charge(&worker->shares, worker->first->user, worker_took_ns(worker), false);
	answer(worker, 0, reply.data + sizeof(len), len);
	drop_fd(worker);
	buf_free(&reply);
	return true;
}

static int pump_once(struct worker *worker)
{
	int err;

	look_after_killed(worker);
	if (worker->first && !worker->sent && !get_ready(worker))
		return 0;
	while (worker->first && worker->sent < worker->first->len && send_some(worker))
		;
	err = receive_some(worker);
	if (err == -EPIPE) {
		replace(worker, -EPIPE);
		if (!worker->pid && !worker->options.lazy && look_after_killed(worker) < WORKER_STUCK)
			spawn(worker); /* if it cannot be had now, the next request tries again */
		return 0;
	}
	if (err && err != -EAGAIN)
		return err;
	if (take_reply(worker))
		return 0;
	if (worker->sent && clock_ns(CLOCK_MONOTONIC) > deadline(worker)) {
		replace(worker, -ETIME);
		return 0;
	}
	return err;
}

int worker_pump(struct worker *worker, bool wait)
{
	for (;;) {
		struct pollfd ready = { .fd = worker->socket, .events = POLLIN };
		int err = pump_once(worker);

		if (err && err != -EAGAIN)
			return err;
		if (err != -EAGAIN)
			continue;
		if (!worker->first || !wait)
			return 0;
		if (worker->sent < worker->first->len)
			ready.events |= POLLOUT;
		poll(&ready, 1, WAIT_MS);
	}
}

void worker_cancel(struct worker *worker)
{
	if (worker->sent)
		replace(worker, -ECANCELED);
	while (worker->first)
		answer(worker, -ECANCELED, NULL, 0);
}

bool worker_idle(const struct worker *worker)
{
	return !worker->first;
}

int worker_poll_fd(const struct worker *worker)
{
	return worker->socket;
}

short worker_poll_events(const struct worker *worker)
{
	return worker->first && worker->sent < worker->first->len ? POLLIN | POLLOUT : POLLIN;
}

int worker_timeout(const struct worker *worker)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), end = deadline(worker);

	if (!worker->first || !worker->sent)
		return worker->first ? 0 : INT_MAX;
	return end > now ? (int)((end - now) / NS_PER_MS) + 1 : 0;
}

int worker_take_fd(struct worker *worker)
{
	int fd = worker->fd;

	worker->fd = -1;
	return fd;
}

bool worker_was_stuck(const struct worker *worker, uint64_t user)
{
	return shares_died(&worker->shares, user);
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->pid;
}

unsigned int worker_deaths(const struct worker *worker)
{
	return worker->deaths;
}

unsigned int worker_stuck(const struct worker *worker)
{
	unsigned int stuck = 0;

	for (size_t i = 0; i < WORKER_STUCK; i++)
		stuck += worker->killed[i] != 0;
	return stuck;
}

unsigned int worker_refused(const struct worker *worker)
{
	return worker->refused;
}

uint64_t worker_max_rss(const struct worker *worker)
{
	return worker->max_rss;
}

uint64_t worker_cpu_us(const struct worker *worker)
{
	return worker->cpu_us + used_ns(worker) / NS_PER_US;
}
