/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the attackers share: ending with a message, children that end with their parent, name spaces of one's own, and a
 * limit on how long a forgotten attacker can live. All of them are run by an ordinary user.
 */
#ifndef WICK_TESTS_HOSTILE_H
#define WICK_TESTS_HOSTILE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "progs/prog.h"

__attribute__((noreturn)) static inline void die(const char *what)
{
	perror(what);
	exit(125);
}

/* As fork, but the child ends when its parent does, and when the time that the parent has left is over. */
static inline pid_t child(void)
{
	unsigned int left = alarm(0);
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	alarm(left ? left : PROG_LIFE_SECONDS);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* User and mount name spaces in which we are root, and whose mounts nobody else sees. */
static inline void enter_name_spaces(void)
{
	char text[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		die("unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", (unsigned int)uid);
	write_text("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", (unsigned int)gid);
	write_text("/proc/self/gid_map", text);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("making mounts private");
}

static inline void say_ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

#endif
