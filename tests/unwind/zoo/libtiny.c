/* SPDX-License-Identifier: Apache-2.0 */
/* What plt calls. */
unsigned long tiny_one(unsigned long x);
unsigned long tiny_two(unsigned long x);
unsigned long tiny_three(unsigned long x);

unsigned long tiny_one(unsigned long x)
{
	return x + 1;
}

unsigned long tiny_two(unsigned long x)
{
	return x ^ 2;
}

unsigned long tiny_three(unsigned long x)
{
	return x * 3;
}
