/* SPDX-License-Identifier: Apache-2.0 */
/* Most of the time in the kernel's vDSO, or, with an argument, in system calls. */
#include <time.h>

#include "zoo.h"

static int system_calls;

ZOO static unsigned long asks(unsigned long x)
{
	struct timespec now = { 0 };

	zoo_ready();
	for (unsigned long turns = zoo_turns; turns; turns--) {
		if (system_calls)
			x += (unsigned long)getppid();
		else
			clock_gettime(CLOCK_MONOTONIC, &now);
		x += (unsigned long)now.tv_nsec;
	}
	return x;
}

ZOO_LAST(inner, asks)
ZOO_LEVEL(outer, inner)

int main(int argc, char **argv)
{
	(void)argv;
	system_calls = argc > 1;
	return (int)outer(1, 2, 3, 4, 5, 6) + argc;
}
