/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people: what was measured, the hottest functions, paths and processes, and how far to trust it. In: a
 * profile and what of it was asked for. Out: text that fits the width and can be read without colour, the same for the
 * same profile; equals are ordered by name. Shares are of what is shown; if a filter left something out, that is said.
 */
#include "out/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/text.h"
#include "out/out.h"
#include "out/report_parts.h"
#include "profile/profile.h"

#define TYPABLE_MAX 60 /* of a function's name that is offered for typing */

/* From which percentage on a share stands out. */
#define HOT_PERCENT 10
#define WARM_PERCENT 3

double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double report_floor_percent(uint64_t part, uint64_t whole)
{
	double percent = report_percent(part, whole);

	return part >= whole ? percent : percent > 0.05 ? percent - 0.05 : 0;
}

void report_style(const struct report *report, enum report_style style, struct buf *out)
{
	static const char *const codes[] = {
		[REPORT_PLAIN] = "\033[0m", [REPORT_HEAD] = "\033[1m", [REPORT_HOT] = "\033[1;31m",
		[REPORT_WARM] = "\033[33m", [REPORT_DIM] = "\033[2m",
	};

	if (report->options->colour)
		buf_adds(out, codes[style]);
}

void report_heading(const struct report *report, const char *text)
{
	report_style(report, REPORT_HEAD, report->out);
	columns_add(report->out, text, strlen(text), report->width);
	report_style(report, REPORT_PLAIN, report->out);
	buf_addc(report->out, '\n');
}

void report_share(const struct report *report, uint64_t value, struct buf *out)
{
	double percent = report_percent(value, report->tally.total);
	bool styled = percent >= WARM_PERCENT;

	if (styled)
		report_style(report, percent >= HOT_PERCENT ? REPORT_HOT : REPORT_WARM, out);
	buf_addf(out, "%*.1f%%", REPORT_SHARE_WIDTH - 1, percent);
	if (styled)
		report_style(report, REPORT_PLAIN, out);
}

/* Facts with dots between them; those that are not known are left out. */
static int write_facts(const struct report *report)
{
	const struct profile_meta *meta = profile_meta(report->whole);
	uint64_t busy_us = meta->busy_user_us + meta->busy_kernel_us, all_us = busy_us + meta->idle_us;
	autobuf struct buf line = { 0 };
	size_t len;
	const char *unit = profile_text(report->whole, meta->unit, &len);

	if (meta->duration_ns)
		buf_addf(&line, "%.1f s" REPORT_DOT, (double)meta->duration_ns / NS_PER_SEC);
	if (meta->cpus)
		buf_addf(&line, "%" PRIu64 " CPU%s" REPORT_DOT, meta->cpus, meta->cpus == 1 ? "" : "s");
	if (meta->hz)
		buf_addf(&line, "%" PRIu64 " Hz" REPORT_DOT, meta->hz);
	else if (meta->period)
		buf_addf(&line, "period %" PRIu64 REPORT_DOT, meta->period);
	text_thousands(&line, report->tally.total);
	buf_addc(&line, ' ');
	if (!len || !strcmp(unit, "samples"))
		buf_adds(&line, report->tally.total == 1 ? "sample" : "samples");
	else
		text_escape(&line, unit, len, NULL);
	if (all_us)
		buf_addf(&line, REPORT_DOT "busy %.0f %%: user %.0f, kernel %.0f", report_percent(busy_us, all_us),
			 report_percent(meta->busy_user_us, all_us), report_percent(meta->busy_kernel_us, all_us));
	if (!buf_error(&line))
		columns_wrap(report->out, line.data, 0, report->width, 2);
	buf_addc(report->out, '\n');
	return buf_error(&line);
}

static void add_pattern(struct buf *out, const char *name, const char *pattern)
{
	if (!pattern)
		return;
	buf_addf(out, "%s%s '", out->len ? ", " : "", name);
	text_escape(out, pattern, strlen(pattern), NULL);
	buf_addc(out, '\'');
}

/* What a filter left out, so that nobody takes the shares for those of everything. */
static int write_filter(const struct report *report)
{
	const struct filter_options *filter = &report->options->filter;
	autobuf struct buf line = { 0 };
	uint64_t all = 0;

	if (!filter_asked(filter))
		return 0;
	for (uint32_t i = 1; i < profile_count(report->whole, PROFILE_SAMPLES); i++)
		all += profile_sample(report->whole, i)->value;
	add_pattern(&line, "focus", filter->focus);
	add_pattern(&line, "ignore", filter->ignore);
	add_pattern(&line, "hide", filter->hide);
	add_pattern(&line, "process", filter->process);
	buf_adds(&line, ": ");
	text_thousands(&line, report->tally.total);
	buf_adds(&line, " of ");
	text_thousands(&line, all);
	buf_addf(&line, " samples (%.1f %%); shares are of these", report_percent(report->tally.total, all));
	if (!buf_error(&line))
		columns_wrap(report->out, line.data, 0, report->width, 2);
	buf_addc(report->out, '\n');
	return buf_error(&line);
}

/* A word as a shell takes it back. */
static void add_quoted(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,";

	if (*word && strspn(word, plain) == strlen(word)) {
		buf_adds(out, word);
		return;
	}
	buf_addc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, *word);
	buf_addc(out, '\'');
}

/* The hottest function, if its name can be typed. */
static const char *typable_function(const struct tally *tally)
{
	const struct tally_function *best = NULL;

	for (uint32_t i = 1; i < tally->functions_len; i++) {
		const struct tally_function *one = &tally->functions[i];

		if (one->self && one->named && one->kind != FRAME_CUT && (!best || one->self > best->self))
			best = one;
	}
	if (!best || strlen(best->name) > TYPABLE_MAX || strchr(best->name, '\\'))
		return NULL;
	return best->name;
}

/* What to type for the profile itself. */
static void add_source(const struct report_options *options, struct buf *out)
{
	if (options->words)
		buf_adds(out, options->words);
	else
		add_quoted(out, options->source);
}

static void write_next(struct report *report)
{
	const char *source = report->options->source, *function = typable_function(&report->tally);
	struct buf *out = report->out;

	buf_adds(out, "next: wick ");
	if (!source && !report->options->words) {
		buf_adds(out, "record -o cpu.wick 10\n");
		buf_adds(out, "      wick report --tree cpu.wick\n");
		return;
	}
	if (function && report->tally.total) {
		buf_adds(out, "report --callers ");
		add_quoted(out, function);
		buf_addc(out, ' ');
		add_source(report->options, out);
		buf_adds(out, "\n      wick ");
	}
	if (source && out_by_path(source) == out_by_name("wick")) {
		buf_adds(out, "convert ");
		add_quoted(out, source);
		buf_adds(out, " -o cpu.folded\n");
	} else {
		buf_adds(out, "report --tree ");
		add_source(report->options, out);
		buf_addc(out, '\n');
	}
}

/* --by thread of a profile that does not tell them apart would only look as if. */
static void write_thread_hint(const struct report *report)
{
	if (report->options->by != TALLY_THREAD)
		return;
	for (uint32_t i = 1; i < profile_count(report->profile, PROFILE_SAMPLES); i++)
		if (profile_sample(report->profile, i)->tid)
			return;
	buf_adds(report->out, "threads were not told apart: wick record --threads does\n");
}

static int write_sections(struct report *report)
{
	const struct report_options *options = report->options;
	bool all = !options->tree && !options->quality && !options->callers;
	int err;

	err = write_facts(report);
	err = err ? err : write_filter(report);
	write_thread_hint(report);
	if (!err && all && options->by != TALLY_NAME)
		err = report_groups(report);
	if (!err && all)
		err = report_functions(report);
	if (!err && options->callers)
		err = report_callers(report);
	else if (!err && (all || options->tree) && report->tally.total)
		err = report_tree(report, &report->tally.tree, false);
	if (!err && all && options->by == TALLY_NAME)
		err = report_groups(report);
	err = err ? err : report_quality(report);
	if (!err && all)
		write_next(report);
	return err ? err : buf_error(report->out);
}

int report_check(const struct report_options *options)
{
	struct filter *filter = NULL;
	int err = filter_new(&filter, &options->filter, &out_texts);

	filter_free(filter);
	return err;
}

int report_write(const struct profile *profile, const struct report_options *options, struct buf *out)
{
	struct report report = { .options = options, .whole = profile, .profile = profile, .out = out };
	struct profile *filtered = NULL;
	struct filter *filter = NULL;
	int err = 0;

	report.width = options->width ? options->width : REPORT_WIDTH;
	if (report.width < REPORT_WIDTH_MIN)
		report.width = REPORT_WIDTH_MIN;
	if (filter_asked(&options->filter)) {
		err = filter_new(&filter, &options->filter, &out_texts);
		err = err ? err : filter_apply(filter, profile, &filtered);
		report.profile = filtered;
	}
	err = err ? err : tally_init(&report.tally, report.profile, options->by);
	err = err ? err : write_sections(&report);
	tally_free(&report.tally);
	profile_free(filtered);
	filter_free(filter);
	return err;
}

int out_report(const struct profile *profile, struct buf *out)
{
	const struct report_options options = REPORT_DEFAULTS;

	return report_write(profile, &options, out);
}
