/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* arm64 on the kernel side. The first part of the saved registers is the kernel's user-space interface. */
#ifndef WICK_BPF_ARCH_ARM64_H
#define WICK_BPF_ARCH_ARM64_H

#include "bpf/kernel.h"
#include "bpf/wire.h"

struct arch_regs {
	__u64 x[31], sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno;
	__u32 unused;
};

struct arch_context {
	struct {
		__u64 x[31], sp, pc, pstate;
	} regs;
	__u64 sample_period;
	__u64 addr;
};

#define ARCH_THREAD_SIZE (16 << 10)
#define ARCH_RETURN_SLOT 0 /* return addresses are not pushed */

enum {
	ARCH_PSTATE_EL = 0xf,
	ARCH_PSTATE_32BIT = 0x10,
	ARCH_NR_EXECVE = 221,
	ARCH_NR_EXECVEAT = 281,
};

static __always_inline __u64 arch_ip(const struct arch_context *ctx)
{
	return ctx->regs.pc;
}

static __always_inline __u64 arch_sp(const struct arch_context *ctx)
{
	return ctx->regs.sp;
}

static __always_inline bool arch_in_kernel(const struct arch_context *ctx)
{
	return ctx->regs.pstate & ARCH_PSTATE_EL;
}

#define ARCH_FILL(into, from)                       \
	({                                          \
		for (int i = 0; i < 31; i++)        \
			(into)->r[i] = (from).x[i]; \
		(into)->r[STEP_SP] = (from).sp;     \
		(into)->r[STEP_IP] = (from).pc;     \
	})

/* The registers that nearly every step needs. */
#define ARCH_FILL_FEW(into, from)                  \
	({                                         \
		(into)->r[STEP_IP] = (from).pc;    \
		(into)->r[STEP_SP] = (from).sp;    \
		(into)->r[STEP_FP] = (from).x[29]; \
	})

/* Whether they are of a 32-bit program. */
#define ARCH_IS_COMPAT(from) (!!((from).pstate & ARCH_PSTATE_32BIT))

static __always_inline bool arch_is_user(const struct arch_regs *regs)
{
	return !(regs->pstate & ARCH_PSTATE_EL) && regs->pc && regs->sp;
}

static __always_inline bool arch_in_exec(const struct arch_regs *regs)
{
	return regs->syscallno == ARCH_NR_EXECVE || regs->syscallno == ARCH_NR_EXECVEAT;
}

#endif
