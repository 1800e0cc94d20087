/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of stacks as text share: a stack gathered frame by frame, leaf first, becomes a node of the profile;
 * names of modules tell kinds of frames; types of values are chosen among those that a file has.
 */
#ifndef WICK_IN_STACK_H
#define WICK_IN_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct buf;
struct bulk;
struct profile;
struct profile_source;
struct in_request;

#define STACK_DEPTH_MAX 65536

struct stack {
	uint32_t *frames; /* of the stack being gathered, from the leaf */
	size_t depth;
	/* The one before it, from the root: stacks that follow each other share most of their beginning. */
	uint32_t *last_frames, *last_nodes;
	size_t last_depth;
};

int stack_init(struct stack *stack);
void stack_free(struct stack *stack);
int stack_push(struct stack *stack, uint32_t frame); /* -E2BIG when it is too deep */
/* The stack's node, or PROFILE_FULL; begins a new one. */
uint32_t stack_node(struct stack *stack, struct profile *profile);
/* The same, gathered with others; bulk_end is the caller's. For one stack use this or stack_node, not both in turns. */
int stack_gather(struct stack *stack, struct bulk *bulk);

/* {0} at the beginning. */
struct stack_forecast {
	double early; /* nodes when it was asked before */
	unsigned asked;
};

/*
 * How many nodes there will be, when a 32nd of a file is read and again when a 16th is: as the number grew between the
 * two, so it will with each doubling of what is read, or less. Tables of the right size need not be made several times.
 */
void stack_forecast(struct stack_forecast *forecast, struct profile *profile, double share);

/* What a module's name says of a frame's kind: [kernel.kallsyms], [nf_tables], [vdso], /tmp/perf-1.map, a path. */
uint32_t stack_kind(struct span module, uint64_t address);

/* The same where the address is known: it tells the kernel's modules from files that are called like them. */
uint32_t stack_kind_at(struct span module, uint64_t address);

/* Where the kernel is entered, or begins to run by itself: the root of its stacks. */
bool stack_is_kernel_root(struct span symbol);

#define STACK_KERNEL_ADDRESS 0xffff800000000000ULL /* from here on addresses are the kernel's */

/* A string of the profile, in which \\xNN is a byte: as wick escapes names in what has to be text. */
uint32_t stack_unescape(struct profile *profile, struct span text, struct buf *scratch);

/*
 * The frame that wick writes as a name and a module, in formats that have no more: _[k], _[j] and _[i] behind the name,
 * [incomplete: REASON]. With `plain` the name is one and nothing else.
 */
uint32_t stack_named_frame(struct profile *profile, struct span name, struct span module,
			   const struct profile_source *source, bool plain, struct buf *scratch);

/* Whether a name is [incomplete: REASON], of which the reason is left. */
bool stack_take_cut(struct span *name);

/* The file of a module's name; none if it is one of the names that stand for no file. */
uint32_t stack_file(struct profile *profile, struct span module, uint32_t kind);

/* A process of which its name alone is known. PROFILE_FULL if memory is out or `comm` is that. */
uint32_t stack_process_named(struct profile *profile, uint32_t comm);

/* Whose a sample is, as wick writes it where a name is all there is: [unnamed] has none, [nobody] is nobody's. */
int stack_owner(struct profile *profile, uint32_t name, uint32_t *ret_comm, uint32_t *ret_process);

/* The types of values met in a file, and which of them is read. */
#define STACK_TYPES_MAX 64
struct stack_types {
	const char *wanted;              /* NULL: the first */
	uint32_t names[STACK_TYPES_MAX]; /* strings of the profile */
	size_t len;
	uint32_t chosen;
};

/* Whether values of this type are read. Without its modifiers (`cycles` for cycles:ppp) a name is known as well. */
bool stack_type(struct stack_types *types, struct profile *profile, struct span name);
/* When all are read: -EINVAL if the one that was asked for is not there; a note if there are others. */
int stack_types_end(struct stack_types *types, struct profile *profile, struct in_request *request);

#endif
