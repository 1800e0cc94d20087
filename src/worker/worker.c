/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the socket to the worker. A message is its length in 32 bits and so many bytes; descriptors come with
 * the length. One request is under way at a time, so whoever was being served when the worker died is known; all
 * others are asked of the next worker.
 *
 * Invariant: each request that was queued is answered exactly once, unless the whole is freed.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "worker/confine.h"

#define MESSAGE_MAX ((uint32_t)64 << 20)
#define WALL_FACTOR 4 /* wall time allowed for a request, in its CPU time: the machine may be busy */
#define DEATHS_MAX 1000

struct request {
	struct request *next;
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
	struct request *first, **last; /* the first is under way if `sent` is not 0 */
	size_t sent;                   /* bytes of it, with its length */
	uint64_t begun_ns;             /* when its first bytes were sent */
	uint64_t begun_cpu_ns;         /* what the worker had used by then */
	struct buf reply;
	int nice; /* as it was when this began: whoever restarts it may be in a hurry, it is not */
	unsigned int deaths;
	uint64_t max_rss, cpu_us;
};

/* ---- the worker's end ---- */

static int read_exact(int fd, void *into, size_t len, int *fds, size_t *fds_len)
{
	while (len) {
		union {
			char bytes[CMSG_SPACE(sizeof(int) * WORKER_FDS)];
			struct cmsghdr align;
		} control;
		struct iovec part = { into, len };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control.bytes,
					  .msg_controllen = sizeof(control) };
		ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
		struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

		if (got <= 0)
			return -EPIPE;
		if (head && head->cmsg_type == SCM_RIGHTS && fds) {
			*fds_len = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(head), *fds_len * sizeof(int));
		}
		into = (char *)into + got;
		len -= (size_t)got;
	}
	return 0;
}

static int write_exact(int fd, const void *from, size_t len)
{
	while (len) {
		ssize_t put = write(fd, from, len);

		if (put <= 0)
			return -EPIPE;
		from = (const char *)from + put;
		len -= (size_t)put;
	}
	return 0;
}

static int serve_one(const struct worker_options *options, int fd)
{
	autobuf struct buf reply = { 0 };
	int fds[WORKER_FDS] = { 0 }, err;
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
		options->serve(options->arg, request, len, fds, fds_len, &reply);
	free(request);
	for (size_t i = 0; i < fds_len; i++)
		close(fds[i]);
	if (err || buf_error(&reply) || reply.len - sizeof(len) > MESSAGE_MAX)
		return -EPIPE;
	len = (uint32_t)(reply.len - sizeof(len));
	memcpy(reply.data, &len, sizeof(len));
	return write_exact(fd, reply.data, reply.len);
}

static void worker_main(const struct worker_options *options, int nice, int fd)
{
	setpriority(PRIO_PROCESS, 0, nice);
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the other one */
	signal(SIGTERM, SIG_IGN);
	if (confine(fd, options->memory_bytes))
		_exit(1);
	while (!serve_one(options, fd))
		;
	_exit(0);
}

/* ---- our end ---- */

static int spawn(struct worker *worker)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting the worker");
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return fail(-errno, "starting the worker");
	}
	if (!pid)
		worker_main(&worker->options, worker->nice, pair[1]);
	close(pair[1]);
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	worker->pid = pid;
	worker->socket = pair[0];
	worker->sent = 0;
	buf_clear(&worker->reply);
	return 0;
}

/* Ends the process, if it has not ended by itself, and adds up what it used. */
static void reap(struct worker *worker)
{
	struct rusage usage;
	int status;

	if (!worker->pid)
		return;
	close(worker->socket);
	kill(worker->pid, SIGKILL);
	while (wait4(worker->pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	worker->pid = 0;
	worker->socket = -1;
	if ((uint64_t)usage.ru_maxrss * 1024 > worker->max_rss)
		worker->max_rss = (uint64_t)usage.ru_maxrss * 1024;
	worker->cpu_us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void worker_stop(struct worker *worker)
{
	reap(worker);
}

int worker_start(struct worker **ret, const struct worker_options *options)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->options = *options;
	worker->nice = getpriority(PRIO_PROCESS, 0);
	worker->socket = -1;
	worker->last = &worker->first;
	*ret = worker;
	return spawn(worker);
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
	reap(worker);
	while (worker->first)
		drop_request(worker);
	buf_free(&worker->reply);
	free(worker);
}

/* Behind those that come before it, and behind the one under way. */
static void enqueue(struct worker *worker, struct request *request)
{
	struct request **at = worker->last;

	if (request->soon) {
		at = &worker->first;
		if (*at && worker->sent)
			at = &(*at)->next;
		while (*at && (*at)->soon)
			at = &(*at)->next;
	}
	request->next = *at;
	*at = request;
	if (!request->next)
		worker->last = &request->next;
}

static int ask(struct worker *worker, const void *bytes, size_t len, const int *fds, size_t fds_len,
	       const struct request *how)
{
	struct request *request;

	if (len > MESSAGE_MAX || fds_len > WORKER_FDS)
		return -E2BIG;
	request = calloc(1, sizeof(*request) + sizeof(uint32_t) + len);
	if (!request)
		return -ENOMEM;
	*request = *how;
	for (size_t i = 0; i < fds_len; i++) {
		request->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (request->fds[i] < 0) {
			int err = -errno;

			while (i--)
				close(request->fds[i]);
			free(request);
			return err;
		}
	}
	request->fds_len = fds_len;
	request->len = sizeof(uint32_t) + len;
	memcpy(request->bytes, &(uint32_t){ (uint32_t)len }, sizeof(uint32_t));
	memcpy(request->bytes + sizeof(uint32_t), bytes, len);
	enqueue(worker, request);
	return 0;
}

int worker_ask(struct worker *worker, const void *bytes, size_t len, const int *fds, size_t fds_len, worker_done *done,
	       void *arg)
{
	return ask(worker, bytes, len, fds, fds_len, &(struct request){ .done = done, .arg = arg });
}

int worker_ask_soon(struct worker *worker, const void *bytes, size_t len, const int *fds, size_t fds_len,
		    worker_done *done, void *arg)
{
	return ask(worker, bytes, len, fds, fds_len, &(struct request){ .soon = true, .done = done, .arg = arg });
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

/* The worker died, or must: the request under way pays for it. */
static int replace(struct worker *worker, int err)
{
	bool under_way = worker->sent > 0;

	reap(worker);
	worker->deaths++;
	if (under_way)
		answer(worker, err, NULL, 0);
	return worker->deaths > DEATHS_MAX ? fail_plain(-ECHILD, "the worker died %u times", worker->deaths)
					   : spawn(worker);
}

/* The CPU time of the worker that runs. */
static uint64_t used_ns(const struct worker *worker)
{
	clockid_t clock;

	return worker->pid && !clock_getcpuclockid(worker->pid, &clock) ? clock_ns(clock) : 0;
}

/* False when the socket takes no more for now. */
static bool send_some(struct worker *worker)
{
	struct request *request = worker->first;
	union {
		char bytes[CMSG_SPACE(sizeof(int) * WORKER_FDS)];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { request->bytes + worker->sent, request->len - worker->sent };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t put;

	if (!worker->sent && request->fds_len) { /* they go with the first bytes */
		struct cmsghdr *head;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * request->fds_len);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * request->fds_len);
		memcpy(CMSG_DATA(head), request->fds, sizeof(int) * request->fds_len);
	}
	if (!worker->sent) {
		worker->begun_ns = clock_ns(CLOCK_MONOTONIC);
		worker->begun_cpu_ns = used_ns(worker);
	}
	put = sendmsg(worker->socket, &message, MSG_NOSIGNAL);
	if (put <= 0)
		return false; /* full; or the worker is gone, which receiving will find out */
	worker->sent += (size_t)put;
	return true;
}

/* -EAGAIN when there is nothing for now, -EPIPE when the worker is gone. */
static int receive_some(struct worker *worker)
{
	char bytes[65536];
	ssize_t got = recv(worker->socket, bytes, sizeof(bytes), 0);

	if (got == 0)
		return -EPIPE;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	buf_add(&worker->reply, bytes, (size_t)got);
	return buf_error(&worker->reply);
}

static int pump_once(struct worker *worker)
{
	uint32_t len;
	int err;

	while (worker->first && worker->sent < worker->first->len && send_some(worker))
		;
	err = receive_some(worker);
	if (err == -EPIPE)
		return replace(worker, -EPIPE);
	if (err && err != -EAGAIN)
		return err;
	if (worker->reply.len >= sizeof(len)) {
		memcpy(&len, worker->reply.data, sizeof(len));
		if (len > MESSAGE_MAX || !worker->sent) /* it has gone mad */
			return replace(worker, -EPIPE);
		if (worker->reply.len - sizeof(len) >= len) {
			struct buf reply = worker->reply;

			worker->reply = (struct buf){ 0 };
			answer(worker, 0, reply.data + sizeof(len), len);
			buf_free(&reply);
			return 0;
		}
	}
	if (worker->sent &&
	    clock_ns(CLOCK_MONOTONIC) > worker->begun_ns + worker->options.cpu_seconds * WALL_FACTOR * NS_PER_SEC)
		return replace(worker, -ETIME);
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
		poll(&ready, 1, 100);
	}
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

uint64_t worker_took_ns(const struct worker *worker)
{
	uint64_t now = used_ns(worker);

	return now > worker->begun_cpu_ns ? now - worker->begun_cpu_ns : 0;
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->pid;
}

unsigned int worker_deaths(const struct worker *worker)
{
	return worker->deaths;
}

uint64_t worker_max_rss(const struct worker *worker)
{
	return worker->max_rss;
}

uint64_t worker_cpu_us(const struct worker *worker)
{
	return worker->cpu_us + used_ns(worker) / NS_PER_US;
}
