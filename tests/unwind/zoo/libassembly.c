/* SPDX-License-Identifier: Apache-2.0 */
/* What assembly calls in another file: saves all registers, uses them, and has no frame of an unusual kind. */
typedef unsigned long function(unsigned long n);

extern function *assembly_leaf;
function assembly_far;

unsigned long assembly_far(unsigned long n)
{
	volatile unsigned long start = n;
	unsigned long a = start, b = start + 1, c = start + 2, d = start + 3, e = start + 4, f = start + 5;

	n = assembly_leaf(n);
	return n * a + (n ^ b) * c + (n | d) * e + f;
}
