/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Budgets of users: whose process a task is, and what he has taken of what all share. Looked at only where something
 * new is met (a stack, a file, a sample before its table), so that ordinary samples pay nothing for it.
 */
#ifndef WICK_BPF_USER_H
#define WICK_BPF_USER_H

#include "bpf/state.h"

#define USER_NAMESPACES 33 /* they nest no deeper */

/* The user of the current task: see WIRE_USER_ROOT. A function of its own: verified once, not wherever it is asked. */
__attribute__((noinline)) __u64 user_current(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct user_namespace *ns = BPF_CORE_READ(task, real_cred, user_ns);
	int level = BPF_CORE_READ(ns, level);
	__u32 owner;

	if (!level)
		return BPF_CORE_READ(task, real_cred, uid.val);
#pragma clang loop unroll(disable)
	for (int i = 1; i < USER_NAMESPACES && i < level; i++)
		ns = BPF_CORE_READ(ns, parent);
	owner = BPF_CORE_READ(ns, owner.val);
	return owner ? owner : WIRE_USER_NAMESPACE(BPF_CORE_READ(ns, ns.inum));
}

/* What a user has taken; what counts for one generation begins anew with each. NULL if nothing is known of him yet. */
static __attribute__((noinline)) struct wire_usage *user_usage(__u64 user)
{
	struct wire_usage *usage = bpf_map_lookup_elem(&users, &user);
	__u32 generation = session.generation;

	if (!usage) {
		struct wire_usage none = { .generation = generation };

		bpf_map_update_elem(&users, &user, &none, BPF_NOEXIST);
		usage = bpf_map_lookup_elem(&users, &user);
	}
	if (usage && usage->generation != generation) {
		usage->generation = generation;
		usage->ring_bytes = 0;
		usage->early_bytes = 0;
	}
	return usage;
}

/*
 * Whether a user may put so many bytes into a ring: anyone may while it is less than half full; beyond that only who
 * has put little there in this generation.
 */
static __always_inline bool user_may_send(__u64 user, void *ring, __u32 own, __u32 size)
{
	return user == WIRE_USER_ROOT || own < size / 16 || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < size / 2;
}

#endif
