/* SPDX-License-Identifier: Apache-2.0 */
/* A saved profile, from a file or standard input; and the options of every command that reads one. */
#ifndef WICK_CMD_INPUT_H
#define WICK_CMD_INPUT_H

#include <stdbool.h>

#include "base/opt.h"

struct buf;
struct profile;

struct input_options {
	const char *type;
	bool salvage;
};

/* Each option once, for the tables of commands: ROW(name, value, reader, field of struct input_options, help, hint). */
#define INPUT_OPTIONS(ROW)                                                                          \
	ROW("type", "NAME", opt_text, type, "which values to read, where a file has several", NULL) \
	ROW("salvage", NULL, opt_flag, salvage, "of a damaged file, read what stands before the damage", NULL)

/* "-" is standard input. What is wrong is said with fail(), and the path with it; what else is to say, on stderr. */
int input_read(struct profile **ret, const char *path, const struct input_options *options);
/* The same; of folded stacks with two counts also those before. NULL if there are none. */
int input_read_both(struct profile **ret, struct profile **ret_before, const char *path,
		    const struct input_options *options);

/* One line about that file, on standard error. */
void input_note(const char *path, const struct buf *notes);

#endif
