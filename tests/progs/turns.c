/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works in one function and then in another, by the wall clock: in even where the time since 1970 divided by
 * MILLISECONDS is an even number, in odd where it is an odd one.
 *
 *   turns MILLISECONDS
 *
 * Runs until killed.
 */
#include "prog.h"

static uint64_t turn_of(uint64_t milliseconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) / milliseconds;
}

#define WORK(name)                                                      \
	static NOINLINE void name(uint64_t milliseconds, uint64_t turn) \
	{                                                               \
		while (turn_of(milliseconds) == turn)                   \
			PROG_WORK(PROG_UNIT);                           \
		PROG_STAYS();                                           \
	}

WORK(even)
WORK(odd)

int main(int argc, char **argv)
{
	uint64_t milliseconds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (!milliseconds)
		return 2;
	prog_begin();
	for (;;) {
		uint64_t turn = turn_of(milliseconds);

		if (turn % 2)
			odd(milliseconds, turn);
		else
			even(milliseconds, turn);
	}
}
