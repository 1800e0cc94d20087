/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions in SQL. In: a text that anybody may have written, asked of a database that anybody may have made. Out:
 * rows, or one line on what is wrong.
 *
 * Invariant: nothing changes. The handle reads only, SQLite asks for each thing a statement would do whether it may,
 * and it may read, compute and nothing else. Time, memory and sizes have limits.
 */
#include "store/question.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "store/parts.h"
#include "store/sql.h"
#include "store/tables.h"

#define STEPS_BETWEEN 10000 /* of SQLite's machine, from look to look at the clock */
#define VALUE_MAX (64 << 20)
#define TEXT_MAX (1 << 20)
#define MEMORY_MAX (512LL << 20)

/* Of all times; for a part of them the tables that they are made of are asked. */
static const char views[] =
	"CREATE TEMP VIEW processes AS SELECT process, pid, container, unit, min(start) AS start, max(end) AS end,"
	" sum(samples) AS samples FROM samples(NULL, NULL, 'hour') GROUP BY process, pid, container, unit;"
	"CREATE TEMP VIEW functions AS SELECT function, module, sum(self) AS self, sum(samples) AS total"
	" FROM frames(NULL, NULL, 'hour') GROUP BY function, module;"
	"CREATE TEMP VIEW minutes AS SELECT CAST(start / 60 AS INTEGER) * 60 AS start, process, sum(samples) AS samples"
	" FROM samples(NULL, NULL, 'minute') GROUP BY 1, 2;"
	"CREATE TEMP VIEW windows AS SELECT l.sequence, l.last_sequence, l.level, l.start, l.end, l.samples, l.lost,"
	" e.boot, e.host, e.kernel, l.bytes FROM listing l JOIN era e ON e.id = l.era;"
	/* Connecting a table declares its columns, which is not allowed any more when questions are asked. */
	"SELECT 1 FROM samples(0, 0), frames(0, 0), listing LIMIT 0;";

static int allow(void *context, int action, const char *first, const char *second, const char *database,
		 const char *trigger)
{
	(void)context;
	(void)first;
	(void)database;
	(void)trigger;
	if (action == SQLITE_FUNCTION && second && !strcmp(second, "load_extension"))
		return SQLITE_DENY;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
			       action == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int is_late(void *context)
{
	return store_tables_late(context);
}

static int prepare_handle(struct store_tables *tables)
{
	sqlite3 *db = tables->store->db;
	int err;

	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, TEXT_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, STORE_COLUMNS_MAX);
	sqlite3_hard_heap_limit64(MEMORY_MAX);
	err = sql_script(db, "PRAGMA temp_store = MEMORY");
	err = err ? err : store_add_tables(tables);
	err = err ? err : store_add_listing(tables);
	return err ? err : sql_script(db, views);
}

static int say_wrong(const struct store_tables *tables, int code)
{
	sqlite3 *db = tables->store->db;

	if (code == SQLITE_INTERRUPT)
		return fail_plain(-ETIMEDOUT,
				  "sql: not done in time: ask of a shorter time, or give it more with --timeout");
	if (code == SQLITE_AUTH)
		return fail_plain(-EINVAL, "sql: %s: it can only read, with one SELECT", sqlite3_errmsg(db));
	if (code == SQLITE_NOMEM)
		return fail(-ENOMEM, "sql");
	return fail_plain(-EINVAL, "sql: %s", sqlite3_errmsg(db));
}

static struct store_value value_of(sqlite3_stmt *statement, int column)
{
	struct store_value value = { 0 };

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		value.kind = STORE_INTEGER;
		value.integer = sqlite3_column_int64(statement, column);
		break;
	case SQLITE_FLOAT:
		value.kind = STORE_REAL;
		value.real = sqlite3_column_double(statement, column);
		break;
	case SQLITE_TEXT:
		value.kind = STORE_TEXT;
		value.data = (const char *)sqlite3_column_text(statement, column);
		value.len = (size_t)sqlite3_column_bytes(statement, column);
		break;
	case SQLITE_BLOB:
		value.kind = STORE_BYTES;
		value.data = sqlite3_column_blob(statement, column);
		value.len = (size_t)sqlite3_column_bytes(statement, column);
		break;
	default:
		value.kind = STORE_NULL;
	}
	if (!value.data)
		value.len = 0;
	return value;
}

static int give_rows(const struct store_tables *tables, const struct store_question *question, sqlite3_stmt *statement)
{
	struct store_value values[STORE_COLUMNS_MAX];
	const char *names[STORE_COLUMNS_MAX];
	int columns = sqlite3_column_count(statement), code, err;

	if (columns < 1 || columns > STORE_COLUMNS_MAX || !sqlite3_stmt_readonly(statement))
		return fail_plain(-EINVAL, "sql: it can only read, with one SELECT");
	for (int i = 0; i < columns; i++) {
		const char *name = sqlite3_column_name(statement, i);

		names[i] = name ? name : "";
	}
	err = question->names(question->arg, names, (size_t)columns);
	while (!err && (code = sqlite3_step(statement)) != SQLITE_DONE) {
		if (code != SQLITE_ROW)
			return say_wrong(tables, code);
		for (int i = 0; i < columns; i++)
			values[i] = value_of(statement, i);
		err = question->row(question->arg, values, (size_t)columns);
	}
	return err;
}

static int ask(const struct store_tables *tables, const struct store_question *question)
{
	autostatement sqlite3_stmt *statement = NULL;
	const char *rest = NULL;
	int code = sqlite3_prepare_v2(tables->store->db, question->text, -1, &statement, &rest);

	if (code != SQLITE_OK)
		return say_wrong(tables, code);
	if (!statement)
		return fail_plain(-EINVAL, "sql: nothing is asked");
	if (rest && rest[strspn(rest, " \t\r\n;")])
		return fail_plain(-EINVAL, "sql: one question at a time, and there is more: %.40s", rest);
	return give_rows(tables, question, statement);
}

int store_ask(struct store *store, const struct store_question *question)
{
	struct store_tables tables = { .store = store, .function = question->function, .module = question->module };
	int err = prepare_handle(&tables);

	if (question->timeout_ns)
		tables.until_ns = clock_ns(CLOCK_MONOTONIC) + question->timeout_ns;
	err = err ? err : store_begin(store);
	if (!err) {
		sqlite3_progress_handler(store->db, STEPS_BETWEEN, is_late, &tables);
		sqlite3_set_authorizer(store->db, allow, NULL);
		err = ask(&tables, question);
		sqlite3_set_authorizer(store->db, NULL, NULL);
		sqlite3_progress_handler(store->db, 0, NULL, NULL);
		store_end(store);
	}
	sqlite3_exec(store->db,
		     "DROP VIEW temp.processes; DROP VIEW temp.functions; DROP VIEW temp.minutes;"
		     "DROP VIEW temp.windows",
		     NULL, NULL, NULL);
	sqlite3_drop_modules(store->db, NULL); /* they refer to what ends here */
	return err;
}
