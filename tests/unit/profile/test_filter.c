/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: which stacks stay, what of them, and that everything around them is still right. */
#include "profile/filter.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

struct fixture {
	struct profile *profile, *filtered;
	struct buf out;
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

	buf_free(&f->out);
	profile_free(f->profile);
	profile_free(f->filtered);
	f->filtered = NULL;
	return 0;
}

static void apply_options(struct fixture *f, const struct filter_options *options)
{
	struct filter *filter;

	profile_free(f->filtered);
	f->filtered = NULL;
	assert_int_equal(filter_new(&filter, options, &out_texts), 0);
	assert_int_equal(filter_apply(filter, f->profile, &f->filtered), 0);
	filter_free(filter);
}

static void apply(struct fixture *f, const char *focus, const char *ignore, const char *hide)
{
	apply_options(f, &(struct filter_options){ .focus = focus, .ignore = ignore, .hide = hide });
}

/* The profile that is left, as folded stacks. */
static void assert_left(struct fixture *f, const char *folded)
{
	buf_clear(&f->out);
	assert_int_equal(out_folded(f->filtered, &f->out), 0);
	assert_string_equal(f->out.data ? f->out.data : "", folded);
}

#define MAIN "sh;main;libc.so.6+0x2f00 600\n"
#define KERNEL "sh;main;libc.so.6+0x2f00;[kernel]+0xffffffff81000123_[k] 200\n"
#define ODD "a\\x3bb\\x0ac\\x1b\\xff;[jit]_[j];x\\x3b\\x0ay_[i];[vdso]+0x6f0 100\n"
#define CUT "sh;[incomplete: no_mapping];[file]+0x42 100\n"

static void test_focus(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply(f, "^main$", NULL, NULL);
	assert_left(f, MAIN KERNEL);
	apply(f, "kernel", NULL, NULL);
	assert_left(f, KERNEL);
	apply(f, "incomplete", NULL, NULL);
	assert_left(f, CUT);
	apply(f, "nothing", NULL, NULL);
	assert_left(f, "");
}

static void test_focus_by_module(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply(f, "^libc", NULL, NULL); /* the inlined frame is in libc as well, though its name does not say so */
	assert_left(f, MAIN KERNEL ODD);
}

static void test_ignore(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply(f, NULL, "^main$|vdso", NULL);
	assert_left(f, CUT);
	apply(f, "^main$", "kernel", NULL);
	assert_left(f, MAIN);
}

static void test_hide_merges_what_becomes_equal(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply(f, NULL, "jit|incomplete", "^.kernel");
	assert_left(f, "sh;main;libc.so.6+0x2f00 800\n");
	apply(f, NULL, NULL, "^(main|.jit.)$");
	assert_left(f, "sh;libc.so.6+0x2f00 600\n"
		       "sh;libc.so.6+0x2f00;[kernel]+0xffffffff81000123_[k] 200\n"
		       "a\\x3bb\\x0ac\\x1b\\xff;x\\x3b\\x0ay_[i];[vdso]+0x6f0 100\n" CUT);
}

static void test_hide_drops_what_becomes_empty(void **state)
{
	struct fixture *f = *state;

	example_processes(f->profile);
	example_sample(f->profile, 1, profile_add_node(f->profile, 0, example_frame(f->profile, 0, 0, 1, "a")), 0, 5);
	example_sample(f->profile, 1, 0, 0, 7); /* had no frames to begin with */
	apply(f, NULL, NULL, "a");
	assert_left(f, "sh 7\n");
}

/* Nothing asked for: everything stays, to the byte. */
static void test_all_of_it(void **state)
{
	struct fixture *f = *state;
	autobuf struct buf before = { 0 }, after = { 0 };

	example_fill(f->profile);
	apply(f, NULL, NULL, NULL);
	assert_int_equal(out_wick(f->profile, &before), 0);
	assert_int_equal(out_wick(f->filtered, &after), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void test_around_the_stacks(void **state)
{
	struct fixture *f = *state;
	const struct profile_sample *sample;
	uint32_t rest, key, value;

	example_fill(f->profile);
	apply(f, "jit", NULL, NULL);
	assert_int_equal(profile_count(f->filtered, PROFILE_SAMPLES), 2);
	assert_int_equal(profile_count(f->filtered, PROFILE_EVENTS), 2); /* those of the other samples went */
	assert_int_equal(profile_event(f->filtered, 1)->sample, 1);
	sample = profile_sample(f->filtered, 1);
	profile_label(f->filtered, sample->labels, &rest, &key, &value);
	assert_string_equal(profile_text(f->filtered, key, NULL), "span");
	assert_string_equal(profile_text(f->filtered, value, NULL), "1");
	assert_int_equal(profile_process(f->filtered, sample->process)->pid, 4242);
	assert_int_equal(profile_process(f->filtered, profile_process(f->filtered, sample->process)->parent)->pid, 100);
	assert_int_equal(profile_counter_value(f->filtered, "lost", "ring"), 10);
	assert_int_equal(profile_meta(f->filtered)->hz, 99);
	assert_string_equal(profile_text(f->filtered, profile_meta(f->filtered)->host, NULL), "host");
}

/* Two frames at one address, of which the second was given the first one's name later, are one frame to be. */
static void test_names_filled_in_later(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t named = example_frame(p, FRAME_USER, 0, 1, "a"), late = example_frame(p, FRAME_USER, 0, 1, "");

	example_processes(p);
	example_sample(p, 1, profile_add_node(p, 0, named), 0, 1);
	example_sample(p, 1, profile_add_node(p, 0, late), 0, 2);
	profile_frame(p, late)->name = profile_string(p, "a");
	apply(f, "a", NULL, NULL);
	assert_left(f, "sh;a 3\n");
}

static void test_process(void **state)
{
	struct fixture *f = *state;
	uint32_t pid;
	char digits[16];

	example_fill(f->profile);
	apply_options(f, &(struct filter_options){ .process = "^sh$" });
	assert_left(f, MAIN KERNEL CUT);
	apply_options(f, &(struct filter_options){ .process = "^sh$", .ignore = "kernel" });
	assert_left(f, MAIN CUT);
	apply_options(f, &(struct filter_options){ .process = "nobody" });
	assert_left(f, "");
	pid = profile_process(f->profile, profile_sample(f->profile, 1)->process)->pid;
	snprintf(digits, sizeof(digits), "%u", pid);
	apply_options(f, &(struct filter_options){ .process = digits });
	assert_true(profile_count(f->filtered, PROFILE_SAMPLES) > 1);
	for (uint32_t i = 1; i < profile_count(f->filtered, PROFILE_SAMPLES); i++)
		assert_int_equal(profile_process(f->filtered, profile_sample(f->filtered, i)->process)->pid, pid);
}

#define term(...) (&(struct filter_options){ .terms_len = 1, .terms = { { __VA_ARGS__ } } })
#define terms(...) (&(struct filter_options){ .terms_len = 2, .terms = { __VA_ARGS__ } })

/* By what was running: those of one key are alternatives. */
static void test_running(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply_options(f, term(.key = FILTER_MODULE, .exact = true, .text = "libc.so.6"));
	assert_left(f, MAIN);
	apply_options(f, term(.key = FILTER_MODULE, .exact = true, .text = "libc.so"));
	assert_left(f, "");
	apply_options(f, term(.key = FILTER_MODULE, .text = "^lib|vdso"));
	assert_left(f, MAIN ODD);
	apply_options(f, term(.key = FILTER_MODULE, .except = true, .text = "^lib|vdso"));
	assert_left(f, KERNEL CUT);
	apply_options(f, term(.key = FILTER_KIND, .text = "unknown|native"));
	assert_left(f, MAIN KERNEL ODD CUT); /* no frame that was running has a name */
	apply_options(f, terms({ .key = FILTER_MODULE, .text = "libc" }, { .key = FILTER_MODULE, .text = "kernel" }));
	assert_left(f, MAIN KERNEL);
	apply_options(f, terms({ .key = FILTER_MODULE, .text = "libc" }, { .key = FILTER_KIND, .text = "JIT" }));
	assert_left(f, "");
}

/* Kinds of those that have names; and of what has no stack. */
static void test_kinds(void **state)
{
	struct fixture *f = *state;
	uint32_t kernel = example_frame(f->profile, FRAME_KERNEL, 0, 9, "k"), user;

	example_processes(f->profile);
	user = profile_add_node(f->profile, 0, example_frame(f->profile, FRAME_USER, 0, 1, "a"));
	example_sample(f->profile, 1, user, 0, 5);
	example_sample(f->profile, 1, profile_add_node(f->profile, user, kernel), 0, 3);
	example_sample(f->profile, 1, 0, 0, 7);
	apply_options(f, term(.key = FILTER_KIND, .exact = true, .text = "kernel"));
	assert_left(f, "sh;a;k_[k] 3\n");
	apply_options(f, terms({ .key = FILTER_KIND, .exact = true, .text = "kernel" },
			       { .key = FILTER_KIND, .exact = true, .text = "native" }));
	assert_left(f, "sh;a 5\nsh;a;k_[k] 3\n");
	apply_options(f, term(.key = FILTER_KIND, .text = "^no stack$"));
	assert_left(f, "sh 7\n");
	apply_options(f, term(.key = FILTER_KIND, .except = true, .text = "^no stack$"));
	assert_left(f, "sh;a 5\nsh;a;k_[k] 3\n");
}

/* Each of several that are asked of stacks narrows further; a name is whole where it is not an expression. */
static void test_terms_of_stacks(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	apply_options(f, terms({ .key = FILTER_FOCUS, .text = "main" }, { .key = FILTER_FOCUS, .text = "kernel" }));
	assert_left(f, KERNEL);
	apply_options(f, terms({ .key = FILTER_FOCUS, .text = "main" },
			       { .key = FILTER_FOCUS, .except = true, .text = "kernel" }));
	assert_left(f, MAIN);
	apply_options(f, term(.key = FILTER_FOCUS, .exact = true, .text = "main"));
	assert_left(f, MAIN KERNEL);
	apply_options(f, term(.key = FILTER_FOCUS, .exact = true, .text = "mai"));
	assert_left(f, "");
	apply_options(f, term(.key = FILTER_FOCUS, .exact = true, .text = "libc.so.6+0x2f00"));
	assert_left(f, MAIN KERNEL);
	apply_options(f, term(.key = FILTER_FOCUS, .exact = true, .text = "libc.so.6")); /* is a module's */
	assert_left(f, "");
	apply_options(f, term(.key = FILTER_FOCUS, .text = "(?i)^MAIN$"));
	assert_left(f, MAIN KERNEL);
}

static uint64_t samples_of(struct fixture *f, const struct filter_options *options)
{
	uint64_t sum = 0;

	apply_options(f, options);
	for (uint32_t i = 1; i < profile_count(f->filtered, PROFILE_SAMPLES); i++)
		sum += profile_sample(f->filtered, i)->value;
	return sum;
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Two threads of a process in a container, and one of another process that is in none. */
static void test_who_ran(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t server = profile_add_process(p, 10, 1), other = profile_add_process(p, 20, 1);
	uint32_t box = profile_add_label(p, 0, profile_string(p, "container"), profile_string(p, ID));
	uint32_t both = profile_add_label(p, box, profile_string(p, "pod"), profile_string(p, "shop-1"));
	uint32_t stack = profile_add_node(p, 0, example_frame(p, FRAME_USER, 0, 1, "a"));
	const struct profile_sample samples[] = {
		{ .value = 1,
		  .stack = stack,
		  .process = server,
		  .tid = 10,
		  .comm = profile_string(p, "java"),
		  .labels = both },
		{ .value = 2,
		  .stack = stack,
		  .process = server,
		  .tid = 11,
		  .comm = profile_string(p, "C2;"),
		  .labels = both },
		{ .value = 4, .stack = stack, .process = other, .tid = 20 },
	};

	profile_process(p, server)->comm = profile_string(p, "java");
	for (int i = 0; i < 3; i++)
		profile_add_sample(p, &samples[i]);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "java")), 3);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "jav")), 0);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "C2\\x3b")), 2);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "java (10)")), 1);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "java (20)")), 0);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "20")), 4);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .exact = true, .text = "[unnamed]")), 4);
	assert_int_equal(samples_of(f, term(.key = FILTER_PROCESS, .except = true, .text = "^java$")), 4);
	assert_int_equal(samples_of(f, term(.key = FILTER_THREAD, .exact = true, .text = "11")), 2);
	assert_int_equal(samples_of(f, term(.key = FILTER_THREAD, .exact = true, .text = "java (10/10)")), 1);
	assert_int_equal(samples_of(f, term(.key = FILTER_THREAD, .text = "\\(20/")), 4);
	assert_int_equal(samples_of(f, term(.key = FILTER_LABEL, .label = "container", .exact = true, .text = ID)), 3);
	assert_int_equal(
		samples_of(f, term(.key = FILTER_LABEL, .label = "container", .exact = true, .text = "0123456789ab")),
		3);
	assert_int_equal(
		samples_of(f, term(.key = FILTER_LABEL, .label = "container", .exact = true, .text = "0123456789a")),
		0);
	assert_int_equal(samples_of(f, term(.key = FILTER_LABEL, .label = "container", .exact = true,
					    .text = "1000/0123456789ab")),
			 0);
	assert_int_equal(
		samples_of(f, term(.key = FILTER_LABEL, .label = "container", .exact = true, .text = "[no container]")),
		4);
	assert_int_equal(samples_of(f, term(.key = FILTER_LABEL, .label = "pod", .except = true, .text = "^shop")), 4);
	assert_int_equal(samples_of(f, terms({ .key = FILTER_THREAD, .text = "^10$", .exact = false },
					     { .key = FILTER_THREAD, .text = "20", .exact = true })),
			 4);
	assert_int_equal(samples_of(f, terms({ .key = FILTER_LABEL, .label = "pod", .text = "shop-1", .exact = true },
					     { .key = FILTER_LABEL, .label = "unit", .text = "x", .exact = true })),
			 0);
	assert_int_equal(samples_of(f, terms({ .key = FILTER_PROCESS, .text = "java", .exact = true },
					     { .key = FILTER_THREAD, .text = "11", .exact = true, .except = true })),
			 1);
}

static void test_bad_pattern(void **state)
{
	const struct filter_options options = { .ignore = "a(b" };
	struct filter *filter = NULL;

	(void)state;
	assert_int_equal(filter_new(&filter, &options, &out_texts), -EINVAL);
	assert_null(filter);
	assert_non_null(strstr(fail_text(), "ignore 'a(b': "));
	filter_free(NULL);
}

#define with_profile(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_profile(test_focus),
		with_profile(test_focus_by_module),
		with_profile(test_ignore),
		with_profile(test_hide_merges_what_becomes_equal),
		with_profile(test_hide_drops_what_becomes_empty),
		with_profile(test_all_of_it),
		with_profile(test_around_the_stacks),
		with_profile(test_names_filled_in_later),
		with_profile(test_process),
		with_profile(test_running),
		with_profile(test_kinds),
		with_profile(test_terms_of_stacks),
		with_profile(test_who_ran),
		cmocka_unit_test(test_bad_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
