/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in main, outer, inner, until killed, or for so many milliseconds. Says `ready` where it has an output. It calls
 * itself after the last part of argv[0], with h- before it. Linked statically, so that it runs wherever it is put.
 */
#include "hostile/hostile.h"

static NOINLINE void inner(double until)
{
	do {
		PROG_WORK(PROG_UNIT);
	} while (until < 0 || prog_clock(CLOCK_MONOTONIC) < until);
}

static NOINLINE void outer(double until)
{
	inner(until);
	PROG_STAYS();
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	unsigned int left = alarm(0); /* of whoever started us */
	char name[16];

	alarm(left ? left : PROG_LIFE_SECONDS);
	snprintf(name, sizeof(name), "h-%s", slash ? slash + 1 : argv[0]);
	prctl(PR_SET_NAME, name);
	say_ready();
	outer(argc > 1 ? prog_clock(CLOCK_MONOTONIC) + atof(argv[1]) / 1000 : -1);
	return 0;
}
