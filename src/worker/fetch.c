/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the socket to the process that asks debuginfod servers. One question is under way at a time: a build id
 * goes there, an open file or an error comes back. The process is another user without capabilities and has a folder of
 * its own, which it removes; libdebuginfod is loaded there and nowhere else. Invariant: whatever a server does, wick
 * waits so long and no longer, and what it gets is a regular file.
 */
#include "worker/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/fds.h"
#include "base/text.h"
#include "worker/confine.h"

#define LIBRARY "libdebuginfod.so.1"
#define ID_MAX 64
#define FILE_SECONDS "60"           /* as DEBUGINFOD_MAXTIME, unless that is set */
#define ANSWER_NS (90 * NS_PER_SEC) /* until the process is taken for hung */
#define STOP_NS (2 * NS_PER_SEC)
#define ALL_NS (300 * NS_PER_SEC)      /* for all files together */
#define FILE_BYTES ((uint64_t)2 << 30) /* of one file, unless DEBUGINFOD_MAXSIZE is less */
#define MEMORY_BYTES ((uint64_t)256 << 20)

struct hello {
	int32_t err;
	char folder[128]; /* where it keeps files for a moment */
};

struct question {
	uint32_t len;
	unsigned char id[ID_MAX];
};

struct fetch {
	pid_t pid; /* 0: it has been ended */
	int socket;
	char folder[128];
	uint64_t used_ns, failed;
};

/* ---- the process's end ---- */

struct library {
	void *client;
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *id, int len, char **ret_path);
	void (*set_progress)(void *client, int (*progress)(void *client, long done, long all));
	void (*end)(void *client);
};

static volatile sig_atomic_t told_to_stop;

static void on_stop(int signal)
{
	(void)signal;
	told_to_stop = 1;
}

#ifdef WICK_STATIC
static int load(struct library *ret)
{
	(void)ret;
	return -ENOSYS;
}
#else
static int progress(void *client, long done, long all)
{
	(void)client;
	(void)done;
	(void)all;
	return told_to_stop;
}

static int load(struct library *ret)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return -ENOTSUP;
	*(void **)&ret->begin = dlsym(handle, "debuginfod_begin");
	*(void **)&ret->find = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&ret->set_progress = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&ret->end = dlsym(handle, "debuginfod_end");
	if (!ret->begin || !ret->find || !ret->set_progress || !ret->end)
		return -ENOTSUP;
	ret->client = ret->begin();
	if (!ret->client)
		return -ENOTSUP;
	ret->set_progress(ret->client, progress);
	return 0;
}
#endif

/* A folder that is this user's alone. */
static int make_folder(char *ret, size_t size)
{
	const char *places[] = { getenv("TMPDIR"), "/tmp", "/var/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i] && (size_t)snprintf(ret, size, "%s/wick-debuginfod.XXXXXX", places[i]) < size &&
		    mkdtemp(ret))
			return 0;
	*ret = 0;
	return -errno;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
	(void)stat;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

static void remove_folder(const char *folder)
{
	if (*folder)
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int set_limits(void)
{
	const char *most = getenv("DEBUGINFOD_MAXSIZE");
	struct rlimit size = { FILE_BYTES, FILE_BYTES }, core = { 0, 0 };
	uint64_t bytes;

	if (most && !text_u64(most, &bytes) && bytes && bytes < FILE_BYTES)
		size.rlim_cur = size.rlim_max = bytes;
	signal(SIGXFSZ, SIG_IGN); /* writing fails instead */
	if (setrlimit(RLIMIT_FSIZE, &size) || setrlimit(RLIMIT_CORE, &core))
		return -errno;
#ifndef __SANITIZE_ADDRESS__
	if (setrlimit(RLIMIT_DATA, &(struct rlimit){ MEMORY_BYTES, MEMORY_BYTES }))
		return -errno;
#endif
	return 0;
}

/* Nothing is kept between runs, and nothing is said: that is left to wick. */
static int prepare(struct library *library, struct hello *hello)
{
	int err = set_limits();

	err = err ? err : make_folder(hello->folder, sizeof(hello->folder));
	if (err)
		return err;
	setenv("DEBUGINFOD_CACHE_PATH", hello->folder, 1);
	setenv("DEBUGINFOD_MAXTIME", FILE_SECONDS, 0);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
	return load(library);
}

static bool send_answer(int socket, int32_t err, int fd)
{
	return fds_send(socket, &err, sizeof(err), &fd, fd >= 0) == sizeof(err);
}

static bool answer_one(const struct library *library, int socket)
{
	struct question question;
	char *path = NULL;
	bool sent;
	int fd;

	if (recv(socket, &question, sizeof(question), 0) != sizeof(question) || question.len > ID_MAX)
		return false;
	fd = library->find(library->client, question.id, (int)question.len, &path);
	if (path)
		unlink(path);
	free(path);
	sent = send_answer(socket, fd < 0 ? fd : 0, fd);
	if (fd >= 0)
		close(fd);
	return sent && !told_to_stop;
}

static void fetch_main(int socket)
{
	struct hello hello = { 0 };
	struct library library = { 0 };

	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the other one */
	signal(SIGTERM, on_stop);
	hello.err = confine_user(socket, "wick-fetch", SIGTERM, 0);
	if (!hello.err)
		hello.err = prepare(&library, &hello);
	if (send(socket, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello) && !hello.err)
		while (answer_one(&library, socket))
			;
	if (library.client)
		library.end(library.client);
	remove_folder(hello.folder);
	_exit(0);
}

/* ---- our end ---- */

/* So many bytes within so much time, and a descriptor if one came with them. */
static int receive(const struct fetch *fetch, void *into, size_t len, uint64_t wait_ns, int *ret_fd)
{
	struct pollfd ready = { .fd = fetch->socket, .events = POLLIN };
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + wait_ns, now;
	size_t fds_len;
	int got = 0;

	while (!got && (now = clock_ns(CLOCK_MONOTONIC)) < end) {
		got = poll(&ready, 1, (int)((end - now) / NS_PER_MS) + 1);
		got = got < 0 && errno == EINTR ? 0 : got;
	}
	if (got <= 0)
		return got ? -errno : -ETIME;
	return fds_receive(fetch->socket, into, len, ret_fd, 1, &fds_len) == (ssize_t)len ? 0 : -EPIPE;
}

static bool ends_within(pid_t pid, uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + ns;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (clock_ns(CLOCK_MONOTONIC) >= until)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

/* It may hang, and then not have cleared up: someone of the same rights does that. */
static void stop(struct fetch *fetch, bool hangs)
{
	pid_t cleaner, pid = fetch->pid;

	if (!fetch->pid)
		return;
	close(fetch->socket);
	hangs = hangs || !ends_within(pid, STOP_NS);
	if (hangs)
		kill(pid, SIGKILL);
	ends_within(pid, STOP_NS); /* or is left to itself */
	fetch->pid = 0;
	cleaner = hangs && *fetch->folder ? fork() : -1;
	if (!cleaner) {
		if (!confine_user(STDERR_FILENO, "wick-fetch", SIGKILL, pid))
			remove_folder(fetch->folder);
		_exit(0);
	}
	if (cleaner > 0 && !ends_within(cleaner, STOP_NS))
		kill(cleaner, SIGKILL);
}

static int start(struct fetch *fetch)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting the process that asks debuginfod");
	fetch->pid = fork();
	if (!fetch->pid)
		fetch_main(pair[1]);
	close(pair[1]);
	fetch->socket = pair[0];
	if (fetch->pid > 0)
		return 0;
	fetch->pid = 0;
	close(pair[0]);
	return fail(-errno, "starting the process that asks debuginfod");
}

static int greet(struct fetch *fetch)
{
	struct hello hello = { 0 };
	int fd = -1, err = receive(fetch, &hello, sizeof(hello), ANSWER_NS, &fd);

	if (fd >= 0)
		close(fd);
	memcpy(fetch->folder, hello.folder, sizeof(fetch->folder) - 1);
	err = err ? err : hello.err;
	if (err == -ENOTSUP) {
		fail_plain(-ENOTSUP, "--debuginfod: %s is not there", LIBRARY);
		return fail_hint(-ENOTSUP, "install it, in Debian as libdebuginfod1");
	}
	if (err == -ENOSYS) {
		fail_plain(-ENOTSUP, "--debuginfod: a wick that is linked statically cannot load %s", LIBRARY);
		return fail_hint(-ENOTSUP, "use one that is not");
	}
	return err ? fail(err, "--debuginfod") : 0;
}

int fetch_start(struct fetch **ret)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct fetch *fetch;
	int err;

	if (!servers || !*servers) {
		fail_plain(-EINVAL, "--debuginfod: DEBUGINFOD_URLS names no server");
		return fail_hint(-EINVAL, "set it, and keep it: sudo DEBUGINFOD_URLS=\"$DEBUGINFOD_URLS\" wick …");
	}
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	err = start(fetch);
	err = err ? err : greet(fetch);
	*ret = err ? NULL : fetch;
	if (err) {
		stop(fetch, true);
		free(fetch);
	}
	return err;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	stop(fetch, false);
	free(fetch);
}

static int ask(struct fetch *fetch, const unsigned char *id, size_t len)
{
	struct question question = { .len = (uint32_t)len };
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int32_t answer = 0;
	struct stat stat;
	int fd = -1, err;

	memcpy(question.id, id, len);
	if (send(fetch->socket, &question, sizeof(question), MSG_NOSIGNAL) != sizeof(question))
		return -EPIPE;
	err = receive(fetch, &answer, sizeof(answer), ANSWER_NS, &fd);
	fetch->used_ns += clock_ns(CLOCK_MONOTONIC) - began;
	if (err == -ETIME || err == -EPIPE)
		stop(fetch, true);
	err = err ? err : answer;
	if (!err &&
	    (fd < 0 || fstat(fd, &stat) || !S_ISREG(stat.st_mode))) /* whoever speaks to servers is not believed */
		err = -EBADMSG;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int fetch_debug(struct fetch *fetch, const unsigned char *id, size_t len)
{
	int fd;

	if (!len || len > ID_MAX)
		return -ENOENT;
	fd = !fetch->pid ? -EPIPE : fetch->used_ns > ALL_NS ? -ETIME : ask(fetch, id, len);
	fetch->failed += fd < 0 && fd != -ENOENT;
	return fd;
}

uint64_t fetch_failed(const struct fetch *fetch)
{
	return fetch->failed;
}
