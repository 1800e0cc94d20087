/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes windows. In: a profile of some ten seconds. Out: one transaction with its row, the blocks of the dictionary
 * that it changed, its events, and the gap before it if there is one.
 *
 * The store has a time of its own, which only goes forward and by which things grow old: within a boot it goes as the
 * monotonic clock does, from boot to boot as the wall clock. So nothing is thrown away because a clock was set.
 *
 * An era is what one dictionary serves: windows of one boot and one way of sampling, a day of them at most.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "profile/profile.h"
#include "store/carry.h"
#include "store/dict.h"
#include "store/parts.h"
#include "store/sql.h"
#include "store/window.h"

#define NS_PER_US 1000
#define ERA_WINDOWS 8640
#define ERA_MEMORY (24u << 20) /* bytes of a dictionary */

/* The last window there is; it is in no hour yet. */
struct last {
	int64_t sequence; /* 0: there is none */
	uint64_t mono_us, end, age_ns;
	bool same_boot;
};

static int read_last(struct store *store, const char *boot, struct last *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	int err = sql_begin(store->db, &rows,
			    "SELECT w.sequence, w.mono_us, w.end_ns, w.age_ns, e.boot = ? FROM window w"
			    " LEFT JOIN era e ON e.id = w.era ORDER BY w.sequence DESC LIMIT 1",
			    "t", boot);

	*ret = (struct last){ 0 };
	if (!err)
		err = sql_row(rows);
	if (err <= 0)
		return err;
	ret->sequence = sqlite3_column_int64(rows, 0);
	if (ret->sequence < 1 || ret->sequence > INT64_MAX / 2)
		return fail_plain(-EBADMSG, "store: a window is damaged");
	ret->mono_us = (uint64_t)sqlite3_column_int64(rows, 1);
	ret->end = (uint64_t)sqlite3_column_int64(rows, 2);
	ret->age_ns = (uint64_t)sqlite3_column_int64(rows, 3);
	ret->same_boot = *boot && sqlite3_column_int(rows, 4);
	return 0;
}

/* What an era is of; a window of which one of these differs begins another. */
#define ERA_VALUES                                                                                             \
	boot, (int64_t)meta->hz, (int64_t)meta->period, (int64_t)meta->kernel_base, text(window, meta->event), \
		text(window, meta->unit), text(window, meta->host), text(window, meta->kernel), build_id,      \
		build_id_len, text(window, meta->arch), text(window, meta->version), text(window, meta->command)
#define ERA_TYPES "tiiittttbttt"

static const char *text(const struct profile *profile, uint32_t string)
{
	return profile_text(profile, string, NULL);
}

static int same_era(struct store *store, const struct profile *window, const char *boot, int64_t era, bool *ret)
{
	const struct profile_meta *meta = profile_meta(window);
	size_t build_id_len;
	const char *build_id = profile_text(window, meta->kernel_build_id, &build_id_len);
	int64_t same = 0;
	int err = sql_number(store->db, &same, 0,
			     "SELECT count(*) FROM era WHERE boot = ? AND hz = ? AND period = ? AND kernel_base = ?"
			     " AND event = ? AND unit = ? AND host = ? AND kernel = ? AND kernel_build_id = ?"
			     " AND arch = ? AND version = ? AND command = ? AND id = ?",
			     ERA_TYPES "i", ERA_VALUES, era);

	*ret = same;
	return err;
}

static int begin_era(struct store *store, const struct profile *window, const char *boot, int64_t sequence)
{
	const struct profile_meta *meta = profile_meta(window);
	size_t build_id_len;
	const char *build_id = profile_text(window, meta->kernel_build_id, &build_id_len);
	int err;

	dict_free(store->dict);
	store->dict = NULL;
	store->era = 0;
	err = dict_new(&store->dict);
	err = err ? err
		  : sql_run(store->db,
			    "INSERT INTO era (boot, hz, period, kernel_base, event, unit, host, kernel,"
			    " kernel_build_id, arch, version, command, first)"
			    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			    ERA_TYPES "i", ERA_VALUES, sequence);
	if (!err)
		store->era = sqlite3_last_insert_rowid(store->db);
	store->fresh = 0;
	return err;
}

/* The dictionary that this window belongs to: that of the last era, or a new one. */
static int choose_era(struct store *store, const struct profile *window, const char *boot, int64_t sequence)
{
	int64_t era = 0, first = 0;
	bool same = false;
	int err = sql_number(store->db, &era, 0, "SELECT max(id) FROM era", "");

	err = err ? err : sql_number(store->db, &first, 0, "SELECT first FROM era WHERE id = ?", "i", era);
	err = err ? err : same_era(store, window, boot, era, &same);
	if (!err && same && (uint64_t)sequence - (uint64_t)first < ERA_WINDOWS) {
		err = store_load_dict(store, era);
		if (!err && dict_memory(store->dict) < ERA_MEMORY)
			return 0;
		err = err == -EBADMSG ? 0 : err; /* with a dictionary that is damaged nothing can go on */
	}
	return err ? err : begin_era(store, window, boot, sequence);
}

/* Rows of a window: all its samples, in numbers of the dictionary. */
static int carry_samples(struct carry *carry, struct window *ret)
{
	uint32_t count = profile_count(carry->from, PROFILE_SAMPLES);

	ret->rows = calloc(count, sizeof(*ret->rows));
	if (!ret->rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_sample *sample = profile_sample(carry->from, i);
		const struct dict_who who = {
			.process = carry_process(carry, sample->process),
			.tid = sample->tid,
			.comm = carry_string(carry, sample->comm),
			.labels = carry_labels(carry, sample->labels),
		};
		struct window_row *row = &ret->rows[ret->rows_len];

		if (!sample->value)
			continue;
		ret->rows_len++;
		row->who = dict_add_who(carry->dict, &who);
		row->stack = carry_stack(carry, sample->stack);
		row->value = sample->value;
		if (row->who == PROFILE_FULL || row->stack == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int carry_counters(struct carry *carry, struct window *ret, uint64_t *ret_lost)
{
	uint32_t count = profile_count(carry->from, PROFILE_COUNTERS);

	ret->counters = calloc(count, sizeof(*ret->counters));
	if (!ret->counters)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_counter *counter = profile_counter(carry->from, i);
		struct window_counter *to = &ret->counters[ret->counters_len];

		if (!counter->value)
			continue;
		to->group = carry_string(carry, counter->group);
		to->name = carry_string(carry, counter->name);
		to->value = counter->value;
		if (to->group == PROFILE_FULL || to->name == PROFILE_FULL)
			return -ENOMEM;
		ret->counters_len++;
		if (!strcmp(text(carry->from, counter->group), "lost"))
			*ret_lost += counter->value;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct window_row *left = a, *right = b;

	if (left->who != right->who)
		return left->who < right->who ? -1 : 1;
	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

static int compare_events(const void *a, const void *b)
{
	const struct window_event *left = a, *right = b;

	return left->time_us < right->time_us ? -1 : left->time_us > right->time_us;
}

/* Events refer to rows by number: the window is arranged already, and carrying a sample again finds what it became. */
static int carry_events(struct carry *carry, struct window *ret)
{
	uint32_t count = profile_count(carry->from, PROFILE_EVENTS);

	ret->events = calloc(count, sizeof(*ret->events));
	if (!ret->events)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_event *event = profile_event(carry->from, i);
		const struct profile_sample *sample = profile_sample(carry->from, event->sample);
		const struct dict_who who = { carry_process(carry, sample->process), sample->tid,
					      carry_string(carry, sample->comm), carry_labels(carry, sample->labels) };
		const struct window_row key = { .who = dict_add_who(carry->dict, &who),
						.stack = carry_stack(carry, sample->stack) };
		const struct window_row *row = event->sample && ret->rows_len ? bsearch(&key, ret->rows, ret->rows_len,
											sizeof(key), compare_rows)
									      : NULL;

		if (row)
			ret->events[ret->events_len++] =
				(struct window_event){ event->time_us, event->cpu, (uint32_t)(row - ret->rows) };
	}
	qsort(ret->events, ret->events_len, sizeof(*ret->events), compare_events);
	return 0;
}

static void take_numbers(const struct profile_meta *meta, struct window *ret)
{
	ret->numbers[WINDOW_DURATION_NS] = meta->duration_ns;
	ret->numbers[WINDOW_CPUS] = meta->cpus;
	ret->numbers[WINDOW_EXPECTED] = meta->expected;
	ret->numbers[WINDOW_BUSY_USER_US] = meta->busy_user_us;
	ret->numbers[WINDOW_BUSY_KERNEL_US] = meta->busy_kernel_us;
	ret->numbers[WINDOW_IDLE_US] = meta->idle_us;
}

static int make_window(struct store *store, const struct profile *from, struct window *ret, uint64_t *ret_lost)
{
	struct carry carry;
	int err = carry_begin(&carry, from, store->dict->model, store->dict);

	take_numbers(profile_meta(from), ret);
	err = err ? err : carry_samples(&carry, ret);
	err = err ? err : carry_counters(&carry, ret, ret_lost);
	err = err ? err : window_arrange(ret);
	if (!err && store->options.event_bytes)
		err = carry_events(&carry, ret);
	carry_end(&carry);
	return err == -ENOMEM ? fail(err, "store: window") : err;
}

/* The blocks of the dictionary that are not as they are stored. */
static int write_dict(struct store *store)
{
	autobuf struct buf raw = { 0 }, packed = { 0 };
	int64_t change = store->fresh + 1;
	int err = 0;

	for (int table = 0; table < DICT_TABLES && !err; table++) {
		uint32_t blocks = dict_blocks(store->dict, (enum dict_table)table);

		for (uint32_t block = 0; block < blocks && !err; block++) {
			if (!dict_is_changed(store->dict, (enum dict_table)table, block))
				continue;
			buf_clear(&raw);
			buf_clear(&packed);
			dict_write_block(store->dict, (enum dict_table)table, block, &raw);
			err = window_pack(&raw,
					  dict_is_full(store->dict, (enum dict_table)table, block) ? WINDOW_SMALL
												   : WINDOW_QUICK,
					  &packed);
			err = err ? err
				  : sql_run(store->db,
					    "INSERT OR REPLACE INTO dictionary (era, part, block, changed, data)"
					    " VALUES (?, ?, ?, ?, ?)",
					    "iiiib", store->era, (int64_t)table, (int64_t)block, change,
					    (const void *)packed.data, packed.len);
		}
	}
	return err;
}

/* After the transaction: what is in memory is what is stored, or it is forgotten. */
static void settle_dict(struct store *store, int err)
{
	if (!err) {
		dict_stored(store->dict);
		store->fresh++;
		return;
	}
	dict_free(store->dict);
	store->dict = NULL;
	store->era = 0;
}

static int insert_window(struct store *store, const struct store_row *row, uint64_t mono_us,
			 const struct window *window)
{
	autobuf struct buf raw = { 0 }, head = { 0 }, body = { 0 };
	uint64_t value = 0;
	int err;

	for (size_t i = 0; i < window->groups_len; i++)
		value += window->groups[i].sum;
	window_head(window, &raw);
	err = window_pack(&raw, WINDOW_QUICK, &head);
	buf_clear(&raw);
	window_body(window, &raw);
	err = err ? err : window_pack(&raw, WINDOW_QUICK, &body);
	return err ? err
		   : sql_run(store->db,
			     "INSERT INTO window (sequence, era, start_ns, end_ns, mono_us, age_ns, value, lost, head,"
			     " body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			     "iiiiiiiibb", row->first, row->era, (int64_t)row->range.from, (int64_t)row->range.to,
			     (int64_t)mono_us, (int64_t)row->age_ns, (int64_t)value, (int64_t)row->lost,
			     (const void *)head.data, head.len, (const void *)body.data, body.len);
}

static int insert_events(struct store *store, const struct store_row *row, const struct window *window)
{
	autobuf struct buf raw = { 0 }, packed = { 0 };
	int err;

	if (!window->events_len)
		return 0;
	window_events(window, &raw);
	err = window_pack(&raw, WINDOW_SMALL, &packed);
	return err ? err
		   : sql_run(store->db, "INSERT INTO event (window, bytes, data) VALUES (?, ?, ?)", "iib", row->first,
			     (int64_t)packed.len, (const void *)packed.data, packed.len);
}

static int insert_gap(struct store *store)
{
	const struct store_missed *missed = &store->missed;

	if (!missed->windows)
		return 0;
	return sql_run(store->db, "INSERT INTO gap (from_ns, to_ns, windows, value, why) VALUES (?, ?, ?, ?, ?)",
		       "iiiit", (int64_t)missed->from, (int64_t)missed->to, (int64_t)missed->windows,
		       (int64_t)missed->value, missed->why == -ENOSPC ? "disk full" : "not written");
}

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static void remember_missed(struct store *store, const struct profile *window, int err)
{
	const struct profile_meta *meta = profile_meta(window);
	struct store_missed *missed = &store->missed;
	uint64_t end = meta->wall_ns + meta->duration_ns;

	if (!missed->windows++)
		missed->from = meta->wall_ns;
	missed->from = meta->wall_ns < missed->from ? meta->wall_ns : missed->from;
	missed->to = end > missed->to ? end : missed->to;
	missed->value += sum_of(window);
	missed->why = err;
}

/* How much older the store has become at the end of this window. */
static uint64_t age_after(const struct last *last, const struct profile_meta *meta)
{
	uint64_t end = meta->wall_ns + meta->duration_ns, more = 0;

	if (last->sequence && last->same_boot)
		more = (meta->start_us - last->mono_us) * NS_PER_US;
	else if (last->sequence && end > last->end)
		more = end - last->end;
	return last->age_ns + more;
}

static int write_window(struct store *store, const struct profile *profile, const char *boot, int64_t *ret_sequence)
{
	const struct profile_meta *meta = profile_meta(profile);
	struct window window = { 0 };
	struct store_row row = { 0 };
	struct last last;
	uint64_t lost = 0;
	int err = read_last(store, boot, &last);

	if (!err && last.same_boot && meta->start_us <= last.mono_us)
		return fail_plain(-EEXIST, "store: a window of that time is there already");
	err = err ? err : choose_era(store, profile, boot, last.sequence + 1);
	err = err ? err : make_window(store, profile, &window, &lost);
	if (!err) {
		row = (struct store_row){ .era = store->era,
					  .first = last.sequence + 1,
					  .last = last.sequence + 1,
					  .range = { meta->wall_ns, meta->wall_ns + meta->duration_ns },
					  .age_ns = age_after(&last, meta),
					  .lost = lost };
		err = write_dict(store);
	}
	err = err ? err : insert_window(store, &row, meta->start_us, &window);
	err = err ? err : insert_events(store, &row, &window);
	err = err ? err : insert_gap(store);
	window_free(&window);
	*ret_sequence = row.first;
	return err;
}

int store_seal(struct store *store, const struct profile *window, const char *boot, uint64_t *ret_sequence)
{
	int64_t sequence = 0;
	int err = sql_script(store->db, "BEGIN IMMEDIATE");
	bool begun = !err;

	err = err ? err : write_window(store, window, boot, &sequence);
	err = err ? err : sql_script(store->db, "COMMIT");
	if (err && begun)
		store_end(store);
	if (begun && store->dict)
		settle_dict(store, err);
	if (!err)
		store->missed = (struct store_missed){ 0 };
	else if (err != -EEXIST)
		remember_missed(store, window, err);
	if (err == -ENOSPC) /* what the log holds may find room in the database, and the log begins anew */
		sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	if (!err && ret_sequence)
		*ret_sequence = (uint64_t)sequence;
	return err;
}

int store_improve(struct store *store, const struct profile *named)
{
	struct carry carry = { 0 };
	int64_t era = 0;
	int err = sql_script(store->db, "BEGIN IMMEDIATE");
	bool begun = !err;

	err = err ? err : sql_number(store->db, &era, 0, "SELECT max(id) FROM era", "");
	err = err || !era ? err : store_load_dict(store, era);
	err = err || !era ? err : carry_begin(&carry, named, store->dict->model, store->dict);
	for (uint32_t i = 1; era && !err && i < profile_count(named, PROFILE_FRAMES); i++)
		if (profile_frame(named, i)->name && carry_frame(&carry, i) == PROFILE_FULL)
			err = fail(-ENOMEM, "store: names");
	err = err || !era ? err : write_dict(store);
	err = err ? err : sql_script(store->db, "COMMIT");
	if (err && begun)
		store_end(store);
	if (begun && era && store->dict)
		settle_dict(store, err);
	carry_end(&carry);
	return err;
}
