/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names, printed in bounded time. */
#ifndef WICK_SYM_CPLUS_H
#define WICK_SYM_CPLUS_H

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPLUS_STEPS_MAX (1u << 18)

/*
 * Prints the name that is mangled so, with its parameters or without, by calls of `print`, which may leave by longjmp.
 * False if it is not rightly mangled, or if printing it could take more than CPLUS_STEPS_MAX steps without a word.
 * *ret_memory is to be freed in any case. The steps that it may take are added to *steps.
 */
bool cplus_print(const char *name, size_t len, bool full, demangle_callbackref print, void *opaque, void **ret_memory,
		 uint64_t *steps);

#endif
