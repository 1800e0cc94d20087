/* SPDX-License-Identifier: Apache-2.0 */
/* The child of vfork runs on its parent's stack, until it would run a program. */
#include "zoo.h"

ZOO_LAST(inner, zoo_spin)
ZOO_LEVEL(outer, inner)

ZOO static unsigned long forks(unsigned long n)
{
	pid_t child = vfork();

	if (!child)
		_exit((int)outer(n, 2, 3, 4, 5, 6));
	return (unsigned long)child + n;
}

ZOO_LAST(third, forks)
ZOO_LEVEL(second, third)
ZOO_MAIN(second)
