/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are jumps: who made them is not on the stack, and nobody else may be made up. */
#include "zoo.h"

ZOO_LAST(fourth, zoo_spin)

ZOO static unsigned long third(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
			       unsigned long f)
{
	return fourth(a ^ 1, b, c, d, e, f);
}

ZOO static unsigned long second(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
				unsigned long f)
{
	volatile unsigned long kept[8] = { a, b };

	return third(kept[0], kept[1], c, d, e, f);
}

ZOO_LEVEL(first, second)
ZOO_MAIN(first)
