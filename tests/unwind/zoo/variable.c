/* SPDX-License-Identifier: Apache-2.0 */
/* Frames whose size is known only when they run, and one of many pages. */
#include <alloca.h>

#include "zoo.h"

ZOO static unsigned long large(unsigned long n)
{
	volatile char room[200 << 10];

	room[n] = 1;
	room[sizeof(room) - 1 - n] = 2;
	n += zoo_spin(n);
	return n + (unsigned long)room[n % sizeof(room)];
}

ZOO_LAST(inner, large)

ZOO static unsigned long allocates(unsigned long n)
{
	volatile char *room = alloca(n * 100 + 50);

	room[n] = 3;
	n += inner(n, 2, 3, 4, 5, 6);
	return n + (unsigned long)room[n % 50];
}

ZOO_LAST(second, allocates)

ZOO static unsigned long vector(unsigned long n)
{
	volatile unsigned long numbers[n + 3];

	numbers[n] = n;
	n += second(n, 2, 3, 4, 5, 6);
	return n + numbers[n % 3];
}

ZOO_LAST(first, vector)
ZOO_LEVEL(outer, first)
ZOO_MAIN(outer)
