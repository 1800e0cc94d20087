/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the report: functions with what they and their callees cost, and groups of samples (processes, or what
 * --by asks for) with the function each of them runs most. Columns are as wide as their content, cut where the page is
 * not wide enough. Equals are ordered by name.
 */
#include "out/report_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/columns.h"
#include "base/text.h"
#include "profile/profile.h"

#define GROUPS_SHOWN 10
#define GAP "  "
#define PID_WIDTH 8
#define FUNCTION_WIDTH 80 /* at most: one long name must not move the other columns out of sight */

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

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
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

/* What the groups are called: in a heading, one of them, several. */
static const struct group_words {
	const char *title, *one, *many;
} group_words[] = {
	[TALLY_NAME] = { "PROCESS", "name", "names" },
	[TALLY_PROCESS] = { "PROCESS", "process", "processes" },
	[TALLY_THREAD] = { "THREAD", "thread", "threads" },
	[TALLY_MODULE] = { "MODULE", "module", "modules" },
	[TALLY_CONTAINER] = { "CONTAINER", "container", "containers" },
	[TALLY_UNIT] = { "UNIT", "unit", "units" },
};

static const char *group_title(enum tally_by by)
{
	return group_words[by].title;
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

		widths.function = least(wider(widths.function, function->name), FUNCTION_WIDTH);
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
	write_rest(report, rest, len - shown, members ? "          " : "", group_words[report->options->by].one,
		   group_words[report->options->by].many);
	return 0;
}
