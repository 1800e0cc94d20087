/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes that do nothing.
 *
 *   crowd COUNT
 *
 * Prints "ready COUNT" when all are there. They go when it is killed.
 */
#include "prog.h"
#include <signal.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
	unsigned int count;

	if (argc != 2)
		return 2;
	prog_begin();
	count = (unsigned int)atoi(argv[1]);
	for (unsigned int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			prog_die("fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	printf("ready %u\n", count);
	for (;;)
		pause();
}
