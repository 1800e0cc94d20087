/* SPDX-License-Identifier: Apache-2.0 */
/* Interned names: the same bytes have the same number, others another, and pointers stay good. */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
	return intern_new((struct intern **)state);
}

static int tear_down(void **state)
{
	intern_free(*state);
	return 0;
}

static void test_empty_run_is_zero(void **state)
{
	struct intern *intern = *state;
	size_t len = 99;

	assert_int_equal(intern_count(intern), 1);
	assert_int_equal(intern_text(intern, ""), 0);
	assert_int_equal(intern_bytes(intern, NULL, 0), 0);
	assert_int_equal(intern_count(intern), 1);
	assert_string_equal(intern_get(intern, 0, &len), "");
	assert_int_equal(len, 0);
}

static void test_same_bytes_same_number(void **state)
{
	struct intern *intern = *state;
	char copy[] = "main";

	assert_int_equal(intern_text(intern, "main"), 1);
	assert_int_equal(intern_text(intern, "malloc"), 2);
	assert_int_equal(intern_text(intern, copy), 1);
	assert_int_equal(intern_count(intern), 3);
	assert_string_equal(intern_get(intern, 2, NULL), "malloc");
}

static void test_any_bytes(void **state)
{
	struct intern *intern = *state;
	uint32_t one = intern_bytes(intern, "a\0b", 3);
	uint32_t two = intern_bytes(intern, "a\0c", 3);
	size_t len;

	assert_int_not_equal(one, two);
	assert_int_not_equal(one, intern_text(intern, "a"));
	assert_memory_equal(intern_get(intern, one, &len), "a\0b", 4);
	assert_int_equal(len, 3);
}

/* Zero bytes at the end are bytes like others. */
static void test_trailing_zeros_count(void **state)
{
	static const char zeros[40];
	struct intern *intern = *state;

	for (uint32_t len = 1; len <= sizeof(zeros); len++)
		assert_int_equal(intern_bytes(intern, zeros, len), len);
	for (uint32_t len = 1; len <= sizeof(zeros); len++)
		assert_int_equal(intern_bytes(intern, zeros, len), len);
}

static void test_unknown_number_is_empty(void **state)
{
	struct intern *intern = *state;
	size_t len = 99;

	assert_string_equal(intern_get(intern, 1, &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(intern_get(intern, UINT32_MAX, &len), "");
	assert_int_equal(len, 0);
}

static void test_pointers_stay(void **state)
{
	struct intern *intern = *state;
	const char *first = intern_get(intern, intern_text(intern, "the first"), NULL);
	char name[32];

	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		assert_int_equal(intern_text(intern, name), i + 2);
	}
	assert_ptr_equal(intern_get(intern, 1, NULL), first);
	assert_string_equal(first, "the first");
	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		assert_string_equal(intern_get(intern, i + 2, NULL), name);
		assert_int_equal(intern_text(intern, name), i + 2);
	}
	assert_int_equal(intern_count(intern), 100002);
}

static void test_own_bytes_again(void **state)
{
	struct intern *intern = *state;
	uint32_t number = intern_text(intern, "namespace::function");

	assert_int_equal(intern_text(intern, intern_get(intern, number, NULL) + 11), 2);
	assert_string_equal(intern_get(intern, 2, NULL), "function");
}

static void test_long_runs(void **state)
{
	static const size_t sizes[] = { 4094, 4095, 4096, 65534, 65535, 65536, 65537, 1000000 };
	struct intern *intern = *state;
	char *data = malloc(1000000);

	assert_non_null(data);
	memset(data, 'x', 1000000);
	for (uint32_t i = 0; i < 8; i++) {
		size_t len;

		assert_int_equal(intern_bytes(intern, data, sizes[i]), 2 * i + 1);
		assert_memory_equal(intern_get(intern, 2 * i + 1, &len), data, sizes[i]);
		assert_int_equal(len, sizes[i]);
		assert_int_equal(intern_get(intern, 2 * i + 1, NULL)[sizes[i]], 0);
		data[0] = (char)('a' + i);
		assert_int_equal(intern_bytes(intern, data, 10), 2 * i + 2);
		data[0] = 'x';
	}
	free(data);
}

static void test_impossible_length(void **state)
{
	struct intern *intern = *state;

	assert_int_equal(intern_bytes(intern, "x", SIZE_MAX), UINT32_MAX);
	assert_int_equal(intern_bytes(intern, "x", PTRDIFF_MAX), UINT32_MAX);
	assert_int_equal(intern_count(intern), 1);
}

static void test_memory_is_told(void **state)
{
	struct intern *intern = *state;
	char *data = calloc(1, 300000);
	size_t before;

	assert_non_null(data);
	intern_text(intern, "first");
	before = intern_memory(intern);
	assert_true(before > 0 && before < 8192);
	intern_bytes(intern, data, 300000);
	assert_true(intern_memory(intern) >= before + 300000);
	assert_true(intern_memory(intern) < before + 310000);
	before = intern_memory(intern);
	intern_bytes(intern, data, 300000);
	intern_text(intern, "still fits where the first name is");
	assert_int_equal(intern_memory(intern), before);
	free(data);
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	intern_free(NULL);
}

#define with_table(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_table(test_empty_run_is_zero),
		with_table(test_same_bytes_same_number),
		with_table(test_any_bytes),
		with_table(test_trailing_zeros_count),
		with_table(test_unknown_number_is_empty),
		with_table(test_pointers_stay),
		with_table(test_own_bytes_again),
		with_table(test_long_runs),
		with_table(test_impossible_length),
		with_table(test_memory_is_told),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
