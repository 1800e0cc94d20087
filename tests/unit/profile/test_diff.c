/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two profiles side by side, and what is said of their difference. */
#include "profile/diff.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "in/in.h"
#include "out/diff.h"
#include "profile/profile.h"

static struct profile *read_text(const char *text)
{
	struct profile *profile = NULL;

	assert_int_equal(in_read(&profile, text, strlen(text)), 0);
	return profile;
}

static const struct diff_function *find(const struct diff *diff, const char *name, const char *module)
{
	for (uint32_t i = 1; i < diff->len; i++)
		if (!strcmp(diff->functions[i].name, name) && !strcmp(diff->functions[i].module, module))
			return &diff->functions[i];
	fail_msg("there is no %s in %s", name, module);
	return NULL;
}

static void assert_counts(const struct diff *diff, const char *name, const char *module, uint64_t self_before,
			  uint64_t self_after, uint64_t total_before, uint64_t total_after)
{
	const struct diff_function *function = find(diff, name, module);

	assert_int_equal(function->self[DIFF_BEFORE], self_before);
	assert_int_equal(function->self[DIFF_AFTER], self_after);
	assert_int_equal(function->total[DIFF_BEFORE], total_before);
	assert_int_equal(function->total[DIFF_AFTER], total_after);
}

static void test_counts(void **state)
{
	struct profile *before = read_text("sh;main;f;g;f 3\nsh;main;g 2\nsh;lib.so@0x10 1\nsh 4\n");
	struct profile *after = read_text("ls;main;h_[k] 5\nls;main;f;f 1\nls;main;g 2\nls;lib.so@0x10 6\n");
	struct diff diff;

	(void)state;
	assert_int_equal(out_diff(&diff, before, after), 0);
	assert_int_equal(diff.sums[DIFF_BEFORE], 10);
	assert_int_equal(diff.sums[DIFF_AFTER], 14);
	assert_true(diff.counts);
	assert_counts(&diff, "main", "-", 0, 0, 5, 8);
	assert_counts(&diff, "f", "-", 3, 1, 3, 1); /* once a stack, however often it is in it */
	assert_counts(&diff, "g", "-", 2, 2, 5, 2);
	assert_counts(&diff, "h", "[kernel]", 0, 5, 0, 5);
	assert_counts(&diff, "lib.so@0x10", "lib.so", 1, 6, 1, 6);
	assert_counts(&diff, "[no stack]", "-", 4, 0, 4, 0);
	diff_free(&diff);
	profile_free(before);
	profile_free(after);
}

static struct diff_change change(uint64_t x1, uint64_t n1, uint64_t x2, uint64_t n2)
{
	const struct diff diff = { .sums = { n1, n2 } };
	const uint64_t counts[] = { x1, x2 };

	return diff_change(&diff, counts);
}

static void assert_change(struct diff_change got, double points, double low, double high)
{
	if (fabs(got.points - points) > 0.005 || fabs(got.low - low) > 0.005 || fabs(got.high - high) > 0.005)
		fail_msg("%.4f (%.4f to %.4f) is not %.4f (%.4f to %.4f)", got.points, got.low, got.high, points, low,
			 high);
}

/* The published examples of the method: 56 of 70 against 48 of 80, and others with small counts. */
static void test_interval(void **state)
{
	struct diff_change got;

	(void)state;
	assert_change(change(48, 80, 56, 70), 20, 5.24, 33.39);
	assert_change(change(3, 10, 9, 10), 60, 17.05, 80.90);
	assert_change(change(2, 7, 6, 7), 57.14, 5.82, 80.62);
	assert_change(change(0, 29, 5, 56), 8.93, -3.81, 19.26);
	assert_change(change(0, 20, 0, 10), 0, -16.11, 27.75);
	assert_change(change(0, 10, 10, 10), 100, 60.75, 100);
	/* Nothing is known of an empty profile: everything may be noise. */
	got = change(0, 0, 5, 10);
	assert_false(diff_is_real(&got));
	got = change(100, 1000, 100, 1000);
	assert_change(got, 0, -got.high, got.high);
	assert_false(diff_is_real(&got));
	got = change(100, 1000, 200, 1000);
	assert_true(diff_is_real(&got));
	assert_true(got.low > 0);
	got = change(200000, 1000000, 100000, 1000000);
	assert_true(diff_is_real(&got) && got.high < 0);
}

/* Two profiles of the same thing: about one line in twenty is taken for a change, not more. */
static void test_covers(void **state)
{
	uint64_t random = 1, wrong = 0;
	const unsigned rounds = 2000, samples = 400;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t counts[2] = { 0 };
		struct diff_change got;

		for (unsigned i = 0; i < 2 * samples; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			counts[i % 2] += (random >> 33) % 100 < 7;
		}
		got = change(counts[0], samples, counts[1], samples);
		wrong += diff_is_real(&got);
	}
	assert_in_range(wrong, rounds / 40, rounds / 15);
}

static void test_units(void **state)
{
	struct profile *before = read_text("a;b 1\n"), *after = read_text("a;b 1\n");
	struct diff diff;

	(void)state;
	profile_meta(after)->unit = profile_string(after, "bytes");
	assert_int_equal(out_diff(&diff, before, after), -EINVAL);
	assert_non_null(strstr(fail_text(), "'samples' cannot be compared with values in 'bytes'"));
	diff_free(&diff);
	profile_meta(before)->unit = profile_string(before, "bytes");
	assert_int_equal(out_diff(&diff, before, after), 0);
	assert_false(diff.counts);
	diff_free(&diff);
	profile_free(before);
	profile_free(after);
}

static void test_deep_recursion(void **state)
{
	autobuf struct buf text = { 0 };
	struct profile *profile;
	struct diff diff;

	(void)state;
	buf_adds(&text, "sh");
	for (int i = 0; i < 60000; i++)
		buf_adds(&text, ";f");
	buf_adds(&text, " 2\n");
	profile = read_text(text.data);
	assert_int_equal(out_diff(&diff, profile, profile), 0);
	assert_counts(&diff, "f", "-", 2, 2, 2, 2);
	diff_free(&diff);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts), cmocka_unit_test(test_interval),       cmocka_unit_test(test_covers),
		cmocka_unit_test(test_units),  cmocka_unit_test(test_deep_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
