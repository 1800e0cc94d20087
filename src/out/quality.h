/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the user stacks of each process: whole, cut at the limit, or broken and why. Pure. */
#ifndef WICK_OUT_QUALITY_H
#define WICK_OUT_QUALITY_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* One process; its figures are sums over its samples. */
struct quality_row {
	uint32_t process;
	uint32_t median_depth; /* user frames, inlined ones not counted */
	uint64_t samples;
	uint64_t user;  /* of these, with a user stack, be it only the note why there is none */
	uint64_t whole; /* of these */
	uint64_t cut;   /* deeper than the limit; what is left is broken */
};

/* Why stacks are not whole, in order of process, then of count, the largest first. */
struct quality_reason {
	uint32_t process;
	uint32_t name; /* string */
	uint64_t count;
};

struct quality {
	struct quality_row *rows; /* those with samples, most first, equals by pid and start */
	uint32_t rows_len;
	struct quality_reason *reasons;
	size_t reasons_len;
};

int quality_init(struct quality *quality, const struct profile *profile); /* of {0} */
void quality_free(struct quality *quality);

/* The reasons of one process: the first of them, or NULL, and how many. */
const struct quality_reason *quality_reasons(const struct quality *quality, uint32_t process, size_t *ret_len);

#endif
