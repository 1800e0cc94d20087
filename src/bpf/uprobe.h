/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Stacks of a task that somebody probes. Where the return of a function is probed, the kernel has put the address of a
 * page of its own in place of the return address, and keeps the true one in a list of the task, innermost first. And
 * the instruction at a probe may run elsewhere, in a copy.
 */
#ifndef WICK_BPF_UPROBE_H
#define WICK_BPF_UPROBE_H

#include "bpf/state.h"

#define UPROBE_DEPTH 64    /* the kernel keeps no more of them */
#define UPROBE_UNREAD 1    /* in place of the next one: the list has not been looked at */
#define UPROBE_COPY 128    /* bytes in which the copy of an instruction runs */
#define UPROBE_ALIGN 0xfff /* what returns are led to is the beginning of a page */

/* Reads the next return that is probed. 0 if there is one. */
__attribute__((noinline)) int uprobe_next(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *at = NULL;

	if (!s || !bpf_core_field_exists(task->utask) || !bpf_core_field_exists(at->orig_ret_vaddr))
		return 1;
	if (s->uprobe_at == UPROBE_UNREAD)
		s->uprobe_at = (__u64)BPF_CORE_READ(task, utask, return_instances);
	at = (void *)s->uprobe_at;
	if (!at)
		return 1;
	s->uprobe_now = s->uprobe_at;
	s->uprobe_stack = BPF_CORE_READ(at, stack);
	s->uprobe_return = BPF_CORE_READ(at, orig_ret_vaddr);
	s->uprobe_at = (__u64)BPF_CORE_READ(at, next);
	return 0;
}

/*
 * Whether the next return that is probed is the one that was just taken; its address is put back then. 0 to go on. One
 * that is further up the stack stays for later: a true return address may be the beginning of a page as well.
 */
__attribute__((noinline)) int uprobe_match(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	__u64 slot;

	if (!s || uprobe_next(which))
		return 1;
	slot = s->regs.r[STEP_SP] - ARCH_RETURN_SLOT;
	if (s->uprobe_stack > slot) {
		s->uprobe_at = s->uprobe_now;
		return 1;
	}
	if (s->uprobe_stack != slot)
		return 0;
	s->regs.r[STEP_IP] = s->uprobe_return;
	return 1;
}

/* A function has been left by way of the kernel's page: puts the return address back that was on the stack. */
__attribute__((noinline)) int uprobe_return(__u32 which)
{
	for (int i = 0; i < UPROBE_DEPTH; i++)
		if (uprobe_match(which))
			break;
	return 0;
}

static __always_inline void uprobe_check(const struct scratch *s, __u32 which)
{
	if (WIRE_RARE(!(s->regs.r[STEP_IP] & UPROBE_ALIGN)))
		uprobe_return(which);
}

/* At the beginning of a walk: a leaf in the copy of an instruction is where the instruction is. True if it was one. */
__attribute__((noinline)) int uprobe_leaf(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct uprobe_task *probed = NULL;
	__u64 into, place;

	if (!s || !bpf_core_field_exists(task->utask) || !bpf_core_field_exists(probed->xol_vaddr))
		return 0;
	probed = BPF_CORE_READ(task, utask);
	if (!probed || !BPF_CORE_READ(probed, active_uprobe))
		return 0;
	into = s->regs.r[STEP_IP] - BPF_CORE_READ(probed, xol_vaddr);
	place = BPF_CORE_READ(probed, vaddr);
	if (into >= UPROBE_COPY || !place)
		return 0;
	s->regs.r[STEP_IP] = s->leaf_ip = place + into;
	return 1;
}

#endif
