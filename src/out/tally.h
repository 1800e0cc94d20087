/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile added up for people: functions, groups of samples (processes, or what was asked for), and the tree of
 * paths, one branch a group. A function is a name in a module; a frame without a name stands as file+0xoffset.
 */
#ifndef WICK_OUT_TALLY_H
#define WICK_OUT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "out/tree.h"

#define TALLY_GROUP 0x80000000u /* in a label of the tree: it is a group, not a function */

struct profile;
struct tally_memory;

/* What samples are grouped by. TALLY_NAME, the default, takes processes of one name together. */
enum tally_by { TALLY_NAME, TALLY_PROCESS, TALLY_THREAD, TALLY_MODULE, TALLY_CONTAINER, TALLY_UNIT };

struct tally_function {
	const char *name, *module;
	uint64_t self;       /* it was running */
	uint64_t total;      /* it, or what it called, was running; a stack counts once */
	uint64_t group_self; /* of the group that runs it most */
	uint32_t group;      /* which that is */
	uint32_t module_number;
	uint32_t kind; /* enum frame_kind */
	bool named;
};

struct tally_group {
	const char *name;
	uint64_t total;
	uint32_t process;   /* of the profile: one of them */
	uint32_t processes; /* how many */
	uint32_t hottest;   /* the function it runs most */
	uint64_t hottest_self;
};

/* A module as far as its names are missing. */
struct tally_module {
	const char *name;
	uint64_t unnamed; /* samples with a frame of it that has no name */
	uint32_t reason;  /* string of the profile; NONE: not known */
	uint32_t kind;
};

struct tally {
	const struct profile *profile;
	uint64_t total;
	struct tally_function *functions; /* from 1 on; some have no name and stand for nothing */
	struct tally_group *groups;
	struct tally_module *modules;
	uint32_t functions_len, groups_len, modules_len;
	struct tree tree; /* children of the root are groups, all others functions */
	struct tally_memory *memory;
};

int tally_init(struct tally *tally, const struct profile *profile, enum tally_by by); /* of {0} */
void tally_free(struct tally *tally);

static inline bool tally_is_group(uint32_t label)
{
	return label & TALLY_GROUP;
}

static inline const struct tally_group *tally_group(const struct tally *tally, uint32_t label)
{
	return &tally->groups[label & ~TALLY_GROUP];
}

/* The order of labels that weigh the same (a tree_order; the context is the tally): by name. */
int tally_compare(uint32_t left, uint32_t right, const void *tally);

#endif
