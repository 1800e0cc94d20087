/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of fork and exec: short processes at a steady rate, under a few dozen names. Process eN runs in
 * spin_<N modulo 4> and nowhere else.
 *
 *   execs SECONDS RATE DIRECTORY [LEAST]
 *
 * Starts them as links to itself in DIRECTORY, until the time is over and LEAST of them have been started; when the
 * machine cannot keep up it starts them as fast as it can. Prints "started N", "failed N", "cpu SECONDS" of them and
 * "seconds SECONDS" that it took.
 */
#include "prog.h"
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#define NAMES 64
#define TOGETHER 16 /* at most */
#define LIFE 0.0002 /* seconds of CPU time, beside those of the exec */

#define SPIN(name)                                                     \
	static NOINLINE void name(double seconds)                      \
	{                                                              \
		while (prog_clock(CLOCK_PROCESS_CPUTIME_ID) < seconds) \
			PROG_WORK(PROG_UNIT / 8);                      \
		PROG_STAYS();                                          \
	}

SPIN(spin_0)
SPIN(spin_1)
SPIN(spin_2)
SPIN(spin_3)

static int child(const char *name)
{
	static void (*const spins[])(double) = { spin_0, spin_1, spin_2, spin_3 };

	spins[(unsigned int)atoi(name + 1) % 4](prog_clock(CLOCK_PROCESS_CPUTIME_ID) + LIFE);
	return 0;
}

static void path_of(char *path, size_t size, const char *directory, unsigned long number)
{
	snprintf(path, size, "%s/e%lu", directory, number % NAMES);
}

static void spawn(const char *path)
{
	pid_t pid = vfork();

	if (pid < 0)
		prog_die("vfork");
	if (!pid) {
		execl(path, path, NULL);
		_exit(126);
	}
}

/* Waits for children: for all of `most` and more, and for those that are there to be had. */
static unsigned int reap(unsigned int running, unsigned int most, unsigned long *failed)
{
	int status;
	pid_t pid;

	while (running && (pid = waitpid(-1, &status, running > most ? 0 : WNOHANG)) != 0) {
		if (pid < 0)
			prog_die("waitpid");
		*failed += status != 0;
		running--;
	}
	return running;
}

static void sleep_until(double when)
{
	struct timespec time = { (time_t)when, (long)((when - (double)(time_t)when) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	unsigned long started = 0, failed = 0, least;
	unsigned int running = 0;
	double begun, seconds, rate;
	char path[4096];

	if (argc == 1 && name[0] == 'e' && name[1] >= '0' && name[1] <= '9')
		return child(name);
	if (argc != 4 && argc != 5)
		return 2;
	prog_begin();
	seconds = atof(argv[1]);
	rate = atof(argv[2]);
	least = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	for (unsigned long i = 0; i < NAMES; i++) {
		path_of(path, sizeof(path), argv[3], i);
		if (symlink("/proc/self/exe", path))
			prog_die("symlink");
	}
	begun = prog_clock(CLOCK_MONOTONIC);
	while (prog_clock(CLOCK_MONOTONIC) < begun + seconds || started < least) {
		sleep_until(begun + (double)started / rate);
		path_of(path, sizeof(path), argv[3], started++);
		spawn(path);
		running = reap(running + 1, TOGETHER, &failed);
	}
	reap(running, 0, &failed);
	printf("started %lu\nfailed %lu\ncpu %.6f\nseconds %.3f\n", started, failed, prog_cpu(RUSAGE_CHILDREN),
	       prog_clock(CLOCK_MONOTONIC) - begun);
	return failed != 0;
}
