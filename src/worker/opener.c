/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a socket: an event is asked for as one message and comes as one, an error or a descriptor. The process
 * behind it builds what the kernel is asked itself, so that whoever holds our end gets ticks and nothing else.
 */
#include "worker/opener.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/fds.h"
#include "base/file.h"
#include "worker/confine.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_CAPABLE 2 /* up to here CAP_PERFMON is enough */

struct opener {
	int socket;
	pid_t pid;
};

static int event_open(const struct event *event)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = event->clock ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = event->period,
		.freq = event->frequency,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)event->cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- Messages ---- */

/* The result, and with it the descriptor if it is one. */
static bool send_result(int socket, int fd)
{
	int32_t err = fd < 0 ? fd : 0;

	return fds_send(socket, &err, sizeof(err), &fd, fd >= 0) == sizeof(err);
}

static int receive_result(int socket)
{
	size_t fds_len;
	int32_t err;
	ssize_t got;
	int fd;

	do
		got = fds_receive(socket, &err, sizeof(err), &fd, 1, &fds_len);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(err) || err > 0)
		return -EPIPE;
	if (err)
		return err;
	return fds_len ? fd : -EMFILE; /* no room for another descriptor here */
}

/* ---- The process ---- */

static void opener_main(int socket)
{
	struct event event;

	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the other one */
	signal(SIGTERM, SIG_IGN);
	if (confine_opener(socket))
		_exit(1);
	for (;;) {
		struct iovec part = { &event, sizeof(event) };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t got = recvmsg(socket, &message, 0);
		int fd;

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(event))
			_exit(0);
		fd = event_open(&event);
		if (!send_result(socket, fd))
			_exit(0);
		if (fd >= 0)
			close(fd);
	}
}

static int spawn(struct opener *opener)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting what opens events");
	opener->pid = fork();
	if (opener->pid < 0) {
		int err = -errno;

		close(pair[0]);
		close(pair[1]);
		return fail(err, "starting what opens events");
	}
	if (!opener->pid)
		opener_main(pair[1]);
	close(pair[1]);
	opener->socket = pair[0];
	return 0;
}

/* ---- Ours ---- */

static bool kernel_asks(void)
{
	autobuf struct buf text = { 0 };

	return !file_read(PARANOID, 16, &text) && text.len && atoi(text.data) > PARANOID_CAPABLE;
}

int opener_start(struct opener **ret)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	autofree struct opener *opener = NULL;
	int err;

	*ret = NULL;
	if (!geteuid() || syscall(SYS_capget, &head, have) || !(have[0].permitted & 1U << CAP_SYS_ADMIN))
		return 0;
	if (kernel_asks()) {
		opener = calloc(1, sizeof(*opener));
		err = opener ? spawn(opener) : fail(-ENOMEM, "starting what opens events");
		if (err)
			return err;
	}
	have[0].effective &= ~(1U << CAP_SYS_ADMIN);
	have[0].permitted &= ~(1U << CAP_SYS_ADMIN);
	have[0].inheritable &= ~(1U << CAP_SYS_ADMIN); /* it is no longer ambient either */
	*ret = opener;
	opener = NULL;
	return syscall(SYS_capset, &head, have) ? fail(-errno, "giving up CAP_SYS_ADMIN") : 0;
}

void opener_free(struct opener *opener)
{
	if (!opener)
		return;
	close(opener->socket);
	kill(opener->pid, SIGKILL);
	while (waitpid(opener->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(opener);
}

int opener_open(struct opener *opener, const struct event *event)
{
	if (!opener)
		return event_open(event);
	if (send(opener->socket, event, sizeof(*event), MSG_NOSIGNAL) != sizeof(*event))
		return -EPIPE;
	return receive_result(opener->socket);
}
