/* SPDX-License-Identifier: Apache-2.0 */
/* Curves and heat maps: each count in its cell, and sums that stay whatever is bounded. */
#include "http/curves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/query.h"

#define START (1000 * NS_PER_SEC)

static void test_cells(void **state)
{
	struct curves *curves = NULL;
	autobuf struct buf out = { 0 };

	(void)state;
	assert_int_equal(curves_new(&curves, START, START + 4 * NS_PER_SEC, 4), 0);
	curves_add(curves, "b", 1, START, 1);
	curves_add(curves, "a", 1, START + NS_PER_SEC - 1, 2);
	curves_add(curves, "a", 1, START + 4 * NS_PER_SEC - 1, 3);
	curves_add(curves, "a", 1, START + 4 * NS_PER_SEC, 100); /* outside */
	curves_add(curves, "a", 1, START - 1, 100);
	assert_int_equal(curves_write(curves, &out), 0);
	assert_string_equal(out.data, "{\"from_ms\":1000000,\"to_ms\":1004000,\"cells\":4,\"curves\":["
				      "{\"name\":\"a\",\"total\":5,\"values\":[2,0,0,3]},"
				      "{\"name\":\"b\",\"total\":1,\"values\":[1,0,0,0]}]}\n");
	curves_free(curves);
	curves_free(NULL);
}

/* Adds up the numbers behind each "total". */
static uint64_t sum_totals(const struct buf *out, unsigned *ret_curves)
{
	uint64_t sum = 0;

	*ret_curves = 0;
	for (const char *at = out->data; (at = strstr(at, "\"total\":")); at += 8, ++*ret_curves)
		sum += strtoull(at + 8, NULL, 10);
	return sum;
}

static void test_many_names(void **state)
{
	struct curves *curves = NULL;
	autobuf struct buf out = { 0 }, again = { 0 };
	unsigned count;
	char name[16];

	(void)state;
	assert_int_equal(curves_new(&curves, START, START + 10, 2), 0);
	for (int i = 0; i < 2 * CURVES_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		assert_int_equal(curves_add(curves, name, strlen(name), START + 9, (uint64_t)i), 0);
	}
	assert_int_equal(curves_write(curves, &out), 0);
	assert_int_equal(sum_totals(&out, &count), CURVES_NAMES_MAX * (2 * CURVES_NAMES_MAX - 1));
	assert_int_equal(count, CURVES_SHOWN + 1);
	assert_non_null(strstr(out.data, "{\"name\":\"p254\",\"total\":254,\"values\":[0,254]}"));
	assert_non_null(strstr(out.data, "[other]"));
	curves_write(curves, &again); /* says the same twice */
	assert_int_equal(sum_totals(&again, &count), CURVES_NAMES_MAX * (2 * CURVES_NAMES_MAX - 1));
	curves_free(curves);
}

static void test_heat(void **state)
{
	struct heat *heat = NULL;
	autobuf struct buf out = { 0 };
	const char *counts;

	(void)state;
	assert_int_equal(heat_new(&heat, START + 500 * NS_PER_MS, START + 1500 * NS_PER_MS), 0);
	heat_add(heat, START + 19 * NS_PER_MS, 1);
	heat_add(heat, START + 20 * NS_PER_MS, 2);
	heat_add(heat, START + 1999 * NS_PER_MS, 7);
	heat_add(heat, START + 2 * NS_PER_SEC, 100); /* outside */
	heat_add(heat, START - 1, 100);
	assert_int_equal(heat_write(heat, &out), 0);
	counts = strstr(out.data, "\"counts\":[");
	assert_non_null(strstr(out.data, "{\"from_ms\":1000000,\"columns\":2,\"rows\":50,\"most\":7,"));
	assert_non_null(strstr(counts, "[1,2,0,"));
	assert_non_null(strstr(counts, ",0,7]"));
	heat_free(heat);
}

static void test_bounds(void **state)
{
	struct curves *curves = NULL;
	struct heat *heat = NULL;
	autobuf struct buf out = { 0 };

	(void)state;
	assert_int_equal(curves_new(&curves, 5, 5, 1), -EINVAL);
	assert_int_equal(heat_new(&heat, 5, 5), -EINVAL);
	assert_int_equal(heat_new(&heat, 0, START * 1000), 0);
	assert_int_equal(heat_write(heat, &out), 0);
	assert_non_null(strstr(out.data, "\"columns\":5000,")); /* the last ones */
	assert_non_null(strstr(out.data, "{\"from_ms\":995000000,"));
	assert_int_equal(QUERY_CELLS_MAX, 5000);
	heat_free(heat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
