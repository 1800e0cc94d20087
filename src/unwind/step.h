/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The unwinder, one step at a time: from the registers of a frame to those of its caller. Freestanding, one source for
 * the BPF program, for user space and for tests: whoever includes it defines before that
 *
 *   int STEP_READ(void *into, __u32 len, __u64 address);    0 when all of it could be read
 *
 * and calls one step function per rule kind. A step leaves the registers alone unless it returns STEP_MORE.
 */
#ifndef WICK_UNWIND_STEP_H
#define WICK_UNWIND_STEP_H

#include "bpf/wire.h"

#ifndef STEP_READ
#error "define STEP_READ: how to read the memory that is unwound"
#endif

struct step_regs {
	__u64 ip;
	__u64 sp;
	__u64 fp;
};

/* Beside these, a step returns the WIRE_cut_… counter that says why it could not be made. */
enum step_result {
	STEP_MORE = -1,
	STEP_ROOT = -2, /* the frame has no caller */
};

/*
 * By frame pointer: it points at the caller's frame pointer, with the return address above. The outermost frame has a
 * frame pointer of zero (the ABI asks _start and new threads to clear it). Frames grow upwards, so a chain cannot loop.
 */
static inline __attribute__((always_inline)) int step_fp(struct step_regs *regs)
{
	__u64 pair[2];

	if (!regs->fp)
		return STEP_ROOT;
	if (regs->fp < regs->sp || regs->fp & 7)
		return WIRE_cut_no_frame_pointer;
	if (STEP_READ(pair, sizeof(pair), regs->fp))
		return WIRE_cut_no_memory;
	if (!pair[1])
		return STEP_ROOT;
	regs->sp = regs->fp + sizeof(pair);
	regs->fp = pair[0];
	regs->ip = pair[1];
	return STEP_MORE;
}

#endif
