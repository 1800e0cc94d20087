/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The unwinder's steps with the memory of the current process below them. Callers' frames lie close together, and a
 * call into the kernel costs more than copying some more bytes: the stack is read a window at a time.
 */
#ifndef WICK_BPF_WINDOW_H
#define WICK_BPF_WINDOW_H

#include "bpf/state.h"

#define WINDOW_BELOW 64          /* bytes below what was asked for: registers are saved below a return address */
#define WINDOW_NONE (1ULL << 63) /* no user address is near it */

static __always_inline int read_user(void *into, __u32 len, __u64 address)
{
	return bpf_probe_read_user(into, len, (void *)address);
}

/* Moves the window to the address. */
__attribute__((noinline)) int window_move(__u32 which, __u64 address)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);

	if (!s)
		return -1;
	s->window_start = address - WINDOW_BELOW;
	if (!bpf_probe_read_user(s->window, WINDOW_WORDS * 8, (void *)s->window_start))
		return 0;
	s->window_start = WINDOW_NONE;
	return -1;
}

/* One or two words of the stack. What cannot be had with its surroundings may still be had by itself. */
static __always_inline int window_read(const struct step_regs *regs, void *into, __u32 len, __u64 address)
{
	struct scratch *s = (void *)regs - __builtin_offsetof(struct scratch, regs);
	__u64 *words = into, at;

	if (WIRE_RARE(address & 7 ||
		      (address - s->window_start > WINDOW_WORDS * 8 - len && window_move(s->which, address))))
		return read_user(into, len, address);
	at = (address - s->window_start) >> 3 & (WINDOW_WORDS - 1);
	words[0] = s->window[at];
	if (len > 8)
		words[1] = s->window[at + 1];
	return 0;
}

#define STEP_READ read_user
#define STEP_READ_STACK window_read

#include "unwind/step.h"

#endif
