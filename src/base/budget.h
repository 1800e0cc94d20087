/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much work a file may cost. One step is an entry or an instruction that is looked at, some nanoseconds. What
 * reading a well-formed file takes grows with its size, and is a fraction of this; a file that was made to take longer
 * is given up when its steps are used up. Counted only where a loop is not bounded by the bytes that it reads once:
 * where many entries can lead to the same bytes.
 */
#ifndef WICK_BASE_BUDGET_H
#define WICK_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_PER_BYTE 2
#define BUDGET_FLOOR ((uint64_t)1 << 20)     /* of the smallest file */
#define BUDGET_CEILING ((uint64_t)256 << 20) /* of the largest: its size is a number that costs nothing to claim */

/* What a compressed section may grow to: real ones grow up to tenfold. */
#define BUDGET_UNPACK_FACTOR 32
#define BUDGET_UNPACK_FLOOR ((uint64_t)1 << 20)

struct budget {
	uint64_t left;
	bool spent; /* more was asked for than there was */
};

static inline struct budget budget_of(uint64_t bytes)
{
	uint64_t most = (BUDGET_CEILING - BUDGET_FLOOR) / BUDGET_PER_BYTE;

	return (struct budget){ .left = BUDGET_FLOOR + (bytes < most ? bytes : most) * BUDGET_PER_BYTE };
}

/* May so many steps be taken? If not, none are left. */
static inline bool budget_spend(struct budget *budget, uint64_t steps)
{
	if (steps > budget->left) {
		budget->left = 0;
		budget->spent = true;
		return false;
	}
	budget->left -= steps;
	return true;
}

/* More steps, for something that was asked for on top. */
static inline void budget_grant(struct budget *budget, uint64_t steps)
{
	budget->left = steps < BUDGET_CEILING - budget->left ? budget->left + steps : BUDGET_CEILING;
}

/* Into how many bytes so many compressed ones may be unpacked. */
static inline uint64_t budget_unpack(uint64_t packed, uint64_t most)
{
	uint64_t limit = packed < most / BUDGET_UNPACK_FACTOR ? packed * BUDGET_UNPACK_FACTOR : most;

	limit = limit < BUDGET_UNPACK_FLOOR ? BUDGET_UNPACK_FLOOR : limit;
	return limit < most ? limit : most;
}

#endif
