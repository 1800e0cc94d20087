/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of numbers: never handed out twice, and all of them to be had again once they came back. */
#include "base/extent.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#define SIZE 1000

static void test_from_the_start(void **state)
{
	struct extents extents = { .size = 100 };

	(void)state;
	assert_int_equal(extent_take(&extents, 40), 0);
	assert_int_equal(extent_take(&extents, 40), 40);
	assert_int_equal(extent_take(&extents, 21), -ENOSPC);
	assert_int_equal(extent_take(&extents, 20), 80);
	assert_int_equal(extent_take(&extents, 1), -ENOSPC);
	extent_clear(&extents);
	assert_int_equal(extents.size, 100);
	assert_int_equal(extent_take(&extents, 100), 0); /* all free again */
	extent_clear(&extents);
}

static void test_given_back(void **state)
{
	struct extents extents = { .size = 100 };

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(extent_take(&extents, 10), i * 10);
	assert_int_equal(extent_give(&extents, 20, 10), 0);
	assert_int_equal(extent_give(&extents, 60, 10), 0);
	assert_int_equal(extent_take(&extents, 11), -ENOSPC); /* twenty are free, but not together */
	assert_int_equal(extent_take(&extents, 4), 20);
	assert_int_equal(extent_take(&extents, 6), 24);
	assert_int_equal(extent_take(&extents, 7), 60);
	extent_clear(&extents);
}

/* From whichever side: neighbours become one. */
static void test_neighbours_join(void **state)
{
	static const uint32_t orders[][3] = { { 20, 30, 40 }, { 40, 30, 20 }, { 20, 40, 30 }, { 30, 20, 40 } };

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct extents extents = { .size = 100 };

		assert_int_equal(extent_take(&extents, 100), 0);
		for (int j = 0; j < 3; j++)
			assert_int_equal(extent_give(&extents, orders[i][j], 10), 0);
		assert_int_equal(extents.len, 1);
		assert_int_equal(extent_take(&extents, 30), 20);
		assert_int_equal(extents.len, 0);
		extent_clear(&extents);
	}
}

static void test_the_end_is_free_again(void **state)
{
	struct extents extents = { .size = 100 };

	(void)state;
	assert_int_equal(extent_take(&extents, 30), 0);
	assert_int_equal(extent_take(&extents, 30), 30);
	assert_int_equal(extent_take(&extents, 30), 60);
	assert_int_equal(extent_give(&extents, 30, 30), 0);
	assert_int_equal(extent_give(&extents, 60, 30), 0); /* joins the one before it, and what was never used */
	assert_int_equal(extents.len, 0);
	assert_int_equal(extents.top, 30);
	assert_int_equal(extent_take(&extents, 70), 30);
	extent_clear(&extents);
}

/* Against a plain map of what is taken. */
static void test_any_order(void **state)
{
	struct extents extents = { .size = SIZE };
	struct extent_run held[64];
	bool taken[SIZE] = { false };
	uint64_t random = 1;

	(void)state;
	memset(held, 0, sizeof(held));
	for (int turn = 0; turn < 20000; turn++) {
		struct extent_run *run =
			&held[(random = random * 6364136223846793005ULL + 1442695040888963407ULL) >> 58];
		uint32_t len = 1 + (uint32_t)(random >> 40) % 50;
		int64_t start;

		if (run->len) {
			assert_int_equal(extent_give(&extents, run->start, run->len), 0);
			memset(taken + run->start, false, run->len);
			run->len = 0;
			continue;
		}
		start = extent_take(&extents, len);
		if (start == -ENOSPC)
			continue;
		assert_true(start >= 0 && start + len <= SIZE);
		assert_null(memchr(taken + start, true, len));
		memset(taken + start, true, len);
		*run = (struct extent_run){ (uint32_t)start, len };
	}
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		if (held[i].len)
			assert_int_equal(extent_give(&extents, held[i].start, held[i].len), 0);
	assert_int_equal(extents.len, 0);
	assert_int_equal(extents.top, 0);
	extent_clear(&extents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_the_start),  cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_neighbours_join), cmocka_unit_test(test_the_end_is_free_again),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
