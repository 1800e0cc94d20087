/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that other programs read: commas, brackets, numbers, and strings that may hold anything. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/buf.h"

static void test_nesting_and_commas(void **state)
{
	autobuf struct buf out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_object(&json, NULL);
	json_u64(&json, "hz", 99);
	json_object(&json, "lost");
	json_end(&json, '}');
	json_array(&json, "list");
	json_u64(&json, NULL, 1);
	json_object(&json, NULL);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_end(&json, '}');
	json_array(&json, NULL);
	json_end(&json, ']');
	json_null(&json, NULL);
	json_end(&json, ']');
	json_text(&json, "name", "x", 1);
	json_end(&json, '}');
	assert_string_equal(out.data,
			    "{\"hz\":99,\"lost\":{},\"list\":[1,{\"yes\":true,\"no\":false},[],null],\"name\":\"x\"}");
}

static void test_root_may_be_a_value(void **state)
{
	autobuf struct buf out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_u64(&json, NULL, UINT64_MAX);
	assert_string_equal(out.data, "18446744073709551615");
}

static void check_double(double value, const char *expected)
{
	autobuf struct buf out = { 0 };
	struct json json = { .out = &out };

	json_double(&json, NULL, value);
	assert_string_equal(out.data, expected);
}

static void test_doubles(void **state)
{
	(void)state;
	check_double(0, "0");
	check_double(10.0625, "10.0625");
	check_double(-1.5e300, "-1.5e+300");
	check_double(1.0 / 3, "0.333333");
	check_double(NAN, "null");
	check_double(INFINITY, "null");
	check_double(-INFINITY, "null");
}

static void check_text(const char *data, size_t len, const char *expected)
{
	autobuf struct buf out = { 0 };
	struct json json = { .out = &out };

	json_text(&json, NULL, data, len);
	assert_int_equal(buf_error(&out), 0);
	assert_string_equal(out.data, expected);
}

#define writes(data, expected) check_text(data, sizeof(data) - 1, expected)

static void test_strings(void **state)
{
	(void)state;
	writes("", "\"\"");
	check_text(NULL, 0, "\"\"");
	writes("größe 🕯 vector<int>", "\"größe 🕯 vector<int>\"");
	writes("a\"b\\c", "\"a\\\"b\\\\c\"");
	writes("\n\r\t\b\f", "\"\\n\\r\\t\\b\\f\"");
	writes("\0\x1b\x7f\xc2\x9b", "\"\\u0000\\u001b\\u007f\\u009b\"");
	writes("\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"");
}

static void test_invalid_utf8_is_replaced(void **state)
{
	(void)state;
	writes("a\xff"
	       "b",
	       "\"a\xef\xbf\xbd"
	       "b\"");
	writes("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	check_text("€", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Inside an HTML page neither may end or hide the script. */
static void test_safe_in_a_page(void **state)
{
	(void)state;
	writes("</script><!--<", "\"\\u003c/script>\\u003c!--<\"");
}

static void test_keys_are_quoted(void **state)
{
	autobuf struct buf out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_object(&json, NULL);
	json_u64(&json, "a\"\n", 1);
	json_end(&json, '}');
	assert_string_equal(out.data, "{\"a\\\"\\n\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting_and_commas),
		cmocka_unit_test(test_root_may_be_a_value),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_invalid_utf8_is_replaced),
		cmocka_unit_test(test_safe_in_a_page),
		cmocka_unit_test(test_keys_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
