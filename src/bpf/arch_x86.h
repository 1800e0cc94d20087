/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* x86-64 on the kernel side. The order of registers is the kernel's user-space interface and never changes. */
#ifndef WICK_BPF_ARCH_X86_H
#define WICK_BPF_ARCH_X86_H

#include "bpf/read.h"

struct arch_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct arch_context {
	struct arch_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#define ARCH_THREAD_SIZE (16 << 10)

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

static __always_inline void arch_tick_regs(const struct arch_context *ctx, struct step_regs *ret, __u64 *ret_mode)
{
	ret->ip = ctx->regs.ip;
	ret->sp = ctx->regs.sp;
	ret->fp = ctx->regs.bp;
	*ret_mode = ctx->regs.cs;
}

static __always_inline int arch_saved_regs(const void *saved, struct step_regs *ret, __u64 *ret_mode, __u64 *ret_call)
{
	struct arch_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), saved))
		return -1;
	ret->ip = regs.ip;
	ret->sp = regs.sp;
	ret->fp = regs.bp;
	*ret_mode = regs.cs;
	*ret_call = regs.orig_ax;
	return (regs.cs & 3) == 3 && regs.ip && regs.sp ? 0 : -1;
}

static __always_inline bool arch_is_compat(__u64 mode)
{
	return mode == ARCH_COMPAT_CS;
}

static __always_inline bool arch_in_exec(__u64 call)
{
	return call == ARCH_NR_EXECVE || call == ARCH_NR_EXECVEAT;
}

#endif
