/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of dl.c: library_enter calls SPIN. In the second one, code that is never run stands where the
 * first has its functions; both files have the same segments, so that both fit in the same hole of the address space.
 */
#ifndef WICK_TESTS_DLLIB_H
#define WICK_TESTS_DLLIB_H

#include "prog.h"

#ifdef SECOND
__attribute__((used)) static NOINLINE void decoy(void)
{
	__asm__ volatile(".fill 1024, 1, 0x90");
}
#endif

static NOINLINE void SPIN(void)
{
	PROG_WORK(1000 * PROG_UNIT);
}

#ifndef SECOND
__attribute__((used)) static NOINLINE void decoy(void)
{
	__asm__ volatile(".fill 1024, 1, 0x90");
}
#endif

void library_enter(void);

NOINLINE void library_enter(void)
{
	SPIN();
	PROG_STAYS();
}

#endif
