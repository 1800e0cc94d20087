/* SPDX-License-Identifier: Apache-2.0 */
/* One of wick's processes asks the kernel side about its own memory and descriptors. */
#ifndef WICK_COLLECT_LOOK_H
#define WICK_COLLECT_LOOK_H

#include "bpf/wire.h"

/* `program` and `answers` are descriptors: sampler_look_program, SAMPLER_LOOKS. */
int look_run(int program, int answers, const struct wire_query *query, struct wire_look *ret);

#endif
