/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The unwinder's steps with the memory of the current process below them. */
#ifndef WICK_BPF_READ_H
#define WICK_BPF_READ_H

#include "bpf/kernel.h"

static __always_inline int read_user(void *into, __u32 len, __u64 address)
{
	return bpf_probe_read_user(into, len, (void *)address);
}

static __always_inline int window_read(void *into, __u32 len, __u64 address); /* window.h */

#define STEP_READ read_user
#define STEP_READ_STACK window_read

#include "unwind/step.h"

#endif
