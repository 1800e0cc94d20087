/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges give what was sampled in them and nothing else; filters choose; events cut windows to the millisecond. */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unit/store/history.h"

#define WINDOWS 6

struct place {
	char *folder;
	struct store *store;
};

static int set_up_with(void **state, uint64_t event_bytes)
{
	struct place *place = calloc(1, sizeof(*place));
	struct store_options options = { .event_bytes = event_bytes };

	*state = place;
	if (!place)
		return -1;
	place->folder = history_folder();
	options.folder = place->folder;
	if (!place->folder || store_open(&place->store, &options))
		return -1;
	for (unsigned int n = 0; n < WINDOWS; n++)
		if (history_seal(place->store, n))
			return -1;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, 0);
}

static int set_up_events(void **state)
{
	return set_up_with(state, 1 << 20);
}

static int tear_down(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	history_remove(place->folder);
	free(place);
	return 0;
}

static uint64_t filtered(struct store *store, struct filter *filter)
{
	const struct store_range range = { 0, UINT64_MAX };
	struct profile *profile;
	uint64_t sum;

	assert_int_equal(store_query(store, &range, filter, &profile, NULL), 0);
	sum = history_sum(profile);
	profile_free(profile);
	filter_free(filter);
	return sum;
}

static uint64_t of_one(struct store *store, enum filter_key key, const char *text)
{
	return filtered(store, history_filter(key, text, key, NULL));
}

static void test_filters(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	uint64_t all = history_expect(0, WINDOWS);

	assert_int_equal(filtered(store, NULL), all);
	assert_int_equal(of_one(store, FILTER_PROCESS, "alpha"), all - 7 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_PROCESS, "200"), 7 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_LABEL, "box"), 7 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_LABEL, "bo"), 0);
	assert_int_equal(of_one(store, FILTER_LABEL, "[no container]"), all - 7 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_FOCUS, "idle"), 3 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_FOCUS, "work"), all - 3 * WINDOWS);
	assert_int_equal(of_one(store, FILTER_FOCUS, "wor"), 0);
	assert_int_equal(of_one(store, FILTER_MODULE, "prog"), all);
	assert_int_equal(of_one(store, FILTER_MODULE, "other"), 0);
	assert_int_equal(of_one(store, FILTER_KIND, "native"), all);
	assert_int_equal(filtered(store, history_filter(FILTER_FOCUS, "work", FILTER_PROCESS, "beta")), 7 * WINDOWS);
	assert_int_equal(filtered(store, history_filter(FILTER_FOCUS, "work", FILTER_FOCUS, "deep")), 7 * WINDOWS);
	assert_int_equal(filtered(store, history_filter(FILTER_PROCESS, "alpha", FILTER_PROCESS, "200")), all);
}

/* An answer has what it shows and no more: no names of processes that are not in it. */
static void test_nothing_else(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range range = { HISTORY_WALL, HISTORY_WALL + HISTORY_STEP };
	struct filter *idle = history_function("idle");
	struct profile *profile;

	assert_int_equal(store_query(store, &range, idle, &profile, NULL), 0);
	filter_free(idle);
	assert_int_equal(profile_count(profile, PROFILE_PROCESSES), 2);
	assert_int_equal(profile_count(profile, PROFILE_NODES), 3);
	assert_int_equal(profile_count(profile, PROFILE_FRAMES), 3);
	assert_string_equal(profile_text(profile, profile_process(profile, 1)->comm, NULL), "alpha");
	profile_free(profile);
}

static void test_whole_windows(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range range = { HISTORY_WALL + 6 * HISTORY_SEC, HISTORY_WALL + 36 * HISTORY_SEC };
	struct store_answer answer;
	struct profile *profile;

	/* The middle of window 0 (5 s) is out, that of window 3 (35 s) is in. */
	assert_int_equal(store_query(store, &range, NULL, &profile, &answer), 0);
	assert_int_equal(history_sum(profile), history_expect(1, 4));
	assert_int_equal(answer.rows, 3);
	assert_int_equal(answer.rounded, 1);
	assert_int_equal(answer.cut, 0);
	assert_int_equal(answer.covered.from, HISTORY_WALL + HISTORY_STEP);
	assert_int_equal(answer.covered.to, HISTORY_WALL + 4 * HISTORY_STEP);
	assert_int_equal(profile_meta(profile)->duration_ns, 3 * HISTORY_STEP);
	assert_int_equal(profile_counter_value(profile, "lost", "ring"), 6);
	profile_free(profile);
}

/* Window 0 has an event of alpha;main;work every second, from 0 on. */
static void test_milliseconds(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range range = { HISTORY_WALL + 1999000000, HISTORY_WALL + 4001000000 };
	const struct store_range between = { HISTORY_WALL + 2000000001, HISTORY_WALL + 2999999999 };
	struct store_answer answer;
	struct profile *profile;

	assert_int_equal(store_query(store, &range, NULL, &profile, &answer), 0);
	assert_int_equal(history_sum(profile), 3);
	assert_int_equal(answer.cut, 1);
	assert_int_equal(answer.covered.from, range.from);
	assert_int_equal(answer.covered.to, range.to);
	assert_int_equal(profile_meta(profile)->duration_ns, range.to - range.from);
	profile_free(profile);
	assert_int_equal(store_query(store, &between, NULL, &profile, &answer), 0);
	assert_int_equal(history_sum(profile), 0);
	profile_free(profile);
}

static void test_extent(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_range extent;
	uint64_t bytes = 0;

	assert_int_equal(store_extent(store, &extent), 0);
	assert_int_equal(extent.from, HISTORY_WALL);
	assert_int_equal(extent.to, HISTORY_WALL + WINDOWS * HISTORY_STEP);
	assert_int_equal(store_bytes(store, &bytes), 0);
	assert_true(bytes > 0 && bytes < 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whole_windows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_milliseconds, set_up_events, tear_down),
		cmocka_unit_test_setup_teardown(test_extent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
