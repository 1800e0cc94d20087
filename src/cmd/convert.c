/* SPDX-License-Identifier: Apache-2.0 */
/* wick convert: a saved profile, or a range of what is kept, in another format. Needs no kernel. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/kept.h"
#include "cmd/outputs.h"
#include "cmd/svg_options.h"
#include "out/out.h"
#include "profile/profile.h"

struct convert_options {
	struct opt_list outputs;
	const char *format;
	const char *stats;
	struct filter_options filter;
	struct svg_arguments svg;
	struct input_options input;
	struct kept_options kept;
	struct store_range range;
};

#define FILTER_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct convert_options, filter.field), help, hint },
#define SVG_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct convert_options, svg.field), help, hint },
#define INPUT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct convert_options, input.field), help, hint },
#define KEPT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct convert_options, kept.field), help, hint },

static const struct opt options[] = {
	{ 'o', "output", "FILE", opt_list, offsetof(struct convert_options, outputs),
	  "where to write; its suffix chooses the format, see below; again for more; - is standard output", "file" },
	{ 'f', "format", "FORMAT", opt_text, offsetof(struct convert_options, format),
	  "one of those below, whatever the suffix", OUT_NAMES },
	{ 0, "stats", "FILE", opt_text, offsetof(struct convert_options, stats), "write the accounting as JSON",
	  "file" },
	FILTER_OPTIONS(FILTER_ROW) KEPT_OPTIONS(KEPT_ROW) INPUT_OPTIONS(INPUT_ROW) SVG_OPTIONS(SVG_ROW)
		SVG_WIDTH_OPTION(SVG_ROW) SVG_DIFF_OPTIONS(SVG_ROW){ 0 },
};

/* Of a file, or if there is none of what is kept. */
static int read_input(const struct convert_options *asked, const char *path, bool both, struct profile **ret,
		      struct profile **ret_before)
{
	if (!path)
		return filters_kept(&asked->filter, &asked->kept, &asked->range, ret);
	if (both)
		return filters_read_both(&asked->filter, &asked->input, path, ret, ret_before);
	return filters_read(&asked->filter, &asked->input, path, ret);
}

static int convert(const struct convert_options *asked, const char *path)
{
	struct outputs *outputs = NULL;
	struct profile *profile = NULL, *before = NULL;
	struct svg_options svg = { 0 };
	int err = outputs_open(&outputs, &asked->outputs, asked->format, asked->stats), status;

	err = err ? err : svg_arguments_shape(&asked->svg, &svg, outputs);
	status = err == -EINVAL ? EXIT_USAGE : EXIT_MACHINE;
	err = err ? err : read_input(asked, path, outputs_can_compare(outputs), &profile, &before);
	if (!err && asked->svg.negate && !before) {
		fail_plain(-EINVAL, "--negate: there is no difference in '%s': its stacks have one count",
			   path ? path : "what is kept");
		err = fail_hint(-EINVAL, "wick diff --negate draws that of two files");
		status = EXIT_USAGE;
	}
	if (!err) {
		profile_settle(profile);
		outputs_compare(outputs, before);
		err = outputs_write(outputs, profile);
	}
	outputs_free(outputs);
	svg_options_free(&svg);
	profile_free(profile);
	profile_free(before);
	return err && err != -EPIPE ? command_failed(status) : EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct convert_options asked = { 0 };
	struct opt_list operands = { 0 };
	int status = opt_parse(options, argc, argv, &asked, &operands);

	if (status < 0) {
		status = command_usage(command, status);
	} else if (kept_asked(&asked.kept) && kept_check(&asked.kept, &asked.input, operands.len, &asked.range)) {
		status = command_usage(command, -EINVAL);
	} else if (operands.len != !kept_asked(&asked.kept) || status != argc) {
		fail_plain(-EINVAL, "convert: one profile to read, and it was given %zu", operands.len);
		status = command_usage(command, -EINVAL);
	} else if (filters_check(&asked.filter)) {
		status = command_usage(command, -EINVAL);
	} else {
		status = convert(&asked, operands.len ? operands.items[0] : NULL);
	}
	opt_list_free(&operands);
	opt_list_free(&asked.outputs);
	return status;
}

const struct command command_convert = {
	.name = "convert",
	.summary = "Turns a profile into another format",
	.usage = "[OPTION]... FILE|--from TIME",
	.examples = "  wick convert cpu.wick -o cpu.svg           a flame graph\n"
		    "  wick convert cpu.wick -o cpu.html          a page to explore it in\n"
		    "  wick convert x.folded -o java.svg --colors java --title Build\n"
		    "  wick convert cpu.wick -o cpu.folded\n"
		    "  wick convert cpu.wick -o cpu.pb.gz         for go tool pprof\n"
		    "  wick convert cpu.wick                      the report, on standard output\n"
		    "  wick convert --salvage cpu.wick -o saved.wick\n"
		    "  wick convert --from -2h --to -1h -o cpu.svg\n",
	.options = options,
	.writes = true,
	.run = run,
};
