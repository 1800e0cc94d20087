/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus's text: exact lines, names of any kind, and never more series than the bound. */
#include "http/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static void test_lines(void **state)
{
	autobuf struct buf out = { 0 };
	struct metrics metrics = { .out = &out };

	(void)state;
	metrics_one(&metrics, "wick_up", "gauge", "Is there.", 1);
	metrics_family(&metrics, "wick_cpu_seconds_total", "counter", "CPU time.");
	metrics_add(&metrics, "comm", "cc1plus", 7, 0.1);
	metrics_add(&metrics, "comm", "x", 1, 9007199254740991.0 / 16);
	metrics_add(&metrics, "comm", "y", 1, INFINITY);
	metrics_end(&metrics);
	assert_string_equal(out.data, "# HELP wick_up Is there.\n# TYPE wick_up gauge\nwick_up 1\n"
				      "# HELP wick_cpu_seconds_total CPU time.\n# TYPE wick_cpu_seconds_total counter\n"
				      "wick_cpu_seconds_total{comm=\"cc1plus\"} 0.1\n"
				      "wick_cpu_seconds_total{comm=\"x\"} 562949953421312\n"
				      "wick_cpu_seconds_total{comm=\"y\"} +Inf\n"
				      "# HELP wick_metrics_series_left_out Series beyond the bound of one answer.\n"
				      "# TYPE wick_metrics_series_left_out gauge\nwick_metrics_series_left_out 0\n");
}

static void test_hostile_names_are_inert(void **state)
{
	static const char name[] = "a\"} 1\nwick_evil 2\\\xff";
	autobuf struct buf out = { 0 };
	struct metrics metrics = { .out = &out, .name = "m" };

	(void)state;
	metrics_add(&metrics, "comm", name, sizeof(name) - 1, 3);
	assert_string_equal(out.data, "m{comm=\"a\\\"} 1\\\\x0awick_evil 2\\\\\\\\xff\"} 3\n");
}

static unsigned count_lines(const struct buf *out)
{
	unsigned lines = 0;

	for (size_t i = 0; i < out->len; i++)
		lines += out->data[i] == '\n';
	return lines;
}

static void test_series_are_bounded(void **state)
{
	autobuf struct buf out = { 0 };
	struct metrics metrics = { .out = &out, .name = "m" };
	char name[16];

	(void)state;
	for (int i = 0; i < METRICS_SERIES_MAX + 5; i++) {
		snprintf(name, sizeof(name), "%d", i);
		metrics_add(&metrics, "n", name, strlen(name), i);
	}
	assert_int_equal(count_lines(&out), METRICS_SERIES_MAX);
	metrics_end(&metrics);
	assert_non_null(strstr(out.data, "wick_metrics_series_left_out 5\n"));
}

static void test_tally_keeps_names_and_sums(void **state)
{
	autobuf struct buf out = { 0 };
	struct metrics metrics = { .out = &out, .name = "m" };
	struct metrics_tally tally = { 0 };
	char name[16];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < METRICS_TALLY_MAX + 50; i++) {
			snprintf(name, sizeof(name), "p%d", i);
			assert_int_equal(metrics_tally_add(&tally, name, strlen(name), 2), 0);
		}
	metrics_tally_write(&tally, &metrics, "comm");
	assert_int_equal(count_lines(&out), METRICS_TALLY_MAX + 1);
	assert_non_null(strstr(out.data, "m{comm=\"p0\"} 4\n"));
	assert_non_null(strstr(out.data, "m{comm=\"p99\"} 4\n"));
	assert_null(strstr(out.data, "p100"));
	assert_non_null(strstr(out.data, "m{comm=\"[other]\"} 200\n"));
	metrics_tally_free(&tally);
	metrics_tally_free(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_hostile_names_are_inert),
		cmocka_unit_test(test_series_are_bounded),
		cmocka_unit_test(test_tally_keeps_names_and_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
