/* SPDX-License-Identifier: Apache-2.0 */
/* The writers of text: what a person, a flame graph and a script get to see of the example profile. */
#include "out/out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "out/stats.h"
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

static void assert_contains(const struct buf *out, const char *text)
{
	if (!strstr(out->data, text))
		fail_msg("'%s' is not in: %s", text, out->data);
}

static void test_formats_by_name_and_path(void **state)
{
	(void)state;
	assert_ptr_equal(out_by_name("folded")->write, out_folded);
	assert_null(out_by_name("fold"));
	assert_ptr_equal(out_by_path("x.wick")->write, out_wick);
	assert_ptr_equal(out_by_path("/a.folded/x.txt")->write, out_report);
	assert_null(out_by_path("x.folded.gz"));
	assert_null(out_by_path("/tmp/.wick"));
	assert_null(out_by_path("wick"));
	assert_null(out_by_path(""));
}

static void test_folded_example(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	assert_int_equal(out_folded(f->profile, &f->out), 0);
	assert_string_equal(f->out.data, "sh;main;libc.so.6+0x2f00 600\n"
					 "sh;main;libc.so.6+0x2f00;[kernel]+0xffffffff81000123_[k] 200\n"
					 "a\\x3bb\\x0ac\\x1b\\xff;[jit]_[j];x\\x3b\\x0ay_[i];[vdso]+0x6f0 100\n"
					 "sh;[incomplete: no_mapping];[file]+0x42 100\n");
}

static void test_folded_adds_up_equal_lines(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t low = profile_add_node(p, 0, example_frame(p, FRAME_JIT, 0, 0x10, ""));
	uint32_t high = profile_add_node(p, 0, example_frame(p, FRAME_JIT, 0, 0x20, ""));

	example_processes(p);
	example_sample(p, 1, low, 0, 3);
	example_sample(p, 1, high, 0, 4);
	example_sample(p, 1, 0, 0, 1);
	example_sample(p, 1, 0, 0, 0);
	example_sample(p, 0, 0, 0, 1);
	assert_int_equal(out_folded(p, &f->out), 0);
	assert_string_equal(f->out.data, "sh;[jit]_[j] 7\n[unnamed] 1\nsh 1\n");
}

static void test_folded_of_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(out_folded(f->profile, &f->out), 0);
	assert_int_equal(f->out.len, 0);
}

static void test_stats_example(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	assert_int_equal(stats_write(f->profile, &f->out), 0);
	assert_string_equal(
		f->out.data,
		"{\"schema\":1,\"version\":\"0.1.0\",\"event\":\"cpu-clock\",\"hz\":99,\"period\":10101010,"
		"\"duration_s\":10,\"cpus\":2,\"expected\":1980,\"fired\":1970,"
		"\"left_out\":{\"idle\":950,\"filter\":0,\"self\":8},\"missed\":10,"
		"\"samples\":{\"taken\":1012,\"counted\":1000,\"early\":0,"
		"\"lost\":{\"ring\":10,\"stacks\":0,\"busy\":2}},"
		"\"stacks\":{\"user\":900,\"complete\":800,\"incomplete\":{\"depth\":0,\"no_mapping\":100}},"
		"\"frames\":{\"row\":0,\"fp\":2000,\"user\":2900},\"events\":{\"sent\":4,\"lost\":3},"
		"\"notes\":{\"keys\":5},"
		"\"self\":{\"cpu_seconds\":0.008,\"max_rss_bytes\":21000000,\"bpf_map_bytes\":14000000,"
		"\"bpf_ns_per_sample\":null,"
		"\"unwind\":{\"files\":0,\"ahead\":0,\"rows\":0,\"bytes\":0},\"first_sample_ms\":41.5},"
		"\"processes\":[{\"pid\":100,\"comm\":\"sh\",\"exe\":\"/bin/sh\",\"samples\":900,\"user_samples\":900,"
		"\"complete\":800,\"incomplete\":{\"no_mapping\":100},"
		"\"frames\":{\"row\":1300,\"fp\":2000,\"user\":300},\"median_depth\":2},"
		"{\"pid\":4242,\"comm\":\"a;b\\nc\\u001b\xef\xbf\xbd\",\"exe\":\"/tmp/e\\\"vil\",\"samples\":100,"
		"\"user_samples\":100,\"complete\":100,\"incomplete\":{},"
		"\"frames\":{\"row\":0,\"fp\":0,\"user\":0},\"median_depth\":2}],"
		"\"files\":[{\"path\":\"\",\"reason\":\"file_gone\"}]}\n");
}

static void test_stats_of_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(stats_write(f->profile, &f->out), 0);
	assert_contains(&f->out, "\"left_out\":{\"idle\":0,\"filter\":0,\"self\":0},\"missed\":0,");
	assert_contains(&f->out, "\"frames\":{\"row\":0,\"fp\":0,\"user\":0},");
	assert_contains(&f->out, "\"processes\":[],\"files\":[]}");
}

static void test_stats_files(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	const struct profile_file good = { .path = profile_string(p, "/lib/good.so"), .inode = 1 };
	const struct profile_file bad = { .path = profile_string(p, "/lib/b\"ad.so"),
					  .inode = 2,
					  .reason = profile_string(p, "bad_elf") };

	assert_true(profile_add_file(p, &good) && profile_add_file(p, &bad));
	assert_int_equal(stats_write(p, &f->out), 0);
	assert_contains(&f->out, "\"files\":[{\"path\":\"/lib/b\\\"ad.so\",\"reason\":\"bad_elf\"}]}");
}

static void test_stats_bpf_time(void **state)
{
	struct fixture *f = *state;

	profile_add_counter(f->profile, "self", "bpf_run_ns", 10000);
	profile_add_counter(f->profile, "self", "bpf_runs", 4);
	assert_int_equal(stats_write(f->profile, &f->out), 0);
	assert_contains(&f->out, "\"bpf_ns_per_sample\":2500,");
}

/* Depths 1, 2, 3 with weights 2, 1, 2; a kernel sample, which has no depth; a cut that left nothing; ties by pid. */
static void test_stats_processes(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t user = example_frame(p, FRAME_USER, 0, 1, "u"), kernel = example_frame(p, FRAME_KERNEL, 0, 2, "k");
	uint32_t one = profile_add_node(p, 0, user), two = profile_add_node(p, one, user);
	uint32_t cut = profile_add_node(p, 0, example_frame(p, FRAME_CUT, 0, 0, "compat"));
	uint32_t late = profile_add_process(p, 9, 1), early = profile_add_process(p, 3, 1);
	uint32_t mixed = profile_add_process(p, 50, 1);

	example_sample(p, late, cut, 0, 1);
	example_sample(p, early, profile_add_node(p, 0, kernel), 0, 1);
	example_sample(p, mixed, profile_add_node(p, one, kernel), 0, 2);
	example_sample(p, mixed, two, 0, 1);
	example_sample(p, mixed, profile_add_node(p, two, user), 0, 2);
	example_sample(p, mixed, profile_add_node(p, 0, kernel), 0, 90);
	assert_int_equal(stats_write(p, &f->out), 0);
	assert_contains(
		&f->out,
		"\"processes\":[{\"pid\":50,\"comm\":\"\",\"exe\":\"\",\"samples\":95,\"user_samples\":5,"
		"\"complete\":5,\"incomplete\":{},\"frames\":{\"row\":0,\"fp\":0,\"user\":0},\"median_depth\":2},"
		"{\"pid\":3,\"comm\":\"\",\"exe\":\"\",\"samples\":1,\"user_samples\":0,\"complete\":0,"
		"\"incomplete\":{},\"frames\":{\"row\":0,\"fp\":0,\"user\":0},\"median_depth\":0},"
		"{\"pid\":9,\"comm\":\"\",\"exe\":\"\",\"samples\":1,\"user_samples\":1,\"complete\":0,"
		"\"incomplete\":{\"compat\":1},\"frames\":{\"row\":0,\"fp\":0,\"user\":0},\"median_depth\":0}],"
		"\"files\":[]}");
}

#define with_profile(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_by_name_and_path),
		with_profile(test_folded_example),
		with_profile(test_folded_adds_up_equal_lines),
		with_profile(test_folded_of_nothing),
		with_profile(test_stats_example),
		with_profile(test_stats_of_nothing),
		with_profile(test_stats_files),
		with_profile(test_stats_bpf_time),
		with_profile(test_stats_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
