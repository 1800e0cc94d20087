/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A victim whose unwind rules nobody else has: main, wide_a, wide_b, wide_c, without frame pointers, each with a frame
 * of a size of its own. Says `ready` and runs until killed.
 */
#include "hostile/hostile.h"

#define WIDE(name, bytes, rest)                              \
	static NOINLINE void name(void)                      \
	{                                                    \
		char room[bytes];                            \
                                                             \
		__asm__ volatile("" ::"r"(room) : "memory"); \
		rest;                                        \
		__asm__ volatile("" ::"r"(room) : "memory"); \
	}

static uint64_t sum;

static NOINLINE void work(void)
{
	for (;;) {
		sum = sum * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+m"(sum));
	}
}

WIDE(wide_c, 5416, work())
WIDE(wide_b, 3992, wide_c())
WIDE(wide_a, 2808, wide_b())

int main(void)
{
	prog_begin();
	say_ready();
	wide_a();
	return 0;
}
