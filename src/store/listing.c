/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for SQLite of all windows, minutes and hours there are, without what was sampled in them. In: hours, what
 * they consist of, and windows that are in none yet. Out: a row for each, hours before what is in them.
 */
#include "store/tables.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "store/parts.h"
#include "store/sql.h"

enum column {
	COLUMN_SEQUENCE,
	COLUMN_LAST_SEQUENCE,
	COLUMN_LEVEL,
	COLUMN_START,
	COLUMN_END,
	COLUMN_SAMPLES,
	COLUMN_LOST,
	COLUMN_ERA,
	COLUMN_BYTES,
};

static const char schema[] = "CREATE TABLE x(sequence INTEGER, last_sequence INTEGER, level TEXT, start REAL, end REAL,"
			     " samples INTEGER, lost INTEGER, era INTEGER, bytes INTEGER)";

struct listing {
	sqlite3_vtab base;
	const struct store_tables *tables;
};

struct entry {
	struct store_row row;
	int64_t bytes;
};

struct listing_cursor {
	sqlite3_vtab_cursor base;
	struct buf entries;
	size_t at;
};

static int listing_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret,
			   char **error)
{
	struct listing *listing;
	int code = sqlite3_declare_vtab(db, schema);

	(void)argc;
	(void)argv;
	(void)error;
	if (code != SQLITE_OK)
		return code;
	listing = calloc(1, sizeof(*listing));
	if (!listing)
		return SQLITE_NOMEM;
	listing->tables = context;
	*ret = &listing->base;
	return SQLITE_OK;
}

static int listing_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int listing_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	info->estimatedCost = 1e5;
	info->estimatedRows = 100000;
	return SQLITE_OK;
}

static int listing_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct listing_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int listing_close(sqlite3_vtab_cursor *base)
{
	buf_free(&((struct listing_cursor *)base)->entries);
	free(base);
	return SQLITE_OK;
}

static int add_parts(struct store *store, const struct store_row *hour, enum store_level detail, int64_t bytes,
		     struct buf *ret)
{
	autofree struct store_row *rows = NULL;
	size_t len = 0;
	int err = store_read_spans(store, hour, detail, &rows, &len);

	for (size_t i = 0; i < len && !err; i++)
		buf_add(ret, &(struct entry){ rows[i], bytes }, sizeof(struct entry));
	return err;
}

static int add_hours(const struct store_tables *tables, struct buf *ret)
{
	struct store *store = tables->store;
	autostatement sqlite3_stmt *hours = NULL;
	int err =
		sql_begin(store->db, &hours,
			  "SELECT first, last, era, start_ns, end_ns, age_ns, detail, value, lost,"
			  " length(head) + length(body),"
			  " (length(spans) + length(heads) + length(bodies)) / max(parts, 1) FROM hour ORDER BY first",
			  "");

	while (!err && !store_tables_late(tables) && (err = sql_row(hours)) > 0) {
		enum store_level detail;
		struct store_row hour = store_hour_of(hours, &detail);

		hour.value = (uint64_t)sqlite3_column_int64(hours, 7);
		hour.lost = (uint64_t)sqlite3_column_int64(hours, 8);
		buf_add(ret, &(struct entry){ hour, sqlite3_column_int64(hours, 9) }, sizeof(struct entry));
		err = detail == STORE_HOUR ? 0 : add_parts(store, &hour, detail, sqlite3_column_int64(hours, 10), ret);
	}
	return err;
}

static int add_windows(struct store *store, struct buf *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	int err = sql_begin(store->db, &rows,
			    WINDOW_COLUMNS ", length(head) + length(body) FROM window ORDER BY sequence", "");

	while (!err && (err = sql_row(rows)) > 0) {
		buf_add(ret, &(struct entry){ store_window_of(rows), sqlite3_column_int64(rows, 7) },
			sizeof(struct entry));
		err = 0;
	}
	return err;
}

static int listing_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc, sqlite3_value **argv)
{
	struct listing_cursor *cursor = (struct listing_cursor *)base;
	struct listing *listing = (struct listing *)base->pVtab;
	int err;

	(void)plan;
	(void)name;
	(void)argc;
	(void)argv;
	buf_clear(&cursor->entries);
	cursor->at = 0;
	err = add_hours(listing->tables, &cursor->entries);
	err = err ? err : add_windows(listing->tables->store, &cursor->entries);
	if (buf_error(&cursor->entries))
		return SQLITE_NOMEM;
	if (store_tables_late(listing->tables))
		return SQLITE_INTERRUPT;
	if (!err)
		return SQLITE_OK;
	sqlite3_free(listing->base.zErrMsg);
	listing->base.zErrMsg = sqlite3_mprintf("%s", fail_text());
	return SQLITE_ERROR;
}

static int listing_next(sqlite3_vtab_cursor *base)
{
	((struct listing_cursor *)base)->at++;
	return SQLITE_OK;
}

static int listing_end(sqlite3_vtab_cursor *base)
{
	const struct listing_cursor *cursor = (struct listing_cursor *)base;

	return cursor->at >= cursor->entries.len / sizeof(struct entry);
}

static int listing_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	static const char *const levels[STORE_LEVELS] = { "window", "minute", "hour" };
	const struct listing_cursor *cursor = (struct listing_cursor *)base;
	const struct entry *entry = (const struct entry *)(const void *)cursor->entries.data + cursor->at;
	const struct store_row *row = &entry->row;
	const int64_t numbers[] = { [COLUMN_SEQUENCE] = row->first,
				    [COLUMN_LAST_SEQUENCE] = row->last,
				    [COLUMN_SAMPLES] = (int64_t)row->value,
				    [COLUMN_LOST] = (int64_t)row->lost,
				    [COLUMN_ERA] = row->era,
				    [COLUMN_BYTES] = entry->bytes };

	if (column == COLUMN_LEVEL)
		sqlite3_result_text(context, levels[row->level], -1, SQLITE_STATIC);
	else if (column == COLUMN_START || column == COLUMN_END)
		sqlite3_result_double(context, (double)(column == COLUMN_START ? row->range.from : row->range.to) /
						       (double)STORE_NS_PER_SEC);
	else
		sqlite3_result_int64(context, numbers[column]);
	return SQLITE_OK;
}

static int listing_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct listing_cursor *)base)->at;
	return SQLITE_OK;
}

int store_add_listing(struct store_tables *tables)
{
	static const sqlite3_module module = {
		.xConnect = listing_connect,
		.xBestIndex = listing_plan,
		.xDisconnect = listing_disconnect,
		.xOpen = listing_open,
		.xClose = listing_close,
		.xFilter = listing_filter,
		.xNext = listing_next,
		.xEof = listing_end,
		.xColumn = listing_column,
		.xRowid = listing_number,
	};
	sqlite3 *db = tables->store->db;

	return sql_error(db, sqlite3_create_module(db, "listing", &module, tables));
}
