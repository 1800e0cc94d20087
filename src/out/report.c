/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people: what was measured, the hottest functions, paths and processes, and how far to trust it. In: a
 * profile and what of it was asked for. Out: text that fits the width and can be read without colour, the same for the
 * same profile; equals are ordered by name. Shares are of what is shown; if a filter left something out, that is said.
 */
#include "out/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/columns.h"
#include "base/text.h"
#include "out/out.h"
#include "out/report_parts.h"
#include "profile/profile.h"

#define GROUPS_SHOWN 10
#define GAP "  "
#define PID_WIDTH 8

/* From which percentage on a share stands out. */
#define HOT_PERCENT 10
#define WARM_PERCENT 3

double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
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
static void write_facts(const struct report *report)
{
	const struct profile_meta *meta = profile_meta(report->whole);
	uint64_t busy_us = meta->busy_user_us + meta->busy_kernel_us, all_us = busy_us + meta->idle_us;
	struct buf *out = report->out;
	size_t len;
	const char *unit = profile_text(report->whole, meta->unit, &len);

	if (meta->duration_ns)
		buf_addf(out, "%.1f s" REPORT_DOT, (double)meta->duration_ns / NS_PER_SEC);
	if (meta->cpus)
		buf_addf(out, "%" PRIu64 " CPU%s" REPORT_DOT, meta->cpus, meta->cpus == 1 ? "" : "s");
	if (meta->hz)
		buf_addf(out, "%" PRIu64 " Hz" REPORT_DOT, meta->hz);
	else if (meta->period)
		buf_addf(out, "period %" PRIu64 REPORT_DOT, meta->period);
	text_thousands(out, report->tally.total);
	if (!len || !strcmp(unit, "samples")) {
		buf_adds(out, report->tally.total == 1 ? " sample" : " samples");
	} else {
		buf_addc(out, ' ');
		text_escape(out, unit, len, NULL);
	}
	if (all_us)
		buf_addf(out, REPORT_DOT "busy %.0f %%: user %.0f, kernel %.0f", report_percent(busy_us, all_us),
			 report_percent(meta->busy_user_us, all_us), report_percent(meta->busy_kernel_us, all_us));
	buf_addc(out, '\n');
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

	if (!filter->focus && !filter->ignore && !filter->hide)
		return 0;
	for (uint32_t i = 1; i < profile_count(report->whole, PROFILE_SAMPLES); i++)
		all += profile_sample(report->whole, i)->value;
	add_pattern(&line, "focus", filter->focus);
	add_pattern(&line, "ignore", filter->ignore);
	add_pattern(&line, "hide", filter->hide);
	buf_adds(&line, ": ");
	text_thousands(&line, report->tally.total);
	buf_adds(&line, " of ");
	text_thousands(&line, all);
	buf_addf(&line, " samples (%.1f %%); shares are of these", report_percent(report->tally.total, all));
	if (!buf_error(&line))
		columns_wrap(report->out, line.data, report->width, 2);
	buf_addc(report->out, '\n');
	return buf_error(&line);
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct tally *tally = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct tally_function *first = &tally->functions[left], *second = &tally->functions[right];

	if (first->self != second->self)
		return first->self < second->self ? 1 : -1;
	if (first->total != second->total)
		return first->total < second->total ? 1 : -1;
	return tally_compare(left, right, tally);
}

/* Functions with self time, hottest first. */
static uint32_t *sort_functions(struct tally *tally, uint32_t *ret_len)
{
	uint32_t *order = calloc(tally->functions_len + 1, sizeof(*order));
	uint32_t len = 0;

	for (uint32_t i = 1; order && i < tally->functions_len; i++)
		if (tally->functions[i].self)
			order[len++] = i;
	if (order)
		qsort_r(order, len, sizeof(*order), compare_functions, tally);
	*ret_len = len;
	return order;
}

static size_t wider(size_t width, const char *text)
{
	size_t columns = columns_of(text, strlen(text));

	return columns > width ? columns : width;
}

struct widths {
	size_t function, module, group;
};

/* What each column needs; if that is too much, the function keeps half, and of the others each half of what is left. */
static void fit(struct widths *widths, size_t width)
{
	size_t others = widths->module + widths->group;

	if (widths->function + others <= width)
		return;
	if (others > width / 2) {
		size_t half = width / 4;

		if (widths->group > half)
			widths->group = widths->module < half ? width / 2 - widths->module : half;
		if (widths->module > width / 2 - widths->group)
			widths->module = width / 2 - widths->group;
	}
	if (widths->function > width - widths->module - widths->group)
		widths->function = width - widths->module - widths->group;
}

static const char *group_title(enum tally_by by)
{
	static const char *const titles[] = {
		[TALLY_NAME] = "PROCESS",  [TALLY_PROCESS] = "PROCESS",     [TALLY_THREAD] = "THREAD",
		[TALLY_MODULE] = "MODULE", [TALLY_CONTAINER] = "CONTAINER", [TALLY_UNIT] = "UNIT",
	};

	return titles[by];
}

static void write_function(const struct report *report, const struct tally_function *function, struct widths widths)
{
	const char *group = report->tally.groups[function->group].name;
	struct buf *out = report->out;

	report_share(report, function->self, out);
	buf_adds(out, GAP);
	report_share(report, function->total, out);
	buf_adds(out, GAP);
	columns_pad(out, function->name, strlen(function->name), widths.function);
	buf_adds(out, GAP);
	report_style(report, REPORT_DIM, out);
	if (widths.group) {
		columns_pad(out, function->module, strlen(function->module), widths.module);
		buf_adds(out, GAP);
		columns_add(out, group, strlen(group), widths.group);
	} else {
		columns_add(out, function->module, strlen(function->module), widths.module);
	}
	report_style(report, REPORT_PLAIN, out);
	buf_addc(out, '\n');
}

static void write_function_heading(const struct report *report, struct widths widths)
{
	const char *title = group_title(report->options->by);
	autobuf struct buf heading = { 0 };

	buf_adds(&heading, "  SELF   TOTAL" GAP);
	columns_pad(&heading, "FUNCTION", 8, widths.function);
	buf_adds(&heading, GAP);
	columns_pad(&heading, "MODULE", 6, widths.group ? widths.module : 6);
	if (widths.group) {
		buf_adds(&heading, GAP);
		columns_add(&heading, title, strlen(title), widths.group);
	}
	buf_addc(report->out, '\n');
	if (!buf_error(&heading))
		report_heading(report, heading.data);
}

static void write_rest(const struct report *report, uint64_t rest, uint32_t count, const char *indent, const char *one,
		       const char *many)
{
	if (!count)
		return;
	report_share(report, rest, report->out);
	buf_addf(report->out, GAP "%s", indent);
	text_thousands(report->out, count);
	buf_addf(report->out, " other %s\n", count == 1 ? one : many);
}

int report_functions(struct report *report)
{
	struct tally *tally = &report->tally;
	struct widths widths = { .function = strlen("FUNCTION"), .module = strlen("MODULE") };
	uint32_t len, shown;
	autofree uint32_t *order = sort_functions(tally, &len);
	uint64_t rest = tally->total;

	if (!order)
		return -ENOMEM;
	if (!len || !report->options->top)
		return 0;
	shown = len < report->options->top ? len : report->options->top;
	if (report->options->by != TALLY_MODULE)
		widths.group = strlen(group_title(report->options->by));
	for (uint32_t i = 0; i < shown; i++) {
		const struct tally_function *function = &tally->functions[order[i]];

		widths.function = wider(widths.function, function->name);
		widths.module = wider(widths.module, function->module);
		if (widths.group)
			widths.group = wider(widths.group, tally->groups[function->group].name);
	}
	fit(&widths, report->width - 2 * (REPORT_SHARE_WIDTH + 2) - 2 - (widths.group ? 2 : 0));
	write_function_heading(report, widths);
	for (uint32_t i = 0; i < shown; i++) {
		write_function(report, &tally->functions[order[i]], widths);
		rest -= tally->functions[order[i]].self;
	}
	write_rest(report, rest, len - shown, "        ", "function", "functions");
	return 0;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct tally *tally = context;
	const struct tally_group *left = &tally->groups[*(const uint32_t *)a];
	const struct tally_group *right = &tally->groups[*(const uint32_t *)b];

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Which process it is, or how many they are, where the name does not tell. */
static void add_members(const struct report *report, const struct tally_group *group, struct buf *out)
{
	const struct profile_process *process = profile_process(report->profile, group->process);
	autobuf struct buf text = { 0 };
	size_t columns;

	if (group->processes > 1)
		buf_addf(&text, "×%" PRIu32, group->processes);
	else if (process->pid || !process->start)
		buf_addf(&text, "%" PRIu32, process->pid);
	else
		buf_addc(&text, '-'); /* a name without a process, as in folded stacks */
	columns = buf_error(&text) ? PID_WIDTH : columns_of(text.data, text.len);
	buf_addf(out, "%*s", columns < PID_WIDTH ? (int)(PID_WIDTH - columns) : 0, "");
	buf_add(out, text.data, text.len);
	buf_adds(out, GAP);
}

static bool shows_members(enum tally_by by)
{
	return by == TALLY_NAME || by == TALLY_CONTAINER || by == TALLY_UNIT;
}

static void write_group(const struct report *report, const struct tally_group *group, struct widths widths)
{
	const struct tally_function *hottest = &report->tally.functions[group->hottest];
	struct buf *out = report->out;

	report_share(report, group->total, out);
	buf_adds(out, GAP);
	if (shows_members(report->options->by))
		add_members(report, group, out);
	columns_pad(out, group->name, strlen(group->name), widths.group);
	buf_adds(out, GAP);
	report_style(report, REPORT_DIM, out);
	buf_addf(out, "%*.0f%% ", 3, report_percent(group->hottest_self, group->total));
	columns_add(out, hottest->name, strlen(hottest->name), widths.function);
	report_style(report, REPORT_PLAIN, out);
	buf_addc(out, '\n');
}

static void write_group_heading(const struct report *report, struct widths widths)
{
	const char *title = group_title(report->options->by);
	autobuf struct buf heading = { 0 };

	buf_adds(&heading, " SHARE" GAP);
	if (shows_members(report->options->by))
		buf_addf(&heading, "%*s" GAP, PID_WIDTH, "PID");
	columns_pad(&heading, title, strlen(title), widths.group);
	buf_adds(&heading, GAP "OF WHICH IN");
	buf_addc(report->out, '\n');
	if (!buf_error(&heading))
		report_heading(report, heading.data);
}

int report_groups(struct report *report)
{
	struct tally *tally = &report->tally;
	bool members = shows_members(report->options->by);
	struct widths widths = { .group = wider(0, group_title(report->options->by)), .function = strlen("WHICH") };
	autofree uint32_t *order = calloc(tally->groups_len + 1, sizeof(*order));
	uint32_t len = 0, shown = report->options->by == TALLY_NAME ? GROUPS_SHOWN : report->options->top;
	uint64_t rest = tally->total;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < tally->groups_len; i++)
		if (tally->groups[i].total)
			order[len++] = i;
	if (!len || !shown)
		return 0;
	qsort_r(order, len, sizeof(*order), compare_groups, tally);
	shown = len < shown ? len : shown;
	for (uint32_t i = 0; i < shown; i++) {
		widths.group = wider(widths.group, tally->groups[order[i]].name);
		widths.function = wider(widths.function, tally->functions[tally->groups[order[i]].hottest].name);
	}
	fit(&widths, report->width - REPORT_SHARE_WIDTH - 4 - 5 - (members ? PID_WIDTH + 2 : 0));
	write_group_heading(report, widths);
	for (uint32_t i = 0; i < shown; i++) {
		write_group(report, &tally->groups[order[i]], widths);
		rest -= tally->groups[order[i]].total;
	}
	write_rest(report, rest, len - shown, members ? "          " : "", "", "");
	return 0;
}

static int write_sections(struct report *report)
{
	const struct report_options *options = report->options;
	bool all = !options->tree && !options->quality && !options->callers;
	int err;

	write_facts(report);
	err = write_filter(report);
	if (!err && all && options->by != TALLY_NAME)
		err = report_groups(report);
	if (!err && all)
		err = report_functions(report);
	if (!err && options->callers)
		err = report_callers(report);
	else if (!err && (all || options->tree) && report->tally.total)
		err = report_paths(report);
	if (!err && all && options->by == TALLY_NAME)
		err = report_groups(report);
	err = err ? err : report_quality(report);
	if (!err && all)
		report_next(report);
	return err ? err : buf_error(report->out);
}

int report_check(const struct report_options *options)
{
	struct filter *filter = NULL;
	int err = filter_new(&filter, &options->filter);

	filter_free(filter);
	return err;
}

int report_write(const struct profile *profile, const struct report_options *options, struct buf *out)
{
	static filter_text *const texts[] = { out_frame_text, out_module_text, NULL };
	struct report report = { .options = options, .whole = profile, .profile = profile, .out = out };
	struct profile *filtered = NULL;
	struct filter *filter = NULL;
	int err = 0;

	report.width = options->width ? options->width : REPORT_WIDTH;
	if (report.width < REPORT_WIDTH_MIN)
		report.width = REPORT_WIDTH_MIN;
	if (options->filter.focus || options->filter.ignore || options->filter.hide) {
		err = filter_new(&filter, &options->filter);
		err = err ? err : filter_apply(filter, profile, texts, &filtered);
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
