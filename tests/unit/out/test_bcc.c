/* SPDX-License-Identifier: Apache-2.0 */
/* What someone who knows bcc's profile, or a script that reads its output, gets to see: to the letter. */
#include "out/bcc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
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

/*
 * Of sh: main > write > do_syscall > vfs_write, 5 times; main > write, 2 times in this and once in another process of
 * that name; a kernel function alone, 3 times; a stack that is cut, once, and nothing at all, 4 times.
 */
static void fill(struct profile *p)
{
	const struct profile_file program = { .inode = 1, .path = profile_string(p, "/bin/sh") };
	const struct profile_file libc = { .inode = 2, .path = profile_string(p, "/lib/libc.so.6") };
	uint32_t sh = profile_add_file(p, &program), lib = profile_add_file(p, &libc);
	uint32_t first = profile_add_process(p, 100, 1), second = profile_add_process(p, 200, 2);
	uint32_t node, low;

	profile_process(p, first)->comm = profile_process(p, second)->comm = profile_string(p, "sh");
	node = profile_add_node(p, 0, example_frame(p, FRAME_USER, sh, 0x1234, "main"));
	node = profile_add_node(p, node, example_frame(p, FRAME_USER, lib, 0xabc, "write"));
	example_sample(p, first, node, 0, 2);
	example_sample(p, second, node, 0, 1);
	low = profile_add_node(p, node, example_frame(p, FRAME_KERNEL, 0, 0xffffffff81000010, "do_syscall"));
	low = profile_add_node(p, low, example_frame(p, FRAME_KERNEL, 0, 0xffffffff81000020, "vfs_write"));
	example_sample(p, first, low, 0, 5);
	low = profile_add_node(p, 0, example_frame(p, FRAME_KERNEL, 0, 0xffffffff81000030, ""));
	example_sample(p, first, low, 0, 3);
	node = profile_add_node(p, 0, example_frame(p, FRAME_CUT, 0, 0, "no_frame_pointer"));
	node = profile_add_node(p, node, example_frame(p, FRAME_USER, lib, 0x42, ""));
	node = profile_add_node(p, node, example_frame(p, FRAME_JIT, 0, 0x7f0000001000, ""));
	node = profile_add_node(p, node, example_frame(p, FRAME_JIT, 0, 0x7f0000002000, "loop;~main.js"));
	example_sample(p, first, node, 0, 1);
	example_sample(p, second, 0, 0, 4);
}

/* Of those that have a name, where their functions begin: at multiples of 16. */
static void add_starts(struct profile *p)
{
	for (uint32_t i = 1; i < profile_count(p, PROFILE_FRAMES); i++)
		if (profile_frame(p, i)->name)
			profile_frame(p, i)->start = profile_frame(p, i)->address & ~(uint64_t)0xf;
}

static void assert_stacks(struct fixture *f, const struct bcc_options *options, const char *wanted)
{
	buf_clear(&f->out);
	assert_int_equal(bcc_stacks(f->profile, options, &f->out), 0);
	assert_string_equal(f->out.len ? f->out.data : "", wanted);
}

#define CUT_ENTRY                              \
	"    loop\\x3b~main.js [jit]\n"        \
	"    [unknown]\n"                      \
	"    [unknown] [libc.so.6]\n"          \
	"    [incomplete: no_frame_pointer]\n" \
	"    -                sh (100)\n"      \
	"        1\n\n"

static void test_lines(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .annotations = true },
		      CUT_ENTRY "    write [libc.so.6]\n"
				"    main [sh]\n"
				"    -                sh (200)\n"
				"        1\n\n"
				"    write [libc.so.6]\n"
				"    main [sh]\n"
				"    -                sh (100)\n"
				"        2\n\n"
				"    [unknown]\n"
				"    -                sh (100)\n"
				"        3\n\n"
				"    -                sh (200)\n"
				"        4\n\n"
				"    vfs_write [kernel]\n"
				"    do_syscall [kernel]\n"
				"    write [libc.so.6]\n"
				"    main [sh]\n"
				"    -                sh (100)\n"
				"        5\n\n");
}

static void test_lines_with_places_in_functions(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	add_starts(f->profile);
	assert_stacks(f, &(struct bcc_options){ .addresses = true },
		      "    0x0000000000000abc write+0xc [libc.so.6]\n"
		      "    0x0000000000001234 main+0x4 [sh]\n"
		      "    -                sh (200)\n"
		      "        1\n\n"
		      "    0x00007f0000002000 loop\\x3b~main.js+0x0 [jit]\n"
		      "    0x00007f0000001000 [unknown]\n"
		      "    0x0000000000000042 [unknown] [libc.so.6]\n"
		      "    [incomplete: no_frame_pointer]\n"
		      "    -                sh (100)\n"
		      "        1\n\n"
		      "    0x0000000000000abc write+0xc [libc.so.6]\n"
		      "    0x0000000000001234 main+0x4 [sh]\n"
		      "    -                sh (100)\n"
		      "        2\n\n"
		      "    0xffffffff81000030 [unknown]\n"
		      "    -                sh (100)\n"
		      "        3\n\n"
		      "    -                sh (200)\n"
		      "        4\n\n"
		      "    0xffffffff81000020 vfs_write+0x0 [kernel]\n"
		      "    0xffffffff81000010 do_syscall+0x0 [kernel]\n"
		      "    0x0000000000000abc write+0xc [libc.so.6]\n"
		      "    0x0000000000001234 main+0x4 [sh]\n"
		      "    -                sh (100)\n"
		      "        5\n\n");
}

static void test_folded_without_places_in_functions(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	add_starts(f->profile);
	assert_stacks(f, &(struct bcc_options){ .folded = true },
		      "sh;[incomplete: no_frame_pointer];[unknown];[unknown];loop\\x3b~main.js 1\n"
		      "sh;[unknown] 3\n"
		      "sh;main;write 3\n"
		      "sh 4\n"
		      "sh;main;write;do_syscall;vfs_write 5\n");
}

static void test_lines_with_delimiter_and_addresses(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .delimiter = true, .addresses = true },
		      "    0x0000000000000abc write [libc.so.6]\n"
		      "    0x0000000000001234 main [sh]\n"
		      "    -                sh (200)\n"
		      "        1\n\n"
		      "    0x00007f0000002000 loop\\x3b~main.js [jit]\n"
		      "    0x00007f0000001000 [unknown]\n"
		      "    0x0000000000000042 [unknown] [libc.so.6]\n"
		      "    [incomplete: no_frame_pointer]\n"
		      "    -                sh (100)\n"
		      "        1\n\n"
		      "    0x0000000000000abc write [libc.so.6]\n"
		      "    0x0000000000001234 main [sh]\n"
		      "    -                sh (100)\n"
		      "        2\n\n"
		      "    0xffffffff81000030 [unknown]\n"
		      "    -                sh (100)\n"
		      "        3\n\n"
		      "    -                sh (200)\n"
		      "        4\n\n"
		      "    0xffffffff81000020 vfs_write [kernel]\n"
		      "    0xffffffff81000010 do_syscall [kernel]\n"
		      "    --\n"
		      "    0x0000000000000abc write [libc.so.6]\n"
		      "    0x0000000000001234 main [sh]\n"
		      "    -                sh (100)\n"
		      "        5\n\n");
}

static void test_lines_verbose(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .verbose = true, .addresses = true },
		      "    0x0000000000000abc write (/lib/libc.so.6+0xabc)\n"
		      "    0x0000000000001234 main (/bin/sh+0x1234)\n"
		      "    -                sh (200)\n"
		      "        1\n\n"
		      "    0x00007f0000002000 loop\\x3b~main.js\n"
		      "    0x00007f0000001000\n"
		      "    0x0000000000000042 (/lib/libc.so.6+0x42)\n"
		      "    [incomplete: no_frame_pointer]\n"
		      "    -                sh (100)\n"
		      "        1\n\n"
		      "    0x0000000000000abc write (/lib/libc.so.6+0xabc)\n"
		      "    0x0000000000001234 main (/bin/sh+0x1234)\n"
		      "    -                sh (100)\n"
		      "        2\n\n"
		      "    0xffffffff81000030 [unknown]\n"
		      "    -                sh (100)\n"
		      "        3\n\n"
		      "    -                sh (200)\n"
		      "        4\n\n"
		      "    0xffffffff81000020 vfs_write\n"
		      "    0xffffffff81000010 do_syscall\n"
		      "    0x0000000000000abc write (/lib/libc.so.6+0xabc)\n"
		      "    0x0000000000001234 main (/bin/sh+0x1234)\n"
		      "    -                sh (100)\n"
		      "        5\n\n");
}

/* Both processes of one name are one line: nothing in it tells them apart. */
static void test_folded(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .folded = true, .addresses = true },
		      "sh;[incomplete: no_frame_pointer];[unknown];[unknown];loop\\x3b~main.js 1\n"
		      "sh;[unknown] 3\n"
		      "sh;main;write 3\n"
		      "sh 4\n"
		      "sh;main;write;do_syscall;vfs_write 5\n");
	assert_stacks(f, &(struct bcc_options){ .folded = true, .annotations = true, .delimiter = true },
		      "sh;[incomplete: no_frame_pointer];[unknown];[unknown];loop\\x3b~main.js 1\n"
		      "sh;[unknown]_[k] 3\n"
		      "sh;main;write 3\n"
		      "sh 4\n"
		      "sh;main;write;-;do_syscall_[k];vfs_write_[k] 5\n");
}

static void test_depth(void **state)
{
	struct fixture *f = *state;

	fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .folded = true, .depth = 1 },
		      "sh;[incomplete: depth];loop\\x3b~main.js 1\n"
		      "sh;[incomplete: depth];write 3\n"
		      "sh;[unknown] 3\n"
		      "sh 4\n"
		      "sh;[incomplete: depth];write;vfs_write 5\n");
	assert_stacks(f, &(struct bcc_options){ .folded = true, .depth = 2 },
		      "sh;[incomplete: depth];[unknown];loop\\x3b~main.js 1\n"
		      "sh;[unknown] 3\n"
		      "sh;main;write 3\n"
		      "sh 4\n"
		      "sh;main;write;do_syscall;vfs_write 5\n");
}

/* A kernel part that is not shown whole, where there is no user part. */
static void test_depth_of_kernel_part(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t node = profile_add_node(p, 0, example_frame(p, FRAME_KERNEL, 0, 1, "kthread"));

	node = profile_add_node(p, node, example_frame(p, FRAME_KERNEL, 0, 2, "work"));
	example_sample(p, 0, node, 0, 7);
	assert_stacks(f, &(struct bcc_options){ .delimiter = true, .depth = 1 },
		      "    work [kernel]\n"
		      "    [incomplete: depth]\n"
		      "    -                [unnamed] (0)\n"
		      "        7\n\n");
	assert_stacks(f, &(struct bcc_options){ .folded = true, .delimiter = true, .depth = 1 },
		      "[unnamed];[incomplete: depth];work 7\n");
}

/* What targets call themselves does not break a line. */
static void test_hostile_names(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	assert_stacks(f, &(struct bcc_options){ .folded = true },
		      "a\\x3bb\\x0ac\\x1b\\xff;[unknown];x\\x3b\\x0ay;[unknown] 100\n"
		      "sh;[incomplete: no_mapping];[unknown] 100\n"
		      "sh;main;[unknown];[unknown] 200\n"
		      "sh;main;[unknown] 600\n");
}

static void test_nothing(void **state)
{
	struct fixture *f = *state;

	assert_stacks(f, &(struct bcc_options){ .folded = true }, "");
	assert_stacks(f, &(struct bcc_options){ 0 }, "");
}

static void assert_header(struct fixture *f, const struct bcc_scope *scope, const char *wanted)
{
	buf_clear(&f->out);
	bcc_header(scope, &f->out);
	assert_string_equal(f->out.data, wanted);
}

static void test_headers(void **state)
{
	struct fixture *f = *state;
	const uint32_t some[] = { 1, 22 };

	assert_header(f, &(struct bcc_scope){ .hz = 49, .user = true, .kernel = true, .cpu = -1 },
		      "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n");
	assert_header(f,
		      &(struct bcc_scope){
			      .period = 1000000, .pids = some, .pids_len = 2, .user = true, .cpu = -1, .seconds = 5 },
		      "Sampling at every 1000000 events of PID [1, 22] by user stack for 5 secs.\n");
	assert_header(f, &(struct bcc_scope){ .hz = 99, .tids = some, .tids_len = 1, .kernel = true, .cpu = 0 },
		      "Sampling at 99 Hertz of TID [1] by kernel stack on CPU#0... Hit Ctrl-C to end.\n");
}

static void assert_warnings(struct fixture *f, const char *wanted)
{
	buf_clear(&f->out);
	bcc_warnings(f->profile, &f->out);
	assert_string_equal(f->out.len ? f->out.data : "", wanted);
}

static void test_warnings(void **state)
{
	struct fixture *f = *state;

	assert_warnings(f, "");
	profile_add_counter(f->profile, "lost", "ring", 2);
	profile_add_counter(f->profile, "cut", "depth", 50);
	assert_warnings(f, "WARNING: 2 stack traces could not be displayed.\n");
	profile_add_counter(f->profile, "lost", "stacks", 3);
	assert_warnings(f,
			"WARNING: 5 stack traces could not be displayed. Consider increasing --stack-storage-size.\n");
	profile_add_counter(f->profile, "lost", "counts", 4);
	assert_warnings(f, "WARNING: 9 stack traces could not be displayed. Consider increasing --stack-storage-size.\n"
			   "WARNING: hash table full. Consider increasing --hash-storage-size.\n");
}

#define with_profile(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_profile(test_lines),
		with_profile(test_lines_with_delimiter_and_addresses),
		with_profile(test_lines_verbose),
		with_profile(test_folded),
		with_profile(test_lines_with_places_in_functions),
		with_profile(test_folded_without_places_in_functions),
		with_profile(test_depth),
		with_profile(test_depth_of_kernel_part),
		with_profile(test_hostile_names),
		with_profile(test_nothing),
		with_profile(test_headers),
		with_profile(test_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
