/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a sample that came up whole: registers, mappings and a copy of the stack. The steps are those of the kernel
 * side; only where memory and rules come from differs. Pure.
 */
#ifndef WICK_UNWIND_REPLAY_H
#define WICK_UNWIND_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

/*
 * The rule for an offset in a file (or in the vDSO). 1: it is there; 0: there is none; -EAGAIN: not known yet;
 * REPLAY_JIT: there is no file, but memory with code of the process's own making.
 */
#define REPLAY_JIT 2
typedef int replay_rule(void *arg, uint64_t owner, uint32_t kind, uint64_t offset, struct wire_rule *ret);

struct replay_result {
	struct wire_frame frames[WIRE_USER_FRAMES + 1]; /* leaf first, the cut at the end */
	size_t len;
	uint32_t cut; /* WIRE_cut_…, 0 if the root was reached */
};

/* Whether the bytes are a whole record. */
bool replay_check(const void *data, size_t len);

/* `data` has been checked. -EAGAIN if a rule is not known yet; with `last` it is done without. */
int replay(const void *data, replay_rule *rule, void *arg, bool last, struct replay_result *ret);

struct replay_memory {
	uint64_t start; /* address of its first byte */
	const unsigned char *bytes;
	size_t len;
};

/* The same with registers and mappings of `head`, and memory from several places, as a stack with signals needs it. */
int replay_memory(const struct wire_early *head, const struct replay_memory *list, size_t len, replay_rule *rule,
		  void *arg, bool last, struct replay_result *ret);

#endif
