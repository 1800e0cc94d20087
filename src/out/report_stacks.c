/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of processes: how many of their stacks are whole, cut at the limit or broken, why, and how the frames were
 * found. Processes of one name stand together. In full all of them are there, else those that are not whole.
 */
#include "out/report_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/columns.h"
#include "base/map.h"
#include "base/text.h"
#include "out/quality.h"
#include "profile/profile.h"

#define NOT_WHOLE_SHOWN 10 /* names, unless all are asked for */
#define NUMBERS_WIDTH 56   /* what stands before the name */
#define REASONS_INDENT 12
#define HEADING "    STACKS WHOLE%    CUT  BROKEN  ROWS%    FP%  USER%   PROCESSES, AND WHY"

struct reason {
	uint32_t name; /* string */
	uint64_t count;
};

/* Processes of one name. */
struct name {
	uint32_t comm, process, processes;
	uint64_t samples, user, whole, cut;
	struct profile_ways ways;
	struct map reasons; /* string → count */
};

struct names {
	struct name *list;
	size_t len;
};

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->len; i++)
		map_free(&names->list[i].reasons);
	free(names->list);
}

static int add_row(struct name *name, const struct profile *profile, const struct quality *quality,
		   const struct quality_row *row)
{
	const struct profile_ways *ways = &profile_process(profile, row->process)->ways;
	size_t len;
	const struct quality_reason *reasons = quality_reasons(quality, row->process, &len);

	name->process = row->process;
	name->processes++;
	name->samples += row->samples;
	name->user += row->user;
	name->whole += row->whole;
	name->cut += row->cut;
	name->ways.row += ways->row;
	name->ways.fp += ways->fp;
	name->ways.user += ways->user;
	for (size_t i = 0; i < len; i++) {
		uint64_t *count = map_put(&name->reasons, reasons[i].name);

		if (!count)
			return -ENOMEM;
		*count += reasons[i].count;
	}
	return 0;
}

static int collect_names(const struct profile *profile, const struct quality *quality, struct names *ret)
{
	struct map places = { 0 }; /* comm → place + 1 */
	int err = 0;

	ret->list = calloc(quality->rows_len + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < quality->rows_len && !err; i++) {
		uint32_t comm = profile_process(profile, quality->rows[i].process)->comm;
		uint64_t *place = map_put(&places, comm);

		if (place && !*place) {
			ret->list[ret->len].comm = comm;
			*place = ++ret->len;
		}
		err = place ? add_row(&ret->list[*place - 1], profile, quality, &quality->rows[i]) : -ENOMEM;
	}
	map_free(&places);
	return err;
}

/* In full by weight; else by what is missing. */
static int compare_names(const void *a, const void *b, void *context)
{
	const struct name *left = a, *right = b;
	const struct report *report = context;
	uint64_t x = left->user - left->whole, y = right->user - right->whole;

	if (report->options->quality || x == y) {
		x = left->user;
		y = right->user;
	}
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(profile_text(report->whole, left->comm, NULL), profile_text(report->whole, right->comm, NULL));
}

static int compare_reasons(const void *a, const void *b)
{
	const struct reason *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return (left->name > right->name) - (left->name < right->name);
}

static int write_reasons(const struct report *report, const struct name *name)
{
	autofree struct reason *list = calloc(name->reasons.len + 1, sizeof(*list));
	autobuf struct buf text = { 0 };
	const struct map_slot *slot;
	size_t at = 0, len = 0;

	if (!list)
		return -ENOMEM;
	while ((slot = map_next(&name->reasons, &at)))
		list[len++] = (struct reason){ (uint32_t)slot->key, slot->value };
	if (!len)
		return 0;
	qsort(list, len, sizeof(*list), compare_reasons);
	for (size_t i = 0; i < len; i++) {
		size_t reason_len;
		const char *reason = profile_text(report->whole, list[i].name, &reason_len);

		buf_adds(&text, i ? ", " : "");
		text_escape(&text, reason, reason_len, NULL);
		buf_addc(&text, ' ');
		text_thousands(&text, list[i].count);
	}
	if (buf_error(&text))
		return buf_error(&text);
	buf_addf(report->out, "%*s", REASONS_INDENT, "");
	columns_wrap(report->out, text.data, REASONS_INDENT, report->width, REASONS_INDENT);
	buf_addc(report->out, '\n');
	return 0;
}

static void add_number(struct buf *out, uint64_t value, int width)
{
	autobuf struct buf number = { 0 };

	text_thousands(&number, value);
	buf_addf(out, "%*s", width, buf_error(&number) ? "" : number.data);
}

/* Nothing where nothing is known. */
static void add_percent(struct buf *out, double percent, uint64_t whole)
{
	if (whole)
		buf_addf(out, "%7.1f", percent);
	else
		buf_addf(out, "%7s", "-");
}

/* Which process it is, or how many they are. */
static int add_who(const struct report *report, const struct name *name, struct buf *out)
{
	uint32_t pid = profile_process(report->whole, name->process)->pid;
	size_t len;
	const char *comm = profile_text(report->whole, name->comm, &len);

	text_escape(out, comm, len, NULL);
	if (name->processes > 1)
		buf_addf(out, " ×%" PRIu32, name->processes);
	else if (pid)
		buf_addf(out, " %" PRIu32, pid);
	return buf_error(out);
}

/* The same in words, where there is no room for columns. */
static void write_words(const struct report *report, const struct name *name)
{
	const struct profile_ways *ways = &name->ways;
	autobuf struct buf text = { 0 };

	text_thousands(&text, name->user);
	buf_addf(&text, " stacks, %.1f %% whole, ", report_floor_percent(name->whole, name->user));
	text_thousands(&text, name->cut);
	buf_adds(&text, " cut, ");
	text_thousands(&text, name->user - name->whole - name->cut);
	buf_addf(&text, " broken; frames by row ");
	text_thousands(&text, ways->row);
	buf_adds(&text, ", by frame pointer ");
	text_thousands(&text, ways->fp);
	buf_adds(&text, ", in user space ");
	text_thousands(&text, ways->user);
	buf_addf(report->out, "%*s", REASONS_INDENT, "");
	if (!buf_error(&text))
		columns_wrap(report->out, text.data, REASONS_INDENT, report->width, REASONS_INDENT);
	buf_addc(report->out, '\n');
}

static void write_numbers(const struct report *report, const struct name *name)
{
	uint64_t frames = name->ways.row + name->ways.fp + name->ways.user;
	struct buf *out = report->out;

	add_number(out, name->user, 10);
	add_percent(out, report_floor_percent(name->whole, name->user), name->user);
	add_number(out, name->cut, 7);
	add_number(out, name->user - name->whole - name->cut, 8);
	add_percent(out, report_percent(name->ways.row, frames), frames);
	add_percent(out, report_percent(name->ways.fp, frames), frames);
	add_percent(out, report_percent(name->ways.user, frames), frames);
	buf_adds(out, "   ");
}

static bool has_room(const struct report *report)
{
	return report->width >= strlen(HEADING);
}

static int write_name(const struct report *report, const struct name *name)
{
	bool room = has_room(report);
	autobuf struct buf who = { 0 };
	int err = add_who(report, name, &who);

	if (err)
		return err;
	if (room)
		write_numbers(report, name);
	columns_add(report->out, who.data, who.len, room ? report->width - NUMBERS_WIDTH : report->width);
	buf_addc(report->out, '\n');
	if (!room)
		write_words(report, name);
	return write_reasons(report, name);
}

int report_stacks(struct report *report)
{
	bool all = report->options->quality;
	struct quality quality = { 0 };
	struct names names = { 0 };
	size_t shown = 0;
	int err = quality_init(&quality, report->whole);

	err = err ? err : collect_names(report->whole, &quality, &names);
	if (!err)
		qsort_r(names.list, names.len, sizeof(*names.list), compare_names, report);
	for (size_t i = 0; i < names.len && !err && (all || shown < NOT_WHOLE_SHOWN); i++) {
		if (!names.list[i].user || (!all && names.list[i].whole == names.list[i].user))
			continue;
		if (!shown++) {
			buf_addc(report->out, '\n');
			report_heading(report, has_room(report) ? HEADING : "PROCESSES, AND WHY");
		}
		err = write_name(report, &names.list[i]);
	}
	names_free(&names);
	quality_free(&quality);
	return err;
}
