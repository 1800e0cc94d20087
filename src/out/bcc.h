/* SPDX-License-Identifier: Apache-2.0 */
/* A profile in the words of bcc's profile tool: the line it begins with, its stacks, its warnings. */
#ifndef WICK_OUT_BCC_H
#define WICK_OUT_BCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct profile;

struct bcc_options {
	bool folded;      /* one line a stack */
	bool delimiter;   /* between user and kernel part */
	bool annotations; /* _[k] behind kernel frames; folded only */
	bool addresses;   /* before names; not folded */
	bool verbose;     /* addresses, and where in which file */
	uint64_t depth;   /* frames shown of each part, from the leaf; 0: all */
};

/* What is sampled. */
struct bcc_scope {
	uint64_t hz, period; /* one of them is 0 */
	const uint32_t *pids, *tids;
	size_t pids_len, tids_len;
	bool user, kernel;
	int64_t cpu;      /* -1: all */
	uint64_t seconds; /* 0: until interrupted */
};

void bcc_header(const struct bcc_scope *scope, struct buf *out);

/* The stacks, each with its count, the hottest last. */
int bcc_stacks(const struct profile *profile, const struct bcc_options *options, struct buf *out);

/* What is missing, as lines for standard error. */
void bcc_warnings(const struct profile *profile, struct buf *out);

#endif
