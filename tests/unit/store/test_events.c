/* SPDX-License-Identifier: Apache-2.0 */
/* A heat map has each event in its second and its part of it; what is chosen there is the profile of just that time. */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "unit/store/history.h"

#define ROWS 50

struct place {
	char *folder;
	struct store *store;
};

/* Works for the first 40 ms of every 200 ms, in `hot`; samples every ms. */
static struct profile *rhythm(void)
{
	struct profile *profile = history_window(1, 1);
	uint32_t process = history_process(profile, 300, "gamma");
	uint32_t node = profile_add_node(profile, PROFILE_NONE, history_frame(profile, 1, 0x99, "hot"));
	uint32_t sample = history_sample(profile, process, node, PROFILE_NONE, 2000);

	for (unsigned int ms = 0; ms < 10000; ms++) {
		const struct profile_event event = { .time_us = ms * 1000, .sample = sample };

		if (ms % 200 < 40)
			profile_add_event(profile, &event);
	}
	return profile;
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct store_options options = { .event_bytes = 1 << 20 };
	struct profile *profile = rhythm();
	int err;

	*state = place;
	if (!place)
		return -1;
	place->folder = history_folder();
	options.folder = place->folder;
	err = !place->folder || store_open(&place->store, &options) || history_seal(place->store, 0) ||
	      store_seal(place->store, profile, HISTORY_BOOT, NULL);
	profile_free(profile);
	return err;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	history_remove(place->folder);
	free(place);
	return 0;
}

static void test_rhythm(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range range = { HISTORY_WALL + HISTORY_STEP, HISTORY_WALL + 2 * HISTORY_STEP };
	struct filter *const filters[] = { history_function("hot"),
					   history_filter(FILTER_PROCESS, "gamma", FILTER_PROCESS, NULL) };

	for (int f = 0; f < 2; f++) {
		struct store_heat heat;

		assert_int_equal(store_heat(store, &range, ROWS, filters[f], &heat), 0);
		assert_int_equal(heat.columns, 10);
		assert_int_equal(heat.rows, ROWS);
		assert_int_equal(heat.from, range.from);
		for (size_t i = 0; i < heat.columns * ROWS; i++) /* rows of 20 ms: two busy, eight idle */
			assert_int_equal(heat.counts[i], i % 10 < 2 ? 20 : 0);
		store_heat_free(&heat);
		filter_free(filters[f]);
	}
}

static void test_whole_machine(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	/* From the middle of window 0, whose events are at whole seconds, to 400 ms into window 1. */
	const struct store_range range = { HISTORY_WALL + 4500000000, HISTORY_WALL + HISTORY_STEP + 400000000 };
	struct store_heat heat;
	uint64_t sum = 0;

	assert_int_equal(store_heat(store, &range, 10, NULL, &heat), 0);
	assert_int_equal(heat.columns, 7);
	assert_int_equal(heat.from, HISTORY_WALL + 4 * HISTORY_SEC);
	for (size_t i = 0; i < heat.columns * heat.rows; i++)
		sum += heat.counts[i];
	assert_int_equal(heat.counts[0], 0); /* before the range */
	assert_int_equal(heat.counts[10], 1);
	assert_int_equal(heat.counts[6 * 10], 40 + 1);
	assert_int_equal(sum, 5 + 80 + 1);
	store_heat_free(&heat);
}

/* Buckets shorter than a window: each event is in its own; whether it is asked for by process or by function. */
static void test_curve(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct filter *const filters[] = { history_function("hot"),
					   history_filter(FILTER_PROCESS, "gamma", FILTER_PROCESS, NULL) };

	for (int f = 0; f < 2; f++) {
		const struct store_series_request request = {
			.range = { HISTORY_WALL + HISTORY_STEP, HISTORY_WALL + 2 * HISTORY_STEP },
			.buckets = 500,
			.filter = filters[f],
		};
		struct store_series series;

		assert_int_equal(store_series(store, &request, &series), 0);
		assert_int_equal(series.len, 1);
		assert_int_equal(series.curves[0].sum, 2000);
		for (size_t i = 0; i < 500; i++)
			assert_int_equal(series.curves[0].values[i], i % 10 < 2 ? 20 : 0);
		store_series_free(&series);
		filter_free(filters[f]);
	}
}

static void test_chosen_milliseconds(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range busy = { HISTORY_WALL + HISTORY_STEP + 2400000000,
					  HISTORY_WALL + HISTORY_STEP + 2440000000 };
	const struct store_range quiet = { HISTORY_WALL + HISTORY_STEP + 2440000000,
					   HISTORY_WALL + HISTORY_STEP + 2600000000 };
	struct profile *profile;

	assert_int_equal(store_query(store, &busy, NULL, &profile, NULL), 0);
	assert_int_equal(history_sum(profile), 40);
	assert_int_equal(profile_count(profile, PROFILE_FRAMES), 2);
	assert_string_equal(profile_text(profile, profile_frame(profile, 1)->name, NULL), "hot");
	profile_free(profile);
	assert_int_equal(store_query(store, &quiet, NULL, &profile, NULL), 0);
	assert_int_equal(history_sum(profile), 0);
	profile_free(profile);
}

static void test_refused(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	const struct store_range empty = { 5, 5 }, day = { 0, 86400 * HISTORY_SEC }, second = { 0, HISTORY_SEC };
	struct store_heat heat;

	assert_int_equal(store_heat(store, &empty, ROWS, NULL, &heat), -EINVAL);
	assert_int_equal(store_heat(store, &day, ROWS, NULL, &heat), -EINVAL);
	assert_int_equal(store_heat(store, &second, 0, NULL, &heat), -EINVAL);
	assert_int_equal(store_heat(store, &second, STORE_HEAT_ROWS_MAX + 1, NULL, &heat), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rhythm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whole_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_curve, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_chosen_milliseconds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
