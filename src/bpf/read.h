/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The unwinder's steps with the memory of the current process below them. Callers' frames lie close together, and a
 * call into the kernel costs more than copying some more bytes: the stack is read a window at a time.
 */
#ifndef WICK_BPF_READ_H
#define WICK_BPF_READ_H

#include "bpf/kernel.h"

#define WINDOW_WORDS 64          /* a power of two */
#define WINDOW_BELOW 64          /* bytes below what was asked for: registers are saved below a return address */
#define WINDOW_NONE (1ULL << 63) /* no user address is near it */

struct window {
	__u64 start;
	__u64 words[WINDOW_WORDS + 1]; /* one more than is filled: reads are of two words at most */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct window);
} windows SEC(".maps");

static __always_inline int read_user(void *into, __u32 len, __u64 address)
{
	return bpf_probe_read_user(into, len, (void *)address);
}

/* Moves the window to the address. */
__attribute__((noinline)) int read_move(__u64 address)
{
	__u32 zero = 0;
	struct window *window = bpf_map_lookup_elem(&windows, &zero);

	if (!window)
		return -1;
	window->start = address - WINDOW_BELOW;
	if (!bpf_probe_read_user(window->words, WINDOW_WORDS * 8, (void *)window->start))
		return 0;
	window->start = WINDOW_NONE;
	return -1;
}

/* One or two words of the stack. What cannot be had with its surroundings may still be had by itself. */
static __always_inline int read_stack(void *into, __u32 len, __u64 address)
{
	__u32 zero = 0;
	struct window *window = bpf_map_lookup_elem(&windows, &zero);
	__u64 *words = into, at;

	if (!window || address & 7 || (address - window->start > WINDOW_WORDS * 8 - len && read_move(address)))
		return read_user(into, len, address);
	at = (address - window->start) >> 3 & (WINDOW_WORDS - 1);
	words[0] = window->words[at];
	if (len > 8)
		words[1] = window->words[at + 1];
	return 0;
}

/* To be called before each stack: what another one had there is not this one's. */
static __always_inline void read_begin(void)
{
	__u32 zero = 0;
	struct window *window = bpf_map_lookup_elem(&windows, &zero);

	if (window)
		window->start = WINDOW_NONE;
}

#define STEP_READ read_user
#define STEP_READ_STACK read_stack

#include "unwind/step.h"

#endif
