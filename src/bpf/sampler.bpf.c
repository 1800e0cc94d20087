// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * The sampler: filter, kernel stack, user stack, count. One program on one perf event per CPU; beside it the side band
 * (notice.h) and a program that answers wick's questions about its own mappings.
 */
#include "bpf/kernel.h"
#include "bpf/arch.h"
#include "bpf/state.h"
#include "bpf/task.h"
#include "bpf/walk.h"
#include "bpf/count.h"
#include "bpf/early.h"
#include "bpf/notice.h"

#define KERNEL_MIXES 8
#define USER_TICK_NS 10000000 /* of the clock in which user space is told when a thread began */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Ticks that never came, from the time since the last one. A change of period makes the gap meaningless once. */
static __always_inline void sample_missed(__u64 now, struct wire_cpu *cpu, struct wire_counters *c)
{
	__u64 gap = now - cpu->last_ns;

	if (cpu->period_ns && cpu->last_ns && cpu->seen_phase == cpu->phase && WIRE_RARE(gap > cpu->period_ns * 3 / 2))
		c->value[WIRE_note_missed] += (gap + cpu->period_ns / 2) / cpu->period_ns - 1;
	cpu->last_ns = now;
	if (!cpu->first_ns)
		cpu->first_ns = now;
	cpu->seen_phase = cpu->phase;
}

/* Whether the options ask for the task. pid and start are filled in on the way. */
static __always_inline bool sample_wanted(struct task_struct *task, struct wire_key *key)
{
	if (settings.by_comm && !bpf_map_lookup_elem(&comms, key->comm))
		return false;
	if (settings.by_tid) {
		__u32 tid = task_pid_here(task);
		__u64 *start = bpf_map_lookup_elem(&tids, &tid);

		if (!start || (*start && *start != TASK_READ(task, start_boottime) / USER_TICK_NS))
			return false;
	}
	if (settings.by_pid) {
		__u64 *start = bpf_map_lookup_elem(&pids, &key->pid);

		if (!start || (*start && *start != key->start))
			return false;
	}
	if (settings.by_cgroup_map) {
		__u64 id = bpf_get_current_cgroup_id();

		if (!bpf_map_lookup_elem(&cgroup_ids, &id))
			return false;
	}
	if (settings.by_mount_map) {
		__u64 id = task_mount_id(task);

		if (!bpf_map_lookup_elem(&mount_ids, &id))
			return false;
	}
	return !settings.cgroup || task_in_cgroup(task);
}

static __always_inline void sample_who(struct task_struct *task, __u64 ids, struct wire_key *key)
{
	__u32 tgid = ids >> 32;
	struct task_struct *leader = (__u32)ids == tgid ? task : BPF_CORE_READ(task, group_leader);

	key->pid = WIRE_RARE(session.ns_level) ? task_pid_here(leader) : tgid;
	key->start = leader == task ? TASK_READ(task, start_boottime) : BPF_CORE_READ(leader, start_boottime);
	bpf_get_current_comm(key->comm, sizeof(key->comm));
}

/* Mixes the next few frames of the kernel stack into its id. 1 after the last. */
__attribute__((noinline)) int sample_kernel_mix(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s)
		return 1;
	for (int i = 0; i < KERNEL_MIXES; i++) {
		__u64 at = s->kernel_mixed;

		asm volatile("" : "+r"(at));
		if (at >= WIRE_KERNEL_FRAMES || at >= s->kernel.count)
			return 1;
		s->kernel.id = wire_mix(s->kernel.id, s->kernel_frames[at]);
		s->kernel_mixed = at + 1;
	}
	return 0;
}

/* Apart, so that it is verified once. */
__attribute__((noinline)) int sample_kernel_id(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s)
		return 0;
	s->kernel.id = settings.seed + 1;
	s->kernel_mixed = 0;
	for (int i = 0; i <= WIRE_KERNEL_FRAMES / KERNEL_MIXES; i++)
		if (sample_kernel_mix(which))
			break;
	s->kernel.id = s->kernel.count ? (s->kernel.id ?: 1) : 0;
	return 0;
}

static __always_inline void sample_kernel_stack(struct scratch *s, struct arch_context *ctx)
{
	long len = bpf_get_stack(ctx, s->kernel_frames, WIRE_KERNEL_FRAMES * sizeof(__u64), 0);

	s->kernel.count = len > 0 ? len / sizeof(__u64) : 0;
	sample_kernel_id(s->which);
}

/* Sends s->key's stacks and begins its count. 0, or the counter of what went wrong. */
__attribute__((noinline)) int sample_new(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct wire_counters *c;
	int lost;

	if (!s)
		return WIRE_lost_error;
	c = counters_of(s->generation);
	if (!c)
		return WIRE_lost_error;
	if (count_anew(s->generation, &s->key))
		return 0;
	count_group(s);
	lost = s->key.kernel ? count_kernel(s) : 0;
	if (!lost && s->key.user) {
		trunk_unfold(s);
		lost = count_user(s);
	}
	return lost ?: count_key(s->generation, &s->key, c);
}

__attribute__((noinline)) int sample_event(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct wire_counters *c = s ? counters_of(s->generation) : NULL;

	if (c)
		count_event(&s->key, s->now, c);
	return 0;
}

/* Takes the stacks and counts them. The counter to raise. */
static __always_inline int sample_take(struct scratch *s, struct task_struct *task, struct arch_context *ctx,
				       struct wire_counters *c)
{
	struct wire_key *key = &s->key;
	int lost;

	if (settings.kernel && arch_in_kernel(ctx)) {
		sample_kernel_stack(s, ctx);
		key->kernel = s->kernel.id;
	}
	s->mm = (__u64)BPF_CORE_READ(task, mm);
	if (settings.user && s->mm && task_user_regs(task, ctx, s)) {
		walk_user(s->which);
		if (WIRE_RARE(s->early) && early_send(s->which))
			return WIRE_total_deferred;
		key->user = s->hash;
	}
	if (WIRE_RARE(!count_again(s->generation, key))) {
		lost = sample_new(s->which);
		if (lost)
			return lost;
	}
	if (key->user) {
		c->value[WIRE_stack_user]++;
		c->value[WIRE_frame_fp] += s->frames_fp;
		c->value[WIRE_frame_row] += s->frames_row;
		if (!s->cut)
			c->value[WIRE_stack_complete]++;
		else if (s->cut < WIRE_COUNTERS)
			c->value[s->cut]++;
	}
	return WIRE_total_counted;
}

/* Whether a process is one of wick's own. Without branches, which the verifier would follow both ways each. */
static __always_inline bool sample_is_worker(__u32 pid)
{
	__u64 same = 0;

	for (int i = 0; i < WIRE_WORKERS; i++)
		same |= (__u64)(session.workers[i] ^ pid) - 1; /* below zero where it is the same */
	return pid && same >> 63;
}

/* The counter to raise. */
static __always_inline int sample_tick(struct scratch *s, struct arch_context *ctx, struct wire_counters *c)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 ids = bpf_get_current_pid_tgid();

	if (!settings.keep_idle && !(__u32)ids && task_is_idle(task, ctx))
		return WIRE_left_out_idle;
	sample_who(task, ids, &s->key);
	if (!settings.keep_self && (ids >> 32 == session.self_tgid || sample_is_worker(s->key.pid)))
		return WIRE_left_out_self;
	if (settings.filtered && !sample_wanted(task, &s->key))
		return WIRE_left_out_filter;
	c->value[WIRE_total_taken]++;
	if (settings.threads)
		s->key.tid = task_pid_here(task);
	s->key.cgroup = bpf_get_current_cgroup_id();
	return sample_take(s, task, ctx, c);
}

SEC("perf_event")
int on_tick(struct arch_context *ctx)
{
	__u32 generation = session.generation & 1, which = bpf_get_smp_processor_id();
	struct wire_cpu *cpu = bpf_map_lookup_elem(&cpus, &which);
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct wire_counters *c;
	__u32 result;

	if (WIRE_RARE(!cpu || !s))
		return 0;
	c = &cpu->counters[generation];
	c->value[WIRE_total_fired]++;
	if (WIRE_RARE(s->busy)) {
		c->value[WIRE_total_taken]++;
		c->value[WIRE_lost_busy]++;
		return 0;
	}
	s->busy = 1;
	s->which = which;
	s->generation = generation;
	s->now = bpf_ktime_get_ns();
	s->key = (struct wire_key){};
	sample_missed(s->now, cpu, c);
	result = sample_tick(s, ctx, c);
	s->busy = 0;
	asm volatile("" : "+r"(result)); /* the verifier does not know what functions return */
	if (result < WIRE_COUNTERS)
		c->value[result]++;
	if (result == WIRE_total_counted && settings.want_events)
		sample_event(which);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_NAMES);
	__type(key, __u32);
	__type(value, struct wire_name);
} names SEC(".maps");

__attribute__((noinline)) int name_one(__u32 index)
{
	struct wire_name *name = bpf_map_lookup_elem(&names, &index);
	static const char format[] = "%pS";
	__u64 address;

	if (!name)
		return 1;
	address = name->address;
	if (bpf_core_enum_value_exists(enum bpf_func_id___wick, BPF_FUNC_snprintf___wick))
		bpf_snprintf(name->text, sizeof(name->text), format, &address, sizeof(address));
	return 0;
}

/* Run by wick on itself: the kernel's own names for addresses in it, without reading all of them. */
SEC("raw_tp/wick_names")
int on_names(void *ctx)
{
	for (int i = 0; i < WIRE_NAMES; i++)
		if (name_one(i))
			break;
	return 0;
}

/* The answers to on_look, one for each asker. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_ASKERS);
	__type(key, __u32);
	__type(value, struct wire_look);
} looks SEC(".maps");

/* Where the file is that the current process has open as a descriptor. */
static __always_inline void look_at_descriptor(struct wire_look *look, __s64 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file **table = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;

	if (fd < 0 || bpf_probe_read_kernel(&file, sizeof(file), table + fd) || !file)
		return;
	mapping_place(&look->opened, file);
}

static __always_inline void look_at_file(struct wire_look *look, struct scratch *s)
{
	struct file *file = (void *)s->vm_file;

	mapping_place(&look->place, file);
	look->owner = s->file_key.owner;
	look->mode = BPF_CORE_READ(file, f_inode, i_mode);
	look->links = BPF_CORE_READ(file, f_inode, i_nlink);
}

/* The main process is the one that the others belong to, and whose pids are meant. */
static __always_inline void look_at_self(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *at =
		(void *)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);

	session.self_tgid = bpf_get_current_pid_tgid() >> 32;
	session.ns_level = level;
	session.ns_inum = BPF_CORE_READ(at, ns, ns.inum);
}

/* Run by one of wick's processes on itself (BPF_PROG_TEST_RUN): what is mapped at an address, and who am I. */
SEC("raw_tp/wick_look")
int on_look(struct wire_query *query)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 asker = query->asker, which = settings.cpus + asker;
	struct wire_look *look = bpf_map_lookup_elem(&looks, &asker);
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping *mapping;
	int found;

	if (!look || !s)
		return 0;
	if (asker == WIRE_ASKER_SELF)
		look_at_self();
	*look = (struct wire_look){};
	s->mm = (__u64)BPF_CORE_READ(task, mm);
	s->address = query->address;
	look_at_descriptor(look, query->fd);
	found = mapping_find(which);
	if (found < 0)
		return 0;
	mapping = &mapping_set(s)->items[index_of_mapping(found)];
	look->start = mapping->start;
	look->end = mapping->end;
	look->executable = !!mapping->executable;
	look->kind = s->vm_file ? WIRE_FRAME_FILE : mapping->kind;
	look->offset = s->address - mapping->start + s->vm_offset;
	if (!s->vm_file)
		return 0;
	look->id = s->file_id;
	look_at_file(look, s);
	return 0;
}
