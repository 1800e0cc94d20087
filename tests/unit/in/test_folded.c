/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, wick's and others': what is read, what is taken for what, and how bad lines are called. */
#include "in/in.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

static struct profile *read_text(const char *text)
{
	struct profile *profile = NULL;

	if (in_read(&profile, text, strlen(text)))
		fail_msg("'%s' is not read: %s", text, fail_text());
	return profile;
}

/* What was read, written again. */
static void assert_reads(const char *text, const char *folded)
{
	struct profile *profile = read_text(text);
	autobuf struct buf out = { 0 };

	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data ? out.data : "", folded);
	profile_free(profile);
}

static void assert_refused(const char *text, size_t len, const char *words)
{
	struct profile *profile = NULL;

	assert_int_equal(in_read(&profile, text, len), -EINVAL);
	assert_null(profile);
	if (!strstr(fail_text(), words))
		fail_msg("'%s' is not in: %s", words, fail_text());
}

#define REFUSED(text, words) assert_refused(text, sizeof(text) - 1, words)

/* The frame of the first sample's stack, so many steps from its leaf. */
static const struct profile_frame *frame_at(const struct profile *profile, unsigned up)
{
	uint32_t node = profile_sample(profile, 1)->stack;

	while (up--)
		node = profile_node(profile, node)->parent;
	return profile_frame(profile, profile_node(profile, node)->frame);
}

static void test_reads_what_wick_writes(void **state)
{
	autobuf struct buf once = { 0 }, twice = { 0 };
	struct profile *profile, *again;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	example_fill(profile);
	assert_int_equal(out_folded(profile, &once), 0);
	again = read_text(once.data);
	assert_int_equal(out_folded(again, &twice), 0);
	assert_string_equal(once.data, twice.data);
	profile_free(profile);
	profile_free(again);
}

static void test_lines(void **state)
{
	(void)state;
	assert_reads("sh;a;b 1\nsh;a;b 2\n\nsh;c 4", "sh;c 4\nsh;a;b 3\n");
	assert_reads("sh;a 1\r\nsh;b\t2  \r\n", "sh;b 2\nsh;a 1\n");
	assert_reads("\xef\xbb\xbfsh;a 1\n", "sh;a 1\n");
	assert_reads("sh;operator new(unsigned long) 7\n", "sh;operator new(unsigned long) 7\n");
	assert_reads("sh;;b 1\n", "sh;;b 1\n");
	assert_reads(";a;b 1\n", ";a;b 1\n");
	assert_reads("sh;a; 1\nsh; 1\n", "sh; 1\nsh;a; 1\n");
	assert_reads("sh;a  1\nsh;a 2\n", "sh;a 2\nsh;a  1\n"); /* a name may end in a space */
	assert_reads("sh 3\n", "sh 3\n");
	assert_reads("sh;a 0\nsh;b 18446744073709551615\n", "sh;b 18446744073709551615\n");
}

/* Frames of every length, alike but for their last letter, in a line that the file ends with and in one before it. */
static void test_lengths(void **state)
{
	(void)state;
	for (int len = 1; len <= 70; len++) {
		autobuf struct buf text = { 0 }, out = { 0 };
		struct profile *profile;

		buf_addf(&text, "sh;%0*d;%0*d;%0*d 2\nsh;%0*d;%0*d 1", len, 1, len, 2, len, 1, len, 3, len, 1);
		profile = read_text(text.data);
		assert_int_equal(out_folded(profile, &out), 0);
		buf_addc(&text, '\n');
		assert_string_equal(out.data, text.data);
		assert_int_equal(profile_count(profile, PROFILE_FRAMES), 1 + 3);
		profile_free(profile);
	}
}

static void test_bad_lines(void **state)
{
	(void)state;
	REFUSED("sh;a 1\nsh;b\n", "line 2: no count at its end");
	REFUSED("sh;a 1\n\nsh;b 1.5\n", "line 3: no count at its end");
	REFUSED("sh;a -1\n", "line 1: no count at its end");
	REFUSED("12\n", "line 1: no stack before its count");
	REFUSED("sh;a 18446744073709551616\n", "line 1: its count is too large");
	REFUSED("sh;a 18446744073709551615\nsh;b 1\n", "line 2: the counts add up to more than can be");
	REFUSED("sh;a\0b 1\n", "line 1: this is not text");
	REFUSED("just words", "folded stacks");
}

static void test_other_files(void **state)
{
	(void)state;
	REFUSED("", "empty");
	REFUSED("\x1f\x8b\x08\x00", "gzip");
	REFUSED("PERFILE2....", "perf");
	REFUSED("\x7f"
		"ELF\x02",
		"a program");
	REFUSED("\x8dWICK\n\x1a", "not a wick file");
}

static void test_depth_is_bounded(void **state)
{
	autobuf struct buf line = { 0 };

	(void)state;
	for (int i = 0; i < 70000; i++)
		buf_adds(&line, "a;");
	buf_adds(&line, "b 1\n");
	assert_refused(line.data, line.len, "line 1: more than 65536 frames");
}

static void test_kinds(void **state)
{
	struct profile *profile = read_text("sh;[incomplete: no_table];main;x_[i];y_[j];vfs_read_[k] 5\n");

	(void)state;
	assert_int_equal(frame_at(profile, 0)->kind, FRAME_KERNEL);
	assert_string_equal(profile_text(profile, frame_at(profile, 0)->name, NULL), "vfs_read");
	assert_int_equal(frame_at(profile, 1)->kind, FRAME_JIT);
	assert_int_equal(frame_at(profile, 2)->kind, FRAME_INLINE);
	assert_int_equal(frame_at(profile, 3)->kind, FRAME_USER);
	assert_int_equal(frame_at(profile, 4)->kind, FRAME_CUT);
	assert_string_equal(profile_text(profile, frame_at(profile, 4)->name, NULL), "no_table");
	profile_free(profile);
	/* Only at the root it is a note; a name is a name, and may look like a suffix. */
	assert_reads("sh;a;[incomplete: x] 1\nsh;_[k] 1\n", "sh;_[k] 1\nsh;a;[incomplete: x] 1\n");
}

static void test_frames_without_names(void **state)
{
	struct profile *profile =
		read_text("sh;libc.so.6+0x2f00;[vdso]+0x6f0;[jit]_[j];[kernel]+0xffffffff81000123_[k] 5\n");

	(void)state;
	assert_int_equal(frame_at(profile, 0)->address, 0xffffffff81000123);
	assert_int_equal(frame_at(profile, 0)->name, PROFILE_NONE);
	assert_int_equal(frame_at(profile, 1)->kind, FRAME_JIT);
	assert_int_equal(frame_at(profile, 1)->name, PROFILE_NONE);
	assert_int_equal(frame_at(profile, 2)->kind, FRAME_VDSO);
	assert_int_equal(frame_at(profile, 3)->address, 0x2f00);
	assert_string_equal(profile_text(profile, profile_file(profile, frame_at(profile, 3)->file)->path, NULL),
			    "libc.so.6");
	profile_free(profile);
	/* What would not come out the same again stays a name. */
	assert_reads("sh;a+0x01;b+0xAB;/c+0x1;+0x1;d+0x;e+0x11112222333344445 1\n",
		     "sh;a+0x01;b+0xAB;/c+0x1;+0x1;d+0x;e+0x11112222333344445 1\n");
	profile = read_text("sh;cc1@0x5d2a10 1\n");
	assert_string_equal(profile_text(profile, profile_file(profile, frame_at(profile, 0)->file)->path, NULL),
			    "cc1");
	assert_string_equal(profile_text(profile, frame_at(profile, 0)->name, NULL), "cc1@0x5d2a10");
	profile_free(profile);
}

/* What it delimits is not written otherwise than it was read. */
static void test_delimiter_of_bcc(void **state)
{
	(void)state;
	assert_reads("dd;main;read;-;vfs_read;memset 3\n", "dd;main;read;-;vfs_read;memset 3\n");
}

/* Names of tasks are short: one line whose first frame cannot be one tells that none is. */
static void test_first_frame(void **state)
{
	struct profile *profile = read_text("main;foo 1\nsh 2\n");

	(void)state;
	assert_int_equal(profile_count(profile, PROFILE_PROCESSES), 3);
	assert_string_equal(profile_text(profile, profile_process(profile, 1)->comm, NULL), "main");
	profile_free(profile);
	assert_reads("main;foo 1\njava/lang/Thread.run;bar 2\n", "java/lang/Thread.run;bar 2\nmain;foo 1\n");
	assert_reads("java/lang/Thread.run;bar 2\nmain;foo 1\n\n", "java/lang/Thread.run;bar 2\nmain;foo 1\n");
	assert_reads("\\x3b\\x3b\\x3b\\x3b;a 1\n", "\\x3b\\x3b\\x3b\\x3b;a 1\n"); /* four bytes, however written */
}

static void test_counters(void **state)
{
	struct profile *profile = read_text("sh;[incomplete: depth];a 1\nsh;b 2\nsh;k_[k] 4\n");

	(void)state;
	assert_int_equal(profile_counter_value(profile, "total", "counted"), 7);
	assert_int_equal(profile_counter_value(profile, "stack", "user"), 3);
	assert_int_equal(profile_counter_value(profile, "stack", "complete"), 2);
	assert_int_equal(profile_counter_value(profile, "cut", "depth"), 1);
	profile_free(profile);
	profile = read_text("sh;b 2\n"); /* who knows whether they are whole */
	assert_int_equal(profile_counter_value(profile, "stack", "user"), 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_wick_writes),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_frames_without_names),
		cmocka_unit_test(test_delimiter_of_bcc),
		cmocka_unit_test(test_first_frame),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
