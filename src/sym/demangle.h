/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people wrote them: C++, Rust (both manglings) and D. */
#ifndef WICK_SYM_DEMANGLE_H
#define WICK_SYM_DEMANGLE_H

#include <stdint.h>

#include "sym/symbols.h"

struct buf;

/*
 * Appends the name for people. What is not mangled, or not rightly, is appended as it is. Parts that the compiler split
 * off (.cold, .part.N, .isra.N, .constprop.N and their like) fold into their function, in every mode but DEMANGLE_NO.
 * Returns the steps (base/budget.h) that it took: a name may be made to take long.
 */
uint64_t demangle(struct buf *out, const char *name, enum symbols_demangle mode);

#endif
