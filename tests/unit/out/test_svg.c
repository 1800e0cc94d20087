/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs of what no folded file can be: what is merged, what is marked, what is shown of odd profiles. */
#include "out/svg.h"

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
	struct profile *profile;
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
	return 0;
}

static void draw(struct fixture *f, const struct svg_options *options)
{
	buf_clear(&f->out);
	assert_int_equal(svg_write(f->profile, options, &f->out), 0);
}

static size_t count_of(const struct fixture *f, const char *text)
{
	size_t count = 0;

	for (const char *at = f->out.data; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* One rectangle with this title, and this after it. */
static void assert_frame(const struct fixture *f, const char *title, const char *rect)
{
	char text[300];

	snprintf(text, sizeof(text), "<title>%s</title><rect %s", title, rect);
	if (count_of(f, text) != 1)
		fail_msg("'%s' is there %zu times in: %s", text, count_of(f, text), f->out.data);
}

static uint32_t stack(struct profile *profile, uint32_t parent, uint32_t kind, uint64_t address, const char *name)
{
	return profile_add_node(profile, parent, example_frame(profile, kind, 0, address, name));
}

static void sample(struct profile *profile, uint32_t node, uint64_t value)
{
	const struct profile_sample one = { .stack = node, .value = value };

	assert_int_not_equal(profile_add_sample(profile, &one), PROFILE_FULL);
}

static void test_example(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	draw(f, &SVG_DEFAULTS);
	assert_frame(f, "all (1,000 samples, 100%)", "x=\"10.0\"");
	assert_frame(f, "sh (900 samples, 90.00%)", "x=\"");
	assert_frame(f, "libc.so.6+0x2f00 (800 samples, 80.00%)", "x=\"");
	assert_frame(f, "[kernel]+0xffffffff81000123 (200 samples, 20.00%)", "x=\"");
	assert_frame(f, "[incomplete: no_mapping] (100 samples, 10.00%)", "x=\"");
	assert_frame(f, "a;b\\x0ac\\x1b\\xff (100 samples, 10.00%)", "x=\"");
	assert_int_equal(count_of(f, "lost 12: ring 10, busy 2"), 1);
	assert_int_equal(count_of(f, "wick used 0.08 % CPU"), 1);
}

/* Two addresses of one function are one frame, with what both called on it. */
static void test_addresses_of_a_function_are_merged(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t low = stack(p, 0, FRAME_USER, 0x10, "main"), high = stack(p, 0, FRAME_USER, 0x20, "main");

	sample(p, stack(p, low, FRAME_USER, 0x30, "f"), 30);
	sample(p, stack(p, high, FRAME_USER, 0x40, "f"), 20);
	sample(p, stack(p, high, FRAME_USER, 0x50, "g"), 40);
	sample(p, high, 10);
	draw(f, &SVG_DEFAULTS);
	assert_frame(f, "main (100 samples, 100.00%)", "x=\"10.0\" y=\"53\" width=\"1180.0\"");
	assert_frame(f, "f (50 samples, 50.00%)", "x=\"128.0\" y=\"37\" width=\"590.0\"");
	assert_frame(f, "g (40 samples, 40.00%)", "x=\"718.0\" y=\"37\" width=\"472.0\"");
	assert_int_equal(count_of(f, "<rect x="), 4);
	assert_int_equal(count_of(f, "narrower"), 0);
}

/* Those that are not drawn are counted as they would be drawn. */
static void test_narrow_frames_are_merged_too(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t thin = stack(p, 0, FRAME_USER, 0x10, "thin");

	sample(p, stack(p, 0, FRAME_USER, 0x20, "wide"), 1000000);
	sample(p, stack(p, thin, FRAME_USER, 0x30, "f"), 1);
	sample(p, stack(p, thin, FRAME_USER, 0x40, "f"), 1);
	draw(f, &SVG_DEFAULTS);
	assert_int_equal(count_of(f, "2 frames narrower than 0.1 px not drawn"), 1);
}

static void test_kinds_have_marks_for_their_colours(void **state)
{
	struct fixture *f = *state;
	struct svg_options java = SVG_DEFAULTS;
	const struct {
		uint32_t kind;
		const char *name;
	} kinds[] = { { FRAME_USER, "user" },     { FRAME_KERNEL, "kernel" }, { FRAME_JIT, "jit" },
		      { FRAME_INLINE, "inline" }, { FRAME_USER, "-" },        { FRAME_USER, "--" } };
	const struct {
		const char *title, *fill;
	} fills[] = { { "<title>user (", "fill=\"rgb(223,83,83)\"" },
		      { "<title>kernel (", "fill=\"rgb(221,121,0)\"" },
		      { "<title>jit (", "fill=\"rgb(60,210,60)\"" },
		      { "<title>inline (", "fill=\"rgb(50,165,165)\"" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		sample(f->profile, stack(f->profile, 0, kinds[i].kind, i, kinds[i].name), 10);
	java.colors = "java";
	draw(f, &java);
	assert_frame(f, "- (10 samples, 16.67%)",
		     "x=\"10.0\" y=\"37\" width=\"196.7\" height=\"15.0\" fill=\"rgb(200,200,200)\"");
	assert_frame(f, "-- (10 samples, 16.67%)",
		     "x=\"206.7\" y=\"37\" width=\"196.6\" height=\"15.0\" fill=\"rgb(160,160,160)\"");
	/* Each from its mark and its sum: kernel_[k] is orange, jit_[j] green, inline_[i] aqua, the other red. */
	for (size_t i = 0; i < sizeof(fills) / sizeof(*fills); i++) {
		const char *title = strstr(f->out.data, fills[i].title), *fill = title ? strstr(title, "fill=") : NULL;

		assert_non_null(fill);
		assert_memory_equal(fill, fills[i].fill, strlen(fills[i].fill));
	}
	assert_null(strstr(f->out.data, "_["));
}

static void test_compares_by_what_ends_there(void **state)
{
	struct fixture *f = *state;
	struct profile *before = NULL;
	struct svg_options options = SVG_DEFAULTS;
	uint32_t node;

	assert_int_equal(profile_new(&before), 0);
	sample(before, stack(before, 0, FRAME_USER, 1, "same"), 50);
	sample(before, stack(before, 0, FRAME_USER, 2, "less"), 40);
	sample(before, stack(before, 0, FRAME_USER, 3, "gone"), 10);
	node = stack(f->profile, 0, FRAME_USER, 7, "same");
	sample(f->profile, node, 50);
	sample(f->profile, stack(f->profile, node, FRAME_USER, 8, "more"), 20);
	sample(f->profile, stack(f->profile, 0, FRAME_USER, 9, "less"), 30);
	assert_int_equal(out_svg_diff(before, f->profile, &options, &f->out), 0);
	assert_non_null(strstr(f->out.data, "<title>same (70 samples, 70.00%; 0.00%)"));
	assert_non_null(strstr(f->out.data, "<title>more (20 samples, 20.00%; +20.00%)"));
	assert_non_null(strstr(f->out.data, "<title>less (30 samples, 30.00%; -10.00%)"));
	assert_null(strstr(f->out.data, "<title>gone"));
	assert_non_null(strstr(strstr(f->out.data, "<title>more"), "fill=\"rgb(255,0,0)\""));
	assert_non_null(strstr(strstr(f->out.data, "<title>less"), "fill=\"rgb(105,105,255)\""));
	profile_free(before);
}

static void test_of_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(out_svg(f->profile, &f->out), 0);
	assert_int_equal(count_of(f, "There are no samples to show."), 1);
	assert_int_equal(count_of(f, "nan"), 0);
	assert_int_equal(count_of(f, "inf"), 0);
}

/* A stack that is nobody's, one without a stack, and one of a process beside each other. */
static void test_nobodys_samples(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;

	example_processes(p);
	sample(p, stack(p, 0, FRAME_USER, 1, "sh"), 5);
	sample(p, 0, 3);
	example_sample(p, 1, stack(p, 0, FRAME_USER, 2, "f"), 0, 2);
	draw(f, &SVG_DEFAULTS);
	assert_frame(f, "sh (7 samples, 70.00%)", "x=\"364.0\"");
	assert_frame(f, "f (2 samples, 20.00%)", "x=\"");
	assert_frame(f, "[unnamed] (3 samples, 30.00%)", "x=\"10.0\"");
}

static void test_values_beyond_reason_do_no_harm(void **state)
{
	struct fixture *f = *state;

	sample(f->profile, stack(f->profile, 0, FRAME_USER, 1, "a"), UINT64_MAX);
	sample(f->profile, stack(f->profile, 0, FRAME_USER, 2, "b"), UINT64_MAX);
	draw(f, &SVG_DEFAULTS);
	sample(f->profile, stack(f->profile, 0, FRAME_USER, 3, "c"), 4);
	draw(f, &SVG_DEFAULTS);
	assert_int_equal(count_of(f, "<title>all (2 samples, 100%)</title>"), 1);
}

static void test_map_is_checked(void **state)
{
	struct svg_map *map = NULL;
	struct buf out = { 0 };
	const char good[] = "b->rgb(1,2,3)\r\n\na->#ff0000\n->red";

	(void)state;
	assert_int_equal(svg_map_new(&map), 0);
	assert_int_equal(svg_map_read(map, good, strlen(good)), 0);
	assert_int_equal(svg_map_read(map, "x->", 3), -EINVAL);
	assert_int_equal(svg_map_read(map, "x", 1), -EINVAL);
	assert_int_equal(svg_map_read(map, "x->a\0b", 6), -EINVAL);
	assert_int_equal(svg_map_read(map, "x->red\"", 7), -EINVAL);
	assert_int_equal(svg_map_write(map, &out), 0);
	assert_string_equal(out.data, "->red\na->#ff0000\nb->rgb(1,2,3)\n");
	buf_free(&out);
	svg_map_free(map);
	svg_map_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_example, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_addresses_of_a_function_are_merged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_narrow_frames_are_merged_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kinds_have_marks_for_their_colours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_compares_by_what_ends_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_of_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobodys_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_values_beyond_reason_do_no_harm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_map_is_checked, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
