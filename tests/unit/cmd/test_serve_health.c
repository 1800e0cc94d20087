/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a CPU that the page shows of wick itself: of some seconds, not of the moment in which it starts. */
#include "cmd/serve_health.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_share(void **state)
{
	const uint64_t began = 1000 * NS_PER_SEC;
	struct health_share share = { 0 };

	(void)state;
	/* what starting took is not told, nor is what a moment after it took */
	health_look(&share, began, 0.2);
	assert_true(share.percent == 0);
	health_look(&share, began + NS_PER_MS, 0.21);
	assert_true(share.percent == 0);
	/* but it is not forgotten either */
	health_look(&share, began + 10 * NS_PER_SEC, 0.3);
	assert_true(share.percent > 0.999 && share.percent < 1.001);
	/* looks that come too often change nothing until enough has passed */
	for (unsigned i = 1; i < 5; i++) {
		health_look(&share, began + (10 + i) * NS_PER_SEC, 0.3 + i);
		assert_true(share.percent < 1.001);
	}
	health_look(&share, began + 15 * NS_PER_SEC, 0.4);
	assert_true(share.percent > 1.999 && share.percent < 2.001);
	/* a process that ended without being counted: the share stays */
	health_look(&share, began + 25 * NS_PER_SEC, 0.1);
	assert_true(share.percent > 1.999 && share.percent < 2.001);
	health_look(&share, began + 35 * NS_PER_SEC, 0.1);
	assert_true(share.percent == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_share) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
