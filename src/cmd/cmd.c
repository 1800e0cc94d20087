/* SPDX-License-Identifier: Apache-2.0 */
/* What all commands do alike: help from their tables, and one line on standard error when something failed. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/opt.h"
#include "out/out.h"

int command_help(const struct command *command)
{
	autobuf struct buf out = { 0 };

	buf_addf(&out, "usage: wick %s %s\n\n%s.\n\n", command->name, command->usage, command->summary);
	if (command->examples)
		buf_addf(&out, "examples:\n%s\n", command->examples);
	buf_adds(&out, "options:\n");
	opt_help(command->options, &out);
	if (command->writes)
		buf_adds(&out, "\nformats:\n");
	for (const struct out_format *format = out_formats; command->writes && format->name; format++)
		buf_addf(&out, "  %-11s %-9s %s\n", format->name, format->suffix, format->help);
	fputs(buf_error(&out) ? "" : out.data, stdout);
	return EXIT_DONE;
}

int command_failed(int status)
{
	fprintf(stderr, "wick: %s\n", fail_text());
	return status;
}

int command_usage(const struct command *command, int err)
{
	if (err == -ECANCELED)
		return command_help(command);
	fail_hint(err, "wick %s --help lists what there is", command->name);
	return command_failed(EXIT_USAGE);
}
