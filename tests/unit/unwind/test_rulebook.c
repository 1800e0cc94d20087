/* SPDX-License-Identifier: Apache-2.0 */
/* Equal rules have one number; what nobody uses makes room; one user does not take the numbers of all. */
#include "unwind/rulebook.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct wire_rule rules[WIRE_RULES_MAX];

static struct wire_rule rule(int offset)
{
	return (struct wire_rule){ .kind = WIRE_RULE_REGISTER, .reg = 7, .offset = offset };
}

static int take(struct rulebook *book, int offset, uint64_t user)
{
	struct wire_rule wanted = rule(offset);

	return rulebook_take(book, &wanted, user);
}

static void equal_rules_are_one(void **state)
{
	struct rulebook book;
	int number;

	(void)state;
	assert_int_equal(rulebook_open(&book, rules, 5), 0);
	number = take(&book, 8, 0);
	assert_true(number >= 0);
	assert_int_equal(take(&book, 8, 1000), number);
	assert_int_not_equal(take(&book, 16, 0), number);
	assert_int_equal(rules[number].offset, 8);
	rulebook_drop(&book, (uint32_t)number);
	assert_int_equal(take(&book, 8, 0), number); /* somebody used it all the time */
	rulebook_close(&book);
}

static void what_is_dropped_makes_room(void **state)
{
	struct rulebook book;

	(void)state;
	assert_int_equal(rulebook_open(&book, rules, 5), 0);
	for (int i = 0; i < WIRE_RULES_MAX; i++)
		assert_int_equal(take(&book, i, 0), i);
	assert_int_equal(take(&book, WIRE_RULES_MAX, 0), -ENOSPC);
	rulebook_drop(&book, 77);
	assert_int_equal(take(&book, WIRE_RULES_MAX, 0), 77);
	assert_int_equal(rules[77].offset, WIRE_RULES_MAX);
	assert_int_equal(take(&book, 77, 0), -ENOSPC); /* its number is another's now */
	rulebook_close(&book);
}

static void a_user_leaves_room_for_others(void **state)
{
	struct rulebook book;
	int taken = 0;

	(void)state;
	assert_int_equal(rulebook_open(&book, rules, 5), 0);
	while (take(&book, taken, 1000) >= 0)
		taken++;
	assert_int_equal(take(&book, taken, 1000), -EDQUOT);
	assert_true(taken < WIRE_RULES_MAX);
	assert_true(take(&book, 0, 1000) >= 0); /* what is there can be used */
	for (int i = 0; i < WIRE_RULES_MAX / 16; i++)
		assert_true(take(&book, taken + i, 1001) >= 0);
	assert_true(take(&book, 1 << 20, 0) >= 0);
	rulebook_drop(&book, 0);
	rulebook_drop(&book, 0);
	rulebook_close(&book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_rules_are_one),
		cmocka_unit_test(what_is_dropped_makes_room),
		cmocka_unit_test(a_user_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
