/* SPDX-License-Identifier: Apache-2.0 */
/* The options that shape a report, for every command that prints one: rows of its table, and how they are read. */
#ifndef WICK_CMD_REPORT_OPTIONS_H
#define WICK_CMD_REPORT_OPTIONS_H

#include <stdbool.h>

#include "base/opt.h"

struct report_options;

/* As given. */
struct report_arguments {
	const char *top, *callers, *by, *focus, *ignore, *hide, *percent_limit, *width;
	bool tree, quality;
};

/*
 * Each option once, for the tables of commands: ROW(name, value, reader, field of struct report_arguments, help, hint).
 */
#define REPORT_OPTIONS(ROW)                                                                                          \
	ROW("top", "N", opt_text, top, "functions shown (15)", NULL)                                                 \
	ROW("tree", NULL, opt_flag, tree, "the paths alone, in full", NULL)                                          \
	ROW("callers", "FUNC", opt_text, callers, "who calls this function", NULL)                                   \
	ROW("by", "WHAT", opt_text, by, "add up by process, thread, module, container or unit", REPORT_BY)           \
	ROW("focus", "REGEX", opt_text, focus, "only stacks with a matching frame", NULL)                            \
	ROW("ignore", "REGEX", opt_text, ignore, "no stacks with a matching frame", NULL)                            \
	ROW("hide", "REGEX", opt_text, hide, "take matching frames out of stacks", NULL)                             \
	ROW("percent-limit", "PERCENT", opt_text, percent_limit, "paths with less are not shown (1, or more)", NULL) \
	ROW("quality", NULL, opt_flag, quality, "how far to trust it, in full", NULL)                                \
	ROW("width", "COLUMNS", opt_text, width, "columns (those of the terminal, or 80)", NULL)

#define REPORT_BY "process thread module container unit"

/* The name of one of them that was given; NULL if none was. */
const char *report_arguments_any(const struct report_arguments *arguments);

/* -EINVAL with fail() set for what makes no sense. Everything points into the arguments. */
int report_arguments_read(const struct report_arguments *arguments, struct report_options *ret);

/* Width and colour as the terminal on standard output has them; without one as they are. A width asked for stays. */
void report_options_terminal(struct report_options *options);

#endif
