/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two profiles, for people and for flame graphs. The table has what changed most first, what is
 * larger than noise before what may be noise, equals by name: the same profiles give the same bytes. Shares are of all
 * samples of each profile, so that recordings of different lengths can be compared.
 */
#include "out/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/columns.h"
#include "base/intern.h"
#include "base/text.h"
#include "out/out.h"
#include "out/page.h"
#include "out/report.h"
#include "out/svg.h"
#include "profile/diff.h"
#include "profile/profile.h"

#define FIXED_WIDTH 48 /* of the columns before the function */
#define MODULE_MAX 24
#define NO_STACK "[no stack]"

const struct diff_format diff_formats[] = {
	{ "report", ".txt", out_diff_table },
	{ "folded", ".folded", out_diff_folded },
	{ "svg", ".svg", out_diff_svg },
	{ "html", ".html", out_diff_html },
	{ 0 },
};

static void add_name(const struct profile *profile, unsigned int frame, struct buf *out)
{
	if (frame)
		out_frame_text(profile, frame, out);
	else
		buf_adds(out, NO_STACK);
}

static void add_module(const struct profile *profile, unsigned int frame, struct buf *out)
{
	if (frame)
		out_function_module(profile, frame, out);
	else
		buf_addc(out, '-');
}

int out_diff(struct diff *diff, const struct profile *before, const struct profile *after)
{
	return diff_init(diff, before, after, add_name, add_module);
}

/* A line of a table. */
struct row {
	const struct diff_function *function;
	const uint64_t *counts; /* self or total */
	struct diff_change change;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	bool left_real = diff_is_real(&left->change), right_real = diff_is_real(&right->change);
	double left_size = fabs(left->change.points), right_size = fabs(right->change.points);
	int order;

	if (left_real != right_real)
		return left_real ? -1 : 1;
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	order = strcmp(left->function->name, right->function->name);
	return order ? order : strcmp(left->function->module, right->function->module);
}

static double share(uint64_t count, uint64_t sum)
{
	return sum ? 100.0 * (double)count / (double)sum : 0;
}

static void add_verdict(const struct diff *diff, const struct diff_change *change, bool colour, struct buf *out)
{
	const char *word = change->points > 0 ? "grew" : "shrank", *style = change->points > 0 ? "31" : "34";

	if (!diff->counts)
		buf_addf(out, "  %-6s", "?");
	else if (!diff_is_real(change))
		buf_addf(out, "  %-6s", "noise");
	else if (colour)
		buf_addf(out, "  \033[%sm%-6s\033[0m", style, word);
	else
		buf_addf(out, "  %-6s", word);
}

static void add_row(const struct diff *diff, const struct row *row, const struct diff_options *options, size_t name,
		    size_t module, struct buf *out)
{
	const struct diff_function *function = row->function;

	buf_addf(out, "%+7.2f", row->change.points);
	if (diff->counts)
		buf_addf(out, " %+7.2f %+7.2f", row->change.low, row->change.high);
	else
		buf_addf(out, " %7s %7s", "-", "-");
	buf_addf(out, "  %5.1f%% %5.1f%%", share(row->counts[DIFF_BEFORE], diff->sums[DIFF_BEFORE]),
		 share(row->counts[DIFF_AFTER], diff->sums[DIFF_AFTER]));
	add_verdict(diff, &row->change, options->colour, out);
	buf_adds(out, "  ");
	columns_pad(out, function->name, strlen(function->name), name);
	buf_adds(out, "  ");
	columns_add(out, function->module, strlen(function->module), module);
	buf_addc(out, '\n');
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void add_rows(const struct diff *diff, const struct row *rows, size_t len, const struct diff_options *options,
		     struct buf *out)
{
	size_t shown = least(len, options->top), width = options->width ? options->width : REPORT_WIDTH;
	size_t room = width > FIXED_WIDTH + 12 ? width - FIXED_WIDTH : 12, name = strlen("FUNCTION");
	size_t module = strlen("MODULE"), real = 0;

	for (size_t i = 0; i < shown; i++) {
		size_t one = columns_of(rows[i].function->name, strlen(rows[i].function->name));
		size_t other = columns_of(rows[i].function->module, strlen(rows[i].function->module));

		name = one > name ? one : name;
		module = other > module ? other : module;
	}
	module = least(module, least(MODULE_MAX, room / 3));
	name = least(name, room - module - 2);
	buf_addf(out, " POINTS   95 %% INTERVAL  BEFORE  AFTER          %-*s  MODULE\n", (int)name, "FUNCTION");
	for (size_t i = 0; i < shown; i++)
		add_row(diff, &rows[i], options, name, module, out);
	for (size_t i = shown; i < len; i++)
		real += diff->counts && diff_is_real(&rows[i].change);
	if (len > shown)
		buf_addf(out, "%zu other function%s, %zu of them changed by more than noise\n", len - shown,
			 len - shown == 1 ? "" : "s", real);
}

static int add_table(const struct diff *diff, const char *title, bool total, const struct diff_options *options,
		     struct buf *out)
{
	autofree struct row *rows = calloc(diff->len + 1, sizeof(*rows));
	size_t len = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < diff->len; i++) {
		const struct diff_function *function = &diff->functions[i];
		const uint64_t *counts = total ? function->total : function->self;

		if (counts[DIFF_BEFORE] || counts[DIFF_AFTER])
			rows[len++] = (struct row){ function, counts, diff_change(diff, counts) };
	}
	qsort(rows, len, sizeof(*rows), compare_rows);
	buf_addf(out, "\n%s%s%s\n", options->colour ? "\033[1m" : "", title, options->colour ? "\033[0m" : "");
	add_rows(diff, rows, len, options, out);
	return buf_error(out);
}

static void add_side(const struct profile *profile, const char *what, const char *name, uint64_t sum, struct buf *out)
{
	size_t len;
	const char *unit = profile_text(profile, profile_meta(profile)->unit, &len);

	buf_addf(out, "%s ", what);
	if (name) {
		text_escape(out, name, strlen(name), NULL);
		buf_adds(out, ": ");
	}
	text_thousands(out, sum);
	buf_addc(out, ' ');
	if (len)
		text_escape(out, unit, len, NULL);
	else
		buf_adds(out, "samples");
}

int out_diff_table(const struct diff_input *input, const struct diff_options *options, struct buf *out)
{
	const struct diff *diff = input->diff;
	size_t width = options->width ? options->width : REPORT_WIDTH;
	autobuf struct buf head = { 0 };
	int err;

	add_side(input->before, "before", options->before, diff->sums[DIFF_BEFORE], &head);
	buf_adds(&head, " · ");
	add_side(input->after, "after", options->after, diff->sums[DIFF_AFTER], &head);
	if (buf_error(&head))
		return buf_error(&head);
	columns_wrap(out, head.data, 0, width, 2);
	buf_addc(out, '\n');
	columns_wrap(out,
		     diff->counts ? "shares are of all samples of each; what has 0 in its interval may be noise"
				  : "values are not numbers of samples: what is noise cannot be told",
		     0, width, 2);
	buf_addc(out, '\n');
	err = add_table(diff, "SELF: it was running", false, options, out);
	return err ? err : add_table(diff, "TOTAL: it was running, or what it called", true, options, out);
}

/* Lines of both, each text once. */
struct pairs {
	struct intern *texts;
	struct pair {
		const char *text;
		uint64_t counts[DIFF_SIDES];
	} * list;
	size_t len, cap;
};

static int add_pair(struct pairs *pairs, const char *text, size_t len, enum diff_side side, uint64_t count)
{
	uint32_t number = intern_bytes(pairs->texts, text, len);

	if (number == UINT32_MAX)
		return -ENOMEM;
	if (number >= pairs->cap) {
		size_t cap = pairs->cap ? pairs->cap * 2 : 1024;
		struct pair *grown = reallocarray(pairs->list, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + pairs->cap, 0, (cap - pairs->cap) * sizeof(*grown));
		pairs->list = grown;
		pairs->cap = cap;
	}
	pairs->list[number].text = intern_get(pairs->texts, number, NULL);
	pairs->list[number].counts[side] = count;
	pairs->len = number >= pairs->len ? number + 1 : pairs->len;
	return 0;
}

/* The profile's own lines, as out_folded writes them: text, space, count. */
static int add_lines(struct pairs *pairs, const struct profile *profile, enum diff_side side)
{
	autobuf struct buf lines = { 0 };
	int err = out_folded(profile, &lines);

	for (size_t at = 0; at < lines.len && !err;) {
		const char *line = lines.data + at, *end = memchr(line, '\n', lines.len - at);
		const char *space = end ? memrchr(line, ' ', (size_t)(end - line)) : NULL;

		if (!space)
			return -EINVAL;
		err = add_pair(pairs, line, (size_t)(space - line), side, strtoull(space + 1, NULL, 10));
		at = (size_t)(end + 1 - lines.data);
	}
	return err;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *left = a, *right = b;

	for (int side = DIFF_AFTER; side >= DIFF_BEFORE; side--)
		if (left->counts[side] != right->counts[side])
			return left->counts[side] < right->counts[side] ? 1 : -1;
	return strcmp(left->text, right->text);
}

int out_diff_folded(const struct diff_input *input, const struct diff_options *options, struct buf *out)
{
	const uint64_t *sums = input->diff->sums;
	struct pairs pairs = { .len = 1 };
	int err = intern_new(&pairs.texts);

	err = err ? err : add_lines(&pairs, input->before, DIFF_BEFORE);
	err = err ? err : add_lines(&pairs, input->after, DIFF_AFTER);
	if (!err && pairs.list)
		qsort(pairs.list + 1, pairs.len - 1, sizeof(*pairs.list), compare_pairs);
	for (size_t i = 1; i < pairs.len && !err; i++) {
		uint64_t before = pairs.list[i].counts[DIFF_BEFORE];

		if (options->normalize && sums[DIFF_BEFORE])
			before = (uint64_t)((unsigned __int128)before * sums[DIFF_AFTER] / sums[DIFF_BEFORE]);
		buf_addf(out, "%s %" PRIu64 " %" PRIu64 "\n", pairs.list[i].text, before,
			 pairs.list[i].counts[DIFF_AFTER]);
		err = buf_error(out);
	}
	intern_free(pairs.texts);
	free(pairs.list);
	return err;
}

int out_diff_html(const struct diff_input *input, const struct diff_options *options, struct buf *out)
{
	const struct page page = { input->after, input->before, { options->before, options->after } };

	return page_html(&page, out);
}

int out_diff_svg(const struct diff_input *input, const struct diff_options *options, struct buf *out)
{
	struct svg_options svg = options->svg ? *options->svg : SVG_DEFAULTS;

	svg.normalize = options->normalize;
	return out_svg_diff(input->before, input->after, &svg, out);
}
