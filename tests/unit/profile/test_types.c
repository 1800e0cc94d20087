/* SPDX-License-Identifier: Apache-2.0 */
/* Values of several types: they add up wherever samples become one, and another one can be shown instead. */
#include "profile/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "out/out.h"
#include "profile/expand.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "unit/example.h"

enum { OBJECTS, SPACE, SAMPLES, TYPES };

static uint32_t name(struct profile *profile, const char *text)
{
	return profile_string(profile, text);
}

/* A stack of these frames, by their letters. */
static uint32_t add(struct profile *profile, const char *frames, uint64_t objects, uint64_t space, uint64_t samples)
{
	const uint64_t values[TYPES] = { objects, space, samples };
	struct profile_sample sample = { .value = space };
	uint32_t number;

	for (; *frames; frames++)
		sample.stack = profile_add_node(
			profile, sample.stack,
			example_frame(profile, FRAME_USER, 0, (uint64_t)*frames, (const char[]){ *frames, '\0' }));
	number = profile_add_sample(profile, &sample);
	assert_int_equal(types_add(profile, number, values), 0);
	assert_int_equal(profile_add_counter(profile, "total", "counted", space), 0);
	return number;
}

/* In use: objects, bytes, and samples; bytes are shown. */
static struct profile *heap(void)
{
	struct profile *profile;
	struct type list[TYPES];

	assert_int_equal(profile_new(&profile), 0);
	list[OBJECTS] = (struct type){ name(profile, "objects"), name(profile, "count") };
	list[SPACE] = (struct type){ name(profile, "space"), name(profile, "bytes") };
	list[SAMPLES] = (struct type){ name(profile, "samples"), name(profile, "count") };
	assert_int_equal(types_set(profile, list, TYPES, SPACE), 0);
	types_name(profile, SPACE);
	profile_meta(profile)->period_type = name(profile, "alloc");
	return profile;
}

static void assert_values(const struct profile *profile, uint32_t sample, uint64_t objects, uint64_t space,
			  uint64_t samples)
{
	assert_int_equal(types_value(profile, sample, OBJECTS), objects);
	assert_int_equal(types_value(profile, sample, SPACE), space);
	assert_int_equal(types_value(profile, sample, SAMPLES), samples);
}

static void test_rows(void **state)
{
	struct profile *profile = heap();
	uint32_t ab = add(profile, "ab", 1, 10, 100), ac;

	(void)state;
	assert_int_equal(add(profile, "ab", 2, 20, 200), ab);
	ac = add(profile, "ac", 4, 0, 0);
	assert_values(profile, ab, 3, 30, 300);
	assert_values(profile, ac, 4, 0, 0);
	assert_true(types_counts(profile, ac)); /* though what is shown of it is nothing */
	assert_false(types_counts(profile, add(profile, "ad", 0, 0, 0)));
	assert_int_equal(types_value(profile, ab, TYPES), 0);
	assert_int_equal(types_value(profile, 99, OBJECTS), 0);
	assert_int_equal(types_add(profile, 99, (const uint64_t[TYPES]){ 1, 1, 1 }), -ENOMEM);
	profile_free(profile);
}

/* Many, so that memory grows; and numbers below zero. */
static void test_many(void **state)
{
	struct profile *profile = heap();
	char frames[5] = "";

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		for (int at = 0; at < 4; at++)
			frames[at] = (char)('a' + (i >> 4 * at & 15));
		add(profile, frames, i, 3, (uint64_t)0 - i);
	}
	for (uint32_t i = 1; i <= 5000; i++)
		assert_values(profile, i, i - 1, 3, (uint64_t)0 - (i - 1));
	assert_true(profile_memory(profile) > 5000ul * TYPES * sizeof(uint64_t));
	profile_free(profile);
}

static void test_show(void **state)
{
	struct profile *profile = heap();
	uint32_t ab = add(profile, "ab", 1, 10, 100), ac = add(profile, "ac", 4, 0, 0);

	(void)state;
	assert_int_equal(types_find(profile, "objects"), OBJECTS);
	assert_int_equal(types_find(profile, "none"), TYPES);
	assert_int_equal(types_show(profile, TYPES), -EINVAL);
	assert_int_equal(types_show(profile, OBJECTS), 0);
	assert_int_equal(profile_sample(profile, ab)->value, 1);
	assert_int_equal(profile_sample(profile, ac)->value, 4);
	assert_values(profile, ab, 1, 10, 100);
	assert_int_equal(profile_counter_value(profile, "total", "counted"), 5);
	assert_string_equal(profile_text(profile, profile_meta(profile)->unit, NULL), "count");
	assert_string_equal(profile_text(profile, profile_meta(profile)->event, NULL), "objects");
	assert_int_equal(types_show(profile, SAMPLES), 0);
	assert_string_equal(profile_text(profile, profile_meta(profile)->unit, NULL), "samples");
	assert_string_equal(profile_text(profile, profile_meta(profile)->event, NULL), "alloc");
	assert_int_equal(types_show(profile, SPACE), 0);
	assert_values(profile, ab, 1, 10, 100);
	assert_values(profile, ac, 4, 0, 0);
	assert_int_equal(profile_counter_value(profile, "total", "counted"), 10);
	profile_free(profile);
}

/* A difference cannot be shown, and what was shown stays. */
static void test_below_zero(void **state)
{
	struct profile *profile = heap();
	uint32_t ab = add(profile, "ab", (uint64_t)-1, 10, 1);

	(void)state;
	assert_int_equal(types_show(profile, OBJECTS), -ERANGE);
	assert_int_equal(profile_sample(profile, ab)->value, 10);
	assert_int_equal(types_value(profile, ab, OBJECTS), (uint64_t)-1);
	profile_free(profile);
}

static void test_filter(void **state)
{
	static const struct filter_texts texts = { out_name, out_function_module };
	struct profile *profile = heap(), *left = NULL;
	struct filter *filter;

	(void)state;
	add(profile, "abz", 1, 10, 100);
	add(profile, "ab", 2, 20, 200);
	add(profile, "ac", 4, 40, 400);
	assert_int_equal(filter_new(&filter, &(struct filter_options){ .focus = "b", .hide = "z" }, &texts), 0);
	assert_int_equal(filter_apply(filter, profile, &left), 0);
	assert_int_equal(profile_count(left, PROFILE_SAMPLES), 2);
	assert_true(types_equal(profile, left));
	assert_values(left, 1, 3, 30, 300);
	filter_free(filter);
	profile_free(left);
	profile_free(profile);
}

static void test_merge(void **state)
{
	struct profile *into = heap(), *from = heap();

	(void)state;
	add(into, "ab", 1, 10, 100);
	add(from, "ac", 2, 20, 200);
	add(from, "ab", 4, 40, 400);
	assert_int_equal(merge_into(into, from), 0);
	assert_values(into, 1, 5, 50, 500);
	assert_values(into, 2, 2, 20, 200);
	/* Others of the same unit are no sum of these: what is shown is left. */
	profile_types(from)->list[OBJECTS].name = name(from, "others");
	assert_int_equal(merge_into(into, from), 0);
	assert_int_equal(profile_types(into)->len, 0);
	assert_int_equal(profile_sample(into, 1)->value, 90);
	assert_int_equal(profile_sample(into, 2)->value, 40);
	profile_free(from);
	profile_free(into);
}

static void test_expand(void **state)
{
	struct profile *profile = heap();
	struct expand *expand;
	uint32_t b, c;

	(void)state;
	add(profile, "ab", 1, 10, 100);
	add(profile, "ac", 2, 20, 200);
	b = profile_node(profile, profile_sample(profile, 1)->stack)->frame;
	c = profile_node(profile, profile_sample(profile, 2)->stack)->frame;
	assert_int_equal(expand_new(&expand), 0);
	assert_int_equal(expand_frame(expand, c, &b, 1), 0);
	assert_int_equal(expand_apply(expand, profile), 0);
	assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 2);
	assert_values(profile, 1, 3, 30, 300);
	expand_free(expand);
	profile_free(profile);
}

/* Who takes the stacks out and adds others has none of the old values. */
static void test_taken(void **state)
{
	struct profile *profile = heap();
	struct profile_stacks stacks;

	(void)state;
	add(profile, "ab", 1, 10, 100);
	assert_int_equal(profile_take_stacks(profile, &stacks), 0);
	assert_int_equal(profile_types(profile)->len, 0);
	assert_int_equal(stacks.types.len, TYPES);
	profile_stacks_free(&stacks);
	profile_free(profile);
}

static void test_lists_that_cannot_be(void **state)
{
	struct profile *profile = heap();
	struct type list[TYPES_MAX + 1] = { { 0 } };

	(void)state;
	assert_int_equal(types_set(profile, list, TYPES_MAX + 1, 0), -EINVAL);
	assert_int_equal(types_set(profile, list, 2, 2), -EINVAL);
	assert_int_equal(profile_types(profile)->len, TYPES);
	assert_int_equal(types_set(profile, list, TYPES_MAX, TYPES_MAX - 1), 0);
	list[1].unit = 1000;
	assert_int_equal(types_set(profile, list, 2, 0), -EINVAL);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_below_zero),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_lists_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
