/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one: what adds up, what stays, what is not to be added. */
#include "profile/merge.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "in/in.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

static struct profile *read_text(const char *text)
{
	struct profile *profile = NULL;

	assert_int_equal(in_read(&profile, text, strlen(text)), 0);
	return profile;
}

static struct profile *example(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(&profile), 0);
	example_fill(profile);
	return profile;
}

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static void test_folded(void **state)
{
	struct profile *into = read_text("sh;a;b 1\nls;a 2\n");
	struct profile *from = read_text("cat;a;b 5\nsh;a;b 3\nls;c_[k] 1\nsh;a 1\n");
	autobuf struct buf out = { 0 };

	(void)state;
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(out_folded(into, &out), 0);
	assert_string_equal(out.data, "cat;a;b 5\nsh;a;b 4\nls;a 2\nls;c_[k] 1\nsh;a 1\n");
	assert_int_equal(profile_counter_value(into, "total", "counted"), 13);
	/* Known by their names alone: the same name is one, whatever its number was. */
	assert_int_equal(profile_count(into, PROFILE_PROCESSES), 1 + 3);
	for (uint32_t i = 1; i < profile_count(into, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(into, i);

		assert_int_equal(profile_process(into, sample->process)->comm, sample->comm);
	}
	profile_free(from);
	profile_free(into);
}

/* Two frames that differed until one was given its name: so do the nodes on them. */
static void test_frames_become_one(void **state)
{
	struct profile *into = read_text("sh;a 1\n"), *from;
	struct profile_frame named = { .kind = FRAME_USER, .address = 5 };
	uint32_t first, second, leaf;

	(void)state;
	assert_int_equal(profile_new(&from), 0);
	first = profile_add_frame(from, &named);
	named.name = profile_string(from, "x");
	second = profile_add_frame(from, &named);
	assert_int_not_equal(first, second);
	profile_frame(from, first)->name = named.name;
	leaf = example_frame(from, FRAME_USER, 0, 7, "y");
	for (uint32_t value = 1; value <= 2; value++) {
		uint32_t node = profile_add_node(from, PROFILE_NONE, value == 1 ? first : second);
		struct profile_sample sample = { .value = value, .stack = profile_add_node(from, node, leaf) };

		profile_add_sample(from, &sample);
	}
	assert_int_equal(profile_count(from, PROFILE_NODES), 1 + 4);
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(profile_count(into, PROFILE_NODES), 1 + 1 + 2);
	assert_int_equal(profile_count(into, PROFILE_SAMPLES), 1 + 2);
	assert_int_equal(profile_sample(into, 2)->value, 3);
	profile_free(from);
	profile_free(into);
}

/* Stacks in three profiles: what the first merge added is found by the second. */
static void test_third(void **state)
{
	struct profile *into = read_text("sh;a;b 1\n");
	struct profile *from = read_text("sh;a;c;d 1\nsh;a;e 1\nsh;a;c;f 1\n");
	autobuf struct buf out = { 0 };

	(void)state;
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(profile_count(into, PROFILE_NODES), 1 + 6);
	assert_int_equal(out_folded(into, &out), 0);
	assert_string_equal(out.data, "sh;a;c;d 2\nsh;a;c;f 2\nsh;a;e 2\nsh;a;b 1\n");
	profile_free(from);
	profile_free(into);
}

/* The same profile again: nothing is new, everything counts twice. */
static void test_twice(void **state)
{
	struct profile *into = example(), *from = example();
	uint64_t sum = sum_of(from);

	(void)state;
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(sum_of(into), 2 * sum);
	for (int table = 0; table < PROFILE_TABLES; table++)
		if (table != PROFILE_EVENTS)
			assert_int_equal(profile_count(into, table), profile_count(from, table));
	assert_int_equal(profile_count(into, PROFILE_EVENTS) - 1, 2 * (profile_count(from, PROFILE_EVENTS) - 1));
	for (uint32_t i = 1; i < profile_count(from, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(from, i);
		const char *group = profile_text(from, counter->group, NULL);
		const char *name = profile_text(from, counter->name, NULL);
		unsigned times = strcmp(group, "self") || !strcmp(name, "cpu_us") ? 2 : 1;

		assert_int_equal(profile_counter_value(into, group, name), times * counter->value);
	}
	profile_free(from);
	profile_free(into);
}

static void test_meta(void **state)
{
	struct profile *into = example(), *from = example();
	struct profile_meta *meta = profile_meta(into);

	(void)state;
	profile_meta(from)->hz = 49;
	profile_meta(from)->cpus = 8;
	profile_meta(from)->host = profile_string(from, "other");
	profile_meta(from)->wall_ns -= 3000000;
	profile_meta(from)->start_us = 7;
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(meta->hz, 0);
	assert_int_equal(meta->period, 10101010);
	assert_int_equal(meta->cpus, 8);
	assert_int_equal(meta->host, PROFILE_NONE);
	assert_string_equal(profile_text(into, meta->kernel, NULL), "6.1.0");
	assert_int_equal(meta->duration_ns, 20000000000);
	assert_int_equal(meta->expected, 2 * 1980);
	assert_int_equal(meta->idle_us, 2 * 5800000);
	assert_int_equal(meta->wall_ns, 1700000000000000000 - 3000000);
	assert_int_equal(meta->start_us, 7);
	profile_free(from);
	profile_free(into);
}

/* Whichever is merged into which, events keep their distance. */
static void test_events(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct profile *early = read_text("a;b 1\n"), *late = read_text("a;c 1\n");
		struct profile *into = turn ? late : early, *from = turn ? early : late;
		uint64_t sum = 0;

		profile_meta(early)->wall_ns = 1000000;
		profile_meta(late)->wall_ns = 6000000; /* 5,000 us later */
		profile_add_event(early, &(struct profile_event){ .time_us = 10, .sample = 1 });
		profile_add_event(late, &(struct profile_event){ .time_us = 20, .sample = 1 });
		assert_int_equal(merge_into(into, from), 0);
		for (uint32_t i = 1; i < profile_count(into, PROFILE_EVENTS); i++)
			sum += profile_event(into, i)->time_us;
		assert_int_equal(sum, 10 + 5020);
		assert_int_equal(profile_event(into, 1)->time_us, turn ? 5020 : 10);
		profile_free(early);
		profile_free(late);
	}
}

static void test_pids_without_a_start(void **state)
{
	struct profile *into, *from;
	const char *const names[] = { "sh", "sh", "ls" };

	(void)state;
	assert_int_equal(profile_new(&into), 0);
	for (int i = 0; i < 3; i++) {
		uint32_t number;

		assert_int_equal(profile_new(&from), 0);
		profile_string(from, "so that numbers differ");
		number = profile_add_process(from, 7, 0);
		profile_process(from, number)->comm = profile_string(from, names[i]);
		profile_add_sample(from, &(struct profile_sample){ .value = 1, .process = number });
		assert_int_equal(merge_into(into, from), 0);
		profile_free(from);
	}
	assert_int_equal(profile_count(into, PROFILE_PROCESSES), 1 + 2);
	profile_free(into);
}

static void test_units(void **state)
{
	struct profile *into = read_text("a;b 1\n"), *from = read_text("a;b 1\n");

	(void)state;
	profile_meta(from)->unit = profile_string(from, "bytes");
	assert_int_equal(merge_into(into, from), -EINVAL);
	assert_non_null(strstr(fail_text(), "'bytes' cannot be added to values in 'samples'"));
	assert_int_equal(sum_of(into), 1);
	profile_free(from);
	profile_free(into);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folded), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_meta),   cmocka_unit_test(test_events),
		cmocka_unit_test(test_units),  cmocka_unit_test(test_pids_without_a_start),
		cmocka_unit_test(test_third),  cmocka_unit_test(test_frames_become_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
