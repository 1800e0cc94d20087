/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what was asked of a flame graph. In: words of the command line, and palette.map if colours are to be kept. Out:
 * options for out/svg.h, all checked, so that nothing is wrong with them after a recording.
 */
#include "cmd/svg_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/rights.h"
#include "base/text.h"
#include "cmd/outputs.h"
#include "cmd/values.h"

#define MAP_PATH "palette.map"
#define MAP_BYTES ((size_t)64 << 20)
#define WIDTH_MIN 100
#define WIDTH_MAX 100000
#define HEIGHT_MAX 1000
#define FONT_MAX 200

static int read_numbers(const struct svg_arguments *arguments, struct svg_options *ret)
{
	const char *minwidth = arguments->minwidth;
	int err = value_whole(arguments->width, "width", WIDTH_MIN, WIDTH_MAX, &ret->width);

	ret->minwidth_share = minwidth && *minwidth && minwidth[strlen(minwidth) - 1] == '%';
	err = err ? err : value_whole(arguments->height, "height", 2, HEIGHT_MAX, &ret->height);
	err = err ? err
		  : value_number(minwidth, "minwidth", "%", 0, ret->minwidth_share ? 100 : WIDTH_MAX, &ret->minwidth);
	if (!err && arguments->total && (text_u64(arguments->total, &ret->total) || !ret->total))
		err = fail_plain(-EINVAL, "--total: '%s' is not a number from 1 up", arguments->total);
	err = err ? err : value_number(arguments->factor, "factor", "", 1e-9, 1e9, &ret->factor);
	err = err ? err : value_number(arguments->fontsize, "fontsize", "", 1, FONT_MAX, &ret->fontsize);
	return err ? err : value_number(arguments->fontwidth, "fontwidth", "", 0.1, 10, &ret->fontwidth);
}

static void read_text(const char *text, const char **ret)
{
	if (text)
		*ret = text;
}

/* None yet is no failure: it is written for the next graph. */
static int read_map(struct svg_options *options)
{
	autobuf struct buf bytes = { 0 };
	struct rights before;
	int err = svg_map_new(&options->map);

	if (err)
		return fail(err, "reading '" MAP_PATH "'");
	err = rights_lower(&before);
	err = err ? err : file_read(MAP_PATH, MAP_BYTES, &bytes);
	rights_restore(&before);
	if (err)
		return err == -ENOENT ? 0 : fail(err, "reading '" MAP_PATH "'");
	err = svg_map_read(options->map, bytes.data, bytes.len);
	if (err) {
		autofree char *words = strdup(fail_text());

		fail_plain(err, "reading '" MAP_PATH "': %s", words ? words : "");
	}
	return err;
}

int svg_arguments_read(const struct svg_arguments *arguments, struct svg_options *ret)
{
	int err;

	*ret = SVG_DEFAULTS;
	ret->title = arguments->title;
	ret->subtitle = arguments->subtitle;
	ret->notes = arguments->notes;
	ret->countname = arguments->countname;
	ret->bgcolors = arguments->bgcolors;
	read_text(arguments->nametype, &ret->nametype);
	read_text(arguments->fonttype, &ret->fonttype);
	read_text(arguments->colors, &ret->colors);
	ret->hash = arguments->hash;
	ret->inverted = arguments->inverted;
	ret->reverse = arguments->reverse;
	ret->negate = arguments->negate;
	err = read_numbers(arguments, ret);
	err = err ? err : svg_check(ret);
	return err || !arguments->cp ? err : read_map(ret);
}

void svg_options_free(struct svg_options *options)
{
	svg_map_free(options->map);
	options->map = NULL;
}

/* The name of one that was given; NULL if none was. */
static const char *any_given(const struct svg_arguments *arguments)
{
#define ROW(name, value, reader, field, help, hint) \
	if (arguments->field)                       \
		return name;
	SVG_OPTIONS(ROW)
	SVG_WIDTH_OPTION(ROW)
	SVG_DIFF_OPTIONS(ROW)
#undef ROW
	return NULL;
}

int svg_arguments_use(const struct svg_arguments *arguments, bool drawn, struct svg_options *ret)
{
	const char *option = any_given(arguments);

	if (option && !drawn) {
		fail_plain(-EINVAL, "--%s: it shapes a flame graph, and none is written", option);
		return fail_hint(-EINVAL, "add -o FILE.svg");
	}
	return svg_arguments_read(arguments, ret);
}

int svg_arguments_shape(const struct svg_arguments *arguments, struct svg_options *ret, struct outputs *outputs)
{
	int err = svg_arguments_use(arguments, outputs_have_svg(outputs), ret);

	if (!err)
		outputs_shape_svg(outputs, ret);
	return err;
}

int svg_options_keep(const struct svg_options *options)
{
	autobuf struct buf bytes = { 0 };
	struct output *output = NULL;
	int err;

	if (!options->map)
		return 0;
	err = svg_map_write(options->map, &bytes);
	err = err ? fail(err, "writing '" MAP_PATH "'") : output_open(&output, MAP_PATH);
	err = err ? err : output_write(output, bytes.data, bytes.len);
	err = err ? err : output_commit(output);
	output_free(output);
	return err;
}
