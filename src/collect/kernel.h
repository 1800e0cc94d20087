/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel addresses by asking the kernel for just those. */
#ifndef WICK_COLLECT_KERNEL_H
#define WICK_COLLECT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "sym/kernel.h"

struct sampler;

/* As kernel_names of sym/kernel.h. -ENOTSUP where the kernel cannot say (before 5.13): read the list instead. */
int kernel_ask(struct sampler *sampler, const uint64_t *addresses, size_t count, kernel_found *found, void *arg);

#endif
