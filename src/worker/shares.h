/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users have had of a process that works for all of them: time, and how often it died of what they own. Root has
 * no limit. Pure.
 */
#ifndef WICK_WORKER_SHARES_H
#define WICK_WORKER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shares_limits {
	uint64_t burst_ns;     /* time that a user may have at once; 0: no limit */
	unsigned int permille; /* and of the time since then */
	unsigned int deaths;   /* that a user may cause, and as many again each SHARES_AGAIN; 0: no limit */
};

#define SHARES_AGAIN_NS ((uint64_t)600 * 1000000000)

struct share {
	uint64_t user;
	uint64_t used_ns;
	unsigned int deaths;
};

struct shares {
	struct shares_limits limits;
	uint64_t begun_ns;
	struct share *list;
	size_t len, cap;
};

void shares_free(struct shares *shares);

/* Adds to what a user has had. Without memory nothing is added. */
void shares_charge(struct shares *shares, uint64_t user, uint64_t ns, bool died);

uint64_t shares_used(const struct shares *shares, uint64_t user);
bool shares_may(const struct shares *shares, uint64_t user, uint64_t now_ns); /* have more */
bool shares_died(const struct shares *shares, uint64_t user);                 /* of his, at least once */

#endif
