/* SPDX-License-Identifier: Apache-2.0 */
/* What bpftrace prints of maps with stacks: any order of keys, every mode of stacks, text and JSON. */
#include "unit/in/reads.h"

static void test_modes(void **state)
{
	(void)state;
	assert_reads(
		"Attaching 1 probe...\n\n\n"
		"@[\n    vfs_read+2\n    entry_SYSCALL_64_after_hwframe+118\n, \n    read+1\n    main+12\n, dd]: 12\n"
		"@[, \n    0xb62c8e\n    f(int, char)+9\n, cc1]: 3\n"
		"@[, , swapper/0]: 40\n",
		"swapper/0 40\ndd;main;read;entry_SYSCALL_64_after_hwframe_[k];vfs_read_[k] 12\n"
		"cc1;f(int, char);0xb62c8e 3\n");
	assert_reads("@[\n\tffffffff816be990 fill+80\n\tffffffff81000130 unlikely+118\n, \n"
		     "\t7f378335e86a main+2 (/bin/dd)\n\td8ec81485355 0xd8ec81485355 ([unknown])\n, dd]: 1\n",
		     "dd;0xd8ec81485355;main;unlikely_[k];fill_[k] 1\n");
	assert_reads("@[\n    ffffffff816be990\n    ffffffff81000130\n, \n    7f378335e86a\n, dd]: 1\n",
		     "dd;7f378335e86a;[kernel]+0xffffffff81000130_[k];[kernel]+0xffffffff816be990_[k] 1\n");
}

static void test_keys(void **state)
{
	struct profile *profile = read_text("@[77, kprobe:vfs_read, \n    f+1\n    main+1\n, sh, 78]: 5\n");
	uint32_t rest, key, value;

	(void)state;
	assert_int_equal(profile_process(profile, 1)->pid, 77);
	assert_int_equal(profile_sample(profile, 1)->tid, 78);
	assert_string_equal(profile_text(profile, profile_sample(profile, 1)->comm, NULL), "sh");
	profile_label(profile, profile_sample(profile, 1)->labels, &rest, &key, &value);
	assert_string_equal(profile_text(profile, key, NULL), "key2");
	assert_string_equal(profile_text(profile, value, NULL), "kprobe:vfs_read");
	profile_free(profile);
	/* One that is not known to be the kernel's is the program's; of two, the first is the kernel's. */
	assert_reads("@[comm, \n    f+1\n]: 2\n", "comm;f 2\n");
	assert_reads("@[\n    k+1\n, \n    u+1\n]: 2\n", "u;k_[k] 2\n");
	assert_reads("@[\n    u+1\n, \n    k+1\n    do_syscall_64+1\n]: 2\n", "u;do_syscall_64_[k];k_[k] 2\n");
}

static void test_maps(void **state)
{
	const char *text = "@n: 7\n@start[12]: 34\n@a[\n    f+1\n, sh]: 5\n@h[\n    f+1\n]: \n[4, 8)  49 |@@@@|\n\n"
			   "@b[\n    f+1\n, sh]: count 2, average 6, total 12\n";

	(void)state;
	assert_reads_type(text, NULL, "sh;f 5\n", "values are @a; --type reads others: @b");
	assert_reads_type(text, "@b", "sh;f 12\n", NULL);
	assert_bytes_refused(text, strlen(text), (struct in_request){ .type = "@c" }, "it has @a, @b");
	assert_refused("Attaching 1 probe...\n@a: 5\n", "no map of bpftrace with stacks in it");
}

static void test_json(void **state)
{
	(void)state;
	assert_reads("{\"type\": \"attached_probes\", \"data\": {\"probes\": 2}}\n\n"
		     "{\"type\": \"map\", \"data\": {\"@\": {\"cc1,\\n    0xb9\\n    f()+3\\n,,11460\": 1, "
		     "\"sh,\\n    main+1\\n,\\n    do_syscall_64+70\\n,11472\": 2}}}\n"
		     "{\"type\": \"map\", \"data\": {\"@n\": 5}}\n",
		     "sh;main;do_syscall_64_[k] 2\ncc1;f();0xb9 1\n");
	assert_refused("{\"type\": \"map\", \"data\": {\"@\": {\"\\n    a\\n,sh\": 1, \"x", "line 1, byte ");
}

static void test_cut(void **state)
{
	(void)state;
	assert_salvages("@[\n    a+1\n, sh]: 5\n@[\n    b+1\n", "line 5: cut off in the middle of a key", "sh;a 5\n",
			"1 record kept");
	assert_refused("@[\n    a+1\n]: 18446744073709551615\n@[\n    b+1\n]: 1\n", "add up to more than can be");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes), cmocka_unit_test(test_keys), cmocka_unit_test(test_maps),
		cmocka_unit_test(test_json),  cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
