/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements with their values, and SQLite's result codes as -errno. A full disk has many faces (no space, a quota, a
 * limit on file sizes, a limit on pages): all become -ENOSPC, because the caller does the same about each.
 */
#include "store/sql.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

static bool is_full(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* What the last call failed with that wrote to the log, or to the database: errno itself is not kept. */
static int from_system(sqlite3 *db)
{
	sqlite3_file *log = NULL;
	int err = 0;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (log && log->pMethods)
		log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &err);
	if (is_full(err))
		return -ENOSPC;
	sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &err);
	return is_full(err) ? -ENOSPC : -EIO;
}

static int from_code(sqlite3 *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
		return from_system(db);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
		return -EBADMSG;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	default:
		return -EIO;
	}
}

int sql_error(sqlite3 *db, int code)
{
	if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
		return 0;
	return fail_plain(from_code(db, code), "store: %s", sqlite3_errmsg(db));
}

static int bind(sqlite3_stmt *statement, const char *types, va_list *values)
{
	int code = SQLITE_OK;

	for (int i = 1; *types && code == SQLITE_OK; types++, i++) {
		if (*types == 'i') {
			code = sqlite3_bind_int64(statement, i, va_arg(*values, int64_t));
		} else if (*types == 't') {
			code = sqlite3_bind_text(statement, i, va_arg(*values, const char *), -1, SQLITE_STATIC);
		} else {
			const void *data = va_arg(*values, const void *);
			size_t len = va_arg(*values, size_t);

			code = sqlite3_bind_blob64(statement, i, data ? data : "", len, SQLITE_STATIC);
		}
	}
	return code;
}

static int begin(sqlite3 *db, sqlite3_stmt **ret, const char *text, const char *types, va_list *values)
{
	int code = sqlite3_prepare_v2(db, text, -1, ret, NULL);

	if (code == SQLITE_OK)
		code = bind(*ret, types, values);
	return sql_error(db, code);
}

int sql_begin(sqlite3 *db, sqlite3_stmt **ret, const char *text, const char *types, ...)
{
	va_list values;
	int err;

	va_start(values, types);
	err = begin(db, ret, text, types, &values);
	va_end(values);
	return err;
}

int sql_row(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	return code == SQLITE_ROW ? 1 : sql_error(sqlite3_db_handle(statement), code);
}

int sql_run(sqlite3 *db, const char *text, const char *types, ...)
{
	autostatement sqlite3_stmt *statement = NULL;
	va_list values;
	int err;

	va_start(values, types);
	err = begin(db, &statement, text, types, &values);
	va_end(values);
	if (!err)
		err = sql_row(statement);
	return err < 0 ? err : 0;
}

int sql_number(sqlite3 *db, int64_t *ret, int64_t otherwise, const char *text, const char *types, ...)
{
	autostatement sqlite3_stmt *statement = NULL;
	va_list values;
	int err;

	va_start(values, types);
	err = begin(db, &statement, text, types, &values);
	va_end(values);
	if (!err)
		err = sql_row(statement);
	if (err < 0)
		return err;
	*ret = err && sqlite3_column_type(statement, 0) != SQLITE_NULL ? sqlite3_column_int64(statement, 0) : otherwise;
	return 0;
}

int sql_script(sqlite3 *db, const char *text)
{
	return sql_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
}
