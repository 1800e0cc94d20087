/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts over time for the page: curves, one for each name, and a heat map of where within its second each count
 * fell. Both are within bounds whatever is asked: so many cells, so many names, all others as one.
 */
#ifndef WICK_HTTP_CURVES_H
#define WICK_HTTP_CURVES_H

#include <stddef.h>
#include <stdint.h>

#define CURVES_NAMES_MAX 256 /* that are told apart while counting */
#define CURVES_SHOWN 20      /* the largest of them */
#define CURVES_CELLS 300     /* if nothing is asked for */
#define HEAT_ROWS 50         /* of 20 ms */

struct buf;
struct curves;
struct heat;

/* From one moment up to another, in ns since 1970, in so many cells. -EINVAL for an empty range. */
int curves_new(struct curves **ret, uint64_t from_ns, uint64_t to_ns, unsigned cells);
void curves_free(struct curves *curves);
/* What is outside is passed over; a name that is NULL is counted with the others. 0 or -ENOMEM. */
int curves_add(struct curves *curves, const char *name, size_t len, uint64_t at_ns, uint64_t count);
/* JSON, appended: from_ms, to_ms, cells, curves of name, total and values; the largest first. */
int curves_write(struct curves *curves, struct buf *out);

/* Whole seconds of the wall clock, at most QUERY_CELLS_MAX: of a longer range the last ones. */
int heat_new(struct heat **ret, uint64_t from_ns, uint64_t to_ns);
void heat_free(struct heat *heat);
void heat_add(struct heat *heat, uint64_t at_ns, uint64_t count);
/* JSON, appended: from_ms, columns (seconds), rows (parts of a second), most, and counts, column by column. */
int heat_write(const struct heat *heat, struct buf *out);

#endif
