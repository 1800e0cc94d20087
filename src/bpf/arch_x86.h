/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* x86-64 on the kernel side. The order of registers is the kernel's user-space interface and never changes. */
#ifndef WICK_BPF_ARCH_X86_H
#define WICK_BPF_ARCH_X86_H

#include "bpf/kernel.h"
#include "bpf/wire.h"

struct arch_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct arch_context {
	struct arch_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#define ARCH_THREAD_SIZE (16 << 10)
#define ARCH_RETURN_SLOT 8 /* from where a return address is to the stack pointer after the return */

enum {
	ARCH_COMPAT_CS = 0x23,
	ARCH_NR_EXECVE = 59,
	ARCH_NR_EXECVEAT = 322,
};

static __always_inline __u64 arch_ip(const struct arch_context *ctx)
{
	return ctx->regs.ip;
}

static __always_inline __u64 arch_sp(const struct arch_context *ctx)
{
	return ctx->regs.sp;
}

static __always_inline bool arch_in_kernel(const struct arch_context *ctx)
{
	return !(ctx->regs.cs & 3);
}

/* All registers in DWARF's order. */
#define ARCH_FILL(into, from)                   \
	({                                      \
		(into)->r[0] = (from).ax;       \
		(into)->r[1] = (from).dx;       \
		(into)->r[2] = (from).cx;       \
		(into)->r[3] = (from).bx;       \
		(into)->r[4] = (from).si;       \
		(into)->r[5] = (from).di;       \
		(into)->r[STEP_FP] = (from).bp; \
		(into)->r[STEP_SP] = (from).sp; \
		(into)->r[8] = (from).r8;       \
		(into)->r[9] = (from).r9;       \
		(into)->r[10] = (from).r10;     \
		(into)->r[11] = (from).r11;     \
		(into)->r[12] = (from).r12;     \
		(into)->r[13] = (from).r13;     \
		(into)->r[14] = (from).r14;     \
		(into)->r[15] = (from).r15;     \
		(into)->r[STEP_IP] = (from).ip; \
	})

/* The registers that nearly every step needs. */
#define ARCH_FILL_FEW(into, from)               \
	({                                      \
		(into)->r[STEP_IP] = (from).ip; \
		(into)->r[STEP_SP] = (from).sp; \
		(into)->r[STEP_FP] = (from).bp; \
	})

/* Whether they are of a 32-bit program. */
#define ARCH_IS_COMPAT(from) (!!((from).cs == ARCH_COMPAT_CS))

static __always_inline bool arch_is_user(const struct arch_regs *regs)
{
	return (regs->cs & 3) == 3 && regs->ip && regs->sp;
}

static __always_inline bool arch_in_exec(const struct arch_regs *regs)
{
	return regs->orig_ax == ARCH_NR_EXECVE || regs->orig_ax == ARCH_NR_EXECVEAT;
}

#endif
