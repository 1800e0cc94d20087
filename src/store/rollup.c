/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows become minutes, minutes become hours. In: rows that follow each other, of one era, that began in the same
 * minute or hour of the wall clock. Out: one row with the sums of them all, in one transaction with the mark on them
 * that they have been added up.
 *
 * A group is added up when a row follows that is not in it: nothing can be added to it then, because sequence numbers
 * only grow. A clock that is set back begins another group of the same minute.
 *
 * Minutes would take nearly as much room as the windows they are made of, and say the same: once their hour is made
 * they keep their heads, for curves, and get their bodies again when their windows go.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/sql.h"
#include "store/window.h"

#define PARTS_MAX 128  /* in a group: a step stays small */
#define EMPTY_SHIFT 47 /* in ids of rows: without a body */
#define PARTS "SELECT id, era, first, last, start_ns, end_ns, mono_us, age_ns, lost FROM window"

static const uint64_t spans[STORE_LEVELS] = { 0, 60 * STORE_NS_PER_SEC, 3600 * STORE_NS_PER_SEC };

struct group {
	struct store_row parts[PARTS_MAX];
	size_t len;
	uint64_t lost;
};

/* The oldest group of rows of a level; none if what follows it is not known yet. */
static int find_group(struct store *store, enum store_level level, struct group *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	uint64_t span = spans[level + 1];
	int err = sql_begin(store->db, &rows, PARTS " WHERE level = ? AND rolled = 0 ORDER BY first", "i",
			    (int64_t)level);

	ret->len = 0;
	ret->lost = 0;
	while (!err && (err = sql_row(rows)) > 0) {
		struct store_row row = store_row_of(rows, level);
		const struct store_row *head = &ret->parts[0];

		if (ret->len == PARTS_MAX ||
		    (ret->len && (row.era != head->era || row.range.from / span != head->range.from / span)))
			return 0;
		ret->parts[ret->len++] = row;
		ret->lost += (uint64_t)sqlite3_column_int64(rows, 8);
		err = 0;
	}
	ret->len = 0;
	return err;
}

static int add_part(struct store *store, const struct store_row *part, struct buf *rows, struct map *counters,
		    struct window *sum)
{
	struct window window;
	int err = store_read_window(store, part->id, STORE_BODY, &window);

	if (err)
		return err;
	buf_add(rows, window.rows, window.rows_len * sizeof(*window.rows));
	for (size_t i = 0; i < window.counters_len && !err; i++)
		err = store_add_counter(store->dict->model, counters, &window.counters[i]);
	store_add_numbers(sum->numbers, &window);
	window_free(&window);
	return err;
}

static int take_counters(const struct map *counters, struct window *sum)
{
	const struct map_slot *slot;

	sum->counters = calloc(counters->len + 1, sizeof(*sum->counters));
	if (!sum->counters)
		return fail(-ENOMEM, "store: counters");
	for (size_t at = 0; (slot = map_next(counters, &at)) && sum->counters_len < counters->len;)
		sum->counters[sum->counters_len++] =
			(struct window_counter){ slot->value, (uint32_t)(slot->key >> 32), (uint32_t)slot->key };
	return 0;
}

static int add_up(struct store *store, const struct group *group, struct window *ret)
{
	struct buf rows = { 0 };
	struct map counters = { 0 };
	int err = store_load_dict(store, group->parts[0].era);

	for (size_t i = 0; i < group->len && !err; i++)
		err = add_part(store, &group->parts[i], &rows, &counters, ret);
	if (!err && buf_error(&rows))
		err = fail(-ENOMEM, "store: adding up windows");
	err = err ? err : take_counters(&counters, ret);
	map_free(&counters);
	ret->rows = (void *)rows.data;
	ret->rows_len = rows.len / sizeof(*ret->rows);
	return err ? err : window_arrange(ret);
}

/*
 * Those of an hour, as far as their windows are there. They get ids beside each other: a row that shrinks where it is
 * leaves its page half empty.
 */
static int empty_minutes(struct store *store, const struct store_row *hour)
{
	return sql_run(store->db,
		       "UPDATE window SET body = x'', id = id | ? WHERE level = 1 AND first BETWEEN ? AND ? AND EXISTS"
		       " (SELECT 1 FROM window p WHERE p.level = 0 AND p.first = window.first)",
		       "iii", (int64_t)1 << EMPTY_SHIFT, hour->first, hour->last);
}

static int write_group(struct store *store, const struct group *group)
{
	const struct store_row *parts = group->parts, *last = &parts[group->len - 1];
	struct store_row row = *parts;
	struct window window = { 0 };
	int err = add_up(store, group, &window);

	row.level = (enum store_level)(parts->level + 1);
	row.last = last->last;
	row.age_ns = last->age_ns;
	for (size_t i = 1; i < group->len; i++) {
		row.range.from = parts[i].range.from < row.range.from ? parts[i].range.from : row.range.from;
		row.range.to = parts[i].range.to > row.range.to ? parts[i].range.to : row.range.to;
	}
	err = err ? err : store_insert_row(store, &row, &window, group->lost);
	err = err ? err
		  : sql_run(store->db, "UPDATE window SET rolled = 1 WHERE level = ? AND first BETWEEN ? AND ?", "iii",
			    (int64_t)parts->level, row.first, row.last);
	if (!err && row.level == STORE_HOUR)
		err = empty_minutes(store, &row);
	window_free(&window);
	return err;
}

int store_fill_minute(struct store *store, int64_t first, int64_t last)
{
	autobuf struct buf raw = { 0 }, body = { 0 };
	autostatement sqlite3_stmt *rows = NULL;
	struct window window = { 0 };
	struct group group = { .len = 0 };
	int err = sql_begin(store->db, &rows, PARTS " WHERE level = 0 AND first BETWEEN ? AND ? ORDER BY first", "ii",
			    first, last);

	while (!err && group.len < PARTS_MAX && (err = sql_row(rows)) > 0) {
		group.parts[group.len++] = store_row_of(rows, STORE_WINDOW);
		err = 0;
	}
	if (err || !group.len)
		return err ? err : fail_plain(-EBADMSG, "store: windows of a minute are missing");
	err = add_up(store, &group, &window);
	window_body(&window, &raw);
	window_free(&window);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, &body);
	return err ? err
		   : sql_run(store->db, "UPDATE window SET body = ? WHERE level = 1 AND first = ?", "bi",
			     (const void *)body.data, body.len, first);
}

int store_roll_up(struct store *store)
{
	struct group group = { .len = 0 };
	int err = 0;

	for (int level = STORE_WINDOW; level < STORE_HOUR && !err && !group.len; level++)
		err = find_group(store, (enum store_level)level, &group);
	if (err || !group.len)
		return err;
	err = sql_script(store->db, "BEGIN IMMEDIATE");
	if (err)
		return err;
	err = write_group(store, &group);
	err = err ? err : sql_script(store->db, "COMMIT");
	if (err)
		store_end(store);
	return err ? err : 1;
}
