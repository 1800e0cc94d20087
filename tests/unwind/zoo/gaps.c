/* SPDX-License-Identifier: Apache-2.0 */
/* Runs code without CFI that lies in a gap of a few bytes between functions that have some; see gaps.S. */
#include "zoo.h"

typedef unsigned long function(unsigned long n);

function hidden_root, hidden_zero, hidden_leaf;

ZOO static unsigned long enters(unsigned long n)
{
	zoo_ready();
	__asm__ volatile("mov $3, %%ebp" ::: "rbp");
	switch (n) {
	case 1:
		return hidden_root(0) + n;
	case 2:
		return hidden_zero(0) + n;
	default:
		return hidden_leaf(0) + n;
	}
}

ZOO_LAST(inner, enters)
ZOO_LEVEL(outer, inner)

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 && !strcmp(argv[1], "root") ? 1 : argc > 1 && !strcmp(argv[1], "zero") ? 2 : 3;

	return (int)outer(6, n - 1, 2, 3, 4, 5) + argc;
}
