/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: what is shown must fit, whatever the names are, and say as much as it can. */
#include "base/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static size_t width_of(const char *text)
{
	return columns_of(text, strlen(text));
}

static void test_width(void **state)
{
	(void)state;
	assert_int_equal(width_of(""), 0);
	assert_int_equal(width_of("main"), 4);
	assert_int_equal(width_of("日本語"), 6);
	assert_int_equal(width_of("é"), 1);
	assert_int_equal(width_of("e\xcc\x81"), 1); /* a mark above the letter */
	assert_int_equal(width_of("a\xe2\x80\x8d"
				  "b"),
			 2);
	assert_int_equal(width_of("🔥x"), 3);
	assert_int_equal(width_of("·…→└"), 4);
	assert_int_equal(width_of("\xff\xfe"), 2); /* not UTF-8: a column a byte */
}

static void assert_cut(const char *text, size_t width, const char *wanted)
{
	autobuf struct buf out = { 0 };

	columns_add(&out, text, strlen(text), width);
	assert_string_equal(out.data ? out.data : "", wanted);
	assert_true(width_of(wanted) <= width);
}

static void test_cut_in_the_middle(void **state)
{
	(void)state;
	assert_cut("process", 7, "process");
	assert_cut("process", 6, "pro…ss");
	assert_cut("process", 2, "p…");
	assert_cut("process", 1, "…");
	assert_cut("process", 0, "");
	assert_cut("日本語日本語", 8, "日本…語"); /* half a character is none */
	assert_cut("aaae\xcc\x81zzz", 4, "aa…z");
	assert_cut("xx\xcc\x81yyy", 3, "x…y"); /* a mark does not go over to the dots */
}

static void test_cut_in_template_arguments(void **state)
{
	(void)state;
	assert_cut("std::vector<std::string, alloc>::push_back", 30, "std::vector<std…oc>::push_back");
	assert_cut("std::vector<std::string>::push_back", 25, "std::vector<…>::push_back");
	/* No room for what is around them: anywhere. */
	assert_cut("std::vector<std::string>::push_back", 9, "std:…back");
	/* Brackets that are not arguments. */
	assert_cut("operator<<abcdefghijklmnop>", 11, "opera…mnop>");
	assert_cut("a->bbbbbbbbbbbbbbbbbbb", 11, "a->bb…bbbbb");
	assert_cut("broken<abcdefghijkl", 11, "broke…hijkl");
	assert_cut("broken>abcdefghijkl", 11, "broke…hijkl");
}

static void test_pad(void **state)
{
	autobuf struct buf out = { 0 };

	(void)state;
	columns_pad(&out, "日本", 6, 6);
	buf_addc(&out, '|');
	columns_pad(&out, "function", 8, 5);
	buf_addc(&out, '|');
	columns_pad(&out, "", 0, 2);
	buf_addc(&out, '|');
	assert_string_equal(out.data, "日本  |fu…on|  |");
}

static void test_wrap(void **state)
{
	autobuf struct buf out = { 0 };

	(void)state;
	columns_wrap(&out, "one two three four", 0, 9, 2);
	assert_string_equal(out.data, "one two\n  three\n  four");
	buf_clear(&out);
	columns_wrap(&out, "one two", 4, 9, 4);
	assert_string_equal(out.data, "one\n    two");
	buf_clear(&out);
	columns_wrap(&out, "a verylongword b", 0, 8, 2);
	assert_string_equal(out.data, "a\n  ver…rd\n  b");
	buf_clear(&out);
	columns_wrap(&out, "", 0, 8, 2);
	assert_int_equal(out.len, 0);
}

/* Every cut of every width is whole characters and fits. */
static void test_never_too_wide(void **state)
{
	static const char *const texts[] = { "日本<語日>本語", "a<b<c>,d>::e<ffff>", "e\xcc\x81\xcc\x81\xcc\x81 x",
					     "→←" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (size_t width = 0; width < 20; width++) {
			autobuf struct buf out = { 0 };
			uint32_t code;

			columns_add(&out, texts[i], strlen(texts[i]), width);
			assert_true(columns_of(out.data, out.len) <= width);
			for (size_t at = 0; at < out.len;) {
				size_t size = text_utf8(out.data + at, out.len - at, &code);

				assert_int_not_equal(size, 0);
				at += size;
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_cut_in_the_middle),
		cmocka_unit_test(test_cut_in_template_arguments),
		cmocka_unit_test(test_pad),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_never_too_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
