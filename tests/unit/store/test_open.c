/* SPDX-License-Identifier: Apache-2.0 */
/* A store is made private and opened again; what is newer, somebody else's or in use is refused, in words, unharmed. */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "unit/store/history.h"

static int set_up(void **state)
{
	*state = history_folder();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	history_remove(*state);
	return 0;
}

static int open_as(const char *folder, bool read_only, struct store **ret)
{
	const struct store_options options = { .folder = folder, .read_only = read_only };

	*ret = NULL;
	return store_open(ret, &options);
}

static void refused(const char *folder, bool read_only, int err, const char *words)
{
	struct store *store;

	assert_int_equal(open_as(folder, read_only, &store), err);
	assert_null(store);
	if (!strstr(fail_text(), words))
		fail_msg("'%s' does not say '%s'", fail_text(), words);
}

static void run_sql(const char *folder, const char *sql)
{
	char path[256];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/wick.db", folder);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_private(void **state)
{
	char inside[256], path[300];
	struct store *store;
	struct stat info;

	snprintf(inside, sizeof(inside), "%s/data", (char *)*state);
	assert_int_equal(open_as(inside, false, &store), 0);
	assert_int_equal(stat(inside, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	snprintf(path, sizeof(path), "%s/wick.db", inside);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0077, 0);
	store_free(store);
	history_remove(strdup(inside));
}

static void test_open_to_others(void **state)
{
	struct stat info;

	assert_int_equal(chmod(*state, 0755), 0);
	refused(*state, false, -EPERM, "chmod 700");
	assert_int_equal(stat(*state, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0755);
}

static void test_not_there(void **state)
{
	char path[300];

	refused(*state, true, -ENOENT, "there is none");
	snprintf(path, sizeof(path), "%s/wick.db", (char *)*state);
	assert_int_not_equal(access(path, F_OK), 0);
	refused("/nonexistent/folder", false, -ENOENT, "/nonexistent/folder");
}

static void test_one_writes(void **state)
{
	struct store *writer, *reader;

	assert_int_equal(open_as(*state, false, &writer), 0);
	refused(*state, false, -EBUSY, "another process writes");
	assert_int_equal(open_as(*state, true, &reader), 0);
	assert_int_equal(history_seal(writer, 0), 0);
	assert_int_equal(history_ask(reader, 0, 1), history_total(0));
	assert_int_not_equal(history_seal(reader, 1), 0);
	store_free(reader);
	store_free(writer);
	assert_int_equal(open_as(*state, false, &writer), 0);
	store_free(writer);
}

static void test_versions(void **state)
{
	struct store *store;

	assert_int_equal(open_as(*state, false, &store), 0);
	assert_int_equal(history_seal(store, 0), 0);
	store_free(store);
	run_sql(*state, "PRAGMA user_version = 99");
	refused(*state, false, -EPROTONOSUPPORT, "it has version 99, this wick knows 2: use a newer wick");
	refused(*state, true, -EPROTONOSUPPORT, "version 99");
	run_sql(*state, "PRAGMA user_version = 1");
	refused(*state, false, -EPROTONOSUPPORT, "it has version 1, from before the first release: use another folder");
	refused(*state, true, -EPROTONOSUPPORT, "version 1");
	run_sql(*state, "PRAGMA user_version = 2");
	assert_int_equal(open_as(*state, false, &store), 0);
	assert_int_equal(history_ask(store, 0, 1), history_total(0));
	store_free(store);
}

static void test_somebody_elses(void **state)
{
	char path[300];
	FILE *file;

	run_sql(*state, "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
	refused(*state, false, -EBADMSG, "not a store of wick");
	run_sql(*state, "INSERT INTO precious SELECT x FROM precious");
	snprintf(path, sizeof(path), "%s/wick.db", (char *)*state);
	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("This is not a database. ", file);
	fclose(file);
	refused(*state, false, -EBADMSG, "not a database");
	refused(*state, true, -EBADMSG, "not a database");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_private, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open_to_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_writes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_somebody_elses, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
