/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of forks: every child walks down a random path of left and right, works a little and is gone. No two stacks
 * are alike.
 *
 *   storm SECONDS JOBS
 *
 * Prints "forks N".
 */
#include "prog.h"
#include <sys/prctl.h>
#include <sys/wait.h>

static void left(uint64_t path, unsigned int depth);
static void right(uint64_t path, unsigned int depth);

#define STEP(name)                                                   \
	static NOINLINE void name(uint64_t path, unsigned int depth) \
	{                                                            \
		if (!depth)                                          \
			PROG_WORK(10 * PROG_UNIT);                   \
		else if (path & 1)                                   \
			left(path >> 1, depth - 1);                  \
		else                                                 \
			right(path >> 1, depth - 1);                 \
		PROG_STAYS();                                        \
	}

STEP(left)
STEP(right)

static unsigned long job(double seconds, uint64_t state)
{
	double until = prog_clock(CLOCK_MONOTONIC) + seconds;
	unsigned long forks = 0;

	while (prog_clock(CLOCK_MONOTONIC) < until) {
		uint64_t path = (uint64_t)prog_random(&state) << 31 | prog_random(&state);
		pid_t pid = fork();

		if (pid < 0)
			prog_die("fork");
		if (!pid) {
			left(path, 8 + prog_random(&state) % 48);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		forks++;
	}
	return forks;
}

int main(int argc, char **argv)
{
	unsigned int jobs;
	unsigned long forks, all = 0;
	int ends[2];

	if (argc != 3 || pipe(ends))
		return 2;
	prog_begin();
	jobs = (unsigned int)atoi(argv[2]);
	for (unsigned int i = 0; i < jobs; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, 9);
		forks = job(atof(argv[1]), (uint64_t)getpid());
		return write(ends[1], &forks, sizeof(forks)) != sizeof(forks);
	}
	for (unsigned int i = 0; i < jobs; i++) {
		if (read(ends[0], &forks, sizeof(forks)) != sizeof(forks))
			prog_die("read");
		all += forks;
	}
	printf("forks %lu\n", all);
	return 0;
}
