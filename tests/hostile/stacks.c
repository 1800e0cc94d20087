/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks without end, hardly any of them twice: functions that call each other at random, to a depth of 300 and back a
 * little, with frame pointers. Says `ready` and runs until killed.
 */
#include "hostile/hostile.h"

#define DEPTH 300
#define KINDS 8

static uint64_t state;

static NOINLINE void go_on(unsigned int depth);

#define KIND(number)                                                \
	static NOINLINE void kind##number(unsigned int depth)       \
	{                                                           \
		go_on(depth + 1);                                   \
		__asm__ volatile(".fill " #number ", 1, 0x90" :::); \
	}

KIND(1)
KIND(2)
KIND(3)
KIND(4)
KIND(5)
KIND(6)
KIND(7)
KIND(8)

static void (*const kinds[KINDS])(unsigned int) = { kind1, kind2, kind3, kind4, kind5, kind6, kind7, kind8 };

static NOINLINE void go_on(unsigned int depth)
{
	if (depth >= DEPTH) {
		PROG_WORK(PROG_UNIT);
		return;
	}
	kinds[prog_random(&state) % KINDS](depth);
	if (depth > DEPTH - 8)
		kinds[prog_random(&state) % KINDS](depth);
	PROG_STAYS();
}

int main(void)
{
	prog_begin();
	prctl(PR_SET_NAME, "h-stacks");
	state = (uint64_t)getpid();
	say_ready();
	for (;;)
		go_on(0);
}
