/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: a finished profile becomes bytes. A writer sees the model and a buffer, nothing else. The table of formats
 * is the only list of them; a suffix or a -f name finds its writer here.
 */
#ifndef WICK_OUT_OUT_H
#define WICK_OUT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct filter_texts;
struct profile;

typedef int out_writer(const struct profile *profile, struct buf *out);

enum out_flags {
	OUT_BINARY = 1, /* not for a terminal */
	OUT_TIMED = 2,  /* shows when each sample was taken, and in which thread, if the profile knows */
};

/* FORMAT(name for -f, suffix of file names, enum out_flags, writer, what it is) */
#define OUT_FORMATS(FORMAT)                                                                            \
	FORMAT("svg", ".svg", 0, out_svg, "a flame graph, for browsers")                               \
	FORMAT("html", ".html", 0, out_html, "a page to explore it in, for browsers")                  \
	FORMAT("pprof", ".pb.gz", OUT_BINARY, out_pprof, "for go tool pprof, Parca, Pyroscope")        \
	FORMAT("folded", ".folded", 0, out_folded, "one line a stack, for flame graphs")               \
	FORMAT("report", ".txt", 0, out_report, "a summary for people")                                \
	FORMAT("speedscope", ".json", 0, out_speedscope, "for speedscope.app")                         \
	FORMAT("perf", ".perf", OUT_TIMED, out_perf, "the text of perf script, for all that reads it") \
	FORMAT("firefox", ".fx.json", OUT_TIMED, out_firefox, "for profiler.firefox.com")              \
	FORMAT("wick", ".wick", OUT_BINARY, out_wick, "wick's own: everything, for later and for elsewhere")

/* " svg pprof folded ...", for option tables */
#define OUT_NAME(name, suffix, flags, write, help) " " name
#define OUT_NAMES OUT_FORMATS(OUT_NAME)

struct out_format {
	const char *name;
	const char *suffix; /* with the dot */
	unsigned int flags;
	out_writer *write;
	const char *help;
};

extern const struct out_format out_formats[]; /* ends with a NULL name */

const struct out_format *out_by_name(const char *name);
const struct out_format *out_by_path(const char *path); /* by the longest suffix that fits; NULL if none */

out_writer out_svg;
out_writer out_html;
out_writer out_wick;
out_writer out_folded;
out_writer out_report;
out_writer out_pprof;
out_writer out_speedscope;
out_writer out_perf;
out_writer out_firefox;
/* A .wick file of which nothing is compressed, for one who reads it at once. */
out_writer out_wick_plain;

/* Appends a frame as people see it: its name, or file+0xoffset; escaped so that it can stand in a folded line. */
void out_frame_text(const struct profile *profile, unsigned int frame, struct buf *out);
/* The same as it stands in a folded line: with the suffix of its kind; a frame of which nothing is known is empty. */
void out_folded_frame(const struct profile *profile, unsigned int frame, struct buf *out);
/* What the frame's code is part of: the name of a file, or [kernel], [jit], [vdso]. Escaped alike, as is a comm. */
void out_module_text(const struct profile *profile, unsigned int frame, struct buf *out);
/* The same for tables of functions: - for a name whose file is not known, as in folded stacks. */
void out_function_module(const struct profile *profile, unsigned int frame, struct buf *out);
/* Both, for filters. */
extern const struct filter_texts out_texts;
void out_comm_text(const struct profile *profile, unsigned int sample, struct buf *out);
/* Whether it is known whose sample it is; of those that are nobody's a folded line has the stack alone. */
bool out_has_comm(const struct profile *profile, unsigned int sample);
/* What a folded stack puts behind the names of frames of this kind (enum frame_kind): "_[k]", or nothing. */
const char *out_kind_suffix(unsigned int kind);

/*
 * For formats with fields of their own, where a semicolon is nothing special. Escaped so that they are valid UTF-8 and
 * harmless on a terminal; \xNN gives the byte back.
 */
void out_name(const struct profile *profile, unsigned int frame, struct buf *out);
void out_string(const struct profile *profile, unsigned int string, struct buf *out);
/* The file of a frame, by its whole path, or [kernel.kallsyms], [MODULE], [jit], [vdso]; nothing if not known. */
void out_module_path(const struct profile *profile, unsigned int frame, struct buf *out);
/* The name of a process or thread as it is: of the sample, else of its process; nothing if there is none. */
unsigned int out_comm(const struct profile *profile, unsigned int sample);
void out_hex(const struct profile *profile, unsigned int string, struct buf *out); /* of a build id */

/* A name that was recorded with lines, "main main.c:12", taken apart. */
struct out_source {
	size_t name_len;       /* of what is before the file */
	size_t file, file_len; /* where in the name */
	uint32_t line;         /* 0: it has none */
};
/* Not of a frame whose source is known otherwise: then the name is a name. */
struct out_source out_source(const struct profile *profile, unsigned int frame, const char *name, size_t len);

#endif
