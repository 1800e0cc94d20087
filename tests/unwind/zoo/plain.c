/* SPDX-License-Identifier: Apache-2.0 */
/* C as everybody writes it, with a function of the C library between its own. Also built in other ways. */
#include "zoo.h"

ZOO static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return zoo_spin((unsigned long)x) > 7 ? x - y : y - x;
}

ZOO static unsigned long sort(unsigned long n)
{
	int numbers[16];

	for (int i = 0; i < 16; i++)
		numbers[i] = (int)n * i % 5;
	qsort(numbers, 16, sizeof(numbers[0]), compare);
	return (unsigned long)numbers[n % 16];
}

ZOO_LAST(inner, sort)
ZOO_LEVEL(middle, inner)
ZOO_LEVEL(outer, middle)
ZOO_MAIN(outer)
