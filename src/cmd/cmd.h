/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each is one file with its options, its usage and its run; main.c holds the table. */
#ifndef WICK_CMD_CMD_H
#define WICK_CMD_CMD_H

#include <stdbool.h>
#include <stdint.h>

struct opt;

enum exit_status {
	EXIT_DONE = 0,
	EXIT_MACHINE = 1, /* the machine said no */
	EXIT_USAGE = 2,   /* bad usage or option value */
	EXIT_ABOVE = 3,   /* diff: more than --fail-above allows */
};

struct command {
	const char *name;
	const char *summary;
	const char *usage;    /* what follows "wick NAME" */
	const char *examples; /* each on a line of its own, as typed */
	const struct opt *options;
	bool writes;  /* profiles: its help lists the formats */
	bool samples; /* it keeps the rights that sampling takes; any other command drops them before all else */
	int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_record;
extern const struct command command_profile;
extern const struct command command_report;
extern const struct command command_convert;
extern const struct command command_merge;
extern const struct command command_diff;
extern const struct command command_serve;
extern const struct command command_sql;

/* Prints the command's help; returns EXIT_DONE. */
int command_help(const struct command *command);

/* Prints what fail() keeps, as `wick: …`, and returns the status. */
int command_failed(int status);

/* The status for what opt_parse returned: help was asked for, or the usage is wrong. */
int command_usage(const struct command *command, int err);

#endif
