/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens every output before sampling starts, so that a place that cannot be written is known at once, and writes them
 * at the end. The suffix of a path chooses its format; without any path the report goes to standard output.
 */
#include "cmd/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opt.h"
#include "cmd/report_options.h"
#include "cmd/svg_options.h"
#include "out/out.h"
#include "out/page.h"
#include "out/report.h"
#include "out/stats.h"
#include "out/svg.h"

struct one {
	struct output *output;
	out_writer *write;
	bool is_stdout;
};

struct outputs {
	struct one *list;
	size_t len;
	struct report_options report;
	struct svg_options svg;
	const struct profile *before; /* that flame graphs compare with, or NULL */
};

static void list_formats(int err)
{
	autobuf struct buf names = { 0 };

	for (const struct out_format *format = out_formats; format->name; format++)
		buf_addf(&names, "%s%s (%s)", names.len ? ", " : "", format->name, format->suffix);
	fail_hint(err, "there are %s", buf_error(&names) ? "" : names.data);
}

static int check_place(const char *path, const struct out_format *format)
{
	if (!(format->flags & OUT_BINARY) || strcmp(path, "-") || !isatty(STDOUT_FILENO))
		return 0;
	fail_plain(-EINVAL, "format '%s': standard output is a terminal, and this is not text", format->name);
	return fail_hint(-EINVAL, "give it a file with -o, or a pipe");
}

static int choose(const char *path, const char *name, const struct out_format **ret)
{
	if (name) {
		*ret = out_by_name(name);
		if (*ret)
			return check_place(path, *ret);
		fail_plain(-EINVAL, "format '%s': no such format", name);
	} else if (!strcmp(path, "-")) {
		*ret = out_by_name("report");
		return 0;
	} else {
		*ret = out_by_path(path);
		if (*ret)
			return 0;
		fail_plain(-EINVAL, "output '%s': its suffix names no format", path);
	}
	list_formats(-EINVAL);
	return -EINVAL;
}

static int add(struct outputs *outputs, const char *path, out_writer *write)
{
	struct one *one = &outputs->list[outputs->len];
	int err = output_open(&one->output, path);

	if (err)
		return err;
	one->write = write;
	one->is_stdout = !strcmp(path, "-");
	outputs->len++;
	return 0;
}

int outputs_open(struct outputs **ret, const struct opt_list *paths, const char *format, const char *stats)
{
	struct outputs *outputs = calloc(1, sizeof(*outputs));
	int err = 0;

	if (!outputs)
		return -ENOMEM;
	*ret = outputs;
	outputs->report = REPORT_DEFAULTS;
	outputs->svg = SVG_DEFAULTS;
	outputs->list = calloc(paths->len + 2, sizeof(*outputs->list));
	if (!outputs->list)
		return -ENOMEM;
	for (size_t i = 0; i < paths->len && !err; i++) { /* first what is wrong with the words */
		const struct out_format *chosen;

		err = choose(paths->items[i], format, &chosen);
	}
	for (size_t i = 0; i < (paths->len ? paths->len : 1) && !err; i++) {
		const char *path = paths->len ? paths->items[i] : "-";
		const struct out_format *chosen;

		err = choose(path, format, &chosen);
		err = err ? err : add(outputs, path, chosen->write);
	}
	return err || !stats ? err : add(outputs, stats, stats_write);
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	for (size_t i = 0; i < outputs->len; i++)
		output_free(outputs->list[i].output);
	free(outputs->list);
	free(outputs);
}

void outputs_shape_report(struct outputs *outputs, const struct report_options *options)
{
	outputs->report = *options;
}

void outputs_shape_svg(struct outputs *outputs, const struct svg_options *options)
{
	outputs->svg = *options;
}

void outputs_compare(struct outputs *outputs, const struct profile *before)
{
	outputs->before = before;
}

bool outputs_have_svg(const struct outputs *outputs)
{
	bool any = false;

	for (size_t i = 0; i < outputs->len; i++)
		any |= outputs->list[i].write == out_svg;
	return any;
}

static int write_one(const struct outputs *outputs, const struct one *one, const struct profile *profile,
		     struct buf *bytes)
{
	struct report_options shape = outputs->report;

	const struct page page = { .profile = profile, .before = outputs->before };

	if (one->write == out_html)
		return page_html(&page, bytes);
	if (one->write == out_svg)
		return out_svg_diff(outputs->before, profile, &outputs->svg, bytes);
	if (one->write != out_report)
		return one->write(profile, bytes);
	if (one->is_stdout)
		report_options_terminal(&shape);
	return report_write(profile, &shape, bytes);
}

int outputs_write(struct outputs *outputs, const struct profile *profile)
{
	int first = 0, err;

	for (size_t i = 0; i < outputs->len; i++) {
		struct one *one = &outputs->list[i];
		autobuf struct buf bytes = { 0 };

		err = write_one(outputs, one, profile, &bytes);
		err = err ? err : buf_error(&bytes);
		err = err ? err : output_write(one->output, bytes.data, bytes.len);
		err = err ? err : output_commit(one->output);
		first = first ? first : err; /* one that fails does not cost the others */
	}
	err = svg_options_keep(&outputs->svg);
	return first ? first : err;
}

void outputs_abandon(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->len; i++)
		output_abandon(outputs->list[i].output);
}

bool outputs_can_compare(const struct outputs *outputs)
{
	bool any = false;

	for (size_t i = 0; i < outputs->len; i++)
		any |= outputs->list[i].write == out_svg || outputs->list[i].write == out_html;
	return any;
}

bool outputs_have_report(const struct outputs *outputs)
{
	bool any = false;

	for (size_t i = 0; i < outputs->len; i++)
		any |= outputs->list[i].write == out_report;
	return any;
}

bool outputs_use_stdout(const struct outputs *outputs)
{
	bool any = false;

	for (size_t i = 0; i < outputs->len; i++)
		any |= outputs->list[i].is_stdout;
	return any;
}
