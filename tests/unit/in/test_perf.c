/* SPDX-License-Identifier: Apache-2.0 */
/* The text of perf script, in the shapes that its versions and options give it. */
#include "unit/in/reads.h"

static void test_sample(void **state)
{
	struct profile *profile = read_text("# hostname : box\n# os release : 6.1.0\n# nrcpus online : 4\n#\n"
					    "bash 12/13 [002] 100.000500: 250000 cpu-clock:pppH: \n"
					    "\tffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])\n"
					    "\tffffffffc0000020 nf_hook+0x2 ([nf_tables])\n"
					    "\t          401000 main+0x1a (/usr/bin/bash)\n\n"
					    "bash 12/13 [002] 100.001500: 250000 cpu-clock:pppH: \n"
					    "\t          401004 main+0x1e (/usr/bin/bash)\n\n");
	const struct profile_meta *meta = profile_meta(profile);

	(void)state;
	assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 3);
	assert_int_equal(frame_at(profile, 0)->kind, FRAME_KERNEL);
	assert_int_equal(frame_at(profile, 0)->address, 0xffffffff81000000);
	assert_string_equal(file_at(profile, 1), "nf_tables");
	assert_string_equal(file_at(profile, 2), "/usr/bin/bash");
	assert_int_equal(profile_process(profile, 1)->pid, 12);
	assert_int_equal(profile_sample(profile, 1)->tid, 13);
	assert_int_equal(profile_count(profile, PROFILE_EVENTS), 3);
	assert_int_equal(profile_event(profile, 2)->time_us, 1000);
	assert_int_equal(profile_event(profile, 2)->cpu, 2);
	assert_int_equal(meta->start_us, 100000500);
	assert_int_equal(meta->period, 250000);
	assert_int_equal(meta->cpus, 4);
	assert_string_equal(profile_text(profile, meta->host, NULL), "box");
	assert_string_equal(unit_of(profile), "samples");
	profile_free(profile);
}

static void test_heads(void **state)
{
	(void)state;
	assert_reads("java 12345 cycles: \n\t1 main (/bin/java)\n\n", "java;main 1\n");
	assert_reads("java 12345 [001] cycles:u:\n\t1 main\n", "java;main 1\n");
	assert_reads("java 1/2 1.5: cycles:\n\t1 main\n\n", "java;main 1\n");
	assert_reads("Web Content 1/2 [000] 1.5: 7 cycles:\n\t1 main\n\n", "Web Content;main 1\n");
	assert_reads("V8 Worker 3 77 [000] 1.000000001: 3 cycles:u:\n\t1 main\n\n", "V8 Worker 3;main 1\n");
	assert_reads("kworker/0:1 12 [000] 1.5: 3 cycles:\n\tffffffff81000000 w ([kernel.kallsyms])\n\n",
		     "kworker/0:1;w_[k] 1\n");
	assert_reads(":-1 -1/-1 [000] 1.5: 3 cycles:\n\t1 main\n\n", ":-1;main 1\n");
	assert_reads("a 1/1 1.5: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b\n\t1 main\n\n",
		     "a;main 1\n");
	assert_reads("a 1/1 1.0: PERF_RECORD_COMM: a:1/1\na 1/1 1.5: 1 cycles:\n\t1 main\n", "a;main 1\n");
	assert_reads("a 1/1 1.5: 1 cycles:\r\n\t1 main+0x1 (/bin/a)\r\n\r\n", "a;main 1\n");
}

/* Without -g a sample is one line; a short name may look like an address. */
static void test_one_line(void **state)
{
	(void)state;
	assert_reads("      cc1 11 [000] 1.0: 5 cpu-clock:  ffffffff815e0954 vm+0x14 ([kernel.kallsyms])\n"
		     "       dd 12 [000] 1.1: 5 cpu-clock:      55f7a807b2a9 parse+0x29 (/usr/bin/dd)\n",
		     "cc1;vm_[k] 1\ndd;parse 1\n");
	assert_reads("       dd 12 [000] 1.1: sched:sched_switch: prev_comm=dd\n"
		     "       dd 12 [000] 1.2: sched:sched_switch: prev_comm=dd\n",
		     "dd 2\n");
}

static void test_frames(void **state)
{
	(void)state;
	assert_reads("a 1/1 1.0: 1 cycles:\n"
		     "\t3 std::map<int, char>::find(int const&)+0x16 (/usr/lib/libstdc++.so.6)\n"
		     "\t2 helper (inlined)\n"
		     "\t2 operator()+0x2 (/usr/bin/a b (deleted))\n"
		     "\t4 Foo::bar+0x1 (/tmp/perf-12.map)\n"
		     "\t5 [unknown] (/usr/lib/libc.so.6)\n"
		     "\t6 [unknown] (/usr/lib/libm.so.6+0x55)\n"
		     "\t7 [unknown] ([unknown])\n\n",
		     "a;[unknown];libm.so.6+0x55;[libc.so.6];Foo::bar_[j];operator();helper_[i];"
		     "std::map<int, char>::find(int const&) 1\n");
	assert_reads("a 1/1 1.0: 1 cycles:\n\tadd (/bin/a)\n\tmain\n\n", "a;main;add 1\n");
	assert_reads("a 1/1 1.0: 1 cycles:\n\t5 f+0x1 (/bin/a)\n  main.c:12\n\t6 main (/bin/a)\n  ??:0\n\n",
		     "a;main;f 1\n");
	assert_reads("a 1/1 1.0: 1 cycles:\n\t5 [incomplete: depth] ([unknown])\n\n", "a;[incomplete: depth] 1\n");
}

/* Equal periods are a fact of the whole; others are what samples stand for. */
static void test_periods(void **state)
{
	struct profile *profile;

	(void)state;
	profile = read_text("a 1/1 1.0: 10 cycles:ppp:\n\t1 f\n\na 1/1 1.1: 30 cycles:ppp:\n\t1 f\n\n"
			    "a 1/1 1.2: 5 cycles:ppp:\n\t1 g\n\n");
	assert_int_equal(profile_sample(profile, 1)->value, 40);
	assert_int_equal(profile_sample(profile, 2)->value, 5);
	assert_int_equal(profile_meta(profile)->period, 0);
	assert_string_equal(unit_of(profile), "cycles");
	profile_free(profile);
	assert_reads("# wick version : 1\na 0/0 0.0: 5 cpu-clock:\n\t1 f\n\n", "a;f 5\n");
}

static void test_events(void **state)
{
	const char *text = "a 1/1 1.0: 1 cycles:u:\n\t1 f\n\na 1/1 1.0: 1 instructions:u:\n\t1 g\n\n"
			   "a 1/1 1.0: 1 cycles:u:\n\t1 h\n\n";

	(void)state;
	assert_reads_type(text, NULL, "a;f 1\na;h 1\n", "values are cycles:u; --type reads others: instructions:u");
	assert_reads_type(text, "instructions", "a;g 1\n", NULL);
	assert_reads_type(text, "cycles:u", "a;f 1\na;h 1\n", NULL);
	assert_bytes_refused(text, strlen(text), (struct in_request){ .type = "faults" },
			     "--type: 'faults' is not in it: it has cycles:u, instructions:u");
}

static void test_bad_lines(void **state)
{
	(void)state;
	assert_salvages("a 1/1 1.0: 1 cycles:\n\t1 f\n\nwhat is this\n", "line 4: neither the head of a sample",
			"a;f 1\n", "1 record kept");
	assert_salvages("a 1/1 1.0: 1 cycles:\n\t1 f (/bin/a)\n\na 1/1 1.0: 1 cycles:\n\t1 g (/bin", "line 5: cut off",
			"a;f 1\n", "1 record kept");
	assert_refused("a 1/1 1.0: 18446744073709551615 cycles:\n\t1 f\n\na 1/1 1.0: 1 cycles:\n\t1 f\n\n",
		       "the periods add up to more than can be");
}

static void test_depth_is_bounded(void **state)
{
	autobuf struct buf text = { 0 };

	(void)state;
	buf_adds(&text, "a 1/1 1.0: 1 cycles:\n");
	for (int i = 0; i < 70000; i++)
		buf_adds(&text, "\t1 f\n");
	assert_refused(text.data, "more than 65536 frames");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),    cmocka_unit_test(test_heads),
		cmocka_unit_test(test_one_line),  cmocka_unit_test(test_frames),
		cmocka_unit_test(test_periods),   cmocka_unit_test(test_events),
		cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
