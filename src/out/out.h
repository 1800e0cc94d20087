/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: a finished profile becomes bytes. A writer sees the model and a buffer, nothing else. The table of formats
 * is the only list of them; a suffix or a -f name finds its writer here.
 */
#ifndef WICK_OUT_OUT_H
#define WICK_OUT_OUT_H

#include <stddef.h>

struct buf;
struct profile;

typedef int out_writer(const struct profile *profile, struct buf *out);

struct out_format {
	const char *name;   /* for -f */
	const char *suffix; /* of file names, with the dot */
	const char *help;
	out_writer *write;
};

extern const struct out_format out_formats[]; /* ends with a NULL name */

const struct out_format *out_by_name(const char *name);
const struct out_format *out_by_path(const char *path); /* by the longest suffix that fits; NULL if none */

out_writer out_svg;
out_writer out_folded;
out_writer out_wick;
out_writer out_report;

/* Appends a frame as people see it: its name, or file+0xoffset; escaped so that it can stand in a folded line. */
void out_frame_text(const struct profile *profile, unsigned int frame, struct buf *out);
/* What the frame's code is part of: the name of a file, or [kernel], [jit], [vdso]. Escaped alike, as is a comm. */
void out_module_text(const struct profile *profile, unsigned int frame, struct buf *out);
void out_comm_text(const struct profile *profile, unsigned int sample, struct buf *out);

#endif
