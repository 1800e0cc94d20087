/* SPDX-License-Identifier: Apache-2.0 */
/* What bcc's profile and offcputime print for people. */
#include "unit/in/reads.h"

#define PROFILE "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n"

static void test_profile(void **state)
{
	struct profile *profile;

	(void)state;
	profile = read_text(PROFILE "^C\n    vfs_read+0x12 [kernel]\n    read+0x10 [libc.so.6]\n    main [dd]\n"
				    "    -                dd (1234)\n        25\n\n");
	assert_int_equal(profile_process(profile, 1)->pid, 1234);
	assert_int_equal(profile_sample(profile, 1)->value, 25);
	assert_int_equal(frame_at(profile, 0)->kind, FRAME_KERNEL);
	assert_string_equal(file_at(profile, 1), "libc.so.6");
	assert_string_equal(unit_of(profile), "samples");
	profile_free(profile);
}

/* Where the kernel's frames end. */
static void test_kernel(void **state)
{
	(void)state;
	assert_reads(PROFILE "    k1\n    k2\n    --\n    u\n    -                my prog (5)\n        1\n",
		     "my prog;u;k2_[k];k1_[k] 1\n");
	assert_reads(PROFILE "    k1\n    do_syscall_64\n    u\n    -                x (5)\n        1\n",
		     "x;u;do_syscall_64_[k];k1_[k] 1\n");
	assert_reads(PROFILE
		     "    0xffffffff81000000 k\n    0x00007f0000000000 u\n    -                x (5)\n        1\n",
		     "x;u;k_[k] 1\n");
	assert_reads(PROFILE "    k_[k]\n    u\n    -                x (5)\n        1\n", "x;u;k_[k] 1\n");
	assert_reads(PROFILE "    #0  0xffffffff81000000 k+0x1\n    #1  0x7f0000001000 u+0x5 (/bin/x+0x1000)\n"
			     "    -                x (9)\n        4\n",
		     "x;u;k_[k] 4\n");
	assert_reads(PROFILE "    [Missed User Stack]\n    -                x (5)\n        1\n",
		     "x;[Missed User Stack] 1\n");
	assert_reads("    u\n    -                x (5)\n        1\n", "x;u 1\n"); /* without the first line */
}

static void test_offcputime(void **state)
{
	struct profile *profile = read_text(
		"Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n"
		"    schedule\n    do_syscall_64\n    main\n    -                sh (77)\n        123456\n\n");

	(void)state;
	assert_string_equal(unit_of(profile), "microseconds");
	assert_int_equal(profile_sample(profile, 1)->tid, 77);
	assert_int_equal(profile_sample(profile, 1)->value, 123456);
	profile_free(profile);
}

static void test_bad(void **state)
{
	(void)state;
	assert_salvages(PROFILE "    a\n    -                x (1)\n        3\n\n    b\n    -                x (1)\n",
			"line 7: cut off in the middle of a stack", "x;a 3\n", "1 record kept");
	assert_refused(PROFILE "    a\n    -                x (1)\n        many\n", "line 4: a count was expected");
	assert_refused(PROFILE "    a\n    -                x (one)\n        1\n", "line 3: comm (pid) was expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_offcputime),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
