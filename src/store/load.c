/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the tables hold back into memory: the dictionary of an era, and windows. Of a dictionary that was read
 * before, only blocks that have changed since are read again; so a handle that stays open answers quickly.
 */
#include "store/parts.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/span.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/sql.h"
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

static int check_numbers(const struct dict *dict, const struct window *window)
{
	for (size_t i = 0; i < window->groups_len; i++)
		if (window->groups[i].who >= dict_count(dict, DICT_WHOS))
			return -EBADMSG;
	for (size_t i = 0; i < window->counters_len; i++)
		if (window->counters[i].group >= dict_count(dict, DICT_STRINGS) ||
		    window->counters[i].name >= dict_count(dict, DICT_STRINGS))
			return -EBADMSG;
	for (size_t i = 0; window->rows && i < window->rows_len; i++)
		if (window->rows[i].stack >= dict_count(dict, DICT_STACKS))
			return -EBADMSG;
	return 0;
}

static int unpack_column(sqlite3_stmt *row, int column, struct buf *raw)
{
	const void *data = sqlite3_column_blob(row, column);

	buf_clear(raw);
	return window_unpack(data, (size_t)sqlite3_column_bytes(row, column), raw);
}

/* The hour that a bundle is of: all its rows. */
static int read_hour(struct store *store, int64_t first, struct window *ret)
{
	int64_t id = 0;
	int err = sql_number(store->db, &id, 0, "SELECT id FROM window WHERE level = 2 AND first = ?", "i", first);

	return err ? err : store_read_window(store, id, STORE_BODY, ret);
}

static int read_bundle_rows(struct store *store, sqlite3_stmt *row, struct buf *raw)
{
	struct window hour;
	int err = read_hour(store, store->bundle_first, &hour);

	if (err)
		return err;
	err = unpack_column(row, 2, raw);
	err = err ? err : bundle_read_bodies(&store->bundle, &hour, raw->data, raw->len);
	store->bundle_has_rows = !err;
	window_free(&hour);
	return err;
}

/* Makes store->bundle the one that has this window. What is in a bundle never changes. */
static int load_bundle(struct store *store, int64_t sequence, bool with_rows)
{
	autostatement sqlite3_stmt *row = NULL;
	autobuf struct buf raw = { 0 };
	int64_t first = store->bundle_first;
	int err;

	if (sequence >= first && (size_t)(sequence - first) < store->bundle.len &&
	    (store->bundle_has_rows || !with_rows))
		return 0;
	bundle_free(&store->bundle);
	store->bundle_has_rows = false;
	err = sql_begin(store->db, &row,
			"SELECT first, heads, bodies FROM bundle WHERE first <= ? ORDER BY first DESC LIMIT 1", "i",
			sequence);
	err = err ? err : sql_row(row);
	if (err <= 0)
		return err ? err : fail_plain(-EBADMSG, "store: a window is missing");
	store->bundle_first = sqlite3_column_int64(row, 0);
	err = unpack_column(row, 1, &raw);
	err = err ? err : bundle_read_heads(&store->bundle, raw.data, raw.len);
	err = err || !with_rows ? err : read_bundle_rows(store, row, &raw);
	if (!err && (size_t)(sequence - store->bundle_first) >= store->bundle.len)
		err = fail_plain(-EBADMSG, "store: a window is missing");
	if (err)
		bundle_free(&store->bundle);
	return err;
}

static int copy_bundled(struct store *store, int64_t sequence, enum store_parts parts, struct window *ret)
{
	const struct window *from;
	int err = load_bundle(store, sequence, parts >= STORE_BODY);

	if (err)
		return err;
	from = &store->bundle.windows[sequence - store->bundle_first];
	return window_copy(from, ret);
}

static int read_columns(sqlite3_stmt *row, enum store_parts parts, struct buf *raw, struct window *ret)
{
	int err = unpack_column(row, 0, raw);

	err = err ? err : window_read_head(ret, raw->data, raw->len);
	if (!err && parts >= STORE_BODY)
		err = unpack_column(row, 1, raw);
	if (!err && parts >= STORE_BODY)
		err = window_read_body(ret, raw->data, raw->len);
	return err;
}

int store_read_window(struct store *store, int64_t id, enum store_parts parts, struct window *ret)
{
	autostatement sqlite3_stmt *row = NULL;
	autobuf struct buf raw = { 0 };
	int err = sql_begin(store->db, &row,
			    "SELECT w.head, w.body, e.data, w.first, w.level = 0 AND length(w.head) = 0 FROM window w"
			    " LEFT JOIN event e ON e.window = w.id WHERE w.id = ?",
			    "i", id);

	*ret = (struct window){ 0 };
	err = err ? err : sql_row(row);
	if (err <= 0)
		return err ? err : fail_plain(-EBADMSG, "store: a window is missing");
	if (sqlite3_column_int(row, 4))
		err = copy_bundled(store, sqlite3_column_int64(row, 3), parts, ret);
	else
		err = read_columns(row, parts, &raw, ret);
	if (!err && parts >= STORE_EVENTS && sqlite3_column_type(row, 2) != SQLITE_NULL) {
		err = unpack_column(row, 2, &raw);
		err = err ? err : window_read_events(ret, raw.data, raw.len);
	}
	if (!err && check_numbers(store->dict, ret))
		err = fail_plain(-EBADMSG, "store: a window is damaged");
	if (err)
		window_free(ret);
	return err;
}
