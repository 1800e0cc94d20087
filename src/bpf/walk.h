/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The user stack: frame by frame, each address turned into (file, offset), until it is the rest of the last stack. */
#ifndef WICK_BPF_WALK_H
#define WICK_BPF_WALK_H

#include "bpf/trunk.h"
#include "bpf/uprobe.h"

#define WALK_STEPS 32
#define WALK_NO_RULE WIRE_RULES_MAX /* beyond the table of rules */
#define WALK_END 1
#define WALK_MET 2                  /* a frame of the trunk */
#define WALK_SIGNAL (STEP_ROOT - 1) /* beside the results of a step: it is a signal's frame */

static __always_inline void walk_add(struct scratch *s, __u64 owner, __u64 where)
{
	struct wire_frame *frame;
	__u32 at = s->frames;

	if (WIRE_RARE(at > WIRE_USER_FRAMES))
		return;
	frame = &s->user_frames[at];
	frame->owner = owner;
	frame->where = where;
	s->frames = at + 1;
}

/* One mapping for all of the process, in which frames are addresses. */
static __always_inline int walk_no_tree(const struct scratch *s, struct mapping_set *set)
{
	struct mapping *all = &set->items[0];

	all->kind = WIRE_FRAME_ANON;
	all->owner = s->process;
	all->offset = 0;
	all->executable = 1;
	set->last = 0;
	return s->address > 0 && !(s->address >> 56) ? 0 : -1;
}

static __always_inline bool walk_is_in(const struct mapping *mapping, __u64 address)
{
	return address >= mapping->start && address < mapping->end;
}

/* The mapping of s->address becomes set->last. */
__attribute__((noinline)) int walk_find(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping_set *set;
	int at;

	if (!s)
		return -1;
	set = mapping_set(s);
	if (settings.no_tree)
		return walk_no_tree(s, set);
	for (int i = 0; i < MAPPINGS; i++)
		if (walk_is_in(&set->items[i], s->address)) {
			set->last = i;
			return 0;
		}
	at = mapping_find(which);
	if (at < 0)
		return -1;
	at = index_of_mapping(at);
	set->last = at;
	if (set->items[at].kind == WIRE_FRAME_FILE && !bpf_map_lookup_elem(&files, &s->file_id)) {
		int told = mapping_announce(which);

		if (told > 0)
			set->items[at].table.id = 0;
		if (told)
			set->mm = 0; /* tried again with the next sample */
	}
	return 0;
}

/*
 * The rule for an offset in a file (s->table, s->where): the last row of its page that is not above it. Sixteen steps
 * without a branch, in logical shifts and a product, so that the verifier sees one path. Its number, or WALK_NO_RULE if
 * the table does not reach there.
 */
__attribute__((noinline)) int walk_search(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct wire_page *page;
	struct wire_slab *slab;
	__u32 index, zero = 0;
	__u64 low = 0;
	void *map;

	if (!s)
		return WALK_NO_RULE;
	index = (s->where >> WIRE_PAGE_SHIFT) - s->table.first_page;
	if (index >= s->table.pages)
		return WALK_NO_RULE;
	index += s->table.first_index;
	page = bpf_map_lookup_elem(&pages, &index);
	if (!page || !page->count)
		return WALK_NO_RULE;
	map = bpf_map_lookup_elem(&slabs, &page->slab);
	slab = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!slab)
		return WALK_NO_RULE;
	page->used = session.epoch;
	for (__u64 step = 1 << (WIRE_PAGE_SHIFT - 1); step; step >>= 1) {
		__u64 at = low + step, cell = slab->cells[(page->start + at) & (WIRE_SLAB_CELLS - 1)];
		__u64 take = ((at - page->count) & (cell - (s->where & 0xffff) - 1)) >> 63; /* a row, and not above */

		asm volatile("" : "+r"(take));
		low += step * take;
	}
	return slab->cells[(page->start + page->count + low) & (WIRE_SLAB_CELLS - 1)];
}

/* The same by way of the CPU's cache. What is found is copied: most frames are then one look-up. */
static __always_inline struct wire_rule *walk_rule(struct scratch *s, __u32 which, const struct wire_table *table,
						   __u64 offset)
{
	/* Nothing in it overlaps. An epoch marks its pages anew. */
	__u64 key = offset | (__u64)(table->id & WIRE_TABLE_ID_MAX) << WIRE_TABLE_OFFSETS | (__u64)session.epoch << 56;
	struct cached_row *row = &s->rows[(offset ^ offset >> 9 ^ table->id << 4) & (ROW_CACHE - 1)];
	struct wire_rule *rule;
	__u32 index;

	if (WIRE_RARE(offset >> WIRE_TABLE_OFFSETS))
		return NULL;
	if (!WIRE_RARE(row->key != key))
		return &row->rule;
	s->table = *table;
	s->where = offset;
	index = walk_search(which);
	rule = bpf_map_lookup_elem(&rules, &index);
	if (!rule)
		return NULL;
	row->key = key;
	row->rule = *rule;
	return &row->rule;
}

/* Restores what few rules do: apart, so that it is verified once. */
__attribute__((noinline)) int walk_saves(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (s)
		step_saves(&s->regs, &s->rule, s->old_fp);
	return 0;
}

/* What a signal interrupted. Apart, because the saved registers take a third of the stack that programs have. */
__attribute__((noinline)) int walk_signal(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s)
		return WIRE_cut_no_memory;
	s->exact = 1;
	s->all_regs = 1;
	return step_signal(&s->regs);
}

/* Whether the frame's address is the first one of a function, and nothing is known of what is in front of it. */
__attribute__((noinline)) int walk_begins(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping *mapping;
	struct wire_rule *rule;
	__u32 index;

	if (!s || s->was_exact)
		return 0;
	mapping = &mapping_set(s)->items[index_of_mapping(mapping_set(s)->last)];
	if (!mapping->table.id || mapping->table.id == WIRE_TABLE_UNKNOWN)
		return 0;
	s->table = mapping->table;
	s->where = s->address + mapping->offset + 1;
	if (s->where >> WIRE_TABLE_OFFSETS)
		return 0;
	index = walk_search(which);
	rule = bpf_map_lookup_elem(&rules, &index);
	return rule && rule->kind != WIRE_RULE_NONE;
}

/* Whether the frame of s->regs may be the root of its stack, by what is known without a row: see step_fp_root. */
static __always_inline int walk_fp_root(struct scratch *s)
{
	struct mm_struct *mm = (void *)s->mm;

	return step_fp_root(&s->regs, s->chained, BPF_CORE_READ(mm, start_stack));
}

/*
 * Where there is no row: the frame pointer, if what it leads to was called from somewhere. A signal's restorer is known
 * by its instructions: not every C library describes it.
 */
__attribute__((noinline)) int walk_without_row(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct step_code code = {};
	int result;

	if (!s)
		return WIRE_cut_no_memory;
	if (!read_user(&code, sizeof(code), s->regs.r[STEP_IP] - sizeof(code.before)) && step_at_restorer(&code))
		return WALK_SIGNAL;
	if (!step_is_called(&code) && walk_begins(which)) /* nobody has called from there: somebody made up a context */
		return STEP_ROOT;
	if (settings.unwind == WIRE_UNWIND_TABLE)
		return WIRE_cut_no_table;
	if (s->frames == 1 && step_leaf(&s->regs) == STEP_MORE)
		return STEP_MORE;
	result = step_fp(&s->regs);
	if (result == STEP_ROOT && !walk_fp_root(s))
		result = WIRE_cut_no_frame_pointer;
	if (result == STEP_MORE)
		uprobe_check(s, which);
	if (result == STEP_MORE && (read_user(&code, sizeof(code), s->regs.r[STEP_IP] - sizeof(code.before)) ||
				    (!step_after_call(&code) && !step_at_restorer(&code))))
		result = WIRE_cut_no_frame_pointer;
	s->by_fp = result == STEP_MORE;
	return result == WIRE_cut_no_frame_pointer && s->no_table ? WIRE_cut_no_table : result;
}

/* Back to the leaf. Hardly any frame is found by a register other than the stack and frame pointers; only for the sake
 * of one that is, all that functions save is read on the way. */
__attribute__((noinline)) int walk_again(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s || task_leaf(which))
		return WALK_END;
	s->with_saves = 1;
	s->exact = 1;
	s->frames = 0;
	s->frames_fp = 0;
	s->frames_row = 0;
	s->chained = 0;
	s->uprobe_at = UPROBE_UNREAD;
	trunk_without(s);
	return 0;
}

static __always_inline bool walk_needs_saves(const struct scratch *s, const struct wire_rule *rule)
{
	if (s->exact || s->with_saves)
		return false;
	return rule->flags & (WIRE_RA_IN_REGISTER | WIRE_FP_IN_REGISTER) ||
	       (rule->reg != STEP_SP && rule->reg != STEP_FP &&
		(rule->kind == WIRE_RULE_REGISTER || rule->kind == WIRE_RULE_DEREF));
}

/* By s->rule, whatever it is. Apart: what nearly all frames need is small. */
__attribute__((noinline)) int walk_odd(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	__u32 exact;
	int result;

	if (!s)
		return WIRE_cut_no_memory;
	exact = s->exact;
	if (exact && !s->all_regs) /* it is the leaf */
		task_leaf(which);
	s->exact = 0;
	s->old_fp = s->regs.r[STEP_FP];
	result = step_rule(&s->regs, &s->rule, exact);
	if (result == STEP_MORE && s->with_saves && s->rule.flags & WIRE_RULE_SAVES)
		walk_saves(which);
	return result;
}

/* From the frame of s->regs to its caller, by the rule of its row or else without. */
static __always_inline int walk_caller(struct scratch *s, __u32 which, const struct wire_rule *rule)
{
	int result;

	if (settings.unwind == WIRE_UNWIND_FP) { /* as it was asked for: the chain and nothing else */
		s->exact = 0;
		return step_fp(&s->regs);
	}
	if (!WIRE_RARE(!rule || !(rule->flags & WIRE_RULE_PLAIN) || s->with_saves)) {
		s->exact = 0;
		return step_plain(&s->regs, rule);
	}
	if (rule && rule->kind == WIRE_RULE_ROOT)
		return STEP_ROOT;
	if (rule && rule->kind != WIRE_RULE_NONE && rule->kind != WIRE_RULE_SIGNAL) {
		s->rule = *rule;
		return walk_odd(which);
	}
	s->exact = 0;
	result = rule && rule->kind == WIRE_RULE_SIGNAL ? WALK_SIGNAL : walk_without_row(which);
	return result == WALK_SIGNAL ? walk_signal(which) : result;
}

/* Adds the frame of s->regs and steps to its caller. 0 to go on, or WALK_END, WALK_MET. */
__attribute__((noinline)) int walk_step(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping_set *set;
	struct mapping *mapping;
	struct wire_rule *rule = NULL;
	__u64 where;
	int result;

	if (WIRE_RARE(!s))
		return WALK_END;
	set = mapping_set(s);
	if (WIRE_RARE(s->frames >= WIRE_USER_FRAMES)) {
		s->cut = WIRE_cut_depth;
		return WALK_END;
	}
	if (!s->exact) {
		uprobe_check(s, which);
		if (s->trunk_at < TRUNK_FRAMES && trunk_meets(s))
			return WALK_MET;
	}
	s->address = s->regs.r[STEP_IP] - !s->exact; /* a return address may already be in the next function */
	if (WIRE_RARE(settings.no_tree || !walk_is_in(&set->items[index_of_mapping(set->last)], s->address)) &&
	    walk_find(which)) {
		s->cut = WIRE_cut_no_mapping;
		return WALK_END;
	}
	mapping = &set->items[index_of_mapping(set->last)];
	if (WIRE_RARE(!mapping->executable)) {
		s->cut = WIRE_cut_not_code;
		return WALK_END;
	}
	if (WIRE_RARE(!s->frames && mapping->kind == WIRE_FRAME_ANON) && uprobe_leaf(which))
		return 0;
	where = s->address + mapping->offset;
	if (mapping->table.id && mapping->table.id != WIRE_TABLE_UNKNOWN)
		rule = walk_rule(s, which, &mapping->table, where);
	if (WIRE_RARE(rule && !(rule->flags & WIRE_RULE_PLAIN)) && walk_needs_saves(s, rule)) {
		return walk_again(which);
	}
	walk_add(s, mapping->owner, WIRE_WHERE(mapping->kind, where));
	s->no_table = mapping->table.id == WIRE_TABLE_UNKNOWN && settings.unwind != WIRE_UNWIND_FP;
	s->early |= s->no_table;
	if (settings.unwind == WIRE_UNWIND_OFF) {
		s->cut = WIRE_cut_depth;
		return WALK_END;
	}
	s->by_fp = 0;
	s->was_exact = s->exact;
	result = walk_caller(s, which, rule);
	s->chained = s->by_fp;
	if (!WIRE_RARE(result != STEP_MORE)) {
		if (rule && rule->kind != WIRE_RULE_NONE)
			s->frames_row++;
		else
			s->frames_fp++;
		trunk_note(s, rule);
		return 0;
	}
	s->cut = result == STEP_ROOT ? 0 : result;
	if (result == STEP_ROOT) /* it is one whatever is on the stack */
		s->rooted =
			settings.unwind == WIRE_UNWIND_FP ? !s->regs.r[STEP_FP] : rule && rule->kind == WIRE_RULE_ROOT;
	return WALK_END;
}

/* Many steps: the verifier follows two loops of 32 faster than one of 1,024. Non-zero at the end. */
__attribute__((noinline)) int walk_steps(__u32 which)
{
	for (int i = 0; i < WALK_STEPS; i++) {
		int end = walk_step(which);

		if (end == WALK_END || (end == WALK_MET && trunk_joins(which)))
			return 1;
	}
	return 0;
}

/* The whole stack of s->regs into s->user_frames; its id in s->hash, its note in s->cut. */
__attribute__((noinline)) int walk_user(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s)
		return 0;
	s->pid = s->key.pid;
	s->process = wire_process_id(s->key.pid, s->key.start);
	s->frames = 0;
	s->frames_fp = 0;
	s->frames_row = 0;
	s->exact = 1;
	s->early = 0;
	s->chained = 0;
	s->with_saves = 0;
	s->all_regs = 0;
	s->leaf_ip = s->regs.r[STEP_IP];
	s->uprobe_at = UPROBE_UNREAD;
	s->cut = s->compat ? WIRE_cut_compat : 0;
	s->window_start = WINDOW_NONE;
	mapping_begin(s);
	trunk_begin(s);
	if (!s->compat)
		for (int i = 0; i <= 2 * WIRE_USER_FRAMES / WALK_STEPS; i++) /* it may begin anew once */
			if (walk_steps(which))
				break;
	if (s->cut)
		walk_add(s, 0, WIRE_WHERE(WIRE_FRAME_CUT, s->cut));
	trunk_end(s);
	s->hash = s->hash ?: 1;
	return 0;
}

#endif
