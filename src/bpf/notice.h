/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Side band: processes that begin, change their program or end. It names processes and follows descendants; nothing
 * about a sample depends on its being in time.
 */
#ifndef WICK_BPF_NOTICE_H
#define WICK_BPF_NOTICE_H

#include "bpf/count.h"
#include "bpf/path.h"
#include "bpf/state.h"
#include "bpf/task.h"

struct notice_scratch {
	struct wire_notice notice;
	char slack[PATH_NAME_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct notice_scratch);
} notice_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} notices SEC(".maps");

/* A sample may interrupt a notice on its CPU and raise the same counters. */
static __always_inline void notice_count(__u32 counter)
{
	struct wire_counters *c = counters_of(session.generation & 1);

	if (c && counter < WIRE_COUNTERS)
		__sync_fetch_and_add(&c->value[counter], 1);
}

static __always_inline struct wire_notice *notice_begin(__u32 type, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct notice_scratch *s;
	struct wire_notice *n;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&notice_scratches, &zero);
	if (!s)
		return NULL;
	n = &s->notice;
	n->type = type;
	n->pid = task_pid_here(leader);
	n->start = task_start(leader);
	n->parent = 0;
	n->parent_start = 0;
	n->path_len = 0;
	n->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	bpf_probe_read_kernel(n->comm, sizeof(n->comm), &task->comm);
	return n;
}

static __always_inline void notice_send(struct wire_notice *n)
{
	__u64 len = n->path_len;

	asm volatile("" : "+r"(len));
	if (len > WIRE_PATH_LEN)
		len = WIRE_PATH_LEN;
	if (bpf_ringbuf_output(&notices, n, __builtin_offsetof(struct wire_notice, path) + len, count_wakeup(&notices)))
		notice_count(WIRE_note_notices_lost);
}

SEC("raw_tp/sched_process_exec")
int on_exec(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct wire_notice *n = notice_begin(WIRE_EXEC, task);
	struct file *exe;

	if (!n)
		return 0;
	if (session.command && n->pid == session.command) {
		if (bpf_map_update_elem(&pids, &n->pid, &n->start, BPF_ANY))
			notice_count(WIRE_note_children_full);
		session.command = 0;
	}
	exe = BPF_CORE_READ(task, mm, exe_file);
	n->path_len = path_read(n->path, exe);
	notice_send(n);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1], *leader;
	struct wire_notice *n;
	__u64 *asked;

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) /* a thread */
		return 0;
	n = notice_begin(WIRE_FORK, child);
	if (!n)
		return 0;
	leader = BPF_CORE_READ(parent, group_leader);
	n->parent = task_pid_here(leader);
	n->parent_start = task_start(leader);
	if (settings.children) {
		asked = bpf_map_lookup_elem(&pids, &n->parent);
		if (asked && (!*asked || *asked == n->parent_start) &&
		    bpf_map_update_elem(&pids, &n->pid, &n->start, BPF_ANY))
			notice_count(WIRE_note_children_full);
	}
	notice_send(n);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct wire_notice *n;

	if (BPF_CORE_READ(task, signal, live.counter)) /* other threads go on */
		return 0;
	n = notice_begin(WIRE_EXIT, task);
	if (!n)
		return 0;
	if (settings.by_pid) { /* whoever has the pid next is not meant; this one is, until it is gone */
		__u64 *asked = bpf_map_lookup_elem(&pids, &n->pid);

		if (asked && !*asked)
			*asked = n->start;
	}
	notice_send(n);
	return 0;
}

#endif
