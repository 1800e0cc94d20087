/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs a command was asked for: opened before the work, written after it, all or none of each. */
#ifndef WICK_CMD_OUTPUTS_H
#define WICK_CMD_OUTPUTS_H

#include <stdbool.h>

struct opt_list;
struct outputs;
struct profile;
struct report_options;
struct svg_options;

/* Paths by suffix, "-" by format name. -EINVAL for a format that does not exist, -errno if a place is not writable. */
int outputs_open(struct outputs **ret, const struct opt_list *paths, const char *format, const char *stats);
void outputs_free(struct outputs *outputs);

/* How reports among them look; what its options point to must last. Without it: the defaults. */
void outputs_shape_report(struct outputs *outputs, const struct report_options *options);

/* The same for flame graphs. */
void outputs_shape_svg(struct outputs *outputs, const struct svg_options *options);
bool outputs_have_svg(const struct outputs *outputs);
/* Is there one that shows two profiles? */
bool outputs_can_compare(const struct outputs *outputs);
/* Flame graphs compare what is written with this one; it must last. NULL: they do not. */
void outputs_compare(struct outputs *outputs, const struct profile *before);

int outputs_write(struct outputs *outputs, const struct profile *profile);

/* Takes away what is half-written. Safe in a signal handler. */
void outputs_abandon(const struct outputs *outputs);

/* Whether a report is one of them. */
bool outputs_have_report(const struct outputs *outputs);

/* Whether standard output is one of them. */
bool outputs_use_stdout(const struct outputs *outputs);

#endif
