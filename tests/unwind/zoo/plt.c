/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of tiny functions of another file, so that much of the time is spent on the way there. With LD_BIND_NOT set the
 * dynamic linker looks each of them up again and again.
 */
#include "zoo.h"

unsigned long tiny_one(unsigned long x);
unsigned long tiny_two(unsigned long x);
unsigned long tiny_three(unsigned long x);

ZOO static unsigned long calls(unsigned long x)
{
	zoo_ready();
	for (unsigned long turns = zoo_turns; turns; turns--)
		x = tiny_one(x) ^ tiny_two(x) ^ tiny_three(x);
	return x;
}

ZOO_LAST(inner, calls)
ZOO_LEVEL(outer, inner)
ZOO_MAIN(outer)
