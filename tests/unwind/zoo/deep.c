/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion 900 deep, which no compiler may turn into a loop. */
#include "zoo.h"

ZOO static unsigned long deep(unsigned long left)
{
	unsigned long x = left > 1 ? deep(left - 1) : zoo_spin(left);

	__asm__ volatile("" : "+r"(x));
	return x * left + 1;
}

int main(int argc, char **argv)
{
	return (int)deep(argc > 1 ? strtoul(argv[1], NULL, 10) : 900) + argc;
}
