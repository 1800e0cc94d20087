/* SPDX-License-Identifier: Apache-2.0 */
/* Windows are added up to hours, and no answer changes by that: not of whole hours, not of their parts. */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unit/store/history.h"

#define PER_MINUTE 6
#define PER_HOUR 360
#define WINDOWS (2 * PER_HOUR + 100)

struct place {
	char *folder;
	struct store *store;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct store_options options = { 0 };

	*state = place;
	if (!place)
		return -1;
	place->folder = history_folder();
	options.folder = place->folder;
	return place->folder && !store_open(&place->store, &options) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	history_remove(place->folder);
	free(place);
	return 0;
}

static struct store_answer answer_of(struct store *store, unsigned int first, unsigned int end)
{
	const struct store_range range = { HISTORY_WALL + first * HISTORY_STEP, HISTORY_WALL + end * HISTORY_STEP };
	struct store_answer answer;
	struct profile *profile;

	assert_int_equal(store_query(store, &range, NULL, &profile, &answer), 0);
	assert_int_equal(history_sum(profile), history_expect(first, end));
	assert_int_equal(profile_counter_value(profile, "total", "counted"), history_expect(first, end));
	assert_int_equal(profile_meta(profile)->duration_ns, (end - first) * HISTORY_STEP);
	assert_int_equal(profile_meta(profile)->cpus, 2);
	profile_free(profile);
	return answer;
}

static void test_same_answers(void **state)
{
	static const unsigned int ranges[][2] = { { 0, WINDOWS },
						  { 0, PER_HOUR },
						  { 1, PER_HOUR },
						  { 5, 6 },
						  { PER_HOUR - 1, PER_HOUR + 1 },
						  { PER_HOUR / 2, 2 * PER_HOUR + 3 },
						  { 2 * PER_HOUR + 7, WINDOWS } };
	struct store *store = ((struct place *)*state)->store;

	for (unsigned int n = 0; n < WINDOWS; n++) {
		assert_int_equal(history_seal(store, n), 0);
		if (n % 50 == 0)
			assert_int_equal(history_tend(store), 0);
	}
	assert_int_equal(history_tend(store), 0);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		answer_of(store, ranges[i][0], ranges[i][1]);
	assert_int_equal(answer_of(store, 0, 2 * PER_HOUR).rows, 2);
	assert_int_equal(answer_of(store, PER_HOUR, PER_HOUR + PER_MINUTE).rows, PER_MINUTE); /* of an hour: windows */
	assert_int_equal(answer_of(store, 2 * PER_HOUR, 2 * PER_HOUR + PER_MINUTE).rows, PER_MINUTE);
	assert_int_equal(answer_of(store, PER_HOUR + 1, PER_HOUR + PER_MINUTE).rows, PER_MINUTE - 1);
	assert_int_equal(answer_of(store, PER_HOUR - 1, 2 * PER_HOUR).rows, 2);
}

/* Back by two minutes in the middle of a minute, then far ahead: each window is still there once. */
static void test_clock_is_set(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range always = { 0, UINT64_MAX };
	struct profile *profile;

	for (unsigned int n = 0; n < 2 * PER_HOUR; n++) {
		struct profile *window = history_window(n, 1);

		if (n >= 100)
			profile_meta(window)->wall_ns -= 12 * HISTORY_STEP;
		if (n >= 200)
			profile_meta(window)->wall_ns += 100000 * HISTORY_STEP;
		assert_int_equal(store_seal(store, window, HISTORY_BOOT, NULL), 0);
		profile_free(window);
	}
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(store_query(store, &always, NULL, &profile, NULL), 0);
	assert_int_equal(history_sum(profile), history_expect(0, 2 * PER_HOUR));
	profile_free(profile);
	/* Windows 88 to 99, and 100 to 111, which claim the same time. */
	assert_int_equal(history_ask(store, 88, 100), history_expect(88, 112));
}

/* A boot ends in the middle of a minute: its windows are not added up with those of the next. */
static void test_boots(void **state)
{
	struct store *store = ((struct place *)*state)->store;

	for (unsigned int n = 0; n < 40; n++) {
		struct profile *window = history_window(n, 1);

		assert_int_equal(store_seal(store, window, n < 21 ? HISTORY_BOOT : "next", NULL), 0);
		profile_free(window);
	}
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(history_ask(store, 0, 40), history_expect(0, 40));
	assert_int_equal(history_ask(store, 18, 24), history_expect(18, 24));
	assert_int_equal(history_ask(store, 20, 22), history_expect(20, 22));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_is_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_boots, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
