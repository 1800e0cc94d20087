/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables in the kernel's reach: the worker builds them, this puts them where the BPF program reads them, within
 * a budget of bytes. A table is published when all of it is there, and unpublished before any of it is reused.
 */
#ifndef WICK_COLLECT_TABLES_H
#define WICK_COLLECT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/origin.h"

struct helpers;
struct pool;
struct sampler;
struct tables;
struct wire_rule;

struct tables_options {
	struct sampler *sampler;
	struct pool *pool;
	struct helpers *helpers;
	uint64_t bytes; /* budget */
	/* Where a file is that has no words of its own: its debug file is looked for from there. NULL: not known. */
	const char *(*path_of)(void *arg, uint64_t id);
	void *arg;
};

int tables_new(struct tables **ret, const struct tables_options *options);
void tables_free(struct tables *tables);

/*
 * Asks for the table of a file, by the id that frames carry, unless it is there or was refused. Never waits. The
 * descriptor stays the caller's and stays open: a table that was given up is asked for again by tables_again, for a
 * user whose stacks go through it.
 */
void tables_want(struct tables *tables, uint64_t id, int fd, const struct origin *origin);
void tables_again(struct tables *tables, uint64_t id, uint64_t user);

/* The file has none, for a reason: samples need not wait for it. */
void tables_refuse(struct tables *tables, uint64_t id, const char *reason);
/* It is no file, but memory that processes put code of their own making into: frames there are theirs. */
void tables_is_jit(struct tables *tables, uint64_t id);
bool tables_waits(const struct tables *tables);                       /* for an answer of the worker */
bool tables_knows(const struct tables *tables, uint64_t id);          /* whether it was ever asked for */
const char *tables_refusal(const struct tables *tables, uint64_t id); /* why the file has none; NULL: no such reason */

/* The rule for an offset in a file. 1: it is there; 0: the file has none; else as replay_rule. */
int tables_rule(struct tables *tables, uint64_t id, uint64_t offset, struct wire_rule *ret);

/* Whether a row says, or said before its table was given up, how to go on from there. */
bool tables_has_row(struct tables *tables, uint64_t id, uint64_t offset);

/* A new epoch of use: tables not used for the longest are given up first when room is needed. */
void tables_age(struct tables *tables);

struct tables_stats {
	uint64_t files, rows, bytes, evicted, refused;
};
void tables_stats(const struct tables *tables, struct tables_stats *ret);

#endif
