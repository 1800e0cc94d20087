/* SPDX-License-Identifier: Apache-2.0 */
/* The model: what is added twice is there once, what differs stays apart, and a failure passes through. */
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unit/example.h"

static int set_up(void **state)
{
	return profile_new((struct profile **)state);
}

static int tear_down(void **state)
{
	profile_free(*state);
	return 0;
}

static void test_new_is_empty(void **state)
{
	const struct profile *profile = *state;

	for (int i = 0; i < PROFILE_TABLES; i++)
		assert_int_equal(profile_count(profile, i), 1);
	assert_int_equal(profile_sample(profile, 7)->value, 0);
	assert_int_equal(profile_node(profile, 0)->frame, 0);
	assert_string_equal(profile_text(profile, PROFILE_FULL, NULL), "");
	assert_int_equal(profile_counter_value(profile, "lost", "ring"), 0);
}

static void test_files_differ_by_each_field(void **state)
{
	struct profile *profile = *state;
	const uint32_t path = profile_string(profile, "/a"), other = profile_string(profile, "/b");
	const struct profile_file files[] = {
		{ .path = path },     { .path = path, .device = 1 },     { .path = path, .inode = 1 },
		{ .path = other },    { .path = path, .size = 1 },       { .path = path, .generation = 1 },
		{ .reason = path },   { .path = path, .mtime_ns = 1 },   { .path = path, .build_id = other },
		{ .build_id = path }, { .path = path, .reason = other },
	};

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			assert_int_equal(profile_add_file(profile, &files[i]), i + 1);
	assert_int_equal(profile_file(profile, 5)->size, 1);
}

static void test_frames_differ_by_each_field(void **state)
{
	struct profile *profile = *state;
	const uint32_t name = profile_string(profile, "f");
	const struct profile_file file = { .inode = 1 };
	const struct profile_frame frames[] = {
		{ .address = 1 },
		{ .address = 1, .kind = FRAME_KERNEL },
		{ .address = 1, .file = profile_add_file(profile, &file) },
		{ .address = 1, .process = profile_add_process(profile, 1, 1) },
		{ .address = 1, .name = name },
		{ .address = 1ULL << 32 },
		{ 0 },
	};

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
			assert_int_equal(profile_add_frame(profile, &frames[i]), i + 1);
}

static void test_named_frame_is_found_again(void **state)
{
	struct profile *profile = *state;
	const struct profile_frame frame = { .address = 0x10, .kind = FRAME_KERNEL };
	uint32_t number = profile_add_frame(profile, &frame);
	uint32_t name = profile_string(profile, "do_idle");

	profile_frame(profile, number)->name = name;
	assert_int_equal(profile_add_frame(profile, &frame), number);
	assert_int_equal(profile_frame(profile, number)->name, name);
	assert_int_equal(profile_count(profile, PROFILE_FRAMES), 2);
}

static void test_pid_reused_is_another_process(void **state)
{
	struct profile *profile = *state;
	uint32_t first = profile_add_process(profile, 10, 1000);
	uint32_t second = profile_add_process(profile, 10, 2000);

	assert_int_not_equal(first, second);
	profile_process(profile, first)->comm = profile_string(profile, "one");
	assert_int_equal(profile_add_process(profile, 10, 1000), first);
	assert_int_equal(profile_process(profile, second)->comm, PROFILE_NONE);
	/* The idle task is a process too, not "none". */
	assert_int_not_equal(profile_add_process(profile, 0, 0), PROFILE_NONE);
}

static void test_stacks_share_and_lead_up(void **state)
{
	struct profile *profile = *state;
	uint32_t a = example_frame(profile, FRAME_USER, 0, 1, "a"), b = example_frame(profile, FRAME_USER, 0, 2, "b");
	uint32_t root = profile_add_node(profile, PROFILE_NONE, a);
	uint32_t leaf = profile_add_node(profile, root, b);

	assert_int_not_equal(profile_add_node(profile, PROFILE_NONE, b), leaf);
	assert_int_not_equal(profile_add_node(profile, leaf, b), leaf);
	assert_int_equal(profile_add_node(profile, profile_add_node(profile, PROFILE_NONE, a), b), leaf);
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_NODES); i++)
		assert_true(profile_node(profile, i)->parent < i);
}

static void test_samples_add_up_by_key(void **state)
{
	struct profile *profile = *state;
	const struct profile_sample base = { .value = 2, .process = profile_add_process(profile, 1, 1) };
	struct profile_sample other = base;
	uint32_t number = profile_add_sample(profile, &base);

	other.tid = 5;
	assert_int_not_equal(profile_add_sample(profile, &other), number);
	other = base;
	other.comm = profile_string(profile, "x");
	assert_int_not_equal(profile_add_sample(profile, &other), number);
	other = base;
	other.value = 40;
	assert_int_equal(profile_add_sample(profile, &other), number);
	assert_int_equal(profile_sample(profile, number)->value, 42);
	assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 4);
}

/* More of one stack than hang on its node; and again after the memory for finding them was given back. */
static void test_many_samples_of_one_stack(void **state)
{
	struct profile *profile = *state;
	uint32_t frame = example_frame(profile, FRAME_USER, 0, 1, "a");
	uint32_t node = profile_add_node(profile, PROFILE_NONE, frame), numbers[100];

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 100; i++) {
			const struct profile_sample sample = { .value = 1, .stack = i % 2 ? node : 0, .tid = i / 2 };
			uint32_t number = profile_add_sample(profile, &sample);

			assert_true(!round || number == numbers[i]);
			numbers[i] = number;
			assert_int_equal(profile_sample(profile, number)->value, round + 1);
			assert_int_equal(profile_sample(profile, number)->tid, i / 2);
		}
		assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 101);
		profile_settle(profile);
		assert_int_equal(profile_add_node(profile, PROFILE_NONE, frame), node);
	}
}

static void test_chains_are_nodes(void **state)
{
	struct profile *profile = *state;
	uint32_t frames[200], nodes[200], again[200], node = PROFILE_NONE;

	for (uint32_t i = 0; i < 200; i++)
		frames[i] = example_frame(profile, FRAME_USER, 0, 1 + i % 7, "a");
	profile_expect_nodes(profile, 1000);
	profile_add_chain(profile, PROFILE_NONE, frames, 100, nodes);
	profile_add_chain(profile, PROFILE_NONE, frames, 200, nodes);
	for (uint32_t i = 0; i < 200; i++) {
		struct profile_node wanted = { node, frames[i] };

		profile_find_nodes(profile, &wanted, 1, &again[i]);
		node = profile_add_node(profile, node, frames[i]);
		assert_int_equal(nodes[i], node);
		assert_int_equal(again[i], node);
	}
	assert_int_equal(profile_count(profile, PROFILE_NODES), 201);
	profile_find_nodes(profile, &(struct profile_node){ node, frames[0] }, 1, again);
	assert_int_equal(again[0], PROFILE_NONE);
	frames[100] = PROFILE_FULL;
	profile_add_chain(profile, node, frames + 1, 199, nodes);
	assert_int_not_equal(nodes[98], PROFILE_FULL);
	for (uint32_t i = 99; i < 199; i++)
		assert_int_equal(nodes[i], PROFILE_FULL);
}

static void test_label_order_does_not_matter(void **state)
{
	struct profile *profile = *state;
	uint32_t a = profile_string(profile, "a"), b = profile_string(profile, "b"), c = profile_string(profile, "c");
	uint32_t abc = profile_add_label(profile, 0, a, b), cba, rest, key, value;

	abc = profile_add_label(profile, profile_add_label(profile, abc, b, a), c, c);
	cba = profile_add_label(profile, 0, c, c);
	cba = profile_add_label(profile, profile_add_label(profile, cba, b, a), a, b);
	assert_int_equal(abc, cba);
	assert_int_equal(profile_add_label(profile, abc, b, a), abc);
	assert_int_not_equal(profile_add_label(profile, abc, b, b), abc);
	profile_label(profile, abc, &rest, &key, &value);
	assert_int_equal(key, c);
	profile_label(profile, rest, &rest, &key, &value);
	assert_int_equal(key, b);
	profile_label(profile, rest, &rest, &key, &value);
	assert_int_equal(key, a);
	assert_int_equal(value, b);
	assert_int_equal(rest, 0);
}

static uint32_t number_label(struct profile *profile, const char *text)
{
	return profile_add_number(profile, 0, profile_string(profile, "bytes"), profile_string(profile, text));
}

/* A label that is a number is another one than the same text, and says which number it is. */
static void test_labels_that_are_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t number;
		const char *unit;
	} cases[] = {
		{ "0", 0, "" },
		{ "4096", 4096, "" },
		{ "4096 bytes", 4096, "bytes" },
		{ "-7 a b", -7, "a b" },
		{ "9223372036854775807", INT64_MAX, "" },
		{ "-9223372036854775808", INT64_MIN, "" },
	};
	static const char *const none[] = { "",
					    "-",
					    " bytes",
					    "4096bytes",
					    "4096 ",
					    "+1",
					    "1.5",
					    "9223372036854775808",
					    "-9223372036854775809",
					    "99999999999999999999999" };
	struct profile *profile = *state;
	int64_t number;
	size_t unit;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t set = number_label(profile, cases[i].text);

		assert_int_not_equal(set, PROFILE_FULL);
		assert_true(profile_label_number(profile, set, &number, &unit));
		assert_true(number == cases[i].number);
		assert_string_equal(cases[i].text + unit, cases[i].unit);
		assert_int_equal(number_label(profile, cases[i].text), set);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(number_label(profile, none[i]), PROFILE_FULL);
	assert_false(profile_label_number(
		profile,
		profile_add_label(profile, 0, profile_string(profile, "bytes"), profile_string(profile, "4096")),
		&number, &unit));
	assert_false(profile_label_number(profile, 0, &number, &unit));
}

static void test_label_sets_are_bounded(void **state)
{
	struct profile *profile = *state;
	uint32_t set = PROFILE_NONE;

	for (char c = 1; c <= PROFILE_LABELS_MAX; c++)
		set = profile_add_label(profile, set, profile_bytes(profile, &c, 1), PROFILE_NONE);
	assert_int_not_equal(set, PROFILE_FULL);
	assert_int_equal(profile_add_label(profile, set, profile_string(profile, "z"), PROFILE_NONE), PROFILE_FULL);
	assert_int_equal(profile_add_label(profile, set, PROFILE_NONE, PROFILE_NONE), PROFILE_FULL);
}

static void test_counters_add_up(void **state)
{
	struct profile *profile = *state;

	assert_int_equal(profile_add_counter(profile, "lost", "ring", 0), 0);
	assert_int_equal(profile_count(profile, PROFILE_COUNTERS), 2);
	assert_int_equal(profile_add_counter(profile, "lost", "ring", 3), 0);
	assert_int_equal(profile_add_counter(profile, "lost", "ring", 4), 0);
	assert_int_equal(profile_add_counter(profile, "note", "ring", 1), 0);
	assert_int_equal(profile_counter_value(profile, "lost", "ring"), 7);
}

static void test_failure_passes_through(void **state)
{
	struct profile *profile = *state;
	const struct profile_frame frame = { .name = PROFILE_FULL };
	const struct profile_frame kind = { .kind = FRAME_KINDS };
	const struct profile_file file = { .path = 1 };
	const struct profile_sample sample = { .stack = PROFILE_FULL };
	const struct profile_event event = { .sample = 1 };

	assert_int_equal(profile_add_frame(profile, &frame), PROFILE_FULL);
	assert_int_equal(profile_add_frame(profile, &kind), PROFILE_FULL);
	assert_int_equal(profile_add_file(profile, &file), PROFILE_FULL);
	assert_int_equal(profile_add_node(profile, PROFILE_FULL, 0), PROFILE_FULL);
	assert_int_equal(profile_add_node(profile, 0, 1), PROFILE_FULL);
	assert_int_equal(profile_add_sample(profile, &sample), PROFILE_FULL);
	assert_int_equal(profile_add_event(profile, &event), PROFILE_FULL);
	assert_int_equal(profile_add_label(profile, PROFILE_FULL, 0, 0), PROFILE_FULL);
	for (int i = 0; i < PROFILE_TABLES; i++)
		assert_int_equal(profile_count(profile, i), 1);
}

/* 2,000 samples (10 s of 2 CPUs at 99 Hz), each of 40 frames of which 20 are in no other: more than machines show. */
static void test_memory_of_ten_seconds(void **state)
{
	struct profile *profile = *state;

	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t node = PROFILE_NONE;

		for (uint32_t depth = 0; depth < 40; depth++) {
			uint32_t address = depth < 20 ? depth : i * 20 + depth;

			node = profile_add_node(profile, node, example_frame(profile, FRAME_USER, 0, address, ""));
		}
		example_sample(profile, PROFILE_NONE, node, PROFILE_NONE, 1);
	}
	assert_int_equal(profile_count(profile, PROFILE_NODES), 1 + 20 + 2000 * 20);
	assert_in_range(profile_memory(profile), 1000000, 8000000);
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	profile_free(NULL);
}

#define with_profile(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_profile(test_new_is_empty),
		with_profile(test_files_differ_by_each_field),
		with_profile(test_frames_differ_by_each_field),
		with_profile(test_named_frame_is_found_again),
		with_profile(test_pid_reused_is_another_process),
		with_profile(test_stacks_share_and_lead_up),
		with_profile(test_samples_add_up_by_key),
		with_profile(test_many_samples_of_one_stack),
		with_profile(test_chains_are_nodes),
		with_profile(test_label_order_does_not_matter),
		with_profile(test_labels_that_are_numbers),
		with_profile(test_label_sets_are_bounded),
		with_profile(test_counters_add_up),
		with_profile(test_failure_passes_through),
		with_profile(test_memory_of_ten_seconds),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
