/* SPDX-License-Identifier: Apache-2.0 */
/* The options that shape a report, for every command that prints one: rows of its table, and how they are read. */
#ifndef WICK_CMD_REPORT_OPTIONS_H
#define WICK_CMD_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"

struct report_options;

/* As given. */
struct report_arguments {
	const char *top, *callers, *by, *focus, *ignore, *hide, *percent_limit, *width;
	bool tree, quality;
};

/* Rows for a table whose options struct has a struct report_arguments at `field`. */
#define REPORT_OPTION_ROWS(type, field)                                                                                    \
	{ 0, "top", "N", opt_text, offsetof(type, field.top), "functions shown (15)", NULL },                              \
		{ 0, "tree", NULL, opt_flag, offsetof(type, field.tree), "the paths alone, in full", NULL },               \
		{ 0, "callers", "FUNC", opt_text, offsetof(type, field.callers), "who calls this function", NULL },        \
		{ 0,                                                                                                       \
		  "by",                                                                                                    \
		  "WHAT",                                                                                                  \
		  opt_text,                                                                                                \
		  offsetof(type, field.by),                                                                                \
		  "add up by process, thread, module, container or unit",                                                  \
		  "process thread module container unit" },                                                                \
		{ 0, "focus", "REGEX", opt_text, offsetof(type, field.focus), "only stacks with a matching frame", NULL }, \
		{ 0, "ignore", "REGEX", opt_text, offsetof(type, field.ignore), "no stacks with a matching frame", NULL }, \
		{ 0, "hide", "REGEX", opt_text, offsetof(type, field.hide), "take matching frames out of stacks", NULL },  \
		{ 0,                                                                                                       \
		  "percent-limit",                                                                                         \
		  "PERCENT",                                                                                               \
		  opt_text,                                                                                                \
		  offsetof(type, field.percent_limit),                                                                     \
		  "paths with less are not shown (1, or more where they are many)",                                        \
		  NULL },                                                                                                  \
		{ 0, "quality", NULL, opt_flag, offsetof(type, field.quality), "how far to trust it, in full", NULL },     \
	{                                                                                                                  \
		0, "width", "COLUMNS", opt_text, offsetof(type, field.width),                                              \
			"columns (those of the terminal, or 80)", NULL                                                     \
	}

/* -EINVAL with fail() set for what makes no sense. Everything points into the arguments. */
int report_arguments_read(const struct report_arguments *arguments, struct report_options *ret);

/* Width and colour as the terminal on standard output has them; without one as they are. A width that was asked for
 * stays. */
void report_options_terminal(struct report_options *options);

#endif
