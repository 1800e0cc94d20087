/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the rows that stand for a range. In: hours, what they consist of, and windows that are in none yet. Out: some
 * of them, so that each window that was sealed is in one of them at most: it is either in an hour or has a row.
 *
 * What is in a row is told by sequence numbers, never by time: clocks are set, and two windows may claim one second.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "store/sql.h"

struct store_row store_window_of(sqlite3_stmt *rows)
{
	int64_t sequence = sqlite3_column_int64(rows, 0);

	return (struct store_row){
		.first = sequence,
		.last = sequence,
		.era = sqlite3_column_int64(rows, 1),
		.range = { (uint64_t)sqlite3_column_int64(rows, 2), (uint64_t)sqlite3_column_int64(rows, 3) },
		.age_ns = (uint64_t)sqlite3_column_int64(rows, 4),
		.value = (uint64_t)sqlite3_column_int64(rows, 5),
		.lost = (uint64_t)sqlite3_column_int64(rows, 6),
	};
}

int store_list_hours(struct store *store, sqlite3_stmt **ret)
{
	return sql_begin(store->db, ret,
			 "SELECT first, last, era, start_ns, end_ns, age_ns, detail FROM hour ORDER BY first", "");
}

struct store_row store_hour_of(sqlite3_stmt *rows, enum store_level *ret_detail)
{
	int64_t detail = sqlite3_column_int64(rows, 6);

	*ret_detail = detail == STORE_WINDOW || detail == STORE_MINUTE ? (enum store_level)detail : STORE_HOUR;
	return (struct store_row){
		.first = sqlite3_column_int64(rows, 0),
		.last = sqlite3_column_int64(rows, 1),
		.era = sqlite3_column_int64(rows, 2),
		.range = { (uint64_t)sqlite3_column_int64(rows, 3), (uint64_t)sqlite3_column_int64(rows, 4) },
		.age_ns = (uint64_t)sqlite3_column_int64(rows, 5),
		.level = STORE_HOUR,
	};
}

/* Whether any of it is in the range, and then whether all of it is. */
static bool is_in(struct store_row *row, const struct store_range *range)
{
	row->whole = row->range.from >= range->from && row->range.to <= range->to;
	return row->range.from < range->to && row->range.to > range->from;
}

/* Windows that follow each other: which of them have events. */
static int find_events(struct store *store, struct store_row *windows, size_t len)
{
	autostatement sqlite3_stmt *events = NULL;
	size_t at = 0;
	int err = len ? sql_begin(store->db, &events,
				  "SELECT window FROM event WHERE window BETWEEN ? AND ? ORDER BY window", "ii",
				  windows[0].first, windows[len - 1].first)
		      : 0;

	while (len && !err && (err = sql_row(events)) > 0) {
		while (at < len && windows[at].first < sqlite3_column_int64(events, 0))
			at++;
		if (at < len && windows[at].first == sqlite3_column_int64(events, 0))
			windows[at].has_events = true;
		err = 0;
	}
	return err;
}

/* What an hour consists of, as far as it is in the range. */
static int add_parts(struct store *store, const struct store_row *hour, enum store_level detail,
		     const struct store_range *range, struct buf *chosen)
{
	autofree struct store_row *rows = NULL;
	size_t len = 0;
	int err = store_read_spans(store, hour, detail, &rows, &len);

	if (!err && detail == STORE_WINDOW)
		err = find_events(store, rows, len);
	for (size_t i = 0; i < len && !err; i++)
		if (is_in(&rows[i], range))
			buf_add(chosen, &rows[i], sizeof(rows[i]));
	return err;
}

static int add_hours(struct store *store, const struct store_range *range, enum store_level coarsest,
		     struct buf *chosen)
{
	autostatement sqlite3_stmt *hours = NULL;
	int err = store_list_hours(store, &hours);

	while (!err && (err = sql_row(hours)) > 0) {
		enum store_level detail;
		struct store_row hour = store_hour_of(hours, &detail);

		err = 0;
		if (!is_in(&hour, range))
			continue;
		if (detail == STORE_HOUR || (hour.whole && coarsest == STORE_HOUR))
			buf_add(chosen, &hour, sizeof(hour));
		else
			err = add_parts(store, &hour, detail, range, chosen);
	}
	return err;
}

static int add_windows(struct store *store, const struct store_range *range, struct buf *chosen)
{
	autostatement sqlite3_stmt *rows = NULL;
	int err = sql_begin(store->db, &rows,
			    WINDOW_COLUMNS ", EXISTS (SELECT 1 FROM event e WHERE e.window = sequence)"
					   " FROM window WHERE start_ns < ? AND end_ns > ? ORDER BY sequence",
			    "ii", (int64_t)range->to, (int64_t)range->from);

	while (!err && (err = sql_row(rows)) > 0) {
		struct store_row row = store_window_of(rows);

		row.has_events = sqlite3_column_int(rows, 7);
		err = 0;
		if (is_in(&row, range))
			buf_add(chosen, &row, sizeof(row));
	}
	return err;
}

int store_cover(struct store *store, const struct store_range *range, enum store_level coarsest, struct store_row **ret,
		size_t *ret_len)
{
	struct buf chosen = { 0 };
	struct store_range asked = *range;
	int err;

	asked.from = asked.from > INT64_MAX ? INT64_MAX : asked.from;
	asked.to = asked.to > INT64_MAX ? INT64_MAX : asked.to;
	err = add_hours(store, &asked, coarsest, &chosen);
	err = err ? err : add_windows(store, &asked, &chosen);
	if (!err && buf_error(&chosen))
		err = fail(-ENOMEM, "store: rows of a range");
	for (size_t i = 0; i < chosen.len / sizeof(**ret) && !err; i++)
		if (((const struct store_row *)(const void *)chosen.data)[i].era <= 0) /* 0 is none to who asks */
			err = fail_plain(-EBADMSG, "store: an era is missing");
	if (err) {
		buf_free(&chosen);
		return err;
	}
	*ret = (void *)chosen.data;
	*ret_len = chosen.len / sizeof(**ret);
	return 0;
}
