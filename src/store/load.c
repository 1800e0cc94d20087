/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the tables hold back into memory: the dictionary of an era, and windows. Of a dictionary that was read
 * before, only blocks that have changed since are read again; so a handle that stays open answers quickly.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/span.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/sql.h"
#include "store/sum.h"
#include "store/window.h"

static int read_block(struct store *store, sqlite3_stmt *row, struct buf *raw)
{
	int64_t table = sqlite3_column_int64(row, 0), block = sqlite3_column_int64(row, 1);
	const void *data = sqlite3_column_blob(row, 2);
	int err;

	if (table < 0 || table >= DICT_TABLES || block < 0 || block > UINT32_MAX)
		return fail_plain(-EBADMSG, "store: a dictionary is damaged");
	buf_clear(raw);
	err = window_unpack(data, (size_t)sqlite3_column_bytes(row, 2), raw);
	return err ? err : dict_read_block(store->dict, (enum dict_table)table, (uint32_t)block, raw->data, raw->len);
}

static int read_blocks(struct store *store, int64_t era)
{
	autostatement sqlite3_stmt *rows = NULL;
	autobuf struct buf raw = { 0 };
	int64_t newest = 0;
	int err = sql_number(store->db, &newest, 0, "SELECT max(changed) FROM dictionary WHERE era = ?", "i", era);

	if (!err && (newest < 0 || newest == INT64_MAX))
		return fail_plain(-EBADMSG, "store: a dictionary is damaged");
	if (err || newest == store->fresh)
		return err;
	err = sql_begin(store->db, &rows,
			"SELECT part, block, data FROM dictionary WHERE era = ? AND changed > ? ORDER BY part, block",
			"ii", era, store->fresh);
	while (!err && (err = sql_row(rows)) > 0)
		err = read_block(store, rows, &raw);
	if (!err)
		store->fresh = newest;
	return err;
}

int store_load_dict(struct store *store, int64_t era)
{
	int err = 0;

	if (!store->dict || store->era != era) {
		dict_free(store->dict);
		store->dict = NULL;
		store->era = store->fresh = 0;
		err = dict_new(&store->dict);
	}
	err = err ? err : read_blocks(store, era);
	if (err) { /* half of a dictionary is good for nothing */
		dict_free(store->dict);
		store->dict = NULL;
		store->era = store->fresh = 0;
		return err;
	}
	dict_stored(store->dict);
	store->era = era;
	return 0;
}

bool store_is_extreme(const char *group, const char *name)
{
	return !strcmp(group, "self") && strcmp(name, "cpu_us") != 0;
}

int store_add_counter(const struct profile *model, struct map *sums, const struct window_counter *counter)
{
	uint64_t *sum = map_put(sums, (uint64_t)counter->group << 32 | counter->name);

	if (!sum)
		return fail(-ENOMEM, "store: counters");
	if (store_is_extreme(profile_text(model, counter->group, NULL), profile_text(model, counter->name, NULL)))
		*sum = counter->value > *sum ? counter->value : *sum;
	else if (!span_add(sum, counter->value))
		*sum = UINT64_MAX;
	return 0;
}

void store_add_numbers(uint64_t *numbers, const struct window *window)
{
	for (int i = 0; i < WINDOW_NUMBERS; i++) {
		if (i != WINDOW_CPUS)
			numbers[i] += window->numbers[i];
		else if (window->numbers[i] > numbers[i])
			numbers[i] = window->numbers[i];
	}
}

static int missing(void)
{
	return fail_plain(-EBADMSG, "store: a window is missing");
}

static int damaged(void)
{
	return fail_plain(-EBADMSG, "store: a window is damaged");
}

static int check_numbers(const struct dict *dict, const struct window *window)
{
	for (size_t i = 0; i < window->groups_len; i++)
		if (window->groups[i].who >= dict_count(dict, DICT_WHOS))
			return damaged();
	for (size_t i = 0; i < window->counters_len; i++)
		if (window->counters[i].group >= dict_count(dict, DICT_STRINGS) ||
		    window->counters[i].name >= dict_count(dict, DICT_STRINGS))
			return damaged();
	for (size_t i = 0; window->rows && i < window->rows_len; i++)
		if (window->rows[i].stack >= dict_count(dict, DICT_STACKS))
			return damaged();
	return 0;
}

static int unpack_column(sqlite3_stmt *row, int column, struct buf *raw)
{
	const void *data = sqlite3_column_blob(row, column);

	buf_clear(raw);
	return window_unpack(data, (size_t)sqlite3_column_bytes(row, column), raw);
}

/* A window, or the sum of an hour, of a result whose columns are its head and its body. */
static int read_columns(sqlite3_stmt *row, bool of_hour, enum store_parts parts, struct buf *raw, struct window *ret)
{
	int err = unpack_column(row, 0, raw);

	err = err ? err : window_read_head(ret, raw->data, raw->len);
	if (err || parts < STORE_BODY)
		return err;
	if (of_hour)
		return sum_read_body(ret, sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1));
	err = unpack_column(row, 1, raw);
	return err ? err : window_read_body(ret, raw->data, raw->len);
}

/* Makes `ret` the windows or minutes of an hour. */
static int read_bundle(struct store *store, int64_t first, bool with_rows, struct bundle *ret)
{
	autostatement sqlite3_stmt *row = NULL;
	autobuf struct buf raw = { 0 };
	struct window sum = { 0 };
	int err = sql_begin(store->db, &row, "SELECT head, body, heads, bodies FROM hour WHERE first = ?", "i", first);

	err = err ? err : sql_row(row);
	if (err <= 0)
		return err ? err : missing();
	err = unpack_column(row, 2, &raw);
	err = err ? err : bundle_read_heads(ret, raw.data, raw.len);
	if (err || !with_rows)
		return err;
	err = read_columns(row, true, STORE_BODY, &raw, &sum);
	err = err ? err
		  : bundle_read_bodies(ret, &sum, sqlite3_column_blob(row, 3), (size_t)sqlite3_column_bytes(row, 3));
	window_free(&sum);
	if (err)
		bundle_free(ret);
	return err;
}

int store_read_bundle(struct store *store, const struct store_row *hour, struct bundle *ret)
{
	int err = read_bundle(store, hour->first, true, ret);

	for (size_t i = 0; i < ret->len && !err; i++)
		err = check_numbers(store->dict, &ret->windows[i]);
	if (err)
		bundle_free(ret);
	return err;
}

int store_read_spans(struct store *store, const struct store_row *hour, enum store_level detail, struct store_row **ret,
		     size_t *ret_len)
{
	autostatement sqlite3_stmt *row = NULL;
	autobuf struct buf raw = { 0 };
	autofree struct bundle_span *spans = NULL;
	struct store_row *rows;
	int64_t next = hour->first;
	size_t len = 0;
	int err = sql_begin(store->db, &row, "SELECT spans FROM hour WHERE first = ?", "i", hour->first);

	err = err ? err : sql_row(row);
	if (err <= 0)
		return err ? err : missing();
	err = unpack_column(row, 0, &raw);
	err = err ? err : bundle_read_spans(&spans, &len, raw.data, raw.len);
	if (!err && (next < 0 || next > INT64_MAX - (int64_t)BUNDLE_WINDOWS_MAX * BUNDLE_WINDOWS_MAX))
		err = damaged();
	if (err)
		return err;
	rows = calloc(len, sizeof(*rows));
	if (!rows)
		return fail(-ENOMEM, "store: windows of an hour");
	for (size_t i = 0; i < len; i++) {
		rows[i] = (struct store_row){ .era = hour->era,
					      .first = next,
					      .last = next + (int64_t)spans[i].windows - 1,
					      .level = detail,
					      .range = { spans[i].from, spans[i].to },
					      .age_ns = hour->age_ns,
					      .value = spans[i].value,
					      .lost = spans[i].lost,
					      .hour = hour->first,
					      .part = (uint32_t)i };
		next = rows[i].last + 1;
	}
	if (next - 1 != hour->last) {
		free(rows);
		return damaged();
	}
	*ret = rows;
	*ret_len = len;
	return 0;
}

/* One of an hour's. Of the last hour that was read all are at hand; what is in them never changes. */
static int copy_part(struct store *store, const struct store_row *row, enum store_parts parts, struct window *ret)
{
	bool with_rows = parts >= STORE_BODY;
	int err = 0;

	if (store->bundle_first != row->hour || store->bundle_detail != row->level || !store->bundle.len ||
	    (with_rows && !store->bundle_has_rows)) {
		bundle_free(&store->bundle);
		store->bundle_first = row->hour;
		store->bundle_detail = row->level;
		store->bundle_has_rows = with_rows;
		err = read_bundle(store, row->hour, with_rows, &store->bundle);
	}
	if (!err && row->part >= store->bundle.len)
		err = missing();
	return err ? err : window_copy(&store->bundle.windows[row->part], ret);
}

/* One that has a row of its own. */
static int read_row(struct store *store, const struct store_row *row, enum store_parts parts, struct window *ret)
{
	static const char *const texts[STORE_LEVELS] = { [STORE_WINDOW] = "SELECT head, body FROM window"
									  " WHERE sequence = ?",
							 [STORE_HOUR] = "SELECT head, body FROM hour WHERE first = ?" };
	autostatement sqlite3_stmt *found = NULL;
	autobuf struct buf raw = { 0 };
	int err = sql_begin(store->db, &found, texts[row->level], "i", row->first);

	err = err ? err : sql_row(found);
	if (err <= 0)
		return err ? err : missing();
	return read_columns(found, row->level == STORE_HOUR, parts, &raw, ret);
}

static int read_events(struct store *store, int64_t sequence, struct window *ret)
{
	autostatement sqlite3_stmt *row = NULL;
	autobuf struct buf raw = { 0 };
	int err = sql_begin(store->db, &row, "SELECT data FROM event WHERE window = ?", "i", sequence);

	err = err ? err : sql_row(row);
	if (err <= 0)
		return err;
	err = unpack_column(row, 0, &raw);
	return err ? err : window_read_events(ret, raw.data, raw.len);
}

int store_read_window(struct store *store, const struct store_row *row, enum store_parts parts, struct window *ret)
{
	int err;

	*ret = (struct window){ 0 };
	err = row->hour || row->level == STORE_MINUTE ? copy_part(store, row, parts, ret)
						      : read_row(store, row, parts, ret);
	if (!err && parts >= STORE_EVENTS && row->level == STORE_WINDOW)
		err = read_events(store, row->first, ret);
	err = err ? err : check_numbers(store->dict, ret);
	if (err)
		window_free(ret);
	return err;
}
