/* SPDX-License-Identifier: Apache-2.0 */
/* Curves have in each bucket what was sampled in it, and add up to what a query of the same range says. */
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

#define PER_HOUR 360
#define WINDOWS (PER_HOUR + 60)

struct place {
	char *folder;
	struct store *store;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct store_options options = { 0 };
	int done = 1;

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
	for (int i = 0; i < 1000 && done > 0; i++)
		done = store_tend(place->store);
	return done;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	history_remove(place->folder);
	free(place);
	return 0;
}

static struct store_series_request request_of(unsigned int first, unsigned int end, size_t buckets)
{
	return (struct store_series_request){
		.range = { HISTORY_WALL + first * HISTORY_STEP, HISTORY_WALL + end * HISTORY_STEP },
		.buckets = buckets,
	};
}

static uint64_t sum_of(const struct store_curve *curve, size_t buckets)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < buckets; i++)
		sum += curve->values[i];
	assert_int_equal(sum, curve->sum);
	return sum;
}

static void test_each_window(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_series_request request = request_of(5, 65, 60);
	struct store_series series;

	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 1);
	assert_null(series.curves[0].name);
	for (unsigned int n = 5; n < 65; n++)
		assert_int_equal(series.curves[0].values[n - 5], history_total(n));
	store_series_free(&series);
}

/* Buckets of a minute and of an hour are read from what was added up, and give the same. */
static void test_coarser(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_series_request request = request_of(0, WINDOWS, WINDOWS / 6);
	struct store_series series;

	assert_int_equal(store_series(store, &request, &series), 0);
	for (unsigned int i = 0; i < WINDOWS / 6; i++)
		assert_int_equal(series.curves[0].values[i], history_expect(6 * i, 6 * i + 6));
	store_series_free(&series);
	request = request_of(0, 2 * PER_HOUR, 2);
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.curves[0].values[0], history_expect(0, PER_HOUR));
	assert_int_equal(series.curves[0].values[1], history_expect(PER_HOUR, WINDOWS));
	store_series_free(&series);
}

/* Buckets that cut windows: nothing is lost, nothing is counted twice. */
static void test_odd_buckets(void **state)
{
	struct store *store = ((struct place *)*state)->store;

	for (size_t buckets = 1; buckets < 500; buckets += 83) {
		struct store_series_request request = request_of(0, WINDOWS, buckets);
		struct store_series series;

		assert_int_equal(store_series(store, &request, &series), 0);
		assert_int_equal(sum_of(&series.curves[0], buckets), history_expect(0, WINDOWS));
		store_series_free(&series);
	}
}

static void test_by_process(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_series_request request = request_of(0, 60, 10);
	struct store_series series;

	request.by = STORE_BY_PROCESS;
	request.curves = 5;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 2);
	assert_string_equal(series.curves[0].name, "alpha");
	assert_string_equal(series.curves[1].name, "beta");
	assert_int_equal(sum_of(&series.curves[0], 10), history_expect(0, 60) - 60 * 7);
	assert_int_equal(sum_of(&series.curves[1], 10), 60 * 7);
	assert_int_equal(series.curves[1].values[4], 6 * 7);
	store_series_free(&series);
	request.curves = 1;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 2);
	assert_string_equal(series.curves[0].name, "alpha");
	assert_null(series.curves[1].name);
	assert_int_equal(sum_of(&series.curves[1], 10), 60 * 7);
	store_series_free(&series);
}

static void test_by_label(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_series_request request = request_of(0, 60, 10);
	struct store_series series;

	request.by = STORE_BY_LABEL;
	request.label_key = "container";
	request.curves = 5;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 2);
	assert_string_equal(series.curves[0].name, ""); /* alpha has none */
	assert_int_equal(sum_of(&series.curves[0], 10), history_expect(0, 60) - 60 * 7);
	assert_string_equal(series.curves[1].name, "box");
	assert_int_equal(sum_of(&series.curves[1], 10), 60 * 7);
	store_series_free(&series);
	request.curves = 1;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 2);
	assert_string_equal(series.curves[0].name, "");
	assert_null(series.curves[1].name);
	assert_int_equal(sum_of(&series.curves[1], 10), 60 * 7);
	store_series_free(&series);
}

static void test_of_function(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct filter *idle = history_function("idle");
	struct filter *deep = history_filter(FILTER_FOCUS, "deep", FILTER_PROCESS, "alpha");
	struct filter *box = history_filter(FILTER_LABEL, "box", FILTER_MODULE, "prog");
	struct store_series_request request = request_of(0, WINDOWS, 70);
	struct store_series series;

	request.filter = idle;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 1);
	for (int i = 0; i < 70; i++)
		assert_int_equal(series.curves[0].values[i], 6 * 3);
	store_series_free(&series);
	request.filter = deep;
	assert_int_equal(store_series(store, &request, &series), 0);
	assert_int_equal(series.len, 0);
	store_series_free(&series);
	request.filter = box;
	assert_int_equal(store_series(store, &request, &series), 0);
	for (int i = 0; i < 70; i++)
		assert_int_equal(series.curves[0].values[i], 6 * 7);
	store_series_free(&series);
	filter_free(idle);
	filter_free(deep);
	filter_free(box);
}

static void test_refused(void **state)
{
	struct store *store = ((struct place *)*state)->store;
	struct store_series_request request = request_of(5, 5, 1);
	struct store_series series;

	assert_int_equal(store_series(store, &request, &series), -EINVAL);
	request = request_of(0, 5, 0);
	assert_int_equal(store_series(store, &request, &series), -EINVAL);
	request = request_of(0, 5, STORE_BUCKETS_MAX + 1);
	assert_int_equal(store_series(store, &request, &series), -EINVAL);
	request = request_of(0, 5, 5);
	request.by = STORE_BY_LABEL;
	assert_int_equal(store_series(store, &request, &series), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_coarser, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_odd_buckets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_by_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_by_label, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_of_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
