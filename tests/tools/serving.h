/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the worker's code about a file, as wick does: in a process of its own, confined as the worker is and with its
 * limits, that gets the file as a descriptor when it can open none any more. What it cost and how it ended is told.
 */
#ifndef WICK_TESTS_TOOLS_SERVING_H
#define WICK_TESTS_TOOLS_SERVING_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fds.h"
#include "worker/confine.h"
#include "worker/protocol.h"
#include "worker/serve.h"

#define SERVING_MEMORY ((uint64_t)512 << 20)
#define SERVING_SECONDS 10
#define SERVING_ADDRESSES 512

/* How it went: what the worker's code has answered, or what it died of. */
struct serving {
	bool answered;
	char reason[48]; /* why there are no names or rows; "-": there are */
	uint64_t cpu_ns;
	uint64_t bytes; /* of the answer */
	int signal;     /* that ended it; 0: none, see status */
	int status;
	uint64_t rss; /* the most memory that it had, with files that it mapped; 0 where a sanitizer has its own */
};

/* What is asked: names at places all over the file, its rows, or its build id. */
static const struct serving_kind {
	const char *name;
	struct ask ask;
} serving_kinds[] = {
	{ "identify", { .kind = ASK_IDENTIFY } },
	{ "rows", { .kind = ASK_ROWS, .last = true } },
	{ "names", { .kind = ASK_NAMES, .last = true } },
	{ "lines", { .kind = ASK_NAMES, .last = true, .inlines = true, .lines = true, .demangle = DEMANGLE_FULL } },
	{ "jit", { .kind = ASK_JIT } },
};

#define SERVING_KINDS (sizeof(serving_kinds) / sizeof(*serving_kinds))

static inline const struct serving_kind *serving_kind(const char *name)
{
	for (size_t i = 0; i < SERVING_KINDS; i++)
		if (!strcmp(name, serving_kinds[i].name))
			return &serving_kinds[i];
	return NULL;
}

/* The request for a file of so many bytes. */
static inline void serving_request(const struct serving_kind *kind, uint64_t size, struct buf *out)
{
	uint64_t addresses[SERVING_ADDRESSES];
	struct ask ask = kind->ask;

	for (uint64_t i = 0; i < SERVING_ADDRESSES; i++)
		addresses[i] = size / SERVING_ADDRESSES * i + i % 16;
	ask.file = "file";
	ask.file_len = 4;
	ask.addresses = addresses;
	ask.addresses_len = ask.kind == ASK_NAMES || ask.kind == ASK_JIT ? SERVING_ADDRESSES : 0;
	ask_write(&ask, out);
}

static inline void serving_send(int socket, int fd)
{
	if (fds_send(socket, "f", 1, &fd, 1) != 1)
		perror("sendmsg");
}

static inline int serving_receive(int socket)
{
	size_t fds_len;
	char byte;
	int fd;

	return fds_receive(socket, &byte, 1, &fd, 1, &fds_len) == 1 && fds_len ? fd : -1;
}

static inline void serving_judge(const struct buf *reply, struct serving *ret)
{
	struct answer_reader reader;
	enum answer_kind kind;
	const char *reason = "";
	size_t len = 0;

	if (!reply->len || answer_open(&reader, reply->data, reply->len, &kind))
		return;
	ret->answered = true;
	ret->bytes = reply->len;
	if (kind == ANSWER_NAMES || kind == ANSWER_NO_ROWS)
		answer_read_reason(&reader, &reason, &len);
	snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)len, len ? reason : "");
	if (!len)
		strcpy(ret->reason, "-");
	answer_close(&reader);
}

/* The process: as in worker/worker.c. */
static inline void serving_child(int socket, const struct buf *request)
{
	struct serving result = { 0 };
	struct buf reply = { 0 };
	uint64_t begun;
	int fd, none = -1;

	if (confine(socket, SERVING_MEMORY) || (fd = serving_receive(socket)) < 0 || confine_cpu(SERVING_SECONDS))
		_exit(3);
	/* Of the thread: with a limit on its time, the clock of the process moves with the ticks only. */
	begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	serve(NULL, request->data, request->len, &fd, 1, &reply, &none);
	result.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	serving_judge(&reply, &result);
	_exit(write(socket, &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 3);
}

static inline int serving_ask(const struct buf *request, int fd, struct serving *ret)
{
	struct rusage usage;
	int pair[2], status;
	ssize_t got;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (!pid)
		serving_child(pair[1], request);
	close(pair[1]);
	if (pid > 0)
		serving_send(pair[0], fd);
	memset(ret, 0, sizeof(*ret));
	got = pid > 0 ? recv(pair[0], ret, sizeof(*ret), MSG_WAITALL) : -1;
	close(pair[0]);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return -errno;
	if (got != (ssize_t)sizeof(*ret))
		*ret = (struct serving){
			.cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
				  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US
		};
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
#ifndef __SANITIZE_ADDRESS__
	ret->rss = (uint64_t)usage.ru_maxrss * 1024;
#endif
	return 0;
}

#endif
