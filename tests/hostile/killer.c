/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does to the processes below PID whatever its user may do to them: `kill` ends them, `stop` halts them, again and
 * again. Prints `ready`, and at its end, when PID is gone or after SECONDS, how many it could: `done COUNT`.
 *
 *   killer PID SECONDS kill|stop
 */
#include "hostile/hostile.h"

static unsigned long count;

static void each_child(pid_t pid, int number, int depth)
{
	char path[64], text[4096] = "";
	int fd;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	for (char *at = text, *end; len > 0 && depth < 4; at = end) {
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		each_child((pid_t)child, number, depth + 1);
		if (child > 1 && !kill((pid_t)child, number))
			count++;
	}
}

int main(int argc, char **argv)
{
	pid_t pid;
	double until;
	char path[64];

	if (argc != 4)
		return 2;
	prog_begin();
	pid = atoi(argv[1]);
	until = prog_clock(CLOCK_MONOTONIC) + atof(argv[2]);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	say_ready();
	while (!access(path, F_OK) && prog_clock(CLOCK_MONOTONIC) < until) {
		each_child(pid, strcmp(argv[3], "kill") ? SIGSTOP : SIGKILL, 0);
		usleep(500);
	}
	printf("done %lu\n", count);
	return 0;
}
