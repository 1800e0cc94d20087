/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of processes come and go; what nobody runs takes no memory, and long paths of many are left out. */
#include "collect/programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int set(struct programs *programs, uint64_t process, const char *exe, const char *comm)
{
	return programs_set(programs, process, exe, strlen(exe), comm, strlen(comm));
}

static void assert_runs(const struct programs *programs, uint64_t process, const char *exe, const char *comm)
{
	const struct program_text *text = programs_get(programs, process);

	assert_non_null(text);
	assert_int_equal(text->exe_len, strlen(exe));
	assert_int_equal(text->comm_len, strlen(comm));
	assert_memory_equal(text->text, exe, text->exe_len);
	assert_memory_equal(text->text + text->exe_len, comm, text->comm_len);
}

static void a_child_runs_what_its_parent_does(void **state)
{
	struct programs programs = { 0 };

	(void)state;
	assert_int_equal(set(&programs, 1, "/bin/sh", "sh"), 0);
	assert_int_equal(programs_share(&programs, 2, 1), 0);
	assert_runs(&programs, 2, "/bin/sh", "sh");
	assert_int_equal(set(&programs, 1, "/bin/cat", "cat"), 0);
	assert_runs(&programs, 1, "/bin/cat", "cat");
	assert_runs(&programs, 2, "/bin/sh", "sh");
	assert_int_equal(programs_share(&programs, 2, 2), 0);
	assert_runs(&programs, 2, "/bin/sh", "sh");
	assert_int_equal(programs_share(&programs, 3, 99), 0);
	assert_null(programs_get(&programs, 3));
	programs_forget(&programs, 1);
	assert_null(programs_get(&programs, 1));
	programs_free(&programs);
}

static void what_ends_leaves_nothing(void **state)
{
	struct programs programs = { 0 };
	char path[64];

	(void)state;
	for (int round = 0; round < 100; round++) {
		for (uint64_t i = 1; i <= 100; i++) {
			snprintf(path, sizeof(path), "/tmp/%d/%d", round, (int)i);
			assert_int_equal(set(&programs, i, path, "x"), 0);
			assert_int_equal(programs_share(&programs, i + 1000, i), 0);
		}
		for (uint64_t i = 1; i <= 100; i++) {
			programs_forget(&programs, i);
			programs_forget(&programs, i + 1000);
		}
		assert_int_equal(programs.bytes, 0);
	}
	programs_free(&programs);
}

static void long_paths_have_a_limit(void **state)
{
	static char path[4096];
	struct programs programs = { 0 };

	(void)state;
	memset(path, 'p', sizeof(path));
	for (uint64_t i = 1; i <= 20000; i++)
		assert_int_equal(programs_set(&programs, i, path, sizeof(path), "name", 4), 0);
	assert_true(programs_memory(&programs) < 8 << 20);
	assert_runs(&programs, 20000, "", "name");
	programs_free(&programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_runs_what_its_parent_does),
		cmocka_unit_test(what_ends_leaves_nothing),
		cmocka_unit_test(long_paths_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
