/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in the order of time: what has events, what has lost some, and what never had any. */
#include "out/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/profile.h"

struct fixture {
	struct profile *profile;
	struct timeline timeline;
};

static struct fixture fixture;

static int set_up(void **state)
{
	*state = &fixture;
	return profile_new(&fixture.profile);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	timeline_free(&f->timeline);
	profile_free(f->profile);
	return 0;
}

static uint32_t add(struct fixture *f, uint32_t tid, uint64_t value)
{
	return profile_add_sample(f->profile, &(struct profile_sample){ .tid = tid, .value = value });
}

static void happen(struct fixture *f, uint64_t time_us, uint32_t sample, uint32_t cpu)
{
	assert_int_not_equal(profile_add_event(f->profile, &(struct profile_event){ time_us, sample, cpu }),
			     PROFILE_FULL);
}

static uint64_t count_of(const struct fixture *f, uint32_t sample)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->timeline.len; i++) {
		assert_true(!i || f->timeline.list[i].time_ns >= f->timeline.list[i - 1].time_ns);
		sum += f->timeline.list[i].sample == sample ? f->timeline.list[i].count : 0;
	}
	return sum;
}

static void test_events_in_order(void **state)
{
	struct fixture *f = *state;
	uint32_t a = add(f, 1, 2), b = add(f, 2, 1);

	happen(f, 30, a, 1);
	happen(f, 10, a, 0);
	happen(f, 20, b, 0);
	assert_int_equal(timeline_new(f->profile, 0, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 3);
	assert_int_equal(f->timeline.list[0].time_ns, 10000);
	assert_int_equal(f->timeline.list[1].sample, b);
	assert_int_equal(f->timeline.list[2].cpu, 1);
	assert_int_equal(f->timeline.total, 3);
}

static void test_lost_events_are_made_up_for(void **state)
{
	struct fixture *f = *state;
	uint32_t a = add(f, 1, 5), b = add(f, 2, 3);

	profile_meta(f->profile)->duration_ns = 1000;
	happen(f, 1, a, 0);
	assert_int_equal(timeline_new(f->profile, 0, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 3); /* the event, and what is left of each */
	assert_int_equal(count_of(f, a), 5);
	assert_int_equal(count_of(f, b), 3);
}

static void test_events_beyond_the_count_are_not_believed(void **state)
{
	struct fixture *f = *state;
	uint32_t a = add(f, 1, 1);

	happen(f, 1, a, 0);
	happen(f, 2, a, 0);
	assert_int_equal(timeline_new(f->profile, 0, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 1);
}

static void test_apart_at_steady_times(void **state)
{
	struct fixture *f = *state;
	uint32_t a = add(f, 1, 3), b = add(f, 2, 1);

	profile_meta(f->profile)->duration_ns = 400;
	assert_int_equal(timeline_new(f->profile, 4, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(f->timeline.list[i].time_ns, 100 * i);
		assert_int_equal(f->timeline.list[i].cpu, TIMELINE_NO_CPU);
	}
	assert_int_equal(count_of(f, a), 3);
	assert_int_equal(count_of(f, b), 1);
}

static void test_too_many_stay_together(void **state)
{
	struct fixture *f = *state;
	uint32_t a = add(f, 1, UINT64_MAX), b = add(f, 2, UINT64_MAX), none = add(f, 3, 0);

	profile_meta(f->profile)->duration_ns = UINT64_MAX;
	assert_int_equal(timeline_new(f->profile, 1000, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 2);
	assert_int_equal(count_of(f, a), UINT64_MAX);
	assert_int_equal(count_of(f, b), UINT64_MAX);
	assert_int_equal(count_of(f, none), 0);
	assert_int_equal(f->timeline.total, UINT64_MAX);
}

static void test_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(timeline_new(f->profile, 1000, &f->timeline), 0);
	assert_int_equal(f->timeline.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_events_are_made_up_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events_beyond_the_count_are_not_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_apart_at_steady_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many_stay_together, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("out/timeline", tests, NULL, NULL);
}
