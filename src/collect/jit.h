/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a runtime wrote down about the code it made: its perf map, or its jitdump. */
#ifndef WICK_COLLECT_JIT_H
#define WICK_COLLECT_JIT_H

#include <stdint.h>

/* A descriptor of the process's map, seen through its own name spaces; -errno if it has none that can be trusted. */
int jit_open(uint32_t pid);

#endif
