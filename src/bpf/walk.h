/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The user stack: frame by frame, each address turned into (file, offset) and mixed into the stack's id on the way. */
#ifndef WICK_BPF_WALK_H
#define WICK_BPF_WALK_H

#include "bpf/mapping.h"
#include "bpf/read.h"

#define WALK_STEPS 32

static __always_inline void walk_add(struct scratch *s, __u64 owner, __u64 where)
{
	struct wire_frame *frame;
	__u32 at = s->frames;

	if (at > WIRE_USER_FRAMES)
		return;
	frame = &s->user_frames[at];
	frame->owner = owner;
	frame->where = where;
	s->frames = at + 1;
	s->hash = wire_mix(wire_mix(s->hash, owner), where);
}

/* One mapping for all of the process, in which frames are addresses. */
static __always_inline int walk_no_tree(struct scratch *s)
{
	struct mapping *all = &s->mappings[0];

	all->kind = WIRE_FRAME_ANON;
	all->owner = s->process;
	all->offset = 0;
	all->executable = 1;
	return s->address > 0 && !(s->address >> 56) ? 0 : -1;
}

static __always_inline int walk_mapping(struct scratch *s, __u32 which)
{
	int at;

	if (settings.no_tree)
		return walk_no_tree(s);
	for (int i = 0; i < MAPPING_CACHE; i++)
		if (s->address >= s->mappings[i].start && s->address < s->mappings[i].end)
			return i;
	at = mapping_find(which);
	if (at < 0)
		return -1;
	at = index_of_mapping(at);
	if (s->mappings[at].kind == WIRE_FRAME_FILE && !bpf_map_lookup_elem(&files, &s->file_id))
		mapping_announce(which);
	return at;
}

/* Adds the frame of s->regs and steps to its caller. 0 to go on. */
__attribute__((noinline)) int walk_step(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping *mapping;
	int at, result;

	if (!s)
		return 1;
	if (s->frames >= WIRE_USER_FRAMES) {
		s->cut = WIRE_cut_depth;
		return 1;
	}
	s->address = s->regs.ip - (s->frames ? 1 : 0); /* a return address may already be in the next function */
	at = walk_mapping(s, which);
	if (at < 0) {
		s->cut = WIRE_cut_no_mapping;
		return 1;
	}
	mapping = &s->mappings[index_of_mapping(at)];
	if (!mapping->executable) {
		s->cut = WIRE_cut_not_code;
		return 1;
	}
	walk_add(s, mapping->owner, WIRE_WHERE(mapping->kind, s->address + mapping->offset));
	result = step_fp(&s->regs);
	if (result == STEP_MORE) {
		s->frames_fp++;
		return 0;
	}
	s->cut = result == STEP_ROOT ? 0 : result;
	return 1;
}

/* Many steps: the verifier follows two loops of 32 faster than one of 1,024. 0 to go on. */
__attribute__((noinline)) int walk_steps(__u32 which)
{
	for (int i = 0; i < WALK_STEPS; i++)
		if (walk_step(which))
			return 1;
	return 0;
}

/* The whole stack of s->regs into s->user_frames; its id in s->hash, its note in s->cut. */
static __always_inline void walk_user(struct scratch *s, bool compat)
{
	s->frames = 0;
	s->frames_fp = 0;
	s->next_mapping = 0;
	s->cut = 0;
	s->hash = settings.seed;
	for (int i = 0; i < MAPPING_CACHE; i++)
		s->mappings[i].start = s->mappings[i].end = 0;
	if (compat)
		s->cut = WIRE_cut_compat;
	for (int i = 0; i <= WIRE_USER_FRAMES / WALK_STEPS && !compat; i++)
		if (walk_steps(SCRATCH_SAMPLE))
			break;
	if (s->cut)
		walk_add(s, 0, WIRE_WHERE(WIRE_FRAME_CUT, s->cut));
	s->hash = s->hash ?: 1;
}

#endif
