/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range of time as a profile. In: the rows that stand for the range (cover.c). Out: what of them passes the filter,
 * carried era by era into one profile, which adds up what is of the same stack.
 *
 * A window that reaches over an end of the range is cut by its events, where it has some; a row that cannot be cut is
 * taken as a whole if its middle is in the range, and the answer says how many those were.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/span.h"
#include "profile/profile.h"
#include "store/carry.h"
#include "store/dict.h"
#include "store/parts.h"
#include "store/sieve.h"
#include "store/sql.h"
#include "store/window.h"

#define NS_PER_US 1000

struct query {
	struct store *store;
	const struct store_range *range;
	const struct filter *filter;
	struct store_answer answer;
	struct profile *profile;
	uint64_t sum; /* of all samples: while it fits, each does */
	/* Of the era at hand: */
	int64_t era;
	struct sieve sieve;
	struct carry carry;
	struct map counters; /* group << 32 | name -> value */
	uint64_t numbers[WINDOW_NUMBERS];
};

static int add_row(struct query *query, const struct window_row *row, uint64_t value)
{
	struct carry *carry = &query->carry;
	struct dict_who who;
	struct profile_sample sample;

	if (!sieve_who(&query->sieve, row->who) || !sieve_stack(&query->sieve, row->stack))
		return 0;
	if (!span_add(&query->sum, value))
		return fail(-EOVERFLOW, "store: adding up a range");
	who = dict_who(query->store->dict, row->who);
	sample = (struct profile_sample){
		.value = value,
		.stack = carry_stack(carry, row->stack),
		.process = carry_process(carry, who.process),
		.tid = who.tid,
		.comm = carry_string(carry, who.comm),
		.labels = carry_labels(carry, who.labels),
	};
	return profile_add_sample(query->profile, &sample) == PROFILE_FULL ? fail(-ENOMEM, "store: adding up a range")
									   : 0;
}

/* Each event is one sample. */
static int add_events(struct query *query, const struct store_row *row, const struct window *window)
{
	int err = 0;

	for (size_t i = 0; i < window->events_len && !err; i++) {
		uint64_t time = row->range.from + window->events[i].time_us * NS_PER_US;

		if (time >= query->range->from && time < query->range->to)
			err = add_row(query, &window->rows[window->events[i].row], 1);
	}
	return err;
}

static int add_whole(struct query *query, const struct window *window)
{
	int err = 0;

	for (size_t i = 0; i < window->rows_len && !err; i++)
		err = add_row(query, &window->rows[i], window->rows[i].value);
	for (size_t i = 0; i < window->counters_len && !err; i++)
		err = store_add_counter(query->store->dict->model, &query->counters, &window->counters[i]);
	store_add_numbers(query->numbers, window);
	return err;
}

static void covers(struct query *query, struct store_range part)
{
	struct store_range *covered = &query->answer.covered;

	if (!covered->to || part.from < covered->from)
		covered->from = part.from;
	if (part.to > covered->to)
		covered->to = part.to;
	query->answer.rows++;
}

static struct store_range overlap(const struct store_range *a, const struct store_range *b)
{
	return (struct store_range){ a->from > b->from ? a->from : b->from, a->to < b->to ? a->to : b->to };
}

/* Whether a row that cannot be cut counts. */
static bool is_middle_in(const struct store_range *row, const struct store_range *range)
{
	uint64_t middle = row->from + (row->to - row->from) / 2;

	return middle >= range->from && middle < range->to;
}

static int add_window(struct query *query, const struct store_row *row)
{
	bool cut = !row->whole && row->has_events;
	struct window window;
	int err;

	if (!row->whole && !cut && !is_middle_in(&row->range, query->range))
		return 0;
	err = store_read_window(query->store, row, cut ? STORE_EVENTS : STORE_BODY, &window);
	if (err)
		return err;
	if (cut) {
		struct store_range part = overlap(&row->range, query->range);

		err = add_events(query, row, &window);
		query->numbers[WINDOW_DURATION_NS] += part.to - part.from;
		query->answer.cut++;
		covers(query, part);
	} else {
		err = add_whole(query, &window);
		query->answer.rounded += !row->whole;
		covers(query, row->range);
	}
	window_free(&window);
	return err;
}

static int carry_counters(struct query *query)
{
	const struct profile *model = query->store->dict->model;
	const struct map_slot *slot;
	int err = 0;

	for (size_t at = 0; !err && (slot = map_next(&query->counters, &at));) {
		const char *group = profile_text(model, (uint32_t)(slot->key >> 32), NULL);
		const char *name = profile_text(model, (uint32_t)slot->key, NULL);
		uint64_t there = profile_counter_value(query->profile, group, name), more = slot->value;

		if (store_is_extreme(group, name)) /* of several eras */
			more = more > there ? more - there : 0;
		err = profile_add_counter(query->profile, group, name, more);
	}
	return err ? fail(-ENOMEM, "store: adding up a range") : 0;
}

/* What eras agree on; of what they do not, nothing is said. */
static void agree(uint64_t *field, uint64_t value, bool first)
{
	*field = first || *field == value ? value : 0;
}

static void agree_text(uint32_t *field, uint32_t value, bool first)
{
	*field = value != PROFILE_FULL && (first || *field == value) ? value : PROFILE_NONE;
}

static int carry_meta(struct query *query, bool first)
{
	struct profile_meta *meta = profile_meta(query->profile);
	uint32_t *const texts[] = { &meta->event,           &meta->unit, &meta->host,    &meta->kernel,
				    &meta->kernel_build_id, &meta->arch, &meta->version, &meta->command };
	autostatement sqlite3_stmt *era = NULL;
	int err = sql_begin(query->store->db, &era,
			    "SELECT hz, period, kernel_base, event, unit, host, kernel, kernel_build_id, arch, version,"
			    " command FROM era WHERE id = ?",
			    "i", query->era);

	err = err ? err : sql_row(era);
	if (err <= 0)
		return err ? err : fail_plain(-EBADMSG, "store: an era is missing");
	agree(&meta->hz, (uint64_t)sqlite3_column_int64(era, 0), first);
	agree(&meta->period, (uint64_t)sqlite3_column_int64(era, 1), first);
	agree(&meta->kernel_base, (uint64_t)sqlite3_column_int64(era, 2), first);
	for (int i = 0; i < (int)(sizeof(texts) / sizeof(texts[0])); i++) {
		const void *data = sqlite3_column_blob(era, 3 + i);
		size_t len = (size_t)sqlite3_column_bytes(era, 3 + i);

		agree_text(texts[i], profile_bytes(query->profile, data ? data : "", len), first);
	}
	meta->duration_ns += query->numbers[WINDOW_DURATION_NS];
	meta->cpus = query->numbers[WINDOW_CPUS] > meta->cpus ? query->numbers[WINDOW_CPUS] : meta->cpus;
	meta->expected += query->numbers[WINDOW_EXPECTED];
	meta->busy_user_us += query->numbers[WINDOW_BUSY_USER_US];
	meta->busy_kernel_us += query->numbers[WINDOW_BUSY_KERNEL_US];
	meta->idle_us += query->numbers[WINDOW_IDLE_US];
	return 0;
}

/* Its rows are all in the profile: what was added up of them besides. */
static int finish_era(struct query *query, bool first)
{
	int err;

	if (!query->era)
		return 0;
	err = carry_counters(query);
	return err ? err : carry_meta(query, first);
}

static void leave_era(struct query *query)
{
	sieve_free(&query->sieve);
	carry_end(&query->carry);
	map_free(&query->counters);
	query->counters = (struct map){ 0 };
	for (int i = 0; i < WINDOW_NUMBERS; i++)
		query->numbers[i] = 0;
	query->era = 0;
}

static int enter_era(struct query *query, int64_t era)
{
	int err = store_load_dict(query->store, era);

	query->era = era;
	err = err ? err : sieve_init(&query->sieve, query->store->dict, query->filter);
	return err ? err : carry_begin(&query->carry, query->store->dict->model, query->profile, NULL);
}

static int add_rows(struct query *query, const struct store_row *rows, size_t len)
{
	bool first = true;
	int err = 0;

	for (size_t i = 0; i < len && !err; i++) {
		if (rows[i].era != query->era) {
			err = finish_era(query, first);
			first = first && !query->era;
			leave_era(query);
			err = err ? err : enter_era(query, rows[i].era);
		}
		err = err ? err : add_window(query, &rows[i]);
	}
	err = err ? err : finish_era(query, first);
	leave_era(query);
	return err;
}

int store_query(struct store *store, const struct store_range *range, const struct filter *filter, struct profile **ret,
		struct store_answer *ret_answer)
{
	struct query query = { .store = store, .range = range, .filter = filter };
	autofree struct store_row *rows = NULL;
	size_t len = 0;
	int err = profile_new(&query.profile) ? fail(-ENOMEM, "store: profile") : store_begin(store);

	if (!err) {
		err = store_cover(store, range, STORE_HOUR, &rows, &len);
		err = err ? err : add_rows(&query, rows, len);
		store_end(store);
	}
	if (err) {
		profile_free(query.profile);
		return err;
	}
	profile_meta(query.profile)->wall_ns = query.answer.covered.from;
	if (ret_answer)
		*ret_answer = query.answer;
	*ret = query.profile;
	return 0;
}
