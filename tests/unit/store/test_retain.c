/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is too old goes, finest first, and what is left still answers in full; bytes stay within their limit while
 * windows come; nothing goes because a clock was set.
 */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "store/parts.h"
#include "store/sql.h"
#include "unit/store/history.h"

#define PER_HOUR 360
#define HOUR (3600 * HISTORY_SEC)
#define NOISE 40

static struct store *open_store(const char *folder, uint64_t keep_ns, uint64_t keep_bytes, uint64_t event_bytes)
{
	const struct store_options options = {
		.folder = folder, .keep_ns = keep_ns, .keep_bytes = keep_bytes, .event_bytes = event_bytes
	};
	struct store *store = NULL;

	assert_non_null(folder);
	assert_int_equal(store_open(&store, &options), 0);
	return store;
}

static uint64_t rows_of(struct store *store, unsigned int first, unsigned int end)
{
	const struct store_range range = { HISTORY_WALL + first * HISTORY_STEP, HISTORY_WALL + end * HISTORY_STEP };
	struct store_answer answer;
	struct profile *profile;

	assert_int_equal(store_query(store, &range, NULL, &profile, &answer), 0);
	profile_free(profile);
	return answer.rows;
}

static void test_age(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, HOUR, 0, 0);
	const unsigned int windows = 6 * PER_HOUR + 1;

	(void)state;
	for (unsigned int n = 0; n < windows; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_int_equal(history_tend(store), 0);
	/* Windows for one hour, minutes for four, hours for sixteen. */
	assert_int_equal(history_ask(store, 0, windows), history_expect(0, windows));
	assert_int_equal(history_ask(store, windows - PER_HOUR, windows), history_expect(windows - PER_HOUR, windows));
	assert_int_equal(rows_of(store, windows - 10, windows - 7), 3);
	assert_int_equal(history_ask(store, 3 * PER_HOUR + 6, 3 * PER_HOUR + 12),
			 history_expect(3 * PER_HOUR + 6, 3 * PER_HOUR + 12));
	assert_int_equal(rows_of(store, 3 * PER_HOUR + 6, 3 * PER_HOUR + 12), 1);
	assert_int_equal(rows_of(store, 3 * PER_HOUR, 3 * PER_HOUR + 2), 0); /* a minute cannot be cut */
	assert_int_equal(rows_of(store, 6, 60), 0);                          /* nor can an hour */
	store_free(store);
	history_remove(folder);
}

/* Beside what history.h has, samples that are hardly like those of another window. */
static void seal_noise(struct store *store, unsigned int n)
{
	struct profile *window = history_window(n, 1);
	uint32_t process = history_process(window, 300, "noise");
	unsigned int seed = n;

	for (unsigned int i = 0; i < NOISE; i++) {
		uint32_t address = 0x1000 + (uint32_t)rand_r(&seed) % 5000;
		uint32_t stack = profile_add_node(window, PROFILE_NONE, history_frame(window, 1, address, "noise"));

		assert_int_not_equal(history_sample(window, process, stack, PROFILE_NONE, 1), PROFILE_FULL);
	}
	assert_int_equal(store_seal(store, window, HISTORY_BOOT, NULL), 0);
	profile_free(window);
}

static uint64_t expect_noise(unsigned int first, unsigned int end)
{
	return history_expect(first, end) + (uint64_t)NOISE * (end - first);
}

static void test_bytes(void **state)
{
	const uint64_t limit = 250 << 10;
	char *folder = history_folder();
	struct store *store = open_store(folder, 0, limit, 0);
	const unsigned int windows = 9 * PER_HOUR;
	uint64_t bytes = 0, most = 0;

	(void)state;
	for (unsigned int n = 0; n < windows; n++) {
		seal_noise(store, n);
		if (n % 60 == 59) {
			assert_int_equal(store_bytes(store, &bytes), 0);
			most = bytes > most ? bytes : most;
			assert_int_equal(history_tend(store), 0);
			assert_int_equal(store_bytes(store, &bytes), 0);
			assert_true(bytes <= limit);
		}
	}
	assert_true(most > limit); /* the limit was met */
	assert_int_equal(history_ask(store, windows - 100, windows), expect_noise(windows - 100, windows));
	assert_int_equal(history_ask(store, 0, 8 * PER_HOUR), expect_noise(0, 8 * PER_HOUR));
	/* What went is the finest of the oldest. */
	assert_int_equal(rows_of(store, 1, 2), 0);
	assert_int_equal(rows_of(store, 8 * PER_HOUR + 1, 8 * PER_HOUR + 2), 1);
	store_free(store);
	history_remove(folder);
}

static void test_clock_is_set(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, HOUR, 0, 0);

	(void)state;
	for (unsigned int n = 0; n < 100; n++) {
		struct profile *window = history_window(n, 1);

		if (n == 50)
			profile_meta(window)->wall_ns += 100000 * HOUR;
		assert_int_equal(store_seal(store, window, HISTORY_BOOT, NULL), 0);
		profile_free(window);
	}
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(rows_of(store, 1, 5), 4);
	assert_int_equal(history_ask(store, 0, 50), history_expect(0, 50));
	store_free(store);
	history_remove(folder);
}

/* Windows of an hour that cannot be read go as others do, and the hour stays. */
static void test_damaged(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, HOUR, 0, 0);

	(void)state;
	for (unsigned int n = 0; n < PER_HOUR + 1; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(sql_script(store->db, "UPDATE hour SET bodies = x'00'"), 0);
	for (unsigned int n = PER_HOUR + 1; n < 3 * PER_HOUR; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(history_ask(store, 0, 3 * PER_HOUR), history_expect(0, 3 * PER_HOUR));
	assert_int_equal(rows_of(store, 0, PER_HOUR), 1);
	assert_int_equal(rows_of(store, 6, 12), 0); /* no minutes */
	store_free(store);
	history_remove(folder);
}

/* One window that cannot be read is lost, and said to be; all others become hours, each with its own events. */
static void test_damaged_window(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, 0, 0, 10 << 20);
	const struct store_range always = { 0, INT64_MAX };
	const unsigned int lost = 49, windows = 2 * PER_HOUR;
	struct store_gap *gaps;
	size_t gaps_len;

	(void)state;
	for (unsigned int n = 0; n < windows; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_int_equal(sql_script(store->db, "UPDATE window SET body = x'00' WHERE sequence = 50"), 0);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(history_ask(store, 0, windows), history_expect(0, windows) - history_total(lost));
	for (unsigned int n = lost - 5; n < lost + 5; n++) {
		const struct store_range half = { HISTORY_WALL + n * HISTORY_STEP,
						  HISTORY_WALL + n * HISTORY_STEP + HISTORY_STEP / 2 };
		struct profile *profile;

		assert_int_equal(history_ask(store, n, n + 1), n == lost ? 0 : history_total(n));
		assert_int_equal(store_query(store, &half, NULL, &profile, NULL), 0);
		assert_int_equal(history_sum(profile), n == lost ? 0 : (HISTORY_BASE + n + 1) / 2);
		profile_free(profile);
	}
	assert_int_equal(store_gaps(store, &always, &gaps, &gaps_len), 0);
	assert_int_equal(gaps_len, 1);
	assert_string_equal(gaps[0].why, "damaged");
	assert_int_equal(gaps[0].range.from, HISTORY_WALL + lost * HISTORY_STEP);
	assert_int_equal(gaps[0].value, history_total(lost));
	free(gaps);
	store_free(store);
	history_remove(folder);
}

/* Rows that say what cannot be are refused, by who asks and by who writes. */
static void test_impossible(void **state)
{
	static const char *const damages[] = { "UPDATE hour SET era = 0", "UPDATE hour SET last = last + 1",
					       "UPDATE hour SET spans = x''",
					       "UPDATE hour SET first = 9223372036854775807" };
	const struct store_range part = { HISTORY_WALL + 5 * HISTORY_STEP, HISTORY_WALL + 9 * HISTORY_STEP };

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char *folder = history_folder();
		struct store *store = open_store(folder, 0, 0, 0);
		struct profile *profile;

		for (unsigned int n = 0; n < PER_HOUR + 1; n++)
			assert_int_equal(history_seal(store, n), 0);
		assert_int_equal(history_tend(store), 0);
		assert_int_equal(sql_script(store->db, damages[i]), 0);
		assert_int_equal(store_query(store, &part, NULL, &profile, NULL), -EBADMSG);
		assert_int_equal(sql_script(store->db, "UPDATE window SET sequence = 9223372036854775807"), 0);
		assert_int_equal(history_seal(store, PER_HOUR + 1), -EBADMSG);
		store_free(store);
		history_remove(folder);
	}
}

/* Of events the newest stay; what a range is cut by them says so. */
static void test_events(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, 0, 0, 1000);
	const struct store_range old = { HISTORY_WALL + HISTORY_SEC, HISTORY_WALL + 8 * HISTORY_SEC };
	struct store_range fresh = { HISTORY_WALL + 99 * HISTORY_STEP, HISTORY_WALL + 99 * HISTORY_STEP + HISTORY_SEC };
	struct store_answer answer;
	struct profile *profile;

	(void)state;
	for (unsigned int n = 0; n < 100; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(store_query(store, &old, NULL, &profile, &answer), 0);
	profile_free(profile);
	assert_int_equal(answer.cut, 0);
	assert_int_equal(answer.rounded, 1);
	assert_int_equal(store_query(store, &fresh, NULL, &profile, &answer), 0);
	profile_free(profile);
	assert_int_equal(answer.cut, 1);
	store_free(store);
	history_remove(folder);
}

/* What nothing refers to goes with the last row that did. */
static void test_dictionaries(void **state)
{
	char *folder = history_folder();
	struct store *store = open_store(folder, HOUR / 60, 0, 0);
	struct store_range extent;
	char boot[16];

	(void)state;
	for (unsigned int n = 0; n < 3 * PER_HOUR; n++) {
		struct profile *window = history_window(n, 1);

		snprintf(boot, sizeof(boot), "boot %u", n / 90);
		assert_int_equal(store_seal(store, window, boot, NULL), 0);
		profile_free(window);
		if (n % 100 == 99)
			assert_int_equal(history_tend(store), 0);
	}
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(store_extent(store, &extent), 0);
	assert_true(extent.from > HISTORY_WALL + HOUR);
	assert_int_equal(history_ask(store, 3 * PER_HOUR - 5, 3 * PER_HOUR),
			 history_expect(3 * PER_HOUR - 5, 3 * PER_HOUR));
	store_free(store);
	history_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_clock_is_set),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_dictionaries),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_damaged_window),
		cmocka_unit_test(test_impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
