/* SPDX-License-Identifier: Apache-2.0 */
/* Query strings: what they mean, and that everything else is refused with a sentence. */
#include "http/query.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define NOW (1772366400 * NS_PER_SEC)
#define ALL ((1u << QUERY_PARAM_COUNT) - 1)

static struct query parse(const char *raw)
{
	struct query query = { 0 };

	assert_int_equal(query_parse(&query, raw, ALL, NOW), 0);
	return query;
}

static void refuse(const char *raw, const char *why)
{
	struct query query = { .cells = 7 };

	assert_int_equal(query_parse(&query, raw, ALL, NOW), -EINVAL);
	assert_int_equal(query.cells, 7);
	if (!strstr(fail_text(), why))
		fail_msg("'%s' was refused because %s", raw, fail_text());
}

static void assert_term(const struct query *query, size_t number, const struct filter_term *wanted)
{
	const struct filter_term *term = &query->filter.terms[number];

	assert_int_equal(term->key, wanted->key);
	assert_int_equal(term->except, wanted->except);
	assert_int_equal(term->exact, wanted->exact);
	assert_string_equal(term->label ? term->label : "", wanted->label ? wanted->label : "");
	assert_string_equal(term->text, wanted->text);
}

static void test_nothing_is_everything_until_now(void **state)
{
	struct query query = parse(NULL);

	(void)state;
	assert_int_equal(query.given, 0);
	assert_int_equal(query.from_ns, 0);
	assert_int_equal(query.to_ns, NOW);
	assert_int_equal(query.seconds, QUERY_SECONDS_DEFAULT);
	assert_null(query.format);
	assert_false(filter_asked(&query.filter));
	query_free(&query);
	query = parse("&&");
	assert_int_equal(query.given, 0);
	query_free(&query);
}

static void test_values(void **state)
{
	struct query query =
		parse("from=-15m&to=-5m&format=svg&seconds=5&cells=100&by=unit&against=-1h&fn=main%3Aa&offsets=0-250"
		      "&filter=focus:a%2Bb&filter=process:redis+server&filter=hide:%5e_&filter=ignore:x%c3%a9");

	(void)state;
	assert_int_equal(query.given, ALL);
	assert_int_equal(query.from_ns, NOW - 900 * NS_PER_SEC);
	assert_int_equal(query.to_ns, NOW - 300 * NS_PER_SEC);
	assert_int_equal(query.against_ns, NOW - 3600 * NS_PER_SEC);
	assert_string_equal(query.format, "svg");
	assert_string_equal(query.by, "unit");
	assert_int_equal(query.seconds, 5);
	assert_int_equal(query.cells, 100);
	assert_string_equal(query.fn, "main:a");
	assert_int_equal(query.offset_from, 0);
	assert_int_equal(query.offset_to, 250);
	assert_int_equal(query.filter.terms_len, 5);
	assert_term(&query, 0, &(struct filter_term){ FILTER_FOCUS, false, true, NULL, "main:a" });
	assert_term(&query, 1, &(struct filter_term){ FILTER_FOCUS, false, false, NULL, "a+b" });
	assert_term(&query, 2, &(struct filter_term){ FILTER_PROCESS, false, false, NULL, "redis server" });
	assert_term(&query, 3, &(struct filter_term){ FILTER_HIDE, false, false, NULL, "^_" });
	assert_term(&query, 4, &(struct filter_term){ FILTER_FOCUS, true, false, NULL, "x\xc3\xa9" });
	query_free(&query);
	query_free(&query);
}

static void test_filters(void **state)
{
	struct query query = parse("filter=-unit=a%7B=:b&filter=label.pod:x&filter=container:y&filter=-ignore=z"
				   "&filter=thread=sh+(1/2)&filter=-module:m&filter=kind=no+stack");

	(void)state;
	assert_int_equal(query.filter.terms_len, 7);
	assert_term(&query, 0, &(struct filter_term){ FILTER_LABEL, true, true, "unit", "a{=:b" });
	assert_term(&query, 1, &(struct filter_term){ FILTER_LABEL, false, false, "pod", "x" });
	assert_term(&query, 2, &(struct filter_term){ FILTER_LABEL, false, false, "container", "y" });
	assert_term(&query, 3, &(struct filter_term){ FILTER_FOCUS, false, true, NULL, "z" });
	assert_term(&query, 4, &(struct filter_term){ FILTER_THREAD, false, true, NULL, "sh (1/2)" });
	assert_term(&query, 5, &(struct filter_term){ FILTER_MODULE, true, false, NULL, "m" });
	assert_term(&query, 6, &(struct filter_term){ FILTER_KIND, false, true, NULL, "no stack" });
	query_free(&query);
}

static void test_what_is_refused(void **state)
{
	char long_one[QUERY_BYTES_MAX + 2];

	(void)state;
	refuse("from=x", "is no time");
	refuse("from=-5m&to=-15m", "range is empty");
	refuse("from=-5m&to=-5m", "range is empty");
	refuse("from=2100-01-01", "range is empty");
	refuse("from", "no value");
	refuse("from=", "no value");
	refuse("=5", "no parameter");
	refuse("fromm=1", "no parameter");
	refuse("from=1&from=2", "given twice");
	refuse("seconds=0", "from 1 to 300");
	refuse("seconds=301", "from 1 to 300");
	refuse("seconds=-1", "from 1 to 300");
	refuse("seconds=99999999999999999999", "from 1 to 300");
	refuse("cells=5001", "from 1 to 5000");
	refuse("offsets=200", "two numbers");
	refuse("offsets=-200", "two numbers");
	refuse("offsets=200-", "within a second");
	refuse("offsets=00200-400", "two numbers");
	refuse("offsets=200-00400", "two numbers");
	refuse("offsets=400-400", "within a second");
	refuse("offsets=400-200", "within a second");
	refuse("offsets=0-1001", "within a second");
	refuse("offsets=a-b", "within a second");
	refuse("format=%", "percent");
	refuse("format=%2", "percent");
	refuse("format=%zz", "percent");
	refuse("%=1", "percent");
	refuse("format=%00", "control");
	refuse("format=a%0d%0aSet-Cookie:x", "control");
	refuse("filter=main", "KEY:REGEX");
	refuse("filter=main:a", "begins with");
	refuse("filter=label.:a", "begins with");
	refuse("filter=-hide:a", "begins with");
	refuse("filter=focus:", "no value");
	refuse("filter=focus=", "no value");
	refuse("filter=focus:(a%7B1,200%7D)", "counted");
	refuse("filter=focus:(a*)%5C1", "refer back");
	refuse("to=1&to=1&to=1", "twice");
	refuse("a&a&a", "no parameter");
	memset(long_one, '&', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	refuse(long_one, "longer than");
	long_one[QUERY_PAIRS_MAX + 1] = '\0';
	refuse(long_one, "more than");
	snprintf(long_one, sizeof(long_one), "filter=focus:%0*d", QUERY_PATTERN_MAX + 1, 0);
	refuse(long_one, "1 to 256");
	long_one[0] = '\0';
	for (int i = 0; i <= FILTER_TERMS_MAX; i++)
		snprintf(long_one + strlen(long_one), sizeof(long_one) - strlen(long_one), "filter=unit=a&");
	refuse(long_one, "filters");
}

static void test_a_route_takes_its_own_only(void **state)
{
	struct query query = { 0 };

	(void)state;
	assert_int_equal(query_parse(&query, "seconds=3", QUERY_TAKES(SECONDS), NOW), 0);
	query_free(&query);
	assert_int_equal(query_parse(&query, "from=-3s", QUERY_TAKES(SECONDS), NOW), -EINVAL);
	assert_string_equal(fail_text(), "'from' is no parameter of this path");
}

static void test_forms(void **state)
{
	char body[] = "x=1&token=a%2Bb+c&token=d", none[] = "tokens=1", bad[] = "token=%q", empty[] = "";

	(void)state;
	assert_string_equal(query_form(body, "token"), "a+b c");
	assert_null(query_form(none, "token"));
	assert_null(query_form(bad, "token"));
	assert_null(query_form(empty, "token"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_everything_until_now),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_route_takes_its_own_only),
		cmocka_unit_test(test_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
