/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick diff: what grew and what shrank between two profiles, saved or of what is kept, and whether that is more than
 * chance. Needs no kernel. With --fail-above it is a test: it ends with EXIT_ABOVE if a function surely grew by more
 * than that.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/when.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/kept.h"
#include "cmd/report_options.h"
#include "cmd/svg_options.h"
#include "out/diff.h"
#include "out/report.h"
#include "out/svg.h"
#include "profile/diff.h"
#include "profile/profile.h"

struct asked {
	const char *output, *format, *fail_above, *top, *width, *against;
	bool normalize;
	struct filter_options filter;
	struct input_options input;
	struct kept_options kept;
	struct store_range ranges[DIFF_SIDES]; /* of what is kept */
	struct buf names[DIFF_SIDES];          /* of these */
	struct svg_arguments svg;
	double limit; /* negative: none */
	const struct diff_format *chosen;
	struct diff_options shape;
	struct svg_options graph;
};

#define ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, filter.field), help, hint },
#define INPUT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, input.field), help, hint },
#define KEPT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, kept.field), help, hint },
#define SVG_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct asked, svg.field), help, hint },

static const struct opt options[] = {
	{ 'o', "output", "FILE", opt_text, offsetof(struct asked, output),
	  "where to write; its suffix chooses the format; - is standard output", "file" },
	{ 'f', "format", "FORMAT", opt_text, offsetof(struct asked, format), "report, folded, svg or html",
	  "report folded svg html" },
	{ 0, "normalize", NULL, opt_flag, offsetof(struct asked, normalize),
	  "scale the counts before to the sum after, in folded stacks and graphs", NULL },
	{ 0, "fail-above", "POINTS", opt_text, offsetof(struct asked, fail_above),
	  "exit 3 if a function surely grew by more percentage points", NULL },
	FILTER_OPTIONS(ROW) KEPT_OPTIONS(KEPT_ROW){ 0, "against", "TIME", opt_text, offsetof(struct asked, against),
						    "compare with as long a time that began then", NULL },
	INPUT_OPTIONS(INPUT_ROW){ 0, "top", "N", opt_text, offsetof(struct asked, top), "functions shown (15)", NULL },
	{ 0, "width", "N", opt_text, offsetof(struct asked, width),
	  "columns (those of the terminal, or 80); svg: pixels (1200, and as the window)", NULL },
	SVG_OPTIONS(SVG_ROW) SVG_DIFF_OPTIONS(SVG_ROW){ 0 },
};

static int choose_format(struct asked *asked)
{
	const char *path = asked->output ? asked->output : "-";
	autobuf struct buf names = { 0 };

	asked->chosen = NULL;
	for (const struct diff_format *format = diff_formats; format->name; format++) {
		size_t len = strlen(path), suffix = strlen(format->suffix);
		bool fits = asked->format ? !strcmp(asked->format, format->name)
					  : len > suffix && !strcmp(path + len - suffix, format->suffix);

		if (fits && !asked->chosen)
			asked->chosen = format;
		buf_addf(&names, "%s%s (%s)", names.len ? ", " : "", format->name, format->suffix);
	}
	if (!asked->chosen && !asked->format && !strcmp(path, "-"))
		asked->chosen = &diff_formats[0];
	if (asked->chosen)
		return 0;
	if (asked->format)
		fail_plain(-EINVAL, "format '%s': no such format for a difference", asked->format);
	else
		fail_plain(-EINVAL, "output '%s': its suffix names no format for a difference", path);
	return fail_hint(-EINVAL, "there are %s", buf_error(&names) ? "" : names.data);
}

static int read_limit(struct asked *asked)
{
	char *end;

	asked->limit = -1;
	if (!asked->fail_above)
		return 0;
	asked->limit = strtod(asked->fail_above, &end);
	if (end == asked->fail_above || *end || !isfinite(asked->limit) || asked->limit < 0 || asked->limit > 100)
		return fail_plain(-EINVAL, "--fail-above: '%s' is not a number of percentage points from 0 to 100",
				  asked->fail_above);
	return 0;
}

/* Width, number of lines and colour, read as for a report; how a graph looks, as for any. */
static int read_shape(struct asked *asked)
{
	bool drawn = asked->chosen->write == out_diff_svg;
	const struct report_arguments arguments = { .top = asked->top, .width = drawn ? NULL : asked->width };
	struct report_options shape;
	int err = report_arguments_read(&arguments, &shape);

	asked->svg.width = drawn ? asked->width : NULL;
	err = err ? err : svg_arguments_use(&asked->svg, drawn, &asked->graph);
	if (err)
		return err;
	if (!asked->output || !strcmp(asked->output, "-"))
		report_options_terminal(&shape);
	asked->shape = (struct diff_options){ .width = shape.width,
					      .colour = shape.colour,
					      .top = shape.top,
					      .normalize = asked->normalize,
					      .svg = &asked->graph };
	return 0;
}

/* The function that grew most among those that surely grew, by more than the limit. */
static const struct diff_function *find_grown(const struct diff *diff, double limit, struct diff_change *ret)
{
	const struct diff_function *found = NULL;

	*ret = (struct diff_change){ .points = limit };
	for (uint32_t i = 1; i < diff->len; i++)
		for (int total = 0; total <= 1; total++) {
			const struct diff_function *one = &diff->functions[i];
			struct diff_change change = diff_change(diff, total ? one->total : one->self);

			if (change.points > ret->points && change.low > 0) {
				*ret = change;
				found = one;
			}
		}
	return found;
}

static int judge(const struct asked *asked, const struct diff *diff)
{
	const struct diff_function *grown;
	struct diff_change change;

	if (asked->limit < 0)
		return EXIT_DONE;
	if (!diff->counts) {
		fail_plain(-EINVAL,
			   "--fail-above: the values are not numbers of samples: what is noise cannot be told");
		return command_failed(EXIT_MACHINE);
	}
	grown = find_grown(diff, asked->limit, &change);
	if (!grown)
		return EXIT_DONE;
	fail_plain(-ERANGE, "%s%s%s grew by %.2f percentage points (%+.2f to %+.2f), more than %s", grown->name,
		   strcmp(grown->module, "-") ? " in " : "", strcmp(grown->module, "-") ? grown->module : "",
		   change.points, change.low, change.high, asked->fail_above);
	return command_failed(EXIT_ABOVE);
}

static void name_range(struct buf *name, const struct store_range *range)
{
	when_add(name, range->from);
	buf_adds(name, " to ");
	when_add(name, range->to);
}

/* The two ranges of what is kept: the one that was asked for, and one as long before it, or after. */
static int read_ranges(struct asked *asked, size_t files)
{
	struct store_range *before = &asked->ranges[DIFF_BEFORE], *after = &asked->ranges[DIFF_AFTER];
	int err = kept_check(&asked->kept, &asked->input, files, after);

	if (!err && (!asked->kept.from || !asked->against))
		return fail_plain(-EINVAL, "diff: of what is kept it needs --from and --against: two beginnings");
	err = err ? err : when_parse(asked->against, clock_ns(CLOCK_REALTIME), &before->from);
	if (err)
		return err;
	before->from -= before->from % NS_PER_MS;
	before->to = before->from + (after->to - after->from);
	for (int i = 0; i < DIFF_SIDES; i++)
		name_range(&asked->names[i], &asked->ranges[i]);
	return 0;
}

/* One side: a file, or without one a range of what is kept. */
static int read_side(const struct asked *asked, int side, const char *path, struct profile **ret)
{
	if (path)
		return filters_read(&asked->filter, &asked->input, path, ret);
	return filters_kept(&asked->filter, &asked->kept, &asked->ranges[side], ret);
}

static const char *name_side(const struct asked *asked, int side, const char *path)
{
	if (!path)
		return buf_error(&asked->names[side]) ? NULL : asked->names[side].data;
	return strcmp(path, "-") ? path : NULL;
}

static int diff(struct asked *asked, const char *before, const char *after)
{
	struct profile *profiles[DIFF_SIDES] = { 0 };
	autobuf struct buf text = { 0 };
	struct output *output = NULL;
	struct diff compared = { 0 };
	int err, status;

	asked->shape.before = name_side(asked, DIFF_BEFORE, before);
	asked->shape.after = name_side(asked, DIFF_AFTER, after);
	err = output_open(&output, asked->output ? asked->output : "-");
	err = err ? err : read_side(asked, DIFF_BEFORE, before, &profiles[DIFF_BEFORE]);
	err = err ? err : read_side(asked, DIFF_AFTER, after, &profiles[DIFF_AFTER]);
	err = err ? err : out_diff(&compared, profiles[DIFF_BEFORE], profiles[DIFF_AFTER]);
	if (!err) {
		const struct diff_input input = { profiles[DIFF_BEFORE], profiles[DIFF_AFTER], &compared };

		err = asked->chosen->write(&input, &asked->shape, &text);
	}
	err = err ? err : output_write(output, text.data, text.len);
	err = err ? err : output_commit(output);
	err = err ? err : svg_options_keep(&asked->graph);
	output_free(output);
	status = err && err != -EPIPE ? command_failed(EXIT_MACHINE) : judge(asked, &compared);
	diff_free(&compared);
	profile_free(profiles[DIFF_BEFORE]);
	profile_free(profiles[DIFF_AFTER]);
	return status;
}

static int check_operands(struct asked *asked, const struct opt_list *operands)
{
	if (kept_asked(&asked->kept) || asked->against)
		return read_ranges(asked, operands->len);
	if (operands->len != 2)
		return fail_plain(-EINVAL, "diff: two profiles to compare, and it was given %zu", operands->len);
	if (!strcmp(operands->items[0], "-") && !strcmp(operands->items[1], "-"))
		return fail_plain(-EINVAL, "diff: only one of the two can be standard input");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct asked asked = { 0 };
	struct opt_list operands = { 0 };
	int rest = opt_parse(options, argc, argv, &asked, &operands), err = rest < 0 ? rest : 0, status;

	if (!err && rest != argc)
		err = fail_plain(-EINVAL, "diff: it runs no command");
	err = err ? err : check_operands(&asked, &operands);
	err = err ? err : choose_format(&asked);
	err = err ? err : read_limit(&asked);
	err = err ? err : filters_check(&asked.filter);
	err = err ? err : read_shape(&asked);
	if (err)
		status = command_usage(command, err);
	else
		status = operands.len ? diff(&asked, operands.items[0], operands.items[1]) : diff(&asked, NULL, NULL);
	svg_options_free(&asked.graph);
	for (int i = 0; i < DIFF_SIDES; i++)
		buf_free(&asked.names[i]);
	opt_list_free(&operands);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "Shows what grew and what shrank between two profiles, and what of that is noise",
	.usage = "[OPTION]... BEFORE-FILE AFTER-FILE|--from TIME --against TIME",
	.examples = "  wick diff cpu.wick x.folded                what grew and what shrank\n"
		    "  wick diff --fail-above 2 cpu.wick x.folded\n"
		    "  wick diff cpu.wick x.folded -o d.folded    both counts a line, for flame graphs\n"
		    "  wick diff cpu.wick x.folded -o d.svg       red is what grew, blue what shrank\n"
		    "  wick diff cpu.wick x.folded -o d.html      a page to explore the difference in\n"
		    "  wick diff --from -5m --against -65m        an hour later\n",
	.options = options,
	.run = run,
};
