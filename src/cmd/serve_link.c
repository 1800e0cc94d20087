/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the socket pair, and the life of the process at the other one. It is this program, executed anew, so
 * that nothing of what this process holds (the kernel's maps, the store, targets' files) is there, not even by
 * descriptor. If it dies it is started again, and told what is not in the store yet; if this one dies, the socket's end
 * and a signal tell it.
 */
#include "cmd/serve_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cmd/serve.h"
#include "http/kept.h"

#define MESSAGE_MAX (16u << 20)
#define QUEUE_MAX (8u << 20)
#define BACK_MAX (4u << 20) /* of seconds that are told again */
#define READ_BLOCK 65536
#define START_MS 20000
#define END_MS 800
#define AGAIN_MIN_NS NS_PER_SEC
#define AGAIN_MAX_NS (30 * NS_PER_SEC)
#define STEADY_NS (60 * NS_PER_SEC) /* one that lived so long is started again at once */

struct head {
	uint32_t len, kind;
};

/* Before each second that is told again. */
struct back {
	uint64_t middle_ns;
	size_t len; /* of the second */
};

struct link {
	char **argv;
	struct link_hello hello;
	struct link_stats stats;
	int fd;         /* -1 */
	int nice;       /* of the other process */
	struct buf out; /* queued */
	size_t sent;    /* of it */
	struct buf in;
	struct buf back; /* seconds that are not in the store, for one that begins anew */
	uint64_t started_ns, again_ns, pause_ns;
	int status; /* how the last one ended */
};

/* ---- Messages ---- */

int link_receive(int fd, struct buf *in)
{
	char *space = buf_space(in, READ_BLOCK);
	ssize_t got;

	if (!space)
		return -ENOMEM;
	got = recv(fd, space, READ_BLOCK, MSG_DONTWAIT);
	in->len -= READ_BLOCK - (got > 0 ? (size_t)got : 0);
	if (got > 0)
		return 0;
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -EPIPE;
}

bool link_next(const struct buf *in, size_t *at, struct link_message *ret)
{
	struct head head;

	if (in->len - *at < sizeof(head))
		return false;
	memcpy(&head, in->data + *at, sizeof(head));
	if (head.len > MESSAGE_MAX || in->len - *at - sizeof(head) < head.len)
		return false;
	*ret = (struct link_message){ (enum link_kind)head.kind, in->data + *at + sizeof(head), head.len };
	*at += sizeof(head) + head.len;
	return true;
}

int link_reply(int fd, enum link_kind kind, const void *data, size_t len)
{
	struct head head = { (uint32_t)len, kind };

	if (send(fd, &head, sizeof(head), MSG_NOSIGNAL) != (ssize_t)sizeof(head) ||
	    send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		return -EPIPE;
	return 0;
}

static void put(struct link *link, enum link_kind kind, const void *head, size_t head_len, const void *rest, size_t len)
{
	const struct head begin = { (uint32_t)(head_len + len), kind };

	buf_add(&link->out, &begin, sizeof(begin));
	buf_add(&link->out, head, head_len);
	buf_add(&link->out, rest, len);
}

static void flush(struct link *link)
{
	ssize_t put_len = 1;

	while (link->fd >= 0 && link->sent < link->out.len && put_len > 0) {
		put_len = send(link->fd, link->out.data + link->sent, link->out.len - link->sent,
			       MSG_DONTWAIT | MSG_NOSIGNAL);
		link->sent += put_len > 0 ? (size_t)put_len : 0;
	}
	if (link->sent == link->out.len) {
		buf_clear(&link->out);
		link->sent = 0;
	}
}

bool link_send(struct link *link, enum link_kind kind, const void *head, size_t head_len, const void *rest, size_t len)
{
	if (link->fd < 0 || len > MESSAGE_MAX - head_len || link->out.len - link->sent + len > QUEUE_MAX) {
		link->stats.dropped += kind == LINK_SECOND;
		return false;
	}
	put(link, kind, head, head_len, rest, len);
	if (buf_error(&link->out)) { /* what was before it is whole, but how much that is, is not known any more */
		shutdown(link->fd, SHUT_RDWR);
		return false;
	}
	flush(link);
	return true;
}

/* ---- What one that begins anew is told ---- */

/* Without the oldest, so many bytes of them. */
static void forget(struct link *link, size_t len)
{
	memmove(link->back.data, link->back.data + len, link->back.len - len);
	link->back.len -= len;
}

/* The one at `at`; false behind the last. */
static bool get_back(const struct link *link, size_t at, struct back *ret)
{
	if (link->back.len - at < sizeof(*ret))
		return false;
	memcpy(ret, link->back.data + at, sizeof(*ret));
	return true;
}

void link_second(struct link *link, const struct buf *second, uint64_t middle_ns)
{
	const struct back head = { middle_ns, second->len };
	struct back oldest;

	link_send(link, LINK_SECOND, second->data, second->len, "", 0);
	if (sizeof(head) + second->len > BACK_MAX)
		return;
	while (link->back.len + sizeof(head) + second->len > BACK_MAX && get_back(link, 0, &oldest))
		forget(link, sizeof(oldest) + oldest.len);
	buf_add(&link->back, &head, sizeof(head));
	buf_add(&link->back, second->data, second->len);
	if (buf_error(&link->back))
		buf_free(&link->back);
}

void link_sealed(struct link *link, const struct kept_sealed *sealed)
{
	struct back oldest;

	link_send(link, LINK_SEALED, sealed, sizeof(*sealed), "", 0);
	while (!sealed->gap[0] && get_back(link, 0, &oldest) && oldest.middle_ns < sealed->to_ns)
		forget(link, sizeof(oldest) + oldest.len);
}

static void tell_back(struct link *link)
{
	struct back second;

	for (size_t at = 0; get_back(link, at, &second); at += sizeof(second) + second.len)
		put(link, LINK_SECOND, link->back.data + at + sizeof(second), second.len, "", 0);
}

/* ---- The process ---- */

static void run_program(const struct link *link, int fd)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, link->nice);
	if (fd != LINK_FD && dup2(fd, LINK_FD) < 0)
		_exit(1);
	fcntl(LINK_FD, F_SETFD, 0);
#ifdef SYS_close_range
	syscall(SYS_close_range, LINK_FD + 1, ~0U, 0); /* all are closed by exec anyway: each says so itself */
#endif
	execv("/proc/self/exe", link->argv);
	_exit(1);
}

static int spawn(struct link *link)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting the server");
	pid = fork();
	if (!pid)
		run_program(link, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return fail(-errno, "starting the server");
	}
	link->fd = pair[0];
	link->stats.pid = pid;
	link->stats.fresh = true;
	link->started_ns = clock_ns(CLOCK_MONOTONIC);
	buf_clear(&link->in);
	buf_clear(&link->out);
	link->sent = 0;
	link->hello.port = link->stats.port;
	put(link, LINK_HELLO, &link->hello, sizeof(link->hello), "", 0);
	tell_back(link);
	flush(link);
	return buf_error(&link->out);
}

/* What it says: that it listens, or why not. 0: nothing yet. */
static int hear(struct link *link)
{
	struct link_message message;
	size_t at = 0;
	int err = link_receive(link->fd, &link->in);

	if (!link_next(&link->in, &at, &message))
		return err == -EPIPE ? fail_plain(-EPIPE, "the server ended before it could listen") : 0;
	if (message.kind == LINK_READY && message.len == sizeof(struct link_ready)) {
		memcpy(&link->stats.port, message.data, sizeof(link->stats.port));
		buf_clear(&link->in);
		return 1;
	}
	return fail_plain(-EIO, "%.*s", (int)message.len, message.data);
}

static int wait_ready(struct link *link)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + START_MS * NS_PER_MS;
	int said = 0;

	while (!said && clock_ns(CLOCK_MONOTONIC) < end) {
		struct pollfd ready = { .fd = link->fd, .events = POLLIN };

		if (poll(&ready, 1, 100) > 0)
			said = hear(link);
	}
	if (said > 0)
		return 0;
	return said ? said : fail_plain(-ETIMEDOUT, "the server did not start");
}

int link_start(struct link **ret, char **argv, const struct link_hello *hello, int nice)
{
	struct link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return fail(-ENOMEM, "starting the server");
	link->fd = -1;
	link->argv = argv;
	link->hello = *hello;
	link->nice = nice;
	err = spawn(link);
	err = err ? err : wait_ready(link);
	if (err)
		link_free(link);
	else
		*ret = link;
	return err;
}

static bool reap(struct link *link, int flags)
{
	struct rusage usage;
	pid_t pid = link->stats.pid ? wait4(link->stats.pid, &link->status, flags, &usage) : 0;

	if (!link->stats.pid || pid != link->stats.pid)
		return false;
	link->stats.pid = 0;
	link->stats.cpu_us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	close(link->fd);
	link->fd = -1;
	return true;
}

static void died(struct link *link, uint64_t now)
{
	bool steady = now - link->started_ns > STEADY_NS;

	link->pause_ns = steady || !link->pause_ns ? AGAIN_MIN_NS : 2 * link->pause_ns;
	link->pause_ns = link->pause_ns < AGAIN_MAX_NS ? link->pause_ns : AGAIN_MAX_NS;
	link->again_ns = now + (steady ? 0 : link->pause_ns);
	if (WIFSIGNALED(link->status))
		serve_log("the server was ended by signal %d: it is started again", WTERMSIG(link->status));
	else
		serve_log("the server ended with status %d: it is started again", WEXITSTATUS(link->status));
}

void link_tend(struct link *link)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int said;

	flush(link);
	said = link->fd >= 0 ? hear(link) : 0;
	if (said > 0)
		serve_log("the server listens again on port %u", link->stats.port);
	else if (said == -EIO)
		serve_log("the server: %s", fail_text());
	if (said == -EPIPE && link->stats.pid)
		kill(link->stats.pid, SIGKILL); /* it has closed its end, or is dead already */
	if (reap(link, said == -EPIPE ? 0 : WNOHANG))
		died(link, now);
	if (link->fd < 0 && now >= link->again_ns) {
		link->stats.restarts++;
		if (spawn(link)) {
			serve_log("%s", fail_text());
			link->again_ns = now + AGAIN_MAX_NS;
		}
	}
}

void link_hang_up(struct link *link)
{
	flush(link);
	if (link->fd >= 0)
		shutdown(link->fd, SHUT_WR);
}

void link_end(struct link *link)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + END_MS * NS_PER_MS;

	link_hang_up(link);
	while (link->stats.pid && !reap(link, WNOHANG)) {
		if (clock_ns(CLOCK_MONOTONIC) > end) {
			kill(link->stats.pid, SIGKILL);
			reap(link, 0);
			break;
		}
		poll(NULL, 0, 5);
	}
}

void link_free(struct link *link)
{
	if (!link)
		return;
	link_end(link);
	buf_free(&link->in);
	buf_free(&link->out);
	buf_free(&link->back);
	free(link);
}

struct link_stats link_stats(struct link *link)
{
	struct link_stats stats = link->stats;

	link->stats.fresh = false;
	return stats;
}
