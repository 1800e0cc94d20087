/* SPDX-License-Identifier: Apache-2.0 */
/* What is picked out of a profile that goes on growing: all that the samples need, nothing else, and nothing twice. */
#include "profile/pick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/expand.h"
#include "profile/profile.h"
#include "unit/example.h"

static void assert_folded(const struct profile *profile, const char *wanted)
{
	autobuf struct buf out = { 0 };

	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data ? out.data : "", wanted);
}

static struct profile *new_profile(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(&profile), 0);
	return profile;
}

static uint64_t sum(const struct profile *profile)
{
	uint64_t all = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		all += profile_sample(profile, i)->value;
	return all;
}

/* Everything that is there now, taken out and picked. */
static struct profile *pick_all(struct profile *from, const struct expand *expand, uint64_t start_us)
{
	struct profile *into = new_profile();
	struct profile_stacks stacks;
	struct pick *pick;

	profile_meta(into)->start_us = start_us;
	profile_meta(into)->duration_ns = 1000000000;
	assert_int_equal(profile_take_samples(from, &stacks), 0);
	assert_int_equal(pick_new(&pick, from, expand, into), 0);
	assert_int_equal(pick_meta(pick), 0);
	assert_int_equal(pick_samples(pick, &stacks, NULL), 0);
	pick_free(pick);
	profile_stacks_free(&stacks);
	return into;
}

static void test_a_profile_as_a_whole(void **state)
{
	struct profile *from = new_profile(), *into;
	autobuf struct buf before = { 0 };

	(void)state;
	example_fill(from);
	assert_int_equal(out_folded(from, &before), 0);
	into = pick_all(from, NULL, 5000000);
	assert_folded(into, before.data);
	assert_int_equal(profile_count(into, PROFILE_FRAMES), profile_count(from, PROFILE_FRAMES));
	assert_int_equal(profile_count(into, PROFILE_FILES), 1 + 2);
	assert_int_equal(profile_count(into, PROFILE_PROCESSES), 1 + 2);
	assert_int_equal(profile_meta(into)->hz, 99);
	assert_string_equal(profile_text(into, profile_meta(into)->host, NULL), "host");
	assert_string_equal(profile_text(into, profile_process(into, 2)->cgroup, NULL), "/user.slice");
	assert_int_equal(profile_process(into, 2)->start, 88);
	profile_free(into);
	profile_free(from);
}

static void test_what_is_taken_is_gone(void **state)
{
	struct profile *from = new_profile(), *first, *second;
	uint32_t nodes;

	(void)state;
	example_fill(from);
	nodes = profile_count(from, PROFILE_NODES);
	first = pick_all(from, NULL, 5000000);
	assert_int_equal(sum(first), 1000);
	assert_int_equal(sum(from), 0);
	assert_int_equal(profile_count(from, PROFILE_EVENTS), 1);
	example_sample(from, 1, 2, PROFILE_NONE, 7); /* main → 0x2f00 of before, known already */
	example_sample(from, 1, 2, PROFILE_NONE, 5);
	assert_int_equal(profile_count(from, PROFILE_NODES), nodes);
	second = pick_all(from, NULL, 5000000);
	assert_int_equal(sum(second), 12);
	assert_int_equal(profile_count(second, PROFILE_SAMPLES), 1 + 1);
	assert_int_equal(profile_count(second, PROFILE_EVENTS), 1 + 2);
	/* nothing of what is not in it */
	assert_int_equal(profile_count(second, PROFILE_FRAMES), 1 + 2);
	assert_int_equal(profile_count(second, PROFILE_FILES), 1 + 1);
	assert_int_equal(profile_count(second, PROFILE_PROCESSES), 1 + 1);
	profile_free(second);
	profile_free(first);
	profile_free(from);
}

/* Samples of one stack, more than hang on its node, and that they are found again after they were taken out. */
static void test_many_samples_of_one_stack(void **state)
{
	struct profile *from = new_profile(), *into;

	(void)state;
	example_fill(from);
	profile_free(pick_all(from, NULL, 0));
	for (int round = 0; round < 3; round++) {
		for (uint32_t tid = 1; tid <= 40; tid++) {
			const struct profile_sample sample = { .value = tid, .stack = 2, .process = 1, .tid = tid };

			assert_int_equal(profile_add_sample(from, &sample), tid);
			assert_int_equal(profile_add_sample(from, &sample), tid);
		}
		into = pick_all(from, NULL, 0);
		assert_int_equal(profile_count(into, PROFILE_SAMPLES), 1 + 40);
		assert_int_equal(sum(into), 2 * 40 * 41 / 2);
		profile_free(into);
	}
	profile_free(from);
}

static void test_names_are_those_of_the_moment(void **state)
{
	struct profile *from = new_profile(), *into;
	struct expand *expand;
	uint32_t outer, inner, node;

	(void)state;
	assert_int_equal(expand_new(&expand), 0);
	profile_add_process(from, 1, 1);
	outer = example_frame(from, FRAME_USER, 0, 0x10, "");
	node = profile_add_node(from, PROFILE_NONE, outer);
	example_sample(from, 1, node, PROFILE_NONE, 1);
	into = pick_all(from, expand, 0);
	assert_int_equal(profile_frame(into, 1)->name, PROFILE_NONE);
	profile_free(into);
	/* The name came, and that another function was inlined there. The large profile's stacks stay as they are. */
	profile_frame(from, outer)->name = profile_string(from, "outer");
	inner = example_frame(from, FRAME_INLINE, 0, 0x10, "inner");
	assert_int_equal(expand_frame(expand, outer, (const uint32_t[]){ inner, outer }, 2), 0);
	example_sample(from, 1, node, PROFILE_NONE, 2);
	into = pick_all(from, expand, 0);
	assert_int_equal(profile_count(into, PROFILE_NODES), 1 + 2);
	node = profile_sample(into, 1)->stack;
	assert_string_equal(profile_text(into, profile_frame(into, profile_node(into, node)->frame)->name, NULL),
			    "inner");
	node = profile_node(into, node)->parent;
	assert_string_equal(profile_text(into, profile_frame(into, profile_node(into, node)->frame)->name, NULL),
			    "outer");
	assert_int_equal(profile_count(from, PROFILE_NODES), 1 + 1);
	profile_free(into);
	expand_free(expand);
	profile_free(from);
}

/* Events are relative to the window, and at its ends if they lie beyond them. */
static void test_times_of_events(void **state)
{
	struct profile *from = new_profile(), *into;

	(void)state;
	example_fill(from); /* at 0.1, 0.1, 0.2 and 0.6 s after 5 s */
	into = pick_all(from, NULL, 5150000);
	assert_int_equal(profile_count(into, PROFILE_EVENTS), 1 + 4);
	assert_int_equal(profile_event(into, 1)->time_us, 450000);
	assert_int_equal(profile_event(into, 2)->time_us, 50000);
	assert_int_equal(profile_event(into, 3)->time_us, 0);
	profile_free(into);
	example_sample(from, 1, 2, PROFILE_NONE, 2500);
	into = pick_all(from, NULL, 5000000);
	assert_int_equal(profile_event(into, 1)->time_us, 1000000);
	profile_free(into);
	profile_free(from);
}

/* Two profiles that were one after the other become one: what both have is there once. */
static void test_of_two_profiles(void **state)
{
	struct profile *from[2] = { new_profile(), new_profile() }, *into = new_profile();

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct profile_stacks stacks;
		struct pick *pick;

		example_fill(from[i]);
		assert_int_equal(profile_take_samples(from[i], &stacks), 0);
		assert_int_equal(pick_new(&pick, from[i], NULL, into), 0);
		assert_int_equal(pick_samples(pick, &stacks, NULL), 0);
		pick_free(pick);
		profile_stacks_free(&stacks);
	}
	assert_int_equal(sum(into), 2000);
	assert_int_equal(profile_count(into, PROFILE_SAMPLES), 1 + 4);
	assert_int_equal(profile_count(into, PROFILE_EVENTS), 1 + 8);
	assert_int_equal(profile_count(into, PROFILE_PROCESSES), 1 + 2);
	profile_free(into);
	profile_free(from[0]);
	profile_free(from[1]);
}

static void test_one_frame(void **state)
{
	struct profile *from = new_profile(), *into = new_profile();
	struct pick *pick;

	(void)state;
	example_fill(from);
	assert_int_equal(pick_new(&pick, from, NULL, into), 0);
	assert_int_equal(pick_frame(pick, 1), 1);
	assert_int_equal(pick_frame(pick, 1), 1);
	assert_string_equal(profile_text(into, profile_frame(into, 1)->name, NULL), "main");
	assert_string_equal(profile_text(into, profile_file(into, 1)->path, NULL), "/usr/lib/libc.so.6");
	assert_int_equal(profile_count(into, PROFILE_NODES), 1);
	pick_free(pick);
	pick_free(NULL);
	profile_free(into);
	profile_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_profile_as_a_whole),
		cmocka_unit_test(test_what_is_taken_is_gone),
		cmocka_unit_test(test_many_samples_of_one_stack),
		cmocka_unit_test(test_names_are_those_of_the_moment),
		cmocka_unit_test(test_times_of_events),
		cmocka_unit_test(test_of_two_profiles),
		cmocka_unit_test(test_one_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
