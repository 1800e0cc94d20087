/* SPDX-License-Identifier: Apache-2.0 */
/* What assembly calls in another file: a caller without any frame of its own kind. */
#include "zoo.h"

typedef unsigned long function(unsigned long n);

unsigned long assembly_call(unsigned long n, function *next);

unsigned long assembly_call(unsigned long n, function *next)
{
	unsigned long a = next(n), b = next(a), c = next(b), d = next(c), e = next(d), f = next(e);

	return a * b + c * d + e * f;
}
