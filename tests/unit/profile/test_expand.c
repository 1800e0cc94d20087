/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that become several: where they stand in stacks, and that no sample or event is lost by it. */
#include "profile/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

struct fixture {
	struct profile *profile;
	struct expand *expand;
	struct buf out;
	uint32_t a, b, c, x, y; /* frames; x and y are inlined ones */
};

static struct fixture fixture;

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	int err = profile_new(&f->profile);

	*state = f;
	if (err)
		return err;
	f->a = example_frame(f->profile, FRAME_USER, 0, 1, "a");
	f->b = example_frame(f->profile, FRAME_USER, 0, 2, "b");
	f->c = example_frame(f->profile, FRAME_USER, 0, 3, "c");
	f->x = example_frame(f->profile, FRAME_INLINE, 0, 2, "x");
	f->y = example_frame(f->profile, FRAME_INLINE, 0, 2, "y");
	return expand_new(&f->expand);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	buf_free(&f->out);
	expand_free(f->expand);
	profile_free(f->profile);
	return 0;
}

static uint32_t stack(struct fixture *f, const uint32_t *frames, size_t len)
{
	uint32_t node = PROFILE_NONE;

	for (size_t i = 0; i < len; i++)
		node = profile_add_node(f->profile, node, frames[i]);
	return node;
}

#define STACK(f, ...) stack(f, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define BECOMES(f, frame, ...)                                                                 \
	assert_int_equal(expand_frame((f)->expand, frame, (uint32_t[]){ __VA_ARGS__ },         \
				      sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)), \
			 0)

/* A sample with one event, whose time is the value. */
static void count(struct fixture *f, uint32_t node, uint64_t value)
{
	const struct profile_sample sample = { .stack = node, .value = value };
	const struct profile_event event = { .sample = profile_add_sample(f->profile, &sample), .time_us = value };

	assert_int_not_equal(profile_add_event(f->profile, &event), PROFILE_FULL);
}

static void assert_folded(struct fixture *f, const char *folded)
{
	assert_int_equal(expand_apply(f->expand, f->profile), 0);
	assert_int_equal(out_folded(f->profile, &f->out), 0);
	assert_string_equal(f->out.data ? f->out.data : "", folded);
}

static void test_between_its_callers_and_what_it_calls(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->a, f->b, f->c), 5);
	count(f, STACK(f, f->a, f->b), 3);
	count(f, STACK(f, f->a, f->c), 2);
	BECOMES(f, f->b, f->x, f->y, f->b); /* innermost first */
	assert_folded(f, "a;b;y_[i];x_[i];c 5\n"
			 "a;b;y_[i];x_[i] 3\n"
			 "a;c 2\n");
}

static void test_the_same_frame_again_in_a_stack(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->b, f->b), 1);
	BECOMES(f, f->b, f->x, f->b);
	assert_folded(f, "b;x_[i];b;x_[i] 1\n");
}

/* A function inlined into itself: one frame, twice. */
static void test_recursion(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->b), 1);
	BECOMES(f, f->b, f->x, f->x, f->b);
	assert_folded(f, "b;x_[i];x_[i] 1\n");
}

static void test_what_becomes_equal_is_added_up(void **state)
{
	struct fixture *f = *state;
	uint64_t times = 0;

	count(f, STACK(f, f->a, f->b), 4);
	count(f, STACK(f, f->a, f->c), 7);
	BECOMES(f, f->b, f->a);
	BECOMES(f, f->c, f->a);
	assert_folded(f, "a;a 11\n");
	assert_int_equal(profile_count(f->profile, PROFILE_SAMPLES), 2);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 3);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(profile_event(f->profile, i)->sample, 1);
		times += profile_event(f->profile, i)->time_us;
	}
	assert_int_equal(times, 11);
}

static void test_nodes_that_nobody_needs_are_gone(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->a, f->b), 1);
	BECOMES(f, f->b, f->x, f->b);
	assert_int_equal(expand_apply(f->expand, f->profile), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_NODES), 4);         /* number 0, a, b, x */
	assert_int_equal(profile_add_node(f->profile, PROFILE_NONE, f->a), 1); /* and they are found again */
}

static void test_nothing_to_do(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->a, f->b), 1);
	assert_int_equal(expand_frame(f->expand, f->a, NULL, 0), 0);
	assert_folded(f, "a;b 1\n");
	expand_free(NULL);
}

/* Everything a profile can hold goes through, and what has no list is as it was. */
static void test_the_rest_stays(void **state)
{
	struct fixture *f = *state;
	autobuf struct buf before = { 0 };

	example_fill(f->profile);
	assert_int_equal(out_folded(f->profile, &before), 0);
	BECOMES(f, f->a, f->x, f->a); /* in no stack */
	assert_folded(f, before.data);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 5);
	assert_int_equal(profile_count(f->profile, PROFILE_SAMPLES), 5);
}

static void test_a_frame_that_does_not_exist(void **state)
{
	struct fixture *f = *state;

	count(f, STACK(f, f->a), 1);
	BECOMES(f, f->a, 12345);
	assert_true(expand_apply(f->expand, f->profile) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_between_its_callers_and_what_it_calls),
		TEST(test_the_same_frame_again_in_a_stack),
		TEST(test_recursion),
		TEST(test_what_becomes_equal_is_added_up),
		TEST(test_nodes_that_nobody_needs_are_gone),
		TEST(test_nothing_to_do),
		TEST(test_the_rest_stays),
		TEST(test_a_frame_that_does_not_exist),
	};

	memset(&fixture, 0, sizeof(fixture));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
