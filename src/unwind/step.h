/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The unwinder, one step at a time: from the registers of a frame to those of its caller. Freestanding, one source for
 * the BPF program, for user space and for tests: whoever includes it defines before that
 *
 *   int STEP_READ(void *into, __u32 len, __u64 address);    0 when all of it could be read
 *
 * and may define STEP_READ_STACK, with the registers before the rest, for one or two words of the stack, of which a
 * walk reads many close together. It then calls one step function per rule kind. A step leaves the registers alone
 * unless it returns STEP_MORE.
 */
#ifndef WICK_UNWIND_STEP_H
#define WICK_UNWIND_STEP_H

#include "bpf/wire.h"

#ifndef STEP_READ
#error "define STEP_READ: how to read the memory that is unwound"
#endif

#ifndef STEP_READ_STACK
#define STEP_READ_STACK(regs, into, len, address) STEP_READ(into, len, address)
#endif

#define STEP_INLINE static inline __attribute__((always_inline))

/* Beside these, a step returns the WIRE_cut_… counter that says why it could not be made. */
enum step_result {
	STEP_MORE = -1,
	STEP_ROOT = -2, /* the frame has no caller */
};

/*
 * By frame pointer: it points at the caller's frame pointer, with the return address above. The outermost frame has a
 * frame pointer of zero (the ABI asks _start and new threads to clear it). Frames grow upwards, so a chain cannot loop.
 */
STEP_INLINE int step_fp(struct step_regs *regs)
{
	__u64 fp = regs->r[STEP_FP], pair[2];

	if (!fp)
		return STEP_ROOT;
	if (fp < regs->r[STEP_SP] || fp & 7)
		return WIRE_cut_no_frame_pointer;
	if (STEP_READ_STACK(regs, pair, sizeof(pair), fp))
		return WIRE_cut_no_memory;
	if (!pair[1])
		return STEP_ROOT;
	regs->r[STEP_SP] = fp + sizeof(pair);
	regs->r[STEP_FP] = pair[0];
	regs->r[STEP_IP] = pair[1];
	return STEP_MORE;
}

/*
 * Whether a frame without a row has no caller, after step_fp has said so. A frame pointer of zero says that only if the
 * function keeps frame pointers: it does if its own was found by following the chain (`chained`). Or the first thread's
 * stack began here (`stack_root`), give or take what the start of a program pushes. Any other function may use the
 * register for what it likes. A return address of zero ends a chain only together with a frame pointer of zero.
 */
#define STEP_ROOT_BYTES 256

STEP_INLINE int step_fp_root(const struct step_regs *regs, __u32 chained, __u64 stack_root)
{
	__u64 fp = regs->r[STEP_FP], next = 0;

	if (fp && (STEP_READ_STACK(regs, &next, sizeof(next), fp) || next))
		return 0;
	return chained || (!fp && stack_root - regs->r[STEP_SP] <= STEP_ROOT_BYTES);
}

/* Bytes around an address: those before it may be a call, those at it the restorer of a signal. */
struct step_code {
	__u8 before[7];
	__u8 at[9];
};

/* Whether a call instruction ends right here: x86's near calls, direct or through a register or memory. */
STEP_INLINE int step_is_called(const struct step_code *code)
{
	if (code->before[2] == 0xe8)
		return 1;
	for (int i = 0; i < 6; i++)
		if (code->before[i] == 0xff && (code->before[i + 1] & 0x38) == 0x10)
			return 1;
	return 0;
}

/* A lone nop counts as well: runtimes put one where they make it look as if a function had been called. */
STEP_INLINE int step_after_call(const struct step_code *code)
{
	return step_is_called(code) || code->before[6] == 0x90;
}

/* mov $15, %rax (or %eax); syscall: how a signal's handler returns, in every C library. */
STEP_INLINE int step_at_restorer(const struct step_code *code)
{
	const __u8 *at = code->at;

	return (at[0] == 0x48 && at[1] == 0xc7 && at[2] == 0xc0 && at[3] == 0x0f && !at[4] && !at[5] && !at[6] &&
		at[7] == 0x0f && at[8] == 0x05) ||
	       (at[0] == 0xb8 && at[1] == 0x0f && !at[2] && !at[3] && !at[4] && at[5] == 0x0f && at[6] == 0x05);
}

/*
 * A leaf that has not touched the stack: its return address is on top. Believed only if a direct call ends there whose
 * target lies shortly before the leaf's own address; otherwise the registers stay as they are.
 */
#define STEP_LEAF_BYTES 4096

STEP_INLINE int step_leaf(struct step_regs *regs)
{
	struct step_code code;
	__u64 back, target;

	if (STEP_READ_STACK(regs, &back, sizeof(back), regs->r[STEP_SP]) ||
	    STEP_READ(&code, sizeof(code), back - sizeof(code.before)) || code.before[2] != 0xe8)
		return WIRE_cut_no_frame_pointer;
	target = back + (__s64)(__s32)(code.before[3] | code.before[4] << 8 | code.before[5] << 16 |
				       (__u32)code.before[6] << 24);
	if (regs->r[STEP_IP] - target >= STEP_LEAF_BYTES)
		return WIRE_cut_no_frame_pointer;
	regs->r[STEP_SP] += sizeof(back);
	regs->r[STEP_IP] = back;
	return STEP_MORE;
}

/* The CFA: the stack pointer of the caller. 0, or why it cannot be known. */
STEP_INLINE int step_cfa(const struct step_regs *regs, const struct wire_rule *rule, __u64 *ret)
{
	__u64 base = regs->r[rule->reg & 15] + (__s64)rule->offset;

	switch (rule->kind) {
	case WIRE_RULE_REGISTER:
		*ret = base;
		return 0;
	case WIRE_RULE_DEREF:
		if (STEP_READ_STACK(regs, ret, sizeof(*ret), base))
			return WIRE_cut_no_memory;
		*ret += (__s64)rule->offset2;
		return 0;
	case WIRE_RULE_PLT:
		*ret = regs->r[STEP_SP] + ((regs->r[STEP_IP] & 15) >= (__u64)rule->offset2 ? 16 : 8);
		return 0;
	default:
		return WIRE_cut_odd_rule;
	}
}

/*
 * By unwind row, for rules that have a CFA. The commonest, a frame pointer pushed right below the return address, takes
 * one read. The stack only grows towards its root, so rows that loop end the walk; a frame that has no room on it is
 * believed of the leaf alone (`exact`: what runs, or was interrupted by a signal), for it could be its own caller.
 */
STEP_INLINE int step_rule(struct step_regs *regs, const struct wire_rule *rule, __u32 exact)
{
	__u64 cfa = 0, fp = regs->r[STEP_FP], pair[2];
	__u64 from = rule->from_fp & 1 ? fp : 0;
	__s64 save = rule->saves[WIRE_SAVE_FP];
	int err = step_cfa(regs, rule, &cfa);

	if (err)
		return err;
	if (rule->flags & WIRE_RULE_SWITCHES && !fp)
		return STEP_ROOT;
	if (cfa & 7 || (cfa < regs->r[STEP_SP] && !(rule->flags & WIRE_RULE_SWITCHES)) ||
	    (cfa == regs->r[STEP_SP] && !(exact && rule->flags & WIRE_RA_IN_REGISTER)))
		return WIRE_cut_bad_rule;
	if (rule->flags & WIRE_RA_IN_REGISTER) {
		pair[1] = regs->r[rule->ra_offset & 15];
	} else if (save == -16 && rule->ra_offset == -8 && !from) {
		if (STEP_READ_STACK(regs, pair, sizeof(pair), cfa - 16))
			return WIRE_cut_no_memory;
		fp = pair[0];
		save = WIRE_NOT_SAVED;
	} else if (STEP_READ_STACK(regs, &pair[1], sizeof(pair[1]), cfa + (__s64)rule->ra_offset)) {
		return WIRE_cut_no_memory;
	}
	if (rule->flags & WIRE_FP_IN_REGISTER)
		fp = regs->r[save & 15];
	else if (save != WIRE_NOT_SAVED && STEP_READ_STACK(regs, &fp, sizeof(fp), (from ?: cfa) + save))
		return WIRE_cut_no_memory;
	if (!pair[1])
		return STEP_ROOT;
	regs->r[STEP_SP] = cfa;
	regs->r[STEP_FP] = fp;
	regs->r[STEP_IP] = pair[1];
	return STEP_MORE;
}

/* The same for WIRE_RULE_PLAIN, as nearly all rules are. */
STEP_INLINE int step_plain(struct step_regs *regs, const struct wire_rule *rule)
{
	__u64 cfa = regs->r[rule->reg & 15] + (__s64)rule->offset, fp = regs->r[STEP_FP], ip;
	__s64 save = rule->saves[WIRE_SAVE_FP];

	if (WIRE_RARE(cfa & 7 || cfa <= regs->r[STEP_SP]))
		return WIRE_cut_bad_rule;
	if (WIRE_RARE(STEP_READ_STACK(regs, &ip, sizeof(ip), cfa - 8) ||
		      (save != WIRE_NOT_SAVED && STEP_READ_STACK(regs, &fp, sizeof(fp), cfa + save))))
		return WIRE_cut_no_memory;
	if (WIRE_RARE(!ip))
		return STEP_ROOT;
	regs->r[STEP_SP] = cfa;
	regs->r[STEP_FP] = fp;
	regs->r[STEP_IP] = ip;
	return STEP_MORE;
}

/*
 * The other registers that the rule restores: after step_rule, with the frame pointer as it was before. Few rules have
 * any; a register that cannot be read is left as it is, and whoever needs it later finds out.
 */
STEP_INLINE void step_saves(struct step_regs *regs, const struct wire_rule *rule, __u64 fp)
{
	static const __u8 numbers[WIRE_SAVES] = { STEP_FP, 3, 12, 13, 14, 15 };

	for (int i = 1; i < WIRE_SAVES; i++) {
		__u64 at = (rule->from_fp >> i & 1 ? fp : regs->r[STEP_SP]) + (__s64)rule->saves[i], value;

		if (rule->saves[i] != WIRE_NOT_SAVED && !STEP_READ_STACK(regs, &value, sizeof(value), at))
			regs->r[numbers[i]] = value;
	}
}

/* A signal's frame, at the restorer: the kernel has put all registers where the stack pointer is. x86-64's order. */
#define STEP_SIGNAL_REGS 40 /* from the stack pointer to the first of them */

struct step_signal {
	__u64 r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip;
};

STEP_INLINE int step_signal(struct step_regs *regs)
{
	struct step_signal saved;

	if (STEP_READ(&saved, sizeof(saved), regs->r[STEP_SP] + STEP_SIGNAL_REGS))
		return WIRE_cut_no_memory;
	if (!saved.ip)
		return STEP_ROOT;
	regs->r[0] = saved.ax;
	regs->r[1] = saved.dx;
	regs->r[2] = saved.cx;
	regs->r[3] = saved.bx;
	regs->r[4] = saved.si;
	regs->r[5] = saved.di;
	regs->r[8] = saved.r8;
	regs->r[9] = saved.r9;
	regs->r[10] = saved.r10;
	regs->r[11] = saved.r11;
	regs->r[12] = saved.r12;
	regs->r[13] = saved.r13;
	regs->r[14] = saved.r14;
	regs->r[15] = saved.r15;
	regs->r[STEP_FP] = saved.bp;
	regs->r[STEP_SP] = saved.sp;
	regs->r[STEP_IP] = saved.ip;
	return STEP_MORE;
}

#endif
