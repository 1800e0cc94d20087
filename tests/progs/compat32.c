/* SPDX-License-Identifier: Apache-2.0 */
/* A 32-bit program that spins until killed. It needs no 32-bit library. */
#include "bare.h"

void enter(long *stack)
{
	(void)stack;
	bare_begin();
	for (;;)
		__asm__ volatile("" ::: "memory");
}
