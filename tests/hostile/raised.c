/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal's handler that does not return, called by way of the C library's raise: main, outer, raise, handler. With
 * musl, linked statically, raise says nothing about how to unwind it and keeps in place of a frame pointer the address
 * of a set of signals, beside which there is what the stack had before: here, zeroes.
 */
#include "hostile/hostile.h"

static NOINLINE void handler(int number)
{
	(void)number;
	for (;;)
		PROG_WORK(PROG_UNIT);
}

static NOINLINE void wipe(void)
{
	char room[8192];

	memset(room, 0, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
}

static NOINLINE void outer(void)
{
	wipe();
	raise(SIGUSR1);
	PROG_STAYS();
}

int main(void)
{
	prog_begin();
	prctl(PR_SET_NAME, "h-raised");
	signal(SIGUSR1, handler);
	say_ready();
	outer();
	return 0;
}
