/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the report can be trusted: whole stacks, losses, missing names, and what wick itself cost. One line when all
 * is well; when it is not, a table that says what to do. Every loss that is not zero is named. The numbers are those
 * of the recording, whatever a filter left of it.
 */
#include "out/report_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/columns.h"
#include "base/map.h"
#include "base/text.h"
#include "out/advice.h"
#include "profile/profile.h"

#define WELL_PERCENT 95  /* of stacks whole: below, the table tells why */
#define MISSED_PERCENT 1 /* of ticks: above, the table tells why */
#define MODULES_SHOWN 4  /* without names, in the short form */
#define NAMES_PERCENT 1  /* of samples: less is not worth a word there */
#define BREAKS_SHOWN 10  /* places where stacks end early */
#define COUNT_WIDTH 10
#define WHAT_WIDTH 23
#define ABOUT_WIDTH 8
#define WORDS_INDENT (COUNT_WIDTH + WHAT_WIDTH + 4)

static uint64_t counter(const struct report *report, const char *group, const char *name)
{
	return profile_counter_value(report->whole, group, name);
}

/* Counters of a group that stand in a place of their own. */
static bool is_elsewhere(const char *group, const char *name)
{
	return !strcmp(group, "note") && (!strcmp(name, "missed") || !strcmp(name, "keys"));
}

/* "name n, name n" for the counters of a group that are not zero; their sum. */
static uint64_t add_nonzero(const struct profile *profile, const char *group, const char *before, struct buf *out)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *one = profile_counter(profile, i);
		size_t len;
		const char *name = profile_text(profile, one->name, &len);

		if (!one->value || strcmp(profile_text(profile, one->group, NULL), group) || is_elsewhere(group, name))
			continue;
		buf_adds(out, sum ? ", " : before);
		text_escape(out, name, len, NULL);
		buf_addc(out, ' ');
		text_thousands(out, one->value);
		sum += one->value;
	}
	return sum;
}

static bool is_recorded(const struct report *report)
{
	return counter(report, "total", "taken") || counter(report, "total", "fired");
}

static bool is_well(const struct report *report)
{
	uint64_t user = counter(report, "stack", "user");
	autobuf struct buf unused = { 0 };

	if (add_nonzero(report->whole, "lost", "", &unused))
		return false;
	if (report_percent(counter(report, "note", "missed"), profile_meta(report->whole)->expected) > MISSED_PERCENT)
		return false;
	return !user || report_percent(counter(report, "stack", "complete"), user) >= WELL_PERCENT;
}

static void add_cost(const struct report *report, struct buf *line)
{
	uint64_t duration = profile_meta(report->whole)->duration_ns;
	uint64_t rss = counter(report, "self", "max_rss_bytes");

	if (!rss || !duration)
		return;
	/* As top(1) counts: of one CPU. */
	buf_addf(line, REPORT_DOT "wick used %.2f %% CPU, %.0f MB + %.0f MB maps",
		 report_percent(counter(report, "self", "cpu_us") * NS_PER_US, duration), (double)rss / 1e6,
		 (double)counter(report, "self", "bpf_map_bytes") / 1e6);
}

/* Reasons why stacks are cut are in the line unless a table follows that has them. */
static int add_line(const struct report *report, bool cuts, struct buf *line)
{
	uint64_t user = counter(report, "stack", "user"), missed = counter(report, "note", "missed"), lost;
	autobuf struct buf names = { 0 };

	if (user) {
		buf_addf(line, "stacks %.1f %% whole",
			 report_floor_percent(counter(report, "stack", "complete"), user));
		if (cuts)
			add_nonzero(report->whole, "cut", ": ", line);
		buf_adds(line, REPORT_DOT);
	}
	lost = add_nonzero(report->whole, "lost", ": ", &names);
	if (lost || is_recorded(report)) {
		buf_adds(line, "lost ");
		text_thousands(line, lost);
		buf_add(line, names.data, names.len);
	} else {
		buf_adds(line, "losses are not known: the file does not tell");
	}
	if (missed) {
		buf_adds(line, REPORT_DOT "missed about ");
		text_thousands(line, missed);
		buf_adds(line, " of ");
		text_thousands(line, profile_meta(report->whole)->expected);
		buf_adds(line, " ticks");
	}
	add_nonzero(report->whole, "note", REPORT_DOT "noted: ", line);
	add_cost(report, line);
	return buf_error(line) || buf_error(&names) ? -ENOMEM : 0;
}

int report_quality_line(const struct profile *profile, struct buf *out)
{
	return add_line(&(const struct report){ .whole = profile }, true, out);
}

static int write_line(const struct report *report)
{
	autobuf struct buf line = { 0 };
	int err = add_line(report, is_well(report), &line);

	if (err)
		return err;
	buf_addc(report->out, '\n');
	columns_wrap(report->out, line.data, 0, report->width, 2);
	buf_addc(report->out, '\n');
	return 0;
}

/* One row of a table: a number, what it is of, and words that take as many lines as they need. */
static void write_row(const struct report *report, uint64_t count, const char *what, const char *words)
{
	autobuf struct buf number = { 0 };
	struct buf *out = report->out;

	text_thousands(&number, count);
	if (buf_error(&number))
		return;
	buf_addf(out, "%*s  ", COUNT_WIDTH, number.data);
	if (report->width < 2 * WORDS_INDENT) { /* no room for three columns */
		buf_addf(out, "%s\n%*s", what, COUNT_WIDTH + 2, "");
		columns_wrap(out, words, COUNT_WIDTH + 2, report->width, COUNT_WIDTH + 2);
	} else {
		columns_pad(out, what, strlen(what), WHAT_WIDTH);
		buf_adds(out, "  ");
		columns_wrap(out, words, WORDS_INDENT, report->width, WORDS_INDENT);
	}
	buf_addc(out, '\n');
}

static void write_row_heading(const struct report *report, const char *count, const char *what, const char *words)
{
	autobuf struct buf heading = { 0 };

	buf_addf(&heading, "%*s  %-*s  %s", COUNT_WIDTH, count, report->width < 2 * WORDS_INDENT ? 0 : WHAT_WIDTH, what,
		 words);
	buf_addc(report->out, '\n');
	if (!buf_error(&heading))
		report_heading(report, heading.data);
}

struct problem {
	const struct profile_counter *counter;
	const char *name;
	const struct advice *advice;
};

static int compare_problems(const void *a, const void *b)
{
	const struct problem *left = a, *right = b;

	if (left->counter->value != right->counter->value)
		return left->counter->value < right->counter->value ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Every counter that tells of something missing, the largest first, with what to do about it. */
static int write_problems(const struct report *report)
{
	uint32_t count = profile_count(report->whole, PROFILE_COUNTERS), len = 0;
	autofree struct problem *problems = calloc(count, sizeof(*problems));

	if (!problems)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_counter *one = profile_counter(report->whole, i);
		const char *group = profile_text(report->whole, one->group, NULL);
		const char *name = profile_text(report->whole, one->name, NULL);

		if (one->value && advice_is_problem(group, name))
			problems[len++] = (struct problem){ one, name, advice_find(group, name) };
	}
	if (!len)
		return 0;
	qsort(problems, len, sizeof(*problems), compare_problems);
	write_row_heading(report, "COUNT", "WHAT", "WHAT TO DO");
	for (uint32_t i = 0; i < len; i++) {
		autobuf struct buf what = { 0 };

		buf_adds(&what, problems[i].advice->what);
		text_escape(&what, problems[i].name, strlen(problems[i].name), NULL);
		if (buf_error(&what))
			return buf_error(&what);
		write_row(report, problems[i].counter->value, what.data, problems[i].advice->words);
	}
	return 0;
}

static int compare_modules(const void *a, const void *b)
{
	const struct tally_module *left = *(const struct tally_module *const *)a;
	const struct tally_module *right = *(const struct tally_module *const *)b;

	if (left->unnamed != right->unnamed)
		return left->unnamed < right->unnamed ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Modules of which frames have no names, the most frequent first. */
static const struct tally_module **sort_modules(const struct tally *tally, uint32_t *ret_len)
{
	const struct tally_module **modules = calloc(tally->modules_len + 1, sizeof(*modules));
	uint32_t len = 0;

	for (uint32_t i = 1; modules && i < tally->modules_len; i++)
		if (tally->modules[i].unnamed)
			modules[len++] = &tally->modules[i];
	if (modules)
		qsort(modules, len, sizeof(*modules), compare_modules);
	*ret_len = len;
	return modules;
}

static void add_reason(const struct report *report, const struct tally_module *module, struct buf *out)
{
	size_t len;
	const char *reason = profile_text(report->profile, module->reason, &len);

	if (len)
		text_escape(out, reason, len, NULL);
	else
		buf_adds(out, advice_no_names(module->kind));
}

static int write_names_line(const struct report *report, const struct tally_module *const *modules, uint32_t len)
{
	autobuf struct buf line = { 0 };
	uint32_t shown = 0;

	while (shown < len && shown < MODULES_SHOWN &&
	       report_percent(modules[shown]->unnamed, report->tally.total) >= NAMES_PERCENT) {
		const struct tally_module *module = modules[shown];

		buf_addf(&line, "%s%s (%.1f %%%s", shown ? ", " : "names are missing in ", module->name,
			 report_percent(module->unnamed, report->tally.total), shown ? "" : " of samples");
		if (module->reason || *advice_no_names(module->kind)) {
			buf_adds(&line, ": ");
			add_reason(report, module, &line);
		}
		buf_addc(&line, ')');
		shown++;
	}
	if (!shown)
		return 0;
	if (len > shown)
		buf_addf(&line, ", and %" PRIu32 " more: --quality lists them", len - shown);
	if (!buf_error(&line))
		columns_wrap(report->out, line.data, 0, report->width, 2);
	buf_addc(report->out, '\n');
	return buf_error(&line);
}

static int write_names_table(const struct report *report, const struct tally_module *const *modules, uint32_t len)
{
	if (!len) {
		buf_adds(report->out, "\nevery frame has a name\n");
		return 0;
	}
	write_row_heading(report, "SAMPLES", "HAVE NAMELESS FRAMES OF", "BECAUSE");
	for (uint32_t i = 0; i < len; i++) {
		autobuf struct buf reason = { 0 };

		add_reason(report, modules[i], &reason);
		if (buf_error(&reason))
			return buf_error(&reason);
		write_row(report, modules[i]->unnamed, modules[i]->name, reason.data ? reason.data : "");
	}
	return 0;
}

/* Where stacks that are not whole end: the frame next to the cut tells what could not be unwound. */
struct breaks {
	const struct report *report;
	struct map counts; /* (cut, module) */
	int err;
};

static void enter_break(const struct tree *tree, uint32_t node, void *context)
{
	struct breaks *breaks = context;
	const struct tally *tally = &breaks->report->tally;
	uint32_t label = tree->nodes[node].label, parent = tree->nodes[tree->nodes[node].parent].label;
	uint64_t *count;

	if (!node || tally_is_group(label) || tally_is_group(parent) || tally->functions[parent].kind != FRAME_CUT ||
	    tally->functions[label].kind == FRAME_CUT)
		return;
	count = map_put(&breaks->counts, (uint64_t)parent << 32 | tally->functions[label].module_number);
	if (count)
		*count += tree->nodes[node].total;
	else
		breaks->err = -ENOMEM;
}

static void leave_break(const struct tree *tree, uint32_t node, void *context)
{
	(void)tree, (void)node, (void)context;
}

static int compare_breaks(const void *a, const void *b, void *context)
{
	const struct map_slot *left = a, *right = b;
	const struct tally *tally = context;
	int order;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	order = tally_compare((uint32_t)(left->key >> 32), (uint32_t)(right->key >> 32), tally);
	return order ? order
		     : strcmp(tally->modules[(uint32_t)left->key].name, tally->modules[(uint32_t)right->key].name);
}

static int write_breaks(struct report *report)
{
	struct breaks breaks = { .report = report };
	int err = tree_walk(&report->tally.tree, enter_break, leave_break, &breaks);
	autofree struct map_slot *list = calloc(breaks.counts.len + 1, sizeof(*list));
	const struct map_slot *slot;
	size_t at = 0, len = 0;

	err = err ? err : breaks.err;
	err = err || list ? err : -ENOMEM;
	while (!err && (slot = map_next(&breaks.counts, &at)))
		list[len++] = *slot;
	map_free(&breaks.counts);
	if (err || !len)
		return err;
	qsort_r(list, len, sizeof(*list), compare_breaks, &report->tally);
	write_row_heading(report, "SAMPLES", "HAVE STACKS CUT IN", "WITH");
	for (size_t i = 0; i < len && i < BREAKS_SHOWN && !err; i++) {
		const struct tally_module *module = &report->tally.modules[(uint32_t)list[i].key];
		autobuf struct buf why = { 0 };

		buf_adds(&why, report->tally.functions[list[i].key >> 32].name);
		if (module->reason) {
			buf_adds(&why, " (file: ");
			add_reason(report, module, &why);
			buf_addc(&why, ')');
		}
		err = buf_error(&why);
		if (!err)
			write_row(report, list[i].value, module->name, why.data);
	}
	return err;
}

static void add_sum(struct buf *out, const char *name, uint64_t value)
{
	buf_adds(out, name);
	text_thousands(out, value);
}

/* A line that begins with what it is about; empties the text. */
static void write_about(const struct report *report, const char *what, struct buf *text)
{
	if (buf_error(text) || !text->len)
		return;
	buf_addf(report->out, "%-*s", ABOUT_WIDTH, what);
	columns_wrap(report->out, text->data, ABOUT_WIDTH, report->width, ABOUT_WIDTH);
	buf_addc(report->out, '\n');
	buf_clear(text);
}

static void add_stacks(const struct report *report, struct buf *text)
{
	uint64_t user = counter(report, "stack", "user"), whole = counter(report, "stack", "complete");
	uint64_t depth = counter(report, "cut", "depth");

	if (!user)
		return;
	add_sum(text, "user ", user);
	add_sum(text, " = whole ", whole);
	add_sum(text, " + cut at the limit ", depth);
	add_sum(text, " + broken ", user - whole - depth);
}

static void add_frames(const struct report *report, struct buf *text)
{
	add_sum(text, "found by row ", counter(report, "frame", "row"));
	add_sum(text, ", by frame pointer ", counter(report, "frame", "fp"));
	add_sum(text, ", in user space ", counter(report, "frame", "user"));
}

/* How often the table of a file was not there yet. */
static void add_early(const struct report *report, struct buf *text)
{
	uint64_t early = counter(report, "total", "deferred"), taken = counter(report, "total", "taken");

	if (!early)
		return;
	add_sum(text, "", early);
	buf_addf(text, " samples, %.1f %%, met a file before its unwind table was there and were unwound in user space",
		 report_percent(early, taken));
}

static int write_accounting(const struct report *report)
{
	uint64_t fired = counter(report, "total", "fired"), taken = counter(report, "total", "taken");
	uint64_t counted = counter(report, "total", "counted"), runs = counter(report, "self", "bpf_runs");
	autobuf struct buf text = { 0 };

	if (!is_recorded(report))
		return 0;
	buf_addc(report->out, '\n');
	add_sum(&text, "fired ", fired);
	add_sum(&text, " = taken ", taken);
	add_sum(&text, " + left out ", fired - taken);
	add_nonzero(report->whole, "left_out", ": ", &text);
	write_about(report, "ticks", &text);
	add_sum(&text, "", taken);
	add_sum(&text, " = counted ", counted);
	add_sum(&text, " + lost ", taken - counted);
	add_nonzero(report->whole, "lost", ": ", &text);
	write_about(report, "taken", &text);
	add_stacks(report, &text);
	write_about(report, "stacks", &text);
	add_frames(report, &text);
	write_about(report, "frames", &text);
	add_early(report, &text);
	write_about(report, "early", &text);
	if (runs)
		buf_addf(&text, "%.1f µs a sample in the kernel, ",
			 (double)counter(report, "self", "bpf_run_ns") / (double)runs / 1e3);
	buf_addf(&text, "first sample after %.0f ms", (double)counter(report, "self", "first_sample_us") / 1e3);
	write_about(report, "wick", &text);
	return buf_error(&text);
}

int report_quality(struct report *report)
{
	uint32_t len;
	autofree const struct tally_module **modules = sort_modules(&report->tally, &len);
	bool all = report->options->quality;
	int err = modules ? write_line(report) : -ENOMEM;

	if (!err && all)
		err = write_accounting(report);
	if (!err && !all)
		err = write_names_line(report, modules, len);
	if (!err && (all || (!is_well(report) && !report->options->tree && !report->options->callers)))
		err = write_problems(report);
	if (!err && (all || (!is_well(report) && !report->options->tree && !report->options->callers)))
		err = report_stacks(report);
	if (!err && all)
		err = write_breaks(report);
	if (!err && all)
		err = write_names_table(report, modules, len);
	return err;
}
