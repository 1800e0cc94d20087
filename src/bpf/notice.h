/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Side band: processes that begin, change their program or end. It names processes and follows descendants; nothing
 * about a sample depends on its being in time.
 */
#ifndef WICK_BPF_NOTICE_H
#define WICK_BPF_NOTICE_H

#include "bpf/count.h"
#include "bpf/mapping.h"
#include "bpf/path.h"
#include "bpf/state.h"
#include "bpf/task.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} notices SEC(".maps");

/* Ids of files of programs that began, for those that were last to do so: user space was told of them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} programs SEC(".maps");

/* A sample may interrupt a notice on its CPU and raise the same counters. */
static __always_inline void notice_count(__u32 counter)
{
	struct wire_counters *c = counters_of(session.generation & 1);

	if (c && counter < WIRE_COUNTERS)
		__sync_fetch_and_add(&c->value[counter], 1);
}

static __always_inline struct path_scratch *notice_begin(__u32 type, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct path_scratch *p;
	struct wire_notice *n;
	__u32 which = PATH_NOTICE;

	p = bpf_map_lookup_elem(&path_scratches, &which);
	if (!p)
		return NULL;
	if (p->busy) { /* where these programs can be preempted: another task's is being put together here */
		notice_count(WIRE_note_notices_lost);
		return NULL;
	}
	p->busy = 1;
	p->used = 0;
	n = &p->notice;
	n->type = type;
	n->pid = task_pid_here(leader);
	n->start = BPF_CORE_READ(leader, start_boottime);
	n->parent = 0;
	n->parent_start = 0;
	n->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	bpf_probe_read_kernel(n->comm, sizeof(n->comm), &task->comm);
	return p;
}

static __always_inline void notice_send(struct path_scratch *p)
{
	p->notice.path_len = p->used;
	if (bpf_ringbuf_output(&notices, &p->notice, __builtin_offsetof(struct wire_notice, path) + path_len(p),
			       count_wakeup(&notices)))
		notice_count(WIRE_note_notices_lost);
	p->busy = 0;
}

/* Of a program that is new, user space opens the file at once: it may be deleted before its first sample. */
static __always_inline void notice_program(__u32 pid, struct file *exe)
{
	struct wire_program program = { .type = WIRE_PROGRAM, .pid = pid };
	struct wire_file_key key = {};
	__u32 one = 1;

	if (settings.no_tree || (settings.by_pid && !bpf_map_lookup_elem(&pids, &pid)))
		return;
	mapping_file_key(&key, exe);
	program.id = mapping_file_id(&key);
	program.user = user_current();
	mapping_place(&program.place, exe);
	if (!bpf_map_lookup_elem(&files, &program.id) &&
	    !bpf_map_update_elem(&programs, &program.id, &one, BPF_NOEXIST))
		bpf_ringbuf_output(&ring, &program, sizeof(program), BPF_RB_FORCE_WAKEUP);
}

SEC("raw_tp/sched_process_exec")
int on_exec(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct path_scratch *p = notice_begin(WIRE_EXEC, task);
	struct wire_notice *n;
	struct file *exe;

	if (!p)
		return 0;
	n = &p->notice;
	if (session.command && n->pid == session.command) {
		if (bpf_map_update_elem(&pids, &n->pid, &n->start, BPF_ANY))
			notice_count(WIRE_note_children_full);
		session.command = 0;
	}
	exe = BPF_CORE_READ(task, mm, exe_file);
	notice_program(n->pid, exe);
	count_tell(n->cgroup);
	p = path_of(PATH_NOTICE, exe);
	if (p)
		notice_send(p);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1], *leader;
	struct path_scratch *p;
	struct wire_notice *n;
	__u64 *asked;

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) /* a thread */
		return 0;
	p = notice_begin(WIRE_FORK, child);
	if (!p)
		return 0;
	n = &p->notice;
	leader = BPF_CORE_READ(parent, group_leader);
	n->parent = task_pid_here(leader);
	n->parent_start = BPF_CORE_READ(leader, start_boottime);
	if (settings.children) {
		asked = bpf_map_lookup_elem(&pids, &n->parent);
		if (asked && (!*asked || *asked == n->parent_start) &&
		    bpf_map_update_elem(&pids, &n->pid, &n->start, BPF_ANY))
			notice_count(WIRE_note_children_full);
	}
	notice_send(p);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct path_scratch *p;
	struct wire_notice *n;

	if (BPF_CORE_READ(task, signal, live.counter)) /* other threads go on */
		return 0;
	p = notice_begin(WIRE_EXIT, task);
	if (!p)
		return 0;
	n = &p->notice;
	if (settings.by_pid) { /* whoever has the pid next is not meant; this one is, until it is gone */
		__u64 *asked = bpf_map_lookup_elem(&pids, &n->pid);

		if (asked && !*asked)
			*asked = n->start;
	}
	notice_send(p);
	return 0;
}

#endif
