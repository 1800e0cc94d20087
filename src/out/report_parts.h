/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the report share among themselves. Others use out/report.h. */
#ifndef WICK_OUT_REPORT_PARTS_H
#define WICK_OUT_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "out/report.h"
#include "out/tally.h"

#define REPORT_DOT " · "
#define REPORT_SHARE_WIDTH 6 /* "100.0%" */

struct report {
	const struct report_options *options;
	const struct profile *whole;   /* as it was recorded */
	const struct profile *profile; /* what the filter left of it */
	struct tally tally;
	size_t width;
	struct buf *out;
};

enum report_style { REPORT_PLAIN, REPORT_HEAD, REPORT_HOT, REPORT_WARM, REPORT_DIM };

double report_percent(uint64_t part, uint64_t whole);
double report_floor_percent(uint64_t part, uint64_t whole); /* rounded down to tenths, so that 100.0 means all */
/* Styles exist only where the options allow colour; REPORT_PLAIN ends one. */
void report_style(const struct report *report, enum report_style style, struct buf *out);
void report_heading(const struct report *report, const char *text);
/* A share of all that is shown, REPORT_SHARE_WIDTH wide. */
void report_share(const struct report *report, uint64_t value, struct buf *out);

/* Sections. 0 or -errno; what memory is out for in report->out is found at the end. */
int report_functions(struct report *report);
int report_groups(struct report *report);
/* A tree with labels of the tally, from stacks' roots to leaves or, upside down, from a function to its callers. */
int report_tree(struct report *report, const struct tree *tree, bool callers);
int report_callers(struct report *report);
int report_quality(struct report *report);
int report_stacks(struct report *report);

#endif
