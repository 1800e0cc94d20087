/* SPDX-License-Identifier: Apache-2.0 */
/* Missed ticks: gaps in work are, idle time is not, whether a CPU ticks while it is idle or does not. */
#include "collect/missed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SECOND 1000000

static void test_idle(void **state)
{
	(void)state;
	/* Woken every half second, without a tick in between: all but a few of the 1,000 are in gaps. */
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 960, .due = 1000, .fired = 22, .idle = 978 }), 0);
	/* Rounded times and work that ends between two ticks are no loss either. */
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 960, .due = 1000, .fired = 22, .idle = 975 }), 0);
	/* One that ticks, and does so now and then late. */
	assert_int_equal(
		missed_ticks(&(struct missed){ .gaps = 4, .due = 1000, .fired = 1001, .fired_idle = 950, .idle = 955 }),
		0);
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 0, .due = 1000, .fired = 0, .idle = 0 }), 0);
}

static void test_busy(void **state)
{
	(void)state;
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 250, .due = 1000, .fired = 750 }), 250);
	/* Gaps are not seen where the period changed, and what is due is not known to the tick. */
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 240, .due = 1000, .fired = 750 }), 240);
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 250, .due = 990, .fired = 750 }), 240);
	/* Ticks that came late, and none that did not come. */
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = 5, .due = 1000, .fired = 1003 }), 0);
	assert_int_equal(missed_ticks(&(struct missed){ .gaps = UINT64_MAX, .due = UINT64_MAX }), UINT64_MAX);
}

static void test_half_idle(void **state)
{
	uint64_t missed;

	(void)state;
	/* A quarter of the ticks of 500 in work are gone, beside 500 that were not to come: */
	missed = missed_ticks(&(struct missed){ .gaps = 620, .due = 1000, .fired = 375, .idle = 500 });
	assert_in_range(missed, 125 - 20, 125);
	/* and on a CPU that ticks always, of which a quarter are gone, in idle time as in work */
	missed = missed_ticks(
		&(struct missed){ .gaps = 250, .due = 1000, .fired = 750, .fired_idle = 375, .idle = 500 });
	assert_in_range(missed, 125 - 20, 125);
	/* Ticks are counted as idle that the machine does not count as that: they came. */
	assert_int_equal(
		missed_ticks(&(struct missed){ .gaps = 250, .due = 1000, .fired = 750, .fired_idle = 20, .idle = 5 }),
		250);
}

static void test_idle_time(void **state)
{
	struct missed_idle idle = { 0 };

	(void)state;
	missed_idle_add(&idle, 500 * (uint64_t)SECOND, 0); /* since boot */
	assert_int_equal(idle.sum_us, 0);
	missed_idle_add(&idle, 503 * (uint64_t)SECOND, 5 * SECOND);
	assert_int_equal(idle.sum_us, 3 * SECOND);
	missed_idle_add(&idle, 503 * (uint64_t)SECOND, 5 * SECOND);
	assert_int_equal(idle.sum_us, 3 * SECOND);
}

/* Counted in hundredths of a second and read more often than that: nothing of it may go. */
static void test_idle_time_rounded(void **state)
{
	struct missed_idle idle = { 0 };

	(void)state;
	missed_idle_add(&idle, 70000, 0);
	for (uint64_t us = 0; us <= SECOND; us += 3000)
		missed_idle_add(&idle, (73000 + us) / 10000 * 10000, 3000);
	assert_in_range(idle.sum_us, SECOND - 20000, SECOND + 10000);
}

/* Waiting for disks is counted in a way that can go back. */
static void test_idle_time_goes_back(void **state)
{
	struct missed_idle idle = { 0 };

	(void)state;
	missed_idle_add(&idle, 500 * (uint64_t)SECOND, 0);
	missed_idle_add(&idle, 500 * (uint64_t)SECOND - 30000, 5 * SECOND);
	assert_int_equal(idle.sum_us, 0);
	missed_idle_add(&idle, 502 * (uint64_t)SECOND - 30000, 5 * SECOND);
	assert_int_equal(idle.sum_us, 2 * SECOND);
}

static void test_cpu_offline_and_back(void **state)
{
	struct missed_idle anew = { 0 }, kept = { 0 }, late = { 0 };

	(void)state;
	missed_idle_add(&anew, 500 * (uint64_t)SECOND, 0);
	missed_idle_add(&anew, 501 * (uint64_t)SECOND, 2 * SECOND);
	missed_idle_add(&anew, 501 * (uint64_t)SECOND, 0);        /* offline: it stays as it was read last */
	missed_idle_add(&anew, 3 * (uint64_t)SECOND, 4 * SECOND); /* back, and counting from nothing */
	assert_int_equal(anew.sum_us, 4 * SECOND);
	missed_idle_add(&anew, 4 * (uint64_t)SECOND, 4 * SECOND);
	assert_int_equal(anew.sum_us, 5 * SECOND);

	/* Idle before it had an event again, which is not of interest. */
	missed_idle_add(&kept, 500 * (uint64_t)SECOND, 0);
	missed_idle_add(&kept, 510 * (uint64_t)SECOND, 2 * SECOND);
	assert_int_equal(kept.sum_us, 2 * SECOND);
	missed_idle_add(&kept, 510 * (uint64_t)SECOND, 2 * SECOND);
	assert_in_range(kept.sum_us, 2 * SECOND, 2 * SECOND + 20000);

	/* Offline at the start: how its counter stood then is not known. */
	missed_idle_add(&late, 0, 0);
	missed_idle_add(&late, 500 * (uint64_t)SECOND, 3 * SECOND);
	assert_int_equal(late.sum_us, 0);
	missed_idle_add(&late, 501 * (uint64_t)SECOND, 3 * SECOND);
	assert_int_equal(late.sum_us, SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_half_idle),
		cmocka_unit_test(test_idle_time),
		cmocka_unit_test(test_idle_time_rounded),
		cmocka_unit_test(test_idle_time_goes_back),
		cmocka_unit_test(test_cpu_offline_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
