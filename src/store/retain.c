/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes: what is too old, what is too much, dictionaries that no row needs, events beyond their bytes.
 * Each step is small and a transaction of its own.
 *
 * Windows go by the hour, and become minutes; these may become four times as old, hours sixteen times. When there are
 * too many bytes, that goes which is the oldest for its kind: by how much the limits on age would have to shrink to let
 * it go. So a range is never lost in part.
 */
#include "store/parts.h"

#include <errno.h>
#include <string.h>

#include "store/sql.h"

#define EVENTS_AT_ONCE 8
#define BLOCKS_AT_ONCE 64
#define FREE_PAGES 256 /* that are left for new windows, at least */

static const uint64_t weights[STORE_LEVELS] = { 1, 4, 16 };

/* The oldest hour of those that consist of the same. */
struct candidate {
	struct store_row hour;
	enum store_level detail;
	uint64_t age; /* as many ns as windows would be old that are as old for their kind */
	bool found;
};

static int find_candidate(struct store *store, struct candidate *ret)
{
	autostatement sqlite3_stmt *hours = NULL;
	bool seen[STORE_LEVELS] = { false };
	int64_t now = 0;
	int err = sql_number(store->db, &now, 0, "SELECT age_ns FROM window ORDER BY sequence DESC LIMIT 1", "");

	*ret = (struct candidate){ .found = false };
	err = err ? err : store_list_hours(store, &hours);
	while (!err && !(seen[0] && seen[1] && seen[2]) && (err = sql_row(hours)) > 0) {
		struct candidate other = { .found = true };

		other.hour = store_hour_of(hours, &other.detail);
		other.age = ((uint64_t)now - other.hour.age_ns) / weights[other.detail];
		if (!seen[other.detail] && (!ret->found || other.age > ret->age))
			*ret = other;
		seen[other.detail] = true;
		err = 0;
	}
	return err;
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
	err = store_thin_hour(store, &candidate.hour, candidate.detail);
	err = err ? err
		  : sql_run(store->db,
			    "DELETE FROM gap WHERE to_ns < (SELECT min(start_ns) FROM (SELECT start_ns FROM hour"
			    " UNION ALL SELECT start_ns FROM window))",
			    "");
	return err ? err : 1;
}

static int remove_events(struct store *store)
{
	int64_t bytes = 0;
	int err = sql_number(store->db, &bytes, 0, "SELECT CAST(total(bytes) AS INTEGER) FROM event", "");

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
			     " (SELECT 1 FROM hour h WHERE h.era = e.id) AND NOT EXISTS"
			     " (SELECT 1 FROM window w WHERE w.era = e.id) LIMIT 1",
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
	int done = store_add_hour(store), more = done > 0 ? 0 : store_retain(store);

	return more ? more : done;
}
