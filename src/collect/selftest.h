/* SPDX-License-Identifier: Apache-2.0 */
/* Before the kernel side is believed, it has to find wick's own mappings as /proc/self/maps lists them. */
#ifndef WICK_COLLECT_SELFTEST_H
#define WICK_COLLECT_SELFTEST_H

struct sampler;

/* 0, or -errno with the first difference in fail_text(). */
int selftest_mappings(struct sampler *sampler);

#endif
