/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: a file that was made for it keeps the worker busy, or a large one is given up. */
#include "base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_in_proportion_to_the_size(void **state)
{
	(void)state;
	assert_int_equal(budget_of(0).left, BUDGET_FLOOR);
	assert_int_equal(budget_of(1000000).left, BUDGET_FLOOR + 1000000 * BUDGET_PER_BYTE);
	assert_int_equal(budget_of((uint64_t)1 << 40).left, BUDGET_CEILING);
	assert_int_equal(budget_of(UINT64_MAX).left, BUDGET_CEILING);
	assert_false(budget_of(0).spent);
}

static void test_spending(void **state)
{
	struct budget budget = { .left = 10 };

	(void)state;
	assert_true(budget_spend(&budget, 4));
	assert_true(budget_spend(&budget, 6));
	assert_true(budget_spend(&budget, 0));
	assert_false(budget.spent);
	assert_false(budget_spend(&budget, 1));
	assert_true(budget.spent);
	budget_grant(&budget, 5);
	assert_false(budget_spend(&budget, UINT64_MAX)); /* takes what there is */
	assert_int_equal(budget.left, 0);
	budget_grant(&budget, UINT64_MAX);
	budget_grant(&budget, UINT64_MAX);
	assert_int_equal(budget.left, BUDGET_CEILING);
}

static void test_unpacking(void **state)
{
	(void)state;
	assert_int_equal(budget_unpack(0, 1 << 30), BUDGET_UNPACK_FLOOR);
	assert_int_equal(budget_unpack(1 << 20, 1 << 30), BUDGET_UNPACK_FACTOR << 20);
	assert_int_equal(budget_unpack(1 << 29, 1 << 30), 1 << 30);
	assert_int_equal(budget_unpack(UINT64_MAX, 1 << 30), 1 << 30);
	assert_int_equal(budget_unpack(5, 1000), 1000); /* no more than there may be at all */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_proportion_to_the_size),
		cmocka_unit_test(test_spending),
		cmocka_unit_test(test_unpacking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
