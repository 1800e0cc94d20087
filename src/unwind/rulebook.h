/* SPDX-License-Identifier: Apache-2.0 */
/* Rules under numbers that all tables share. One that no table uses any more makes room for another. */
#ifndef WICK_UNWIND_RULEBOOK_H
#define WICK_UNWIND_RULEBOOK_H

#include <stdint.h>

#include "base/map.h"
#include "bpf/wire.h"

struct rulebook {
	struct wire_rule *rules; /* the caller's: WIRE_RULES_MAX of them */
	uint64_t seed;           /* of hashes: whoever writes rules must not know it */
	struct map numbers;      /* hash of a rule → its number */
	struct rulebook_use *uses;
	uint32_t len, taken; /* numbers that were ever given; that are in use */
	uint32_t free;       /* number of the first free one, plus one; 0: none */
	struct map users;    /* user → rules that he brought */
};

int rulebook_open(struct rulebook *book, struct wire_rule *rules, uint64_t seed);
void rulebook_close(struct rulebook *book);

/* A number for a rule, for one more table of a user. -ENOSPC: there is none; -EDQUOT: the user has had his share. */
int rulebook_take(struct rulebook *book, const struct wire_rule *rule, uint64_t user);
void rulebook_drop(struct rulebook *book, uint32_t number);

#endif
