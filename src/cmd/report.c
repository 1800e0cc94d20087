/* SPDX-License-Identifier: Apache-2.0 */
/* wick report: a saved profile, or a range of what is kept, printed for people. Needs no kernel. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/kept.h"
#include "cmd/report_options.h"
#include "out/report.h"
#include "profile/profile.h"

struct asked {
	struct report_arguments report;
	const char *output;
	struct input_options input;
	struct kept_options kept;
	struct store_range range;
};

#define ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, report.field), help, hint },
#define INPUT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, input.field), help, hint },
#define KEPT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, kept.field), help, hint },

static const struct opt options[] = {
	{ 'o', "output", "FILE", opt_text, offsetof(struct asked, output), "where to write; - is standard output",
	  "file" },
	REPORT_OPTIONS(ROW) KEPT_OPTIONS(KEPT_ROW) INPUT_OPTIONS(INPUT_ROW){ 0 },
};

/* Of a file, or if there is none of what is kept. */
static int report(const char *path, const struct asked *asked, struct report_options *shape)
{
	autobuf struct buf text = { 0 }, words = { 0 };
	struct output *output = NULL;
	struct profile *profile = NULL;
	const char *to = asked->output ? asked->output : "-";
	int err;

	if (!strcmp(to, "-"))
		report_options_terminal(shape);
	if (path && strcmp(path, "-") != 0)
		shape->source = path;
	if (!path) {
		kept_add_words(&words, &asked->kept, &asked->range);
		shape->words = buf_error(&words) ? NULL : words.data;
	}
	err = output_open(&output, to);
	if (!err)
		err = path ? input_read(&profile, path, &asked->input)
			   : kept_read(&profile, &asked->kept, &asked->range);
	err = err ? err : report_write(profile, shape, &text);
	err = err ? err : output_write(output, text.data, text.len);
	err = err ? err : output_commit(output);
	output_free(output);
	profile_free(profile);
	return err && err != -EPIPE ? command_failed(EXIT_MACHINE) : EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct asked asked = { 0 };
	struct opt_list operands = { 0 };
	struct report_options shape;
	int rest = opt_parse(options, argc, argv, &asked, &operands), err = rest < 0 ? rest : 0, status;

	if (!err && rest != argc)
		err = fail_plain(-EINVAL, "report: it runs no command");
	else if (!err && kept_asked(&asked.kept))
		err = kept_check(&asked.kept, &asked.input, operands.len, &asked.range);
	else if (!err && !operands.len)
		err = fail_plain(
			-EINVAL,
			"report: no file to read: name a profile, - for standard input, or a time with --from");
	else if (!err && operands.len > 1)
		err = fail_plain(-EINVAL, "report: one profile to read, and it was given %zu", operands.len);
	err = err ? err : report_arguments_read(&asked.report, &shape);
	status = err ? command_usage(command, err) : report(operands.len ? operands.items[0] : NULL, &asked, &shape);
	opt_list_free(&operands);
	return status;
}

const struct command command_report = {
	.name = "report",
	.summary = "Shows a profile: hottest functions and paths, and how far to trust it",
	.usage = "[OPTION]... FILE|--from TIME",
	.examples = "  wick report cpu.wick                       the summary\n"
		    "  wick report --tree cpu.wick                every path from 1 % on\n"
		    "  wick report --callers malloc cpu.wick      who calls malloc\n"
		    "  wick report --by container cpu.wick        shares of containers\n"
		    "  wick report --focus json x.folded          folded stacks, of any tool\n"
		    "  wick report --from -15m                    what wick serve saw since\n",
	.options = options,
	.run = run,
};
