/* SPDX-License-Identifier: Apache-2.0 */
/* What one user has had is his alone; root has no limit; time gives more. */
#include "worker/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SECOND ((uint64_t)1000000000)

static struct shares limited(void)
{
	return (struct shares){ .limits = { .burst_ns = 2 * SECOND, .permille = 100, .deaths = 3 },
				.begun_ns = 100 * SECOND };
}

static void time_is_limited_for_each(void **state)
{
	struct shares shares = limited();

	(void)state;
	shares_charge(&shares, 1000, 2 * SECOND, false);
	assert_true(shares_may(&shares, 1000, 100 * SECOND));
	shares_charge(&shares, 1000, 1, false);
	assert_false(shares_may(&shares, 1000, 100 * SECOND));
	assert_true(shares_may(&shares, 1001, 100 * SECOND));
	assert_true(shares_may(&shares, 1000, 101 * SECOND)); /* a tenth of a second came with one second */
	assert_int_equal(shares_used(&shares, 1000), 2 * SECOND + 1);
	assert_int_equal(shares_used(&shares, 1001), 0);
	shares_free(&shares);
}

static void deaths_are_limited_for_each(void **state)
{
	struct shares shares = limited();

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(shares_may(&shares, 7, 100 * SECOND));
		shares_charge(&shares, 7, 0, true);
	}
	assert_true(shares_died(&shares, 7));
	assert_false(shares_may(&shares, 7, 100 * SECOND));
	assert_true(shares_may(&shares, 8, 100 * SECOND));
	assert_false(shares_died(&shares, 8));
	assert_true(shares_may(&shares, 7, 100 * SECOND + SHARES_AGAIN_NS));
	shares_free(&shares);
}

static void root_has_no_limit(void **state)
{
	struct shares shares = limited();

	(void)state;
	for (int i = 0; i < 100; i++)
		shares_charge(&shares, 0, 100 * SECOND, true);
	assert_true(shares_may(&shares, 0, 100 * SECOND));
	assert_false(shares_died(&shares, 0));
	shares_free(&shares);
}

static void many_users_have_their_own(void **state)
{
	struct shares shares = limited();

	(void)state;
	for (uint64_t user = 1; user <= 1000; user++)
		shares_charge(&shares, user, user, false);
	for (uint64_t user = 1; user <= 1000; user++)
		assert_int_equal(shares_used(&shares, user), user);
	shares_free(&shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_limited_for_each),
		cmocka_unit_test(deaths_are_limited_for_each),
		cmocka_unit_test(root_has_no_limit),
		cmocka_unit_test(many_users_have_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
