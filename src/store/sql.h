/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite with this program's errors: 0 or -errno and fail() in place of its codes. Values are given as a word of
 * types and then themselves: i int64_t, t const char *, b const void * and size_t.
 */
#ifndef WICK_STORE_SQL_H
#define WICK_STORE_SQL_H

#include <stdint.h>
#include <sqlite3.h>

/* Out of the result code of a call on db: -ENOSPC for any way in which a disk is full, -EIO, -EBUSY, -EBADMSG, … */
int sql_error(sqlite3 *db, int code);

/* Prepares one statement and binds its values. */
int sql_begin(sqlite3 *db, sqlite3_stmt **ret, const char *text, const char *types, ...);
/* 1: there is a row; 0: there is no more. */
int sql_row(sqlite3_stmt *statement);
/* One that gives no rows. */
int sql_run(sqlite3 *db, const char *text, const char *types, ...);
/* The one number that it gives; `otherwise` if it gives no row, or NULL. */
int sql_number(sqlite3 *db, int64_t *ret, int64_t otherwise, const char *text, const char *types, ...);
/* Several statements without values. */
int sql_script(sqlite3 *db, const char *text);

static inline void cleanup_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

#define autostatement __attribute__((cleanup(cleanup_statement)))

#endif
