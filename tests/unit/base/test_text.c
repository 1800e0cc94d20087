/* SPDX-License-Identifier: Apache-2.0 */
/* Text from targets as it is shown, and numbers as people write and read them. */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"

static void check_escape(const char *data, size_t len, const char *also, const char *expected)
{
	autobuf struct buf out = { 0 };

	buf_addc(&out, '>');
	text_escape(&out, data, len, also);
	assert_int_equal(buf_error(&out), 0);
	assert_string_equal(out.data + 1, expected);
}

#define shows(data, expected) check_escape(data, sizeof(data) - 1, NULL, expected)

static void test_ordinary_text_passes(void **state)
{
	(void)state;
	shows("", "");
	shows("std::vector<int>::push_back(int&&) [clone .cold]", "std::vector<int>::push_back(int&&) [clone .cold]");
	shows("größe 関数 🕯 ~", "größe 関数 🕯 ~");
	shows("\xc2\xa0\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
	      "\xc2\xa0\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
	check_escape(NULL, 0, NULL, "");
}

static void test_one_line_without_control(void **state)
{
	(void)state;
	shows("a\nb\r\tc\x1b[31m", "a\\x0ab\\x0d\\x09c\\x1b[31m");
	shows("\0\x7f", "\\x00\\x7f");
	shows("\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f");
	shows("x\xe2\x80\xa8y\xe2\x80\xa9", "x\\xe2\\x80\\xa8y\\xe2\\x80\\xa9");
}

static void test_bidi_controls(void **state)
{
	(void)state;
	shows("\xe2\x80\x8e\xe2\x80\x8f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
	shows("\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae");
	shows("\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	shows("\xd8\x9c", "\\xd8\\x9c");
	/* Their neighbours are ordinary. */
	shows("\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa");
}

static void test_invalid_utf8(void **state)
{
	(void)state;
	shows("\xff\xfe", "\\xff\\xfe");
	shows("\x80"
	      "a\xbf",
	      "\\x80a\\xbf");
	shows("\xc0\xaf\xc1\xbf", "\\xc0\\xaf\\xc1\\xbf"); /* overlong */
	shows("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");          /* overlong */
	shows("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"); /* overlong */
	shows("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
	shows("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	shows("\xc3"
	      "x",
	      "\\xc3x");
	shows("\xe2\x82", "\\xe2\\x82");
	shows("\xf0\x9f\x95", "\\xf0\\x9f\\x95");
}

/* A sequence may not borrow its last byte from behind the end. */
static void test_length_counts(void **state)
{
	(void)state;
	check_escape("€", 2, NULL, "\\xe2\\x82");
	check_escape("abc", 1, NULL, "a");
}

static void test_backslash_is_unambiguous(void **state)
{
	(void)state;
	shows("a\\x0a", "a\\x5cx0a");
}

static void test_also(void **state)
{
	(void)state;
	check_escape("a;b c", 5, "; ", "a\\x3bb\\x20c");
	check_escape("a;b", 3, "", "a;b");
	check_escape("\0", 1, ";", "\\x00");
	/* A byte in the middle of a character: the character goes as a whole. */
	check_escape("é", 2, "\xa9", "\\xc3\\xa9");
}

static void check_number(const char *text, int err, uint64_t expected)
{
	uint64_t value = 4711;

	assert_int_equal(text_u64(text, &value), err);
	assert_int_equal(value, err ? 4711 : expected);
}

static void test_numbers(void **state)
{
	(void)state;
	check_number("0", 0, 0);
	check_number("99", 0, 99);
	check_number("00099", 0, 99);
	check_number("18446744073709551615", 0, UINT64_MAX);
	check_number("18446744073709551616", -ERANGE, 0);
	check_number("99999999999999999999999999", -ERANGE, 0);
}

static void test_not_numbers(void **state)
{
	static const char *const words[] = { "",    "-1",   "+1",  " 1",  "1 ",   "1\n",
					     "abc", "0x10", "1.5", "1e3", "99Hz", "99999999999999999999x" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		check_number(words[i], -EINVAL, 0);
}

static void check_thousands(uint64_t value, const char *expected)
{
	autobuf struct buf out = { 0 };

	text_thousands(&out, value);
	assert_string_equal(out.data, expected);
}

static void test_thousands(void **state)
{
	(void)state;
	check_thousands(0, "0");
	check_thousands(999, "999");
	check_thousands(1000, "1,000");
	check_thousands(100000, "100,000");
	check_thousands(1234567, "1,234,567");
	check_thousands(UINT64_MAX, "18,446,744,073,709,551,615");
}

static void check_label(const char *text, const char *expected)
{
	size_t len = text_label_len(text, strlen(text));

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_labels_are_short(void **state)
{
	(void)state;
	check_label(ID, "0123456789ab");
	check_label("1000/" ID, "1000/0123456789ab");
	check_label("4294967295/" ID, "4294967295/0123456789ab");
	check_label(ID "0", ID "0");
	check_label("/" ID, "/" ID);
	check_label("web/" ID, "web/" ID);
	check_label("1000/1000/" ID, "1000/1000/" ID);
	check_label("1000/nginx.service", "1000/nginx.service");
	check_label("1000/", "1000/");
	check_label("1000", "1000");
	check_label("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordinary_text_passes),
		cmocka_unit_test(test_one_line_without_control),
		cmocka_unit_test(test_bidi_controls),
		cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_length_counts),
		cmocka_unit_test(test_backslash_is_unambiguous),
		cmocka_unit_test(test_also),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_not_numbers),
		cmocka_unit_test(test_thousands),
		cmocka_unit_test(test_labels_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
