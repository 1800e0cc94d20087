/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of a known depth, whole to its root: _start, enter, DEPTH times deep, bottom, which spins until killed.
 *
 *   deep DEPTH
 */
#include "bare.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile int forever = 1;

static NOINLINE void bottom(void)
{
	/* Makes gcc keep this function's frame, though it calls nothing. */
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)));
	while (forever)
		;
}

static NOINLINE void deep(unsigned long depth)
{
	if (depth > 1)
		deep(depth - 1);
	else
		bottom();
	__asm__ volatile("" ::: "memory");
}

void enter(long *stack)
{
	const char *digits = stack[0] > 1 ? (const char *)stack[2] : "1";
	unsigned long depth = 0;

	bare_begin();
	for (unsigned int i = 0; i < 9 && digits[i] >= '0' && digits[i] <= '9'; i++)
		depth = depth * 10 + (unsigned long)(digits[i] - '0');
	for (;;)
		deep(depth);
}
