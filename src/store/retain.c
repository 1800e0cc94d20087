/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes: rows that are too old, rows that are too many, dictionaries that no row needs, events beyond their bytes.
 * Each step is small and a transaction of its own.
 *
 * Hours may become sixteen times as old as windows, minutes four times. When there are too many bytes, that row goes
 * which is the oldest for its kind: by how much the limits on age would have to shrink to let it go. Rows that are part
 * of a coarser one go all at once, and only after that has been made, so that a range is never lost in part.
 */
#include "store/parts.h"

#include <errno.h>
#include <string.h>

#include "store/sql.h"

#define EVENTS_AT_ONCE 8
#define BLOCKS_AT_ONCE 64
#define FREE_PAGES 256 /* that are left for new windows, at least */

static const uint64_t weights[STORE_LEVELS] = { 1, 4, 16 };

/* The oldest row of a level that may go. */
struct candidate {
	int64_t first;
	uint64_t age; /* as many ns as windows would be old that are as old for their kind */
	enum store_level level;
	bool found;
};

static int find_oldest(struct store *store, enum store_level level, uint64_t now, struct candidate *ret)
{
	autostatement sqlite3_stmt *row = NULL;
	int err = sql_begin(store->db, &row,
			    "SELECT first, age_ns, rolled FROM window WHERE level = ? ORDER BY first LIMIT 1", "i",
			    (int64_t)level);

	*ret = (struct candidate){ .level = level };
	err = err ? err : sql_row(row);
	if (err <= 0)
		return err;
	ret->first = sqlite3_column_int64(row, 0);
	ret->age = (now - (uint64_t)sqlite3_column_int64(row, 1)) / weights[level];
	ret->found = level == STORE_HOUR || sqlite3_column_int(row, 2);
	return 0;
}

static int find_candidate(struct store *store, struct candidate *ret)
{
	int64_t now = 0;
	int err = sql_number(store->db, &now, 0,
			     "SELECT age_ns FROM window WHERE level = 0 ORDER BY first DESC LIMIT 1", "");

	*ret = (struct candidate){ .found = false };
	for (int level = 0; level < STORE_LEVELS && !err; level++) {
		struct candidate other;

		err = find_oldest(store, (enum store_level)level, (uint64_t)now, &other);
		if (!err && other.found && (!ret->found || other.age > ret->age))
			*ret = other;
	}
	return err;
}

/* The last row that is part of the same coarser one, and whether that has a body. */
static int find_last(struct store *store, const struct candidate *candidate, int64_t *ret_last, bool *ret_has_body)
{
	autostatement sqlite3_stmt *row = NULL;
	int err = sql_begin(store->db, &row,
			    "SELECT last, length(body) > 0 FROM window WHERE level = ? AND first <= ?"
			    " ORDER BY first DESC LIMIT 1",
			    "ii", (int64_t)candidate->level + 1, candidate->first);

	*ret_last = candidate->first;
	*ret_has_body = true;
	err = err ? err : sql_row(row);
	if (err <= 0)
		return err;
	if (sqlite3_column_int64(row, 0) >= candidate->first) {
		*ret_last = sqlite3_column_int64(row, 0);
		*ret_has_body = sqlite3_column_int(row, 1);
	}
	return 0;
}

/* With all that is part of the same coarser row. */
static int remove_rows(struct store *store, const struct candidate *candidate)
{
	int64_t last = 0;
	bool has_body = true;
	int err = find_last(store, candidate, &last, &has_body);

	if (!err && !has_body)
		err = store_fill_minute(store, candidate->first, last);
	err = err ? err
		  : sql_run(store->db,
			    "DELETE FROM event WHERE window IN"
			    " (SELECT id FROM window WHERE level = ? AND first BETWEEN ? AND ?)",
			    "iii", (int64_t)candidate->level, candidate->first, last);
	err = err ? err
		  : sql_run(store->db, "DELETE FROM window WHERE level = ? AND first BETWEEN ? AND ?", "iii",
			    (int64_t)candidate->level, candidate->first, last);
	err = err ? err
		  : sql_run(store->db,
			    "DELETE FROM bundle WHERE last < (SELECT min(first) FROM window WHERE level = 0)", "");
	return err ? err : sql_run(store->db, "DELETE FROM gap WHERE to_ns < (SELECT min(start_ns) FROM window)", "");
}

static int remove_old(struct store *store)
{
	const struct store_options *options = &store->options;
	struct candidate candidate;
	uint64_t bytes = 0;
	int err = find_candidate(store, &candidate);

	err = err ? err : store_bytes(store, &bytes);
	if (err || !candidate.found)
		return err;
	if (!(options->keep_ns && candidate.age > options->keep_ns) &&
	    !(options->keep_bytes && bytes > options->keep_bytes))
		return 0;
	err = remove_rows(store, &candidate);
	return err ? err : 1;
}

static int remove_events(struct store *store)
{
	int64_t bytes = 0;
	int err = sql_number(store->db, &bytes, 0, "SELECT sum(bytes) FROM event", "");

	if (err || (uint64_t)bytes <= store->options.event_bytes)
		return err;
	err = sql_run(store->db, "DELETE FROM event WHERE window IN (SELECT window FROM event ORDER BY window LIMIT ?)",
		      "i", (int64_t)EVENTS_AT_ONCE);
	return err ? err : 1;
}

/* A dictionary that no row needs any more; the newest stays for windows to come. */
static int remove_dictionary(struct store *store)
{
	int64_t era = 0;
	int err = sql_number(store->db, &era, 0,
			     "SELECT e.id FROM era e WHERE e.id < (SELECT max(id) FROM era) AND NOT EXISTS"
			     " (SELECT 1 FROM window w WHERE w.level IN (0, 1, 2) AND w.first >= e.first AND"
			     " w.first < (SELECT min(n.first) FROM era n WHERE n.id > e.id)) LIMIT 1",
			     "");

	if (err || !era)
		return err;
	err = sql_run(store->db,
		      "DELETE FROM dictionary WHERE rowid IN (SELECT rowid FROM dictionary WHERE era = ? LIMIT ?)",
		      "ii", era, (int64_t)BLOCKS_AT_ONCE);
	if (!err && !sqlite3_changes(store->db))
		err = sql_run(store->db, "DELETE FROM era WHERE id = ?", "i", era);
	return err ? err : 1;
}

/* Gives space back to the file system when much of it is free. */
static int shrink(struct store *store)
{
	int64_t pages = 0, free_pages = 0;
	int err = sql_number(store->db, &pages, 0, "PRAGMA page_count", "");

	err = err ? err : sql_number(store->db, &free_pages, 0, "PRAGMA freelist_count", "");
	if (err || free_pages < FREE_PAGES || free_pages < pages / 4)
		return err;
	err = sql_script(store->db, "PRAGMA incremental_vacuum(64)");
	return err ? err : 1;
}

int store_retain(struct store *store)
{
	typedef int step(struct store * store);
	static step *const steps[] = { remove_events, remove_old, remove_dictionary, shrink };
	int done = sql_script(store->db, "BEGIN IMMEDIATE"), err;

	if (done)
		return done;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !done; i++)
		done = steps[i](store);
	err = done < 0 ? done : sql_script(store->db, "COMMIT");
	if (err)
		store_end(store);
	return err ? err : done;
}

int store_tend(struct store *store)
{
	int done = store_roll_up(store);

	done = done ? done : store_bind(store);
	return done ? done : store_retain(store);
}
