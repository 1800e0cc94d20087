/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The first samples of a file: its unwind table is not there yet. Registers, the mappings with code and the stack go up
 * to user space, and every file of the process is announced, so that its tables are there the next time.
 */
#ifndef WICK_BPF_EARLY_H
#define WICK_BPF_EARLY_H

#include "bpf/count.h"
#include "bpf/mapping.h"
#include "bpf/uprobe.h"

/* Steps of steps: the verifier follows two short loops faster than a long one. */
#define EARLY_STEPS 8
#define EARLY_LEAVES 8 /* of the maple tree, a step: a process with more mappings keeps those at its lower addresses */
#define EARLY_LIST 64  /* mappings, a step, before 6.1 */
#define EARLY_RETURNS (UPROBE_DEPTH / EARLY_STEPS)
#define EARLY_PAGE 4096

struct early_room {
	struct wire_early head;
	__u8 stack[WIRE_EARLY_STACK];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct early_room);
} earlies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} early_ring SEC(".maps");

static __always_inline struct early_room *early_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&earlies, &cpu);
}

/* Adds the mapping s->early_vma if there is code in it. */
__attribute__((noinline)) int early_add(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct early_room *early = early_of_cpu();
	struct vm_area_struct *vma;
	struct mapping_set *set;
	struct wire_early_map *map;
	__u64 slot;
	int at;

	if (!s || !early)
		return 1;
	set = mapping_set(s);
	vma = (void *)s->early_vma;
	if (s->early_vma <= MAPLE_RESERVED || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	s->address = BPF_CORE_READ(vma, vm_start);
	at = mapping_find(which);
	if (at < 0)
		return 0;
	at = index_of_mapping(at);
	slot = s->early_maps;
	asm volatile("" : "+r"(slot));
	if (slot >= WIRE_EARLY_MAPS)
		return 1;
	map = &early->head.maps[slot];
	map->start = set->items[at].start;
	map->end = set->items[at].end;
	map->owner = set->items[at].owner;
	map->offset = set->items[at].offset;
	map->kind = set->items[at].kind;
	s->early_maps = slot + 1;
	if (map->kind == WIRE_FRAME_FILE && !bpf_map_lookup_elem(&files, &s->file_id) && mapping_announce(which))
		set->mm = 0; /* tried again with the next sample */
	return 0;
}

/* Adds the mappings of the leaf in the scratch, which ends before s->early_next. Non-zero if not all have room. */
__attribute__((noinline)) int early_leaf_maps(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	__u64 max, limit;

	if (!s)
		return 1;
	max = s->early_next - 1;
	limit = (max >> 56 ? 1ULL << 56 : max) - 1;
	s->leaf[0] = s->node[MAPLE_SLOTS];
	for (int i = 1; i < MAPLE_SLOTS;
	     i++) { /* a slot is in use if the pivot before it is not zero, nor the last one */
		__u64 pivot = s->node[i] - 1, used = ((pivot - limit) & ~pivot) >> 63;

		asm volatile("" : "+r"(used));
		s->leaf[i] = s->node[MAPLE_SLOTS + i] & -used;
	}
	for (int i = 0; i < MAPLE_SLOTS; i++) {
		s->early_vma = s->leaf[i];
		if (early_add(which))
			return 1;
	}
	return 0;
}

/* Reads the leaf of the maple tree that holds s->early_next. 1 if that fails, 2 at the end of the tree. */
__attribute__((noinline)) int early_leaf(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mm_struct *mm;
	__u64 entry, max = ~0ULL;

	if (!s)
		return 1;
	mm = (void *)s->mm;
	if (!bpf_core_field_exists(mm->mm_mt)) /* it is verified by itself, also where there is no such tree */
		return 1;
	entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	for (int depth = 0; depth < MAPLE_DEPTH; depth++) {
		__u64 type = mapping_type(entry), arange = mapping_is_arange(type), slot, pivot, take;
		int found;

		if (entry <= MAPLE_RESERVED || (!depth && (entry & 3) != 2))
			return 1;
		found = mapping_node(which, entry, s->early_next);
		if (found < 0)
			return 1;
		if (type == MAPLE_LEAF_64)
			break;
		slot = found;
		pivot = s->node[(1 + slot) & 31];
		take = ((slot + 1 - mapping_slots(arange)) & (pivot | -pivot)) >> 63; /* not the last, and not zero */
		asm volatile("" : "+r"(take));
		max += (pivot - max) * take;
		entry = s->node[(mapping_slots(arange) + slot) & 31];
	}
	s->early_next = max + 1;
	return max >> 56 ? 2 : 0;
}

/* The next mapping of the list that kernels before 6.1 keep. */
__attribute__((noinline)) int early_listed(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct vm_area_struct___rb *vma;

	if (!s || !s->early_next)
		return 1;
	s->early_vma = s->early_next;
	vma = (void *)s->early_next;
	if (!bpf_core_field_exists(vma->vm_next)) /* as above */
		return 1;
	s->early_next = (__u64)BPF_CORE_READ(vma, vm_next);
	return early_add(which);
}

/* The mappings of the next few leaves. 0: there are more; 2: those were all; 1: they cannot be told. */
__attribute__((noinline)) int early_leaves(__u32 which)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < EARLY_LEAVES; i++) {
		int end = early_leaf(which);

		if (end == 1 || early_leaf_maps(which))
			return 1;
		if (end)
			return end;
	}
	return 0;
}

/* The next few mappings of the list. 1 after the last. */
__attribute__((noinline)) int early_list(__u32 which)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < EARLY_LIST; i++)
		if (early_listed(which))
			return 1;
	return 0;
}

/* True if all of them were found: with some missing, the stack could not be followed later. */
__attribute__((noinline)) int early_find_maps(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mm_struct *mm;
	int end = 0;

	if (!s)
		return false;
	mm = (void *)s->mm;
	s->early_maps = 0;
	s->early_next = 1;
	if (bpf_core_field_exists(mm->mm_mt)) {
#pragma clang loop unroll(disable)
		for (int i = 0; i < EARLY_STEPS && !end; i++)
			end = early_leaves(which);
		return end == 2;
	}
	s->early_next = (__u64)BPF_CORE_READ((struct mm_struct___rb *)mm, mmap);
#pragma clang loop unroll(disable)
	for (int i = 0; i < EARLY_STEPS; i++)
		if (early_list(which))
			break;
	return !s->early_next;
}

/* The stack from its pointer up, page by page: a read that meets one missing page fails whole. The bytes copied. */
__attribute__((noinline)) int early_stack(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct early_room *early = early_of_cpu();
	__u64 used = 0, end;

	if (!s || !early)
		return 0;
	s->address = early->head.registers[STEP_SP];
	if (mapping_find(which) < 0)
		return 0;
	end = s->vm_end;
	for (int i = 0; i < WIRE_EARLY_STACK / EARLY_PAGE; i++) {
		__u64 at = early->head.stack_start + used, len = EARLY_PAGE - (at & (EARLY_PAGE - 1));

		if (at >= end || used > WIRE_EARLY_STACK - EARLY_PAGE)
			break;
		asm volatile("" : "+r"(len));
		if (len > EARLY_PAGE || bpf_probe_read_user(early->stack + used, len, (void *)at))
			break;
		used += len;
	}
	early->head.stack_len = used;
	return 0;
}

/* The next return that is probed: in the copy of the stack it leads to where it did before. 0 to go on. */
__attribute__((noinline)) int early_return(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct early_room *early = early_of_cpu();
	__u64 at;

	if (!s || !early || uprobe_next(which))
		return 1;
	at = s->uprobe_stack - early->head.stack_start;
	asm volatile("" : "+r"(at));
	if (at <= WIRE_EARLY_STACK - sizeof(__u64) && !(at & 7))
		*(__u64 *)(early->stack + at) = s->uprobe_return;
	return 0;
}

__attribute__((noinline)) int early_returns(__u32 which)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < EARLY_RETURNS; i++)
		if (early_return(which))
			return 1;
	return 0;
}

/* Sends the sample of s->key. True if user space will count it. Apart from what all other samples need. */
__attribute__((noinline)) int early_send(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct early_room *early = early_of_cpu();
	struct wire_usage *usage;
	struct mm_struct *mm;
	__u64 len;

	if (!s || !early || settings.unwind != WIRE_UNWIND_AUTO || settings.no_tree)
		return false;
	early->head.user = user_current();
	usage = user_usage(early->head.user);
	if (usage && !user_may_send(early->head.user, &early_ring, usage->early_bytes, settings.early_bytes)) {
		struct wire_counters *c = counters_of(s->generation);

		if (c)
			c->value[WIRE_note_user_early]++;
		return false;
	}
	count_group(s);
	early->head.type = WIRE_EARLY;
	mm = (void *)s->mm;
	early->head.stack_root = BPF_CORE_READ(mm, start_stack);
	early->head.when = (__u64)bpf_get_smp_processor_id() << 48 | WIRE_EVENT_US(s->now / 1000);
	early->head.key = s->key;
	early->head.process = s->process;
	if (task_leaf(which))
		return false;
	*(struct step_regs *)early->head.registers = s->regs;
	if (!early_find_maps(which))
		return false;
	early->head.maps_len = s->early_maps;
	early->head.stack_start = early->head.registers[STEP_SP];
	early->head.stack_len = 0;
	early_stack(which);
	s->uprobe_at = UPROBE_UNREAD;
#pragma clang loop unroll(disable)
	for (int i = 0; i < EARLY_STEPS; i++)
		if (early_returns(which))
			break;
	len = early->head.stack_len;
	asm volatile("" : "+r"(len));
	if (len > WIRE_EARLY_STACK)
		return false;
	if (usage)
		__sync_fetch_and_add(&usage->early_bytes, __builtin_offsetof(struct early_room, stack) + len);
	return !bpf_ringbuf_output(&early_ring, early, __builtin_offsetof(struct early_room, stack) + len,
				   BPF_RB_FORCE_WAKEUP);
}

#endif
