/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Who a task is: its pid where the caller stands, its start, its cgroup, and whether it has a user stack. */
#ifndef WICK_BPF_TASK_H
#define WICK_BPF_TASK_H

#include "bpf/arch.h"
#include "bpf/state.h"

#define CGROUP_DEPTH 64

/*
 * A field of the current task: where the kernel has typed pointers, a plain load. Not for pointers: each would make the
 * verifier look through all names of types.
 */
#define TASK_IS_TYPED bpf_core_enum_value_exists(enum bpf_func_id___wick, BPF_FUNC_get_current_task_btf___wick)
#define TASK_READ(task, field) (TASK_IS_TYPED ? bpf_get_current_task_btf()->field : BPF_CORE_READ(task, field))

/* In the caller's pid name space, 0 when the task is not visible there. */
static __always_inline __u32 task_pid_here(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = session.ns_level;
	struct upid *at;
	struct pid_namespace *ns;

	if (!level)
		return BPF_CORE_READ(task, pid);
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	at = (void *)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
	ns = BPF_CORE_READ(at, ns);
	return BPF_CORE_READ(ns, ns.inum) == session.ns_inum ? BPF_CORE_READ(at, nr) : 0;
}

static __always_inline bool task_in_cgroup(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup *cgroup;

	if (settings.cgroup_subsys < 0) {
		cgroup = BPF_CORE_READ(set, dfl_cgrp);
	} else {
		struct cgroup_subsys_state *css = NULL;
		__u32 slot = (__u32)settings.cgroup_subsys * sizeof(void *);

		bpf_probe_read_kernel(&css, sizeof(css),
				      (void *)set + bpf_core_field_offset(struct css_set, subsys) + slot);
		cgroup = BPF_CORE_READ(css, cgroup);
	}
	for (int i = 0; i < CGROUP_DEPTH && cgroup; i++) {
		struct cgroup_subsys_state *parent;

		if (BPF_CORE_READ(cgroup, kn, id) == settings.cgroup)
			return true;
		parent = BPF_CORE_READ(cgroup, self.parent);
		if (!parent)
			return false;
		cgroup = (void *)parent - bpf_core_field_offset(struct cgroup, self);
	}
	return false;
}

/* The inode of its mount name space; 0 for one that is ending. */
static __always_inline __u64 task_mount_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
}

/* Of a CPU's own task, of pid 0. Work done on another stack while that is current is a softirq. */
static __always_inline bool task_is_idle(struct task_struct *task, const struct arch_context *ctx)
{
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);

	return arch_sp(ctx) - stack < ARCH_THREAD_SIZE;
}

/* Where the user registers were saved on entry to the kernel, be it by this very tick. */
static __always_inline const void *task_saved_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___wick, BPF_FUNC_task_pt_regs___wick))
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return BPF_CORE_READ(task, stack) + ARCH_THREAD_SIZE - sizeof(struct arch_regs);
}

/* All of them, into the scratch. Few stacks need more than those of the tick. */
__attribute__((noinline)) int task_saved(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct task_struct *task = (void *)bpf_get_current_task();

	return !s || bpf_probe_read_kernel(&s->saved, sizeof(s->saved), task_saved_regs(task));
}

/* The same as registers of the leaf, whose instruction may be another than the one that runs: see uprobe.h. */
__attribute__((noinline)) int task_leaf(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s || task_saved(which))
		return 1;
	ARCH_FILL(&s->regs, s->saved);
	s->regs.r[STEP_IP] = s->leaf_ip;
	s->all_regs = 1;
	return 0;
}

/*
 * The user registers of the current task, if it has a user stack: not a kernel thread or worker, not a task without
 * memory, and not one inside execve, whose registers are of the old program and whose memory is the new one's.
 */
static __always_inline bool task_user_regs(struct task_struct *task, const struct arch_context *ctx, struct scratch *s)
{
	if (TASK_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER))
		return false;
	if (!arch_in_kernel(ctx)) {
		ARCH_FILL_FEW(&s->regs, ctx->regs);
		s->compat = ARCH_IS_COMPAT(ctx->regs);
		return true;
	}
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_execve) || task_saved(s->which) || !arch_is_user(&s->saved) ||
	    arch_in_exec(&s->saved))
		return false;
	ARCH_FILL_FEW(&s->regs, s->saved);
	s->compat = ARCH_IS_COMPAT(s->saved);
	return true;
}

#endif
