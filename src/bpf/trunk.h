/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The trunk: what the stacks of a thread have in common from one sample to the next, towards the root. A frame and all
 * its callers follow from its registers and from the words of the stack that the steps read. So when a walk comes to a
 * frame of the last one, with the same registers, it is enough to compare those words: no mapping is looked up, no rule
 * and no name. One word that is not the same, and the walk goes on by itself.
 *
 * Only plain steps count, whose words are known: a trunk begins above the last step of another kind. It is good for as
 * long as the mappings and the tables that it was found by.
 */
#ifndef WICK_BPF_TRUNK_H
#define WICK_BPF_TRUNK_H

#include "bpf/mapping.h"
#include "bpf/window.h"

#define TRUNK_NONE TRUNK_FRAMES /* in place of a frame of the trunk */
#define TRUNK_SKIP 4            /* frames of the trunk that the walk passes in one step */
#define TRUNK_CHECKS 8          /* frames that are compared at a time */
#define TRUNK_BELOW 64          /* bytes below a frame, in which its words are; no more than WINDOW_BELOW */
#define TRUNK_SETTLES 32

enum trunk_verdict {
	TRUNK_MORE = 0,
	TRUNK_SAME,
	TRUNK_OTHER,
};

static __always_inline struct trunk *trunk_of(struct scratch *s)
{
	return &s->trunks[s->trunk & (TRUNKS - 1)];
}

/* The compiler knows that the index is in range and drops the check; the verifier, which does not, wants to see it. */
static __always_inline __u64 trunk_index(__u64 at)
{
	asm volatile("" : "+r"(at));
	return at & (TRUNK_FRAMES - 1);
}

/* The walk begins, without the last one's trunk. Its leaf is looked up by another address than a caller would be. */
static __always_inline void trunk_without(struct scratch *s)
{
	s->trunk_at = TRUNK_NONE;
	s->trunk_from = 1;
}

/* Kernels that do not count the changes of a process's mappings leave nothing to rely on. */
static __always_inline bool trunk_usable(void)
{
	struct mm_struct___seq *seq = NULL;
	struct mm_struct___changes *changes = NULL;

	return bpf_core_field_exists(seq->mm_lock_seq.sequence) || bpf_core_field_exists(changes->mm_lock_seq);
}

/* Chooses the trunk for the walk that begins: after mapping_begin. */
static __always_inline void trunk_begin(struct scratch *s)
{
	struct mapping_set *set = mapping_set(s);
	struct trunk *t;

	s->trunk = (__u32)bpf_get_current_pid_tgid() & (TRUNKS - 1);
	s->joined = TRUNK_NONE;
	s->rooted = 0;
	trunk_without(s);
	t = trunk_of(s);
	if (!trunk_usable())
		return;
	if (!WIRE_RARE((t->process ^ s->process) | (t->born ^ set->born) | (t->epoch ^ session.epoch))) {
		s->trunk_at = t->first;
		return;
	}
	t->process = s->process;
	t->born = set->born;
	t->epoch = session.epoch;
	t->first = TRUNK_NONE;
}

/* Whether the walk has come to a frame of the trunk. Both go upwards, so neither has to look back. */
static __always_inline bool trunk_meets(struct scratch *s)
{
	struct trunk *t = trunk_of(s);
	__u64 sp = s->regs.r[STEP_SP], at = s->trunk_at;
	struct trunk_frame *frame;

#pragma clang loop unroll(disable)
	for (int i = 0; i < TRUNK_SKIP && at < TRUNK_FRAMES && t->frames[trunk_index(at)].sp < sp; i++)
		at++;
	s->trunk_at = at;
	if (at >= TRUNK_FRAMES)
		return false;
	frame = &t->frames[trunk_index(at)];
	return frame->sp == sp && frame->ip == s->regs.r[STEP_IP] &&
	       (!frame->needs_fp || frame->fp == s->regs.r[STEP_FP]);
}

/* Compares the next few frames. TRUNK_SAME when the last one was. What cannot be read is not the same. */
__attribute__((noinline)) int trunk_compare(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct trunk *t;
	__u64 at;

	if (WIRE_RARE(!s))
		return TRUNK_OTHER;
	t = trunk_of(s);
	at = s->trunk_compared;
	for (int i = 0; i < TRUNK_CHECKS; i++, at++) {
		struct trunk_frame *frame = &t->frames[trunk_index(at)];
		__u64 into = frame->sp - s->window_start;

		if (at >= TRUNK_FRAMES)
			return TRUNK_SAME;
		if (WIRE_RARE(into - TRUNK_BELOW > WINDOW_WORDS * 8 - TRUNK_BELOW)) {
			if (window_move(which, frame->sp))
				return TRUNK_OTHER;
			into = WINDOW_BELOW;
		}
		if (s->window[(into - 8) >> 3 & (WINDOW_WORDS - 1)] != frame->ip)
			return TRUNK_OTHER;
		if (frame->fp_at && s->window[(into + frame->fp_at) >> 3 & (WINDOW_WORDS - 1)] != frame->fp)
			return TRUNK_OTHER;
	}
	s->trunk_compared = at;
	return TRUNK_MORE;
}

/* The walk has come to a frame of the trunk. True if the rest of it is the rest of the stack. */
__attribute__((noinline)) int trunk_joins(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	int verdict = TRUNK_OTHER;
	__u32 rest;

	if (!s)
		return false;
	rest = TRUNK_FRAMES - 1 - s->trunk_at;
	s->trunk_compared = s->trunk_at + 1; /* the words of this one were read by the walk */
	if (s->frames <= WIRE_USER_FRAMES - TRUNK_FRAMES)
		for (int i = 0; i <= TRUNK_FRAMES / TRUNK_CHECKS; i++) {
			verdict = trunk_compare(which);
			if (verdict != TRUNK_MORE)
				break;
		}
	if (verdict != TRUNK_SAME) {
		s->trunk_at = TRUNK_NONE;
		return false;
	}
	s->joined = s->trunk_at;
	if (settings.unwind == WIRE_UNWIND_FP)
		s->frames_fp += rest;
	else
		s->frames_row += rest;
	return true;
}

/* Notes the frame that a step has just come to: what a later walk has to find to be there too. */
static __always_inline void trunk_note(struct scratch *s, const struct wire_rule *rule)
{
	struct trunk_frame *frame = &s->trunk_frames[trunk_index(s->frames)];
	bool by_fp = settings.unwind == WIRE_UNWIND_FP;
	__s64 save = -16;

	if (!trunk_usable())
		return;
	if (!by_fp && !WIRE_RARE(!rule || !(rule->flags & WIRE_RULE_PLAIN))) {
		s->trunk_frames[trunk_index(s->frames - 1)].needs_fp = rule->reg == STEP_FP;
		save = rule->saves[WIRE_SAVE_FP];
		if (WIRE_RARE(save != WIRE_NOT_SAVED && (save < -TRUNK_BELOW || save >= 0)))
			s->trunk_from = s->frames; /* it is too far away */
	} else if (!by_fp) {
		s->trunk_from = s->frames + s->exact; /* by what words it came here is not known */
	}
	frame->ip = s->regs.r[STEP_IP];
	frame->sp = s->regs.r[STEP_SP];
	frame->fp = s->regs.r[STEP_FP];
	frame->fp_at = save == WIRE_NOT_SAVED ? 0 : save;
	frame->needs_fp = by_fp;
}

/* Adds frame `at` of the walk to the trunk, below what is there. */
static __always_inline void trunk_grow(struct scratch *s, struct trunk *t, __u64 at)
{
	struct trunk_frame *frame = &t->frames[trunk_index(t->first - 1)], *above = &t->frames[trunk_index(t->first)];

	*frame = s->trunk_frames[trunk_index(at)];
	if (t->first < TRUNK_FRAMES && above->needs_fp && !above->fp_at)
		frame->needs_fp = 1; /* the frame above has it from this one */
	if (!frame->needs_fp)
		frame->fp_at = 0;
	t->first--;
	t->names[trunk_index(t->first)] = s->user_frames[at];
	t->hashes[trunk_index(t->first)] = s->hash;
}

/*
 * Settles the next frame that the walk itself has found, from the root on: into the stack's id, and into the trunk if
 * it belongs there. 1 after the last.
 */
__attribute__((noinline)) int trunk_settle(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct trunk *t;
	__u64 at;

	if (!s)
		return 1;
	at = s->unsettled - 1;
	asm volatile("" : "+r"(at));
	if (at > WIRE_USER_FRAMES)
		return 1;
	s->unsettled = at;
	s->hash = wire_mix_frame(settings.seed, s->hash, s->user_frames[at].owner, s->user_frames[at].where);
	t = trunk_of(s);
	if (s->rooted && at >= s->trunk_from && t->first - 1 < TRUNK_FRAMES)
		trunk_grow(s, t, at);
	return !at;
}

__attribute__((noinline)) int trunk_settle_some(__u32 which)
{
	for (int i = 0; i < TRUNK_SETTLES; i++)
		if (trunk_settle(which))
			return 1;
	return 0;
}

/* The id of the stack, and its trunk for the next walk. */
static __always_inline void trunk_end(struct scratch *s)
{
	struct trunk *t = trunk_of(s);

	s->hash = settings.seed;
	s->unsettled = s->frames;
	if (s->joined < TRUNK_FRAMES) {
		struct trunk_frame *met = &t->frames[trunk_index(s->joined)];

		struct trunk_frame *now = &s->trunk_frames[trunk_index(s->frames)];

		met->fp_at = met->needs_fp ? now->fp_at : 0; /* this time it may have been saved elsewhere */
		s->hash = t->hashes[trunk_index(s->joined)];
		s->rooted = 1;
		t->first = s->joined;
	} else if (s->rooted) {
		t->first = TRUNK_NONE;
	}
	for (int i = 0; i <= WIRE_USER_FRAMES / TRUNK_SETTLES; i++)
		if (trunk_settle_some(s->which))
			break;
}

/* Puts the frames of the trunk that the walk has joined behind its own: for who wants to see the whole stack. */
static __always_inline void trunk_unfold(struct scratch *s)
{
	__u64 at = s->frames, joined = s->joined, len = TRUNK_FRAMES - joined;

	asm volatile("" : "+r"(at), "+r"(joined), "+r"(len));
	if (joined >= TRUNK_FRAMES || len > TRUNK_FRAMES || at > WIRE_USER_FRAMES - TRUNK_FRAMES)
		return;
	bpf_probe_read_kernel(&s->user_frames[at], len * sizeof(struct wire_frame), &trunk_of(s)->names[joined]);
	s->frames = at + len;
	s->joined = TRUNK_NONE;
}

#endif
