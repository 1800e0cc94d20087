/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for Prometheus, in its text format: families, each with its help and type, then their series. Names of
 * processes and containers come from targets, so there may be any number of them: a tally keeps the first so many, and
 * adds up the rest as one.
 */
#ifndef WICK_HTTP_METRICS_H
#define WICK_HTTP_METRICS_H

#include <stddef.h>

#define METRICS_SERIES_MAX 1000 /* of one answer */
#define METRICS_TALLY_MAX 100   /* names of one tally */
#define METRICS_OTHER "[other]"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct buf;

struct metrics {
	struct buf *out;
	const char *name; /* of the family */
	unsigned series;  /* so far */
	unsigned dropped; /* beyond the bound */
};

/* `name` with its wick_ prefix and unit; type "counter", "gauge". The name is kept as it is, not copied. */
void metrics_family(struct metrics *metrics, const char *name, const char *type, const char *help);
/* One series of the family; `label` NULL: without labels. */
void metrics_add(struct metrics *metrics, const char *label, const char *value, size_t len, double number);
/* A family of one. */
void metrics_one(struct metrics *metrics, const char *name, const char *type, const char *help, double number);
/* Says how many series were left out. Call it last. */
void metrics_end(struct metrics *metrics);

/* Sums by name. A counter never falls, so who has a name of his own keeps it. {0} is empty. */
struct metrics_tally {
	struct {
		char *name;
		size_t len;
		double sum;
	} list[METRICS_TALLY_MAX];
	size_t len;
	double other; /* of all names that came later */
};
/* 0 or -ENOMEM. */
int metrics_tally_add(struct metrics_tally *tally, const char *name, size_t len, double number);
void metrics_tally_write(const struct metrics_tally *tally, struct metrics *metrics, const char *label);
void metrics_tally_free(struct metrics_tally *tally);

#endif
