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

struct sampler;
struct symbols_debug;
struct tables;
struct wire_rule;
struct worker;

struct tables_options {
	struct sampler *sampler;
	struct worker *worker;
	uint64_t bytes; /* budget */
	/* Opens the debug file of a file that has no words of its own; -errno if there is none. May be NULL. */
	int (*find_debug)(void *arg, uint64_t id, const struct symbols_debug *debug);
	void *arg;
};

int tables_new(struct tables **ret, const struct tables_options *options);
void tables_free(struct tables *tables);

/*
 * Asks for the table of a file, by the id that frames carry, unless it is there or was refused. Never waits. The
 * descriptor stays the caller's and stays open: a table that was given up is asked for again by tables_again. Negative:
 * the file cannot be opened, it has no table.
 */
void tables_want(struct tables *tables, uint64_t id, int fd);
void tables_again(struct tables *tables, uint64_t id);
bool tables_waits(const struct tables *tables);                       /* for an answer of the worker */
bool tables_knows(const struct tables *tables, uint64_t id);          /* whether it was ever asked for */
const char *tables_refusal(const struct tables *tables, uint64_t id); /* why the file has none; NULL: no such reason */

/* The rule for an offset in a file. 1: it is there; 0: the file has none; -EAGAIN: not known yet. */
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
