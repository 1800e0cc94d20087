/* SPDX-License-Identifier: Apache-2.0 */
/* What loads loads. */
#include "zoo.h"

unsigned long loaded_entry(unsigned long n);

ZOO_LAST(inner, zoo_spin)
ZOO_LEVEL(outer, inner)

unsigned long loaded_entry(unsigned long n)
{
	return outer(n, 2, 3, 4, 5, 6) + 1;
}
