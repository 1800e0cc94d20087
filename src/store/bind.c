/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds the windows of an hour together, once the hour is made. In: an hour, and its windows, each with its columns.
 * Out: one row with the columns of them all (bundle.c); the windows keep their rows, with their times and sums, and
 * lose their columns.
 *
 * An hour whose windows are not all there stays as it is: some went already, because bytes are short.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "store/bundle.h"
#include "store/sql.h"
#include "store/window.h"

#define AWAY ((int64_t)1 << 46) /* in ids of rows: while they are made small */

/* The ids of all windows of an hour, in their order; none if one is missing. */
static int list_ids(struct store *store, int64_t first, int64_t last, struct buf *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	int err = sql_begin(store->db, &rows,
			    "SELECT id FROM window WHERE level = 0 AND first BETWEEN ? AND ? ORDER BY first", "ii",
			    first, last);

	while (!err && (err = sql_row(rows)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0);

		buf_add(ret, &id, sizeof(id));
		err = 0;
	}
	if (!err && buf_error(ret))
		return fail(-ENOMEM, "store: windows of an hour");
	if (ret->len / sizeof(int64_t) != (size_t)(last - first + 1) || ret->len / sizeof(int64_t) > BUNDLE_WINDOWS_MAX)
		buf_clear(ret);
	return err;
}

static int make_bundle(struct store *store, const struct buf *ids, const struct window *hour, struct buf *ret_heads,
		       struct buf *ret_bodies)
{
	autobuf struct buf raw = { 0 };
	const int64_t *id = (const void *)ids->data;
	struct bundle bundle = { .windows = calloc(ids->len / sizeof(*id) + 1, sizeof(*bundle.windows)) };
	int err = bundle.windows ? 0 : fail(-ENOMEM, "store: windows of an hour");

	for (; bundle.len < ids->len / sizeof(*id) && !err; bundle.len += !err)
		err = store_read_window(store, id[bundle.len], STORE_BODY, &bundle.windows[bundle.len]);
	err = err ? err : bundle_heads(bundle.windows, bundle.len, &raw);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, ret_heads);
	buf_clear(&raw);
	err = err ? err : bundle_bodies(bundle.windows, bundle.len, hour, &raw);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, ret_bodies);
	bundle_free(&bundle);
	return err;
}

/* Rows that become small where they are would leave their pages half empty: they go away and come back. */
static int empty_windows(struct store *store, int64_t first, int64_t last)
{
	int err = sql_run(
		store->db,
		"UPDATE window SET head = x'', body = x'', id = id | ? WHERE level = 0 AND first BETWEEN ? AND ?",
		"iii", AWAY, first, last);

	return err ? err
		   : sql_run(store->db, "UPDATE window SET id = id & ~? WHERE level = 0 AND first BETWEEN ? AND ?",
			     "iii", AWAY, first, last);
}

static int bind_windows(struct store *store, const struct store_row *hour)
{
	autobuf struct buf ids = { 0 }, heads = { 0 }, bodies = { 0 };
	struct window sum = { 0 };
	int err = list_ids(store, hour->first, hour->last, &ids);

	if (err || !ids.len)
		return err;
	err = store_load_dict(store, hour->era);
	err = err ? err : store_read_window(store, hour->id, STORE_BODY, &sum);
	err = err ? err : make_bundle(store, &ids, &sum, &heads, &bodies);
	window_free(&sum);
	if (err)
		return err == -ERANGE ? 0 : err;
	err = sql_run(store->db, "INSERT INTO bundle (first, last, heads, bodies) VALUES (?, ?, ?, ?)", "iibb",
		      hour->first, hour->last, (const void *)heads.data, heads.len, (const void *)bodies.data,
		      bodies.len);
	return err ? err : empty_windows(store, hour->first, hour->last);
}

/* The oldest hour whose windows were not looked at. */
static int find_hour(struct store *store, struct store_row *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	int err = sql_begin(store->db, &rows,
			    "SELECT id, era, first, last, start_ns, end_ns, mono_us, age_ns FROM window"
			    " WHERE level = 2 AND rolled = 0 ORDER BY first LIMIT 1",
			    "");

	err = err ? err : sql_row(rows);
	if (err > 0)
		*ret = store_row_of(rows, STORE_HOUR);
	return err;
}

int store_bind(struct store *store)
{
	struct store_row hour;
	int err = find_hour(store, &hour);

	if (err <= 0)
		return err;
	err = sql_script(store->db, "BEGIN IMMEDIATE");
	if (err)
		return err;
	err = bind_windows(store, &hour);
	err = err ? err : sql_run(store->db, "UPDATE window SET rolled = 1 WHERE id = ?", "i", hour.id);
	err = err ? err : sql_script(store->db, "COMMIT");
	if (err)
		store_end(store);
	return err ? err : 1;
}
