/* SPDX-License-Identifier: Apache-2.0 */
/* Locals that want more alignment than the stack has: the frame's address is then kept in memory. */
#include <alloca.h>

#include "zoo.h"

typedef double wide __attribute__((vector_size(64)));

ZOO static void use(volatile void *place)
{
	*(volatile char *)place = 1;
}

ZOO static unsigned long aligned_leaf(unsigned long n)
{
	volatile char room[256] __attribute__((aligned(128)));

	use(room);
	n = zoo_spin(n);
	return n + (unsigned long)room[n % 256];
}

ZOO_LAST(inner, aligned_leaf)

ZOO static unsigned long vectors(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
				 unsigned long f)
{
	volatile wide room[3];
	unsigned long x;

	use(room);
	x = inner(a, b, c, d, e, f);
	return x * a + (x ^ b) * c + (x | d) * e + f + (unsigned long)room[x % 3][0];
}

/* Arguments on the stack, and a size that is not known: all that there is to keep. */
ZOO static unsigned long crowded(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
				 unsigned long f, unsigned long g, unsigned long h)
{
	volatile char aligned[64] __attribute__((aligned(64)));
	volatile char *room = alloca(a * 10 + 20);
	unsigned long x;

	use(aligned);
	use(room);
	x = vectors(a, b, c, d, e, f);
	return x * a + (x ^ b) * c + (x | d) * e + f * g + h + (unsigned long)room[x % 20] +
	       (unsigned long)aligned[x % 64];
}

ZOO static unsigned long crowds(unsigned long n)
{
	return crowded(n, 2, 3, 4, 5, 6, 7, 8) + n;
}

ZOO_LAST(first, crowds)
ZOO_LEVEL(outer, first)
ZOO_MAIN(outer)
