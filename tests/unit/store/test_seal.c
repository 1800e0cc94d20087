/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sealed is there, as it was, after the store is opened again; names that come later are those of earlier
 * windows too; clocks that are set lose nothing and double nothing; and a disk that is full is survived.
 */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"
#include "unit/store/history.h"

static const struct store_range always = { 0, UINT64_MAX };

struct place {
	char *folder;
	struct store *store;
};

static struct store *open_store(const char *folder, uint64_t event_bytes)
{
	const struct store_options options = { .folder = folder, .event_bytes = event_bytes };
	struct store *store = NULL;

	assert_int_equal(store_open(&store, &options), 0);
	return store;
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	*state = place;
	if (!place)
		return -1;
	place->folder = history_folder();
	place->store = place->folder ? open_store(place->folder, 0) : NULL;
	return place->store ? 0 : -1;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	history_remove(place->folder);
	free(place);
	return 0;
}

static void reopen(struct place *place)
{
	store_free(place->store);
	place->store = open_store(place->folder, 0);
}

static struct profile *ask(struct store *store, const struct store_range *range)
{
	struct profile *profile = NULL;

	assert_int_equal(store_query(store, range, NULL, &profile, NULL), 0);
	return profile;
}

static void same_folded(const struct profile *a, const struct profile *b)
{
	autobuf struct buf left = { 0 }, right = { 0 };

	assert_int_equal(out_folded(a, &left), 0);
	assert_int_equal(out_folded(b, &right), 0);
	assert_true(left.len > 0);
	assert_string_equal(left.data, right.data);
}

static void test_round_trip(void **state)
{
	struct place *place = *state;
	struct profile *example, *back;
	uint64_t sequence = 0;

	assert_int_equal(profile_new(&example), 0);
	example_fill(example);
	assert_int_equal(store_seal(place->store, example, HISTORY_BOOT, &sequence), 0);
	assert_int_equal(sequence, 1);
	reopen(place);
	back = ask(place->store, &always);
	same_folded(example, back);
	assert_int_equal(profile_meta(back)->hz, profile_meta(example)->hz);
	assert_int_equal(profile_meta(back)->wall_ns, profile_meta(example)->wall_ns);
	assert_int_equal(profile_meta(back)->kernel_base, profile_meta(example)->kernel_base);
	assert_int_equal(profile_meta(back)->duration_ns, profile_meta(example)->duration_ns);
	assert_int_equal(profile_meta(back)->idle_us, profile_meta(example)->idle_us);
	assert_string_equal(profile_text(back, profile_meta(back)->command, NULL),
			    profile_text(example, profile_meta(example)->command, NULL));
	for (uint32_t i = 1; i < profile_count(example, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(example, i);

		assert_int_equal(profile_counter_value(back, profile_text(example, counter->group, NULL),
						       profile_text(example, counter->name, NULL)),
				 counter->value);
	}
	profile_free(example);
	profile_free(back);
}

static void test_totals_stay(void **state)
{
	struct place *place = *state;

	for (unsigned int n = 0; n < 20; n++)
		assert_int_equal(history_seal(place->store, n), 0);
	assert_int_equal(history_ask(place->store, 0, 20), history_expect(0, 20));
	reopen(place);
	for (unsigned int n = 20; n < 25; n++)
		assert_int_equal(history_seal(place->store, n), 0);
	reopen(place);
	assert_int_equal(history_ask(place->store, 0, 25), history_expect(0, 25));
	assert_int_equal(history_ask(place->store, 3, 7), history_expect(3, 7));
	assert_int_equal(history_ask(place->store, 24, 30), history_expect(24, 25));
	assert_int_equal(history_ask(place->store, 25, 30), 0);
}

static int64_t count_rows(const char *folder, const char *sql)
{
	char path[256];
	sqlite3 *db;
	sqlite3_stmt *statement;
	int64_t count;

	snprintf(path, sizeof(path), "%s/wick.db", folder);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	count = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return count;
}

/* A stack and a string are there once, however many windows have them. */
static void test_stored_once(void **state)
{
	struct place *place = *state;
	int64_t after_one;

	assert_int_equal(history_seal(place->store, 0), 0);
	after_one = count_rows(place->folder, "SELECT sum(length(data)) FROM dictionary");
	assert_true(after_one > 0);
	for (unsigned int n = 1; n < 50; n++)
		assert_int_equal(history_seal(place->store, n), 0);
	assert_int_equal(count_rows(place->folder, "SELECT sum(length(data)) FROM dictionary"), after_one);
	assert_int_equal(count_rows(place->folder, "SELECT count(*) FROM era"), 1);
}

static bool has_function(const struct profile *profile, const char *name)
{
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_FRAMES); i++)
		if (!strcmp(profile_text(profile, profile_frame(profile, i)->name, NULL), name))
			return true;
	return false;
}

static void test_late_names(void **state)
{
	struct place *place = *state;
	const struct store_range first = { HISTORY_WALL, HISTORY_WALL + HISTORY_STEP };
	struct profile *bare = history_window(0, 0), *named = history_window(1, 1), *back;

	assert_int_equal(store_seal(place->store, bare, HISTORY_BOOT, NULL), 0);
	back = ask(place->store, &first);
	assert_false(has_function(back, "work"));
	profile_free(back);
	assert_int_equal(store_improve(place->store, named), 0);
	reopen(place);
	back = ask(place->store, &first);
	assert_true(has_function(back, "work"));
	assert_int_equal(history_sum(back), history_total(0));
	profile_free(back);
	profile_free(bare);
	profile_free(named);
}

/* Who has read a dictionary before sees names that came since. */
static void test_reader_sees_late_names(void **state)
{
	struct place *place = *state;
	const struct store_options reading = { .folder = place->folder, .read_only = true };
	const struct store_range first = { HISTORY_WALL, HISTORY_WALL + HISTORY_STEP };
	struct profile *bare = history_window(0, 0), *back;
	struct store *reader;

	assert_int_equal(store_seal(place->store, bare, HISTORY_BOOT, NULL), 0);
	assert_int_equal(store_open(&reader, &reading), 0);
	back = ask(reader, &first);
	assert_false(has_function(back, "deep"));
	profile_free(back);
	assert_int_equal(history_seal(place->store, 1), 0);
	back = ask(reader, &first);
	assert_true(has_function(back, "deep"));
	assert_int_equal(history_sum(back), history_total(0));
	profile_free(back);
	assert_int_equal(history_ask(reader, 0, 2), history_expect(0, 2));
	profile_free(bare);
	store_free(reader);
}

static void seal_at(struct store *store, unsigned int n, int64_t clock_set_by, const char *boot)
{
	struct profile *profile = history_window(n, 1);

	profile_meta(profile)->wall_ns += (uint64_t)clock_set_by;
	assert_int_equal(store_seal(store, profile, boot, NULL), 0);
	profile_free(profile);
}

static uint64_t sum_always(struct store *store)
{
	struct profile *profile = ask(store, &always);
	uint64_t sum = history_sum(profile);

	profile_free(profile);
	return sum;
}

static void test_clock_is_set(void **state)
{
	struct place *place = *state;
	const int64_t hour = 3600 * (int64_t)HISTORY_SEC;
	const struct store_range behind = { HISTORY_WALL - (uint64_t)hour, HISTORY_WALL };

	for (unsigned int n = 0; n < 10; n++)
		seal_at(place->store, n, n < 5 ? 0 : -hour, HISTORY_BOOT);
	for (unsigned int n = 10; n < 15; n++)
		seal_at(place->store, n, 1000 * hour, HISTORY_BOOT);
	assert_int_equal(sum_always(place->store), history_expect(0, 15));
	assert_int_equal(history_ask(place->store, 0, 5), history_expect(0, 5));
	for (int again = 0; again < 2; again++) {
		struct profile *back = ask(place->store, &behind);

		assert_int_equal(history_sum(back), history_expect(5, 10));
		profile_free(back);
		reopen(place);
	}
}

/* The same window twice is refused, whatever the wall clock says; another boot's clock begins anew. */
static void test_no_window_twice(void **state)
{
	struct place *place = *state;
	struct profile *again;

	assert_int_equal(history_seal(place->store, 3), 0);
	again = history_window(3, 1);
	profile_meta(again)->wall_ns += HISTORY_STEP;
	assert_int_equal(store_seal(place->store, again, HISTORY_BOOT, NULL), -EEXIST);
	profile_free(again);
	assert_int_equal(sum_always(place->store), history_total(3));
	seal_at(place->store, 0, (int64_t)HISTORY_STEP * 100, "another boot");
	assert_int_equal(sum_always(place->store), history_total(3) + history_total(0));
	assert_int_equal(count_rows(place->folder, "SELECT count(*) FROM era"), 2);
}

/* A limit on the size of files is a disk that is full, as far as writing goes. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_disk_full(void **state)
{
	struct place *place = *state;
	unsigned int n = 0;
	uint64_t before;
	struct store_gap *gaps;
	size_t gaps_len;
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	for (; n < 3; n++)
		assert_int_equal(history_seal(place->store, n), 0);
	limit_files(4096); /* less than a page */
	for (; n < 5; n++) {
		err = history_seal(place->store, n);
		assert_int_equal(err, -ENOSPC);
	}
	before = history_ask(place->store, 0, 5);
	limit_files(RLIM_INFINITY);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(before, history_expect(0, 3));
	for (; n < 8; n++)
		assert_int_equal(history_seal(place->store, n), 0);
	assert_int_equal(history_ask(place->store, 0, 8), history_expect(0, 3) + history_expect(5, 8));
	assert_int_equal(count_rows(place->folder, "SELECT count(*) FROM gaps WHERE why = 'disk full' AND windows = 2"),
			 1);
	assert_int_equal(store_gaps(place->store, &always, &gaps, &gaps_len), 0);
	assert_int_equal(gaps_len, 1);
	assert_int_equal(gaps[0].range.from, HISTORY_WALL + 3 * HISTORY_STEP);
	assert_int_equal(gaps[0].range.to, HISTORY_WALL + 5 * HISTORY_STEP);
	assert_int_equal(gaps[0].value, history_expect(3, 5));
	assert_string_equal(gaps[0].why, "disk full");
	free(gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_totals_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stored_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reader_sees_late_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_is_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_window_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
