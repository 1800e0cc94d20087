/* SPDX-License-Identifier: Apache-2.0 */
/* JSON pulled value by value: what is taken, what is skipped, and what is no JSON. */
#include "base/json_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void assert_bad(const char *text, const char *expected, size_t place)
{
	struct json_in json;

	json_in_init(&json, text, strlen(text));
	json_in_skip(&json);
	assert_non_null(json.bad);
	assert_string_equal(json.bad, expected);
	assert_int_equal(json_in_place(&json), place);
	json_in_free(&json);
}

static void test_values(void **state)
{
	const char text[] = " { \"a\" : [1, -2.5e1, true,null] , \"b\\u00e9\":\"\\ud83d\\ude00\\ud800x\\n\" }";
	struct json_in json;
	struct span key;

	(void)state;
	json_in_init(&json, text, strlen(text));
	json_in_begin(&json, '{');
	assert_true(json_in_key(&json, &key) && span_is(key, "a"));
	json_in_begin(&json, '[');
	assert_true(json_in_element(&json));
	assert_int_equal(json_in_u64(&json), 1);
	assert_true(json_in_element(&json));
	assert_true(json_in_double(&json) == -25.0);
	assert_true(json_in_element(&json));
	assert_int_equal(json_in_peek(&json), 't');
	json_in_skip(&json);
	assert_true(json_in_element(&json));
	json_in_skip(&json);
	assert_false(json_in_element(&json));
	assert_true(json_in_key(&json, &key) && span_is(key, "b\xc3\xa9"));
	assert_true(span_is(json_in_text(&json), "\xf0\x9f\x98\x80\xef\xbf\xbdx\n"));
	assert_false(json_in_key(&json, &key));
	assert_null(json.bad);
	json_in_free(&json);
}

/* What was met is come back to: members may stand in any order. */
static void test_marks(void **state)
{
	const char text[] = "{\"late\":[7],\"early\":1}";
	const char *mark = NULL;
	struct json_in json;
	struct span key;

	(void)state;
	json_in_init(&json, text, strlen(text));
	for (json_in_begin(&json, '{'); json_in_key(&json, &key);) {
		if (span_is(key, "late"))
			mark = json_in_mark(&json);
		json_in_skip(&json);
	}
	json_in_goto(&json, mark);
	json_in_begin(&json, '[');
	assert_true(json_in_element(&json));
	assert_int_equal(json_in_u64(&json), 7);
	assert_false(json_in_element(&json));
	assert_null(json.bad);
	json_in_free(&json);
}

static void test_not_json(void **state)
{
	(void)state;
	assert_bad("", "a value was expected", 0);
	assert_bad("[1,]", "a value was expected", 3);
	assert_bad("[1 2]", "a comma or ] was expected", 3);
	assert_bad("{\"a\" 1}", "a colon was expected", 5);
	assert_bad("{a:1}", "a string was expected", 1);
	assert_bad("[01]", "a number was expected", 1);
	assert_bad("[1.]", "a number was expected", 1);
	assert_bad("[-]", "a number was expected", 1);
	assert_bad("[tru]", "a value was expected", 1);
	assert_bad("\"a\x01\"", "a control character in a string", 2);
	assert_bad("\"a", "cut off in a string", 2);
	assert_bad("\"\\q\"", "no such escape in a string", 3);
	assert_bad("\"\\u12", "four hexadecimal digits were expected", 3);
}

static void test_bounds(void **state)
{
	char deep[JSON_IN_DEPTH + 2];
	struct json_in json;

	(void)state;
	memset(deep, '[', sizeof(deep));
	json_in_init(&json, deep, sizeof(deep));
	json_in_skip(&json);
	assert_string_equal(json.bad, "brackets are nested too deeply");
	json_in_free(&json);
	json_in_init(&json, "1e999", 5);
	json_in_double(&json);
	assert_string_equal(json.bad, "a smaller number was expected");
	json_in_free(&json);
	json_in_init(&json, "18446744073709551616", 20);
	json_in_u64(&json);
	assert_string_equal(json.bad, "a whole number was expected");
	json_in_free(&json);
	assert_true(json_in_detect(" {\n\"a\"", 6));
	assert_false(json_in_detect("{main};a 1", 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
