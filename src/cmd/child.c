/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the command to be profiled. It waits on a pipe before exec, so that the filter can know its pid; if exec
 * fails, its errno comes back through a second pipe that a successful exec closes.
 */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/rights.h"

static void run_child(char **argv, int go, int failed)
{
	char byte;
	int err;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (read(go, &byte, 1) != 1)
		_exit(127); /* wick gave up before it began */
	if (rights_elevated() && rights_drop())
		_exit(126); /* it gets what the user has, not what wick has */
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) != (ssize_t)sizeof(err))
		_exit(126);
	_exit(127);
}

int child_prepare(struct child *ret, char **argv)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC))
		return fail(-errno, "starting '%s'", argv[0]);
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return fail(-errno, "starting '%s'", argv[0]);
	}
	*ret = (struct child){ .pid = fork(), .name = argv[0], .go = go[1], .failed = failed[0] };
	if (!ret->pid) {
		close(go[1]);
		close(failed[0]);
		run_child(argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	return ret->pid < 0 ? fail(-errno, "starting '%s'", argv[0]) : 0;
}

int child_go(struct child *child)
{
	int err = 0;
	ssize_t got;

	if (write(child->go, "", 1) != 1)
		return fail(-errno, "starting the command");
	close(child->go);
	child->go = -1;
	do {
		got = read(child->failed, &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	close(child->failed);
	child->failed = -1;
	if (got != (ssize_t)sizeof(err))
		return 0;
	child_wait(child, 0);
	return fail(-err, "running '%s'", child->name);
}

static void took(struct child *child, int status)
{
	child->ended = true;
	child->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_poll(struct child *child)
{
	int status;

	if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid)
		took(child, status);
	return child->ended;
}

void child_wait(struct child *child, int signal)
{
	int status;

	if (child_poll(child))
		return;
	if (signal)
		kill(child->pid, signal);
	while (waitpid(child->pid, &status, 0) != child->pid)
		if (errno != EINTR)
			return;
	took(child, status);
}

void child_discard(struct child *child)
{
	if (child->pid <= 0 || child->ended)
		return;
	if (child->go >= 0)
		close(child->go);
	if (child->failed >= 0)
		close(child->failed);
	child->go = child->failed = -1;
	child_wait(child, SIGKILL);
}
