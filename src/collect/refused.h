/* SPDX-License-Identifier: Apache-2.0 */
/* When the kernel says no: what is missing, in words, and the command that gives it. */
#ifndef WICK_COLLECT_REFUSED_H
#define WICK_COLLECT_REFUSED_H

/* What can be known before trying: capabilities, BTF. 0, or -errno with fail() set. */
int refused_early(void);

/* Why loading failed. Returns err. */
int refused_load(int err);

/* Why a perf event was not given. Returns err. */
int refused_event(int err);

#endif
