/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of processes that work for some two milliseconds, each under its own name, and each of which can be told by
 * where it spins: process sN runs in spin_<N modulo 4> and nowhere else.
 *
 *   short COUNT MILLISECONDS DIRECTORY
 *
 * Starts COUNT of them, two at a time, as links to itself in DIRECTORY; prints "started N", "failed N", "cpu SECONDS"
 * of them and "seconds SECONDS" that it took.
 */
#include "prog.h"
#include <string.h>
#include <sys/wait.h>

#define TOGETHER 2

/* By the clock of the process: its 2 ms do not depend on the speed of the machine, nor on what its start has taken. */
#define SPIN(name)                                                   \
	static NOINLINE void name(double until)                      \
	{                                                            \
		while (prog_clock(CLOCK_PROCESS_CPUTIME_ID) < until) \
			PROG_WORK(PROG_UNIT);                        \
		PROG_STAYS();                                        \
	}

SPIN(spin_0)
SPIN(spin_1)
SPIN(spin_2)
SPIN(spin_3)

static int child(const char *name, double seconds)
{
	static void (*const spins[])(double) = { spin_0, spin_1, spin_2, spin_3 };

	spins[(unsigned int)atoi(name + 1) % 4](prog_clock(CLOCK_PROCESS_CPUTIME_ID) + seconds);
	return 0;
}

static void spawn(const char *path, const char *milliseconds)
{
	pid_t pid = vfork();

	if (pid < 0)
		prog_die("vfork");
	if (!pid) {
		execl(path, path, milliseconds, NULL);
		_exit(126);
	}
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	unsigned int count, failed = 0, running = 0;
	double begun;
	int status;

	if (argc == 2 && name[0] == 's' && name[1] >= '0' && name[1] <= '9')
		return child(name, atof(argv[1]) / 1000);
	if (argc != 4)
		return 2;
	prog_begin();
	count = (unsigned int)atoi(argv[1]);
	for (unsigned int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/s%u", argv[3], i);
		if (symlink("/proc/self/exe", path))
			prog_die("symlink");
	}
	begun = prog_clock(CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < count || running;) {
		char path[4096];

		if (i < count && running < TOGETHER) {
			snprintf(path, sizeof(path), "%s/s%u", argv[3], i++);
			spawn(path, argv[2]);
			running++;
			continue;
		}
		if (wait(&status) < 0)
			prog_die("wait");
		failed += status != 0;
		running--;
	}
	printf("started %u\nfailed %u\ncpu %.6f\nseconds %.6f\n", count, failed, prog_cpu(RUSAGE_CHILDREN),
	       prog_clock(CLOCK_MONOTONIC) - begun);
	return failed != 0;
}
