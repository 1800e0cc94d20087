/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One socket: an order comes with the descriptor that the new process is to have, its pid goes back. Both ends are wick
 * itself, and neither does anything that somebody else could hold up, so the answer is waited for.
 */
#include "worker/spawner.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/fds.h"
#include "worker/confine.h"
#include "worker/worker.h"

#define ANSWER_MS 2000 /* a machine may be very busy */

struct spawner {
	pid_t pid;
	int socket;
};

struct order {
	spawner_main *run;
	struct worker_options options;
	int nice;
};

static int take_order(int socket, struct order *ret)
{
	size_t fds_len;
	int fd;

	return fds_receive(socket, ret, sizeof(*ret), &fd, 1, &fds_len) == sizeof(*ret) && fds_len ? fd : -1;
}

/* As its sibling: whoever ordered it waits for it, and is told when it ends. */
static pid_t fork_sibling(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static void spawner_serve(int socket)
{
	struct order order;
	int fd;

	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the other one */
	signal(SIGTERM, SIG_IGN);
	confine_spawner(socket);
	while ((fd = take_order(socket, &order)) >= 0) {
		pid_t pid = fork_sibling();

		if (!pid) {
			close(socket);
			order.run(&order.options, order.nice, fd);
		}
		close(fd);
		pid = pid < 0 ? -errno : pid;
		if (send(socket, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid))
			break;
	}
	_exit(0);
}

int spawner_start(struct spawner **ret)
{
	struct spawner *spawner = calloc(1, sizeof(*spawner));
	int pair[2];

	if (!spawner)
		return -ENOMEM;
	*ret = spawner;
	spawner->socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "starting wick's processes");
	spawner->pid = fork();
	if (!spawner->pid)
		spawner_serve(pair[1]);
	close(pair[1]);
	spawner->socket = pair[0];
	return spawner->pid < 0 ? fail(-errno, "starting wick's processes") : 0;
}

void spawner_free(struct spawner *spawner)
{
	if (!spawner)
		return;
	if (spawner->socket >= 0)
		close(spawner->socket);
	if (spawner->pid > 0) {
		kill(spawner->pid, SIGKILL);
		while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR)
			; /* it touches nothing that anybody could hold up */
	}
	free(spawner);
}

static int give_order(const struct spawner *spawner, const struct order *order, int fd)
{
	return fds_send(spawner->socket, order, sizeof(*order), &fd, 1) == sizeof(*order) ? 0 : -EPIPE;
}

pid_t spawner_fork(struct spawner *spawner, spawner_main *run, const struct worker_options *options, int nice, int fd)
{
	struct order order;
	struct pollfd ready = { .fd = spawner->socket, .events = POLLIN };
	pid_t pid = 0;

	memset(&order, 0, sizeof(order));
	order.run = run;
	order.options = *options;
	order.nice = nice;
	if (give_order(spawner, &order, fd))
		return -EPIPE;
	while (poll(&ready, 1, ANSWER_MS) < 0 && errno == EINTR)
		;
	if (recv(spawner->socket, &pid, sizeof(pid), MSG_DONTWAIT) != sizeof(pid))
		return -EPIPE;
	return pid;
}

pid_t spawner_pid(const struct spawner *spawner)
{
	return spawner->pid;
}
