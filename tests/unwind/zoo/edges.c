/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last instruction of a function calls one that never returns, so the return address is that of the next function,
 * whose frame is another; and a call out of a part that the compiler has put far away from its function.
 */
#include "zoo.h"

__attribute__((noreturn)) ZOO static void never(unsigned long n)
{
	zoo_spin(n);
	_exit(1);
}

ZOO_LAST(before, zoo_spin)

ZOO static unsigned long ends(unsigned long n)
{
	volatile unsigned long kept[4] = { n };

	never(kept[0]);
}

ZOO static unsigned long after(unsigned long n)
{
	volatile unsigned long kept[200] = { n };

	return kept[n] + before(n, 2, 3, 4, 5, 6);
}

ZOO __attribute__((cold)) static unsigned long rarely(unsigned long n)
{
	return ends(n) + after(n);
}

ZOO static unsigned long seldom(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
				unsigned long f)
{
	unsigned long x = b + c;

	if (__builtin_expect(a < 100, 0))
		x = rarely(a) + rarely(b);
	return x * a + (x ^ b) * c + (x | d) * e + f;
}

ZOO_LEVEL(outer, seldom)
ZOO_MAIN(outer)
