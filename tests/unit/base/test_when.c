/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as people write them, in a zone that is not UTC. */
#include "base/when.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* 2026-03-01T12:00:00Z, 13:00 in the zone of these tests. */
#define NOW (1772366400 * NS_PER_SEC)

static void check(const char *text, uint64_t seconds)
{
	uint64_t ns = 1;

	assert_int_equal(when_parse(text, NOW, &ns), 0);
	assert_int_equal(ns, seconds * NS_PER_SEC);
}

static void refuse(const char *text)
{
	uint64_t ns = 1;

	assert_true(when_parse(text, NOW, &ns) < 0);
	assert_int_equal(ns, 1);
	assert_non_null(strstr(fail_text(), "is no time"));
}

static void test_time_of_day_is_the_last_one(void **state)
{
	(void)state;
	check("13:00", 1772366400);
	check("12:59:59", 1772366399);
	check("00:00", 1772366400 - 13 * 3600);
	check("13:00:01", 1772366401 - 86400); /* yesterday: today it is still to come */
	check("23:59", 1772366400 - 13 * 3600 - 60);
}

static void test_ago(void **state)
{
	(void)state;
	check("now", 1772366400);
	check("-15m", 1772366400 - 900);
	check("-1s", 1772366399);
	check("-2h", 1772366400 - 7200);
	check("-7d", 1772366400 - 7 * 86400);
	check("-0s", 1772366400);
}

static void test_iso(void **state)
{
	uint64_t ns;

	(void)state;
	check("2026-03-01T12:00:00Z", 1772366400);
	check("2026-03-01T12:00Z", 1772366400);
	check("2026-03-01T13:00:00+01:00", 1772366400);
	check("2026-03-01T13:00:00 01:00", 1772366400); /* the plus of a form */
	check("2026-03-01T08:30:00-0330", 1772366400);
	check("2026-03-01T14:00+02", 1772366400);
	check("2026-03-01T13:00:00", 1772366400); /* local */
	check("2026-03-01 13:00", 1772366400);
	check("2026-03-01", 1772366400 - 13 * 3600);
	check("2024-02-29T00:00:00Z", 1709164800);
	assert_int_equal(when_parse("2026-03-01T12:00:00.25Z", NOW, &ns), 0);
	assert_int_equal(ns, NOW + 250 * NS_PER_MS);
	assert_int_equal(when_parse("2026-03-01T12:00:00.123456789Z", NOW, &ns), 0);
	assert_int_equal(ns, NOW + 123456789);
}

static void test_milliseconds(void **state)
{
	uint64_t ns;

	(void)state;
	check("1772366400000", 1772366400);
	check("0", 0);
	assert_int_equal(when_parse("1772366400007", NOW, &ns), 0);
	assert_int_equal(ns, NOW + 7 * NS_PER_MS);
	assert_int_equal(when_parse("253402300799999", NOW, &ns), 0);
}

static void test_what_is_no_time(void **state)
{
	static const char *const texts[] = {
		"",
		"-",
		"-m",
		"-15",
		"-15w",
		"--5m",
		"15m",
		"24:00",
		"12:60",
		"12:00:60",
		"1:00",
		"12:00x",
		"12:0",
		"12:",
		"2026-13-01",
		"2026-02-29",
		"2100-02-29",
		"2026-00-01",
		"2026-01-00",
		"1969-12-31T23:59:59Z",
		"2026-03-01T",
		"2026-03-01T25:00Z",
		"2026-03-01T12:00:00.Z",
		"2026-03-01T12:00:00.1234567890Z",
		"2026-03-01T12:00ZZ",
		"2026-03-01T12:00+1",
		"2026-03-01T12:00+01:",
		"2026-03-01T12:00+24:00",
		"253402300800000",
		"18446744073709551616",
		"-99999999999d",
		"-18446744073709551615d",
		"1970-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00",
		"yesterday",
		"11111111111111111111111111111111111111111111111111",
		" 12:00",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		refuse(texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_of_day_is_the_last_one),
		cmocka_unit_test(test_ago),
		cmocka_unit_test(test_iso),
		cmocka_unit_test(test_milliseconds),
		cmocka_unit_test(test_what_is_no_time),
	};

	setenv("TZ", "WICK-1", 1); /* an hour east, no summer time */
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
