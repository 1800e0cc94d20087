/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that spend as long in exit as in life: each touches memory that the kernel has to take back.
 *
 *   exiter SECONDS MEGABYTES
 */
#include "prog.h"
#include <sys/mman.h>
#include <sys/wait.h>

static NOINLINE void touch(size_t len)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		prog_die("mmap");
	madvise(at, len, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < len; i += 4096)
		at[i] = 1;
	PROG_STAYS();
}

int main(int argc, char **argv)
{
	double until;

	if (argc != 3)
		return 2;
	prog_begin();
	until = prog_clock(CLOCK_MONOTONIC) + atof(argv[1]);
	while (prog_clock(CLOCK_MONOTONIC) < until) {
		pid_t pid = fork();

		if (pid < 0)
			prog_die("fork");
		if (!pid) {
			touch((size_t)atoi(argv[2]) << 20);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
