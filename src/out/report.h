/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people: one line of facts, the hottest functions, the hottest paths, processes, then how far to trust
 * it and what to type next. The same profile and options give the same bytes.
 */
#ifndef WICK_OUT_REPORT_H
#define WICK_OUT_REPORT_H

#include <stdbool.h>

#include "out/tally.h"
#include "profile/filter.h"

struct buf;
struct profile;

#define REPORT_WIDTH 80 /* where there is no terminal to ask */
#define REPORT_WIDTH_MIN 40
#define REPORT_TOP 15

struct report_options {
	unsigned width; /* columns; 0: REPORT_WIDTH */
	bool colour;
	unsigned top;        /* functions shown; of groups at most as many */
	bool tree;           /* the paths alone, whole */
	bool quality;        /* the quality of the profile alone, all of it */
	const char *callers; /* instead: who calls this function; NULL: not asked for */
	enum tally_by by;
	struct filter_options filter;
	double percent_limit; /* paths with less are not shown; negative: 1, or more if that makes a long tree */
	const char *source;   /* the file it came from, for what to type next; NULL: just recorded */
	const char *words;    /* in place of a file: options that ask for it again, as typed; or NULL */
};

#define REPORT_DEFAULTS ((struct report_options){ .top = REPORT_TOP, .percent_limit = -1 })

/* -EINVAL with fail() set for a pattern that is not one: so that it is known before sampling. */
int report_check(const struct report_options *options);

/* -EINVAL with fail() set also if there is no such function as `callers`. */
int report_write(const struct profile *profile, const struct report_options *options, struct buf *out);

/* The line on how far to trust a profile, for other writers. */
int report_quality_line(const struct profile *profile, struct buf *out);

#endif
