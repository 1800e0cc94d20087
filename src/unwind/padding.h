/* SPDX-License-Identifier: Apache-2.0 */
/* What linkers and compilers put between functions, and nobody runs. */
#ifndef WICK_UNWIND_PADDING_H
#define WICK_UNWIND_PADDING_H

#include <stdbool.h>
#include <stddef.h>

/* Are these bytes of a file for this processor (e_machine) nothing but whole instructions that only fill a gap? */
bool padding_is(unsigned int machine, const void *code, size_t len);

#endif
