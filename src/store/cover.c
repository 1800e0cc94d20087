/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the rows that stand for a range. In: the table of windows, minutes and hours. Out: some of them, so that each
 * window that was sealed is in one of them at most.
 *
 * What is in a row is told by sequence numbers, never by time: clocks are set, and two windows may claim one second.
 * Retention removes the parts of a coarser row all at once (retain.c), so one part that is there tells of the others.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "store/sql.h"

#define OVERLAPPING                                                                                            \
	"SELECT w.id, w.era, w.first, w.last, w.start_ns, w.end_ns, w.mono_us, w.age_ns,"                      \
	" EXISTS (SELECT 1 FROM event e WHERE e.window = w.id),"                                               \
	" EXISTS (SELECT 1 FROM window p WHERE p.level = w.level - 1 AND p.first BETWEEN w.first AND w.last)," \
	" w.start_ns >= ?2 AND w.end_ns <= ?3"                                                                 \
	" FROM window w WHERE w.level = ?1 AND w.start_ns < ?3 AND w.end_ns > ?2"                              \
	" AND (?4 OR w.level = 0 OR length(w.body) > 0) ORDER BY w.first"

struct store_row store_row_of(sqlite3_stmt *rows, enum store_level level)
{
	return (struct store_row){
		.id = sqlite3_column_int64(rows, 0),
		.era = sqlite3_column_int64(rows, 1),
		.first = sqlite3_column_int64(rows, 2),
		.last = sqlite3_column_int64(rows, 3),
		.level = level,
		.range = { (uint64_t)sqlite3_column_int64(rows, 4), (uint64_t)sqlite3_column_int64(rows, 5) },
		.mono_us = (uint64_t)sqlite3_column_int64(rows, 6),
		.age_ns = (uint64_t)sqlite3_column_int64(rows, 7),
	};
}

static struct store_row row_of(sqlite3_stmt *rows, enum store_level level)
{
	struct store_row row = store_row_of(rows, level);

	row.has_events = sqlite3_column_int(rows, 8);
	row.whole = sqlite3_column_int(rows, 10);
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct store_row *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* Adds those of one level that stand for something which the coarser ones do not. */
static int add_level(struct store *store, const struct store_range *range, enum store_level level,
		     enum store_level coarsest, enum store_parts parts, struct buf *chosen)
{
	autostatement sqlite3_stmt *rows = NULL;
	size_t before = chosen->len / sizeof(struct store_row), at = 0;
	int err = sql_begin(store->db, &rows, OVERLAPPING, "iiii", (int64_t)level, (int64_t)range->from,
			    (int64_t)range->to, (int64_t)(parts == STORE_HEAD));

	while (!err && (err = sql_row(rows)) > 0) {
		const struct store_row *coarser = (const void *)chosen->data;
		struct store_row row = row_of(rows, level);
		bool has_parts = sqlite3_column_int(rows, 9);

		err = 0;
		while (at < before && coarser[at].last < row.first)
			at++;
		if (at < before && coarser[at].first <= row.last)
			continue;
		if ((!row.whole || level > coarsest) && has_parts)
			continue;
		buf_add(chosen, &row, sizeof(row));
	}
	if (err)
		return err;
	if (buf_error(chosen))
		return fail(-ENOMEM, "store: rows of a range");
	if (chosen->len)
		qsort(chosen->data, chosen->len / sizeof(struct store_row), sizeof(struct store_row), compare_rows);
	return 0;
}

int store_cover(struct store *store, const struct store_range *range, enum store_level coarsest, enum store_parts parts,
		struct store_row **ret, size_t *ret_len)
{
	struct buf chosen = { 0 };
	struct store_range asked = *range;
	int err = 0;

	asked.from = asked.from > INT64_MAX ? INT64_MAX : asked.from;
	asked.to = asked.to > INT64_MAX ? INT64_MAX : asked.to;
	for (int level = STORE_LEVELS; level-- > 0 && !err;)
		err = add_level(store, &asked, (enum store_level)level, coarsest, parts, &chosen);
	if (err) {
		buf_free(&chosen);
		return err;
	}
	*ret = (void *)chosen.data;
	*ret_len = chosen.len / sizeof(**ret);
	return 0;
}
