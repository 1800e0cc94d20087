/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of the difference of two profiles, and the one list of them, as out.h has for profiles. */
#ifndef WICK_OUT_DIFF_H
#define WICK_OUT_DIFF_H

#include <stdbool.h>

struct buf;
struct diff;
struct profile;
struct svg_options;

#define DIFF_TOP 15

struct diff_options {
	unsigned width; /* columns; 0: 80 */
	bool colour;
	unsigned top;                  /* functions shown in each table */
	bool normalize;                /* counts before are scaled to the sum after */
	const char *before, *after;    /* what the profiles are called */
	const struct svg_options *svg; /* NULL: as it is by default */
};

/* What is compared: the profiles, and functions of them added up with out_diff. */
struct diff_input {
	const struct profile *before, *after;
	const struct diff *diff;
};

typedef int diff_writer(const struct diff_input *input, const struct diff_options *options, struct buf *out);

struct diff_format {
	const char *name;   /* for -f */
	const char *suffix; /* of file names, with the dot */
	diff_writer *write;
};

extern const struct diff_format diff_formats[]; /* ends with a NULL name */

/* diff_init with functions called as the report calls them. */
int out_diff(struct diff *diff, const struct profile *before, const struct profile *after);

diff_writer out_diff_table;  /* for people */
diff_writer out_diff_folded; /* `stack before after` a line, as difffolded.pl writes it */
diff_writer out_diff_html;   /* a page to explore the difference in */
diff_writer out_diff_svg;    /* a flame graph of what is after, red where it grew and blue where it shrank */

#endif
