/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/stat: the CPUs' lines are read, the others end them, and what no kernel would write is passed over. */
#include "proc/cputimes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/process.h"

/* The first line of a copy of the text, so that a read behind its end is seen. */
static bool first_line(const char *text, struct cputimes *ret)
{
	size_t len = strlen(text), at = 0;
	char *copy = malloc(len ? len : 1);
	bool found;

	assert_non_null(copy);
	memcpy(copy, text, len);
	found = cputimes_next(copy, len, &at, ret);
	free(copy);
	return found;
}

static void test_lines(void **state)
{
	static const char text[] = "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
				   "cpu3 0 0 0 281474976710656 0 0 0 0 0 0\nintr 5 6 7\ncpu4 1 2 3 4 5 6 7\n";
	struct cputimes line;
	size_t at = 0;

	(void)state;
	assert_true(cputimes_next(text, sizeof(text) - 1, &at, &line));
	assert_int_equal(line.cpu, CPUTIMES_ALL);
	assert_int_equal(line.user, 30);
	assert_int_equal(line.kernel, 160);
	assert_int_equal(line.idle, 90);
	assert_true(cputimes_next(text, sizeof(text) - 1, &at, &line));
	assert_int_equal(line.cpu, 0);
	assert_int_equal(line.idle, 9);
	assert_true(cputimes_next(text, sizeof(text) - 1, &at, &line));
	assert_int_equal(line.cpu, 3);
	assert_int_equal(line.idle, (uint64_t)1 << 48);
	assert_false(cputimes_next(text, sizeof(text) - 1, &at, &line));
	assert_false(cputimes_next(text, sizeof(text) - 1, &at, &line));
}

static void test_odd_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"c",
		"cp",
		"cpu",
		"cpu\n",
		"cpu ",
		"cpu0",
		"cpu 1 2 3 4 5 6",
		"cpu0 1 2 3 4 5 6\n7\n",
		"cpu0 1 2 3 4 5 6 \n",
		"cpu0 1 2 3 x 5 6 7\n",
		"cpu0 1 2 3 -4 5 6 7\n",
		"cpu0x 1 2 3 4 5 6 7\n",
		"cpux 1 2 3 4 5 6 7\n",
		"cpu-1 1 2 3 4 5 6 7\n",
		"cpu4294967295 1 2 3 4 5 6 7\n", /* stands for all of them */
		"cpu4294967296 1 2 3 4 5 6 7\n",
		"cpu0 1 2 3 281474976710657 5 6 7\n",
		"cpu0 1 2 3 99999999999999999999999999 5 6 7\n",
		" cpu0 1 2 3 4 5 6 7\n",
	};
	struct cputimes line;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (first_line(lines[i], &line))
			fail_msg("taken for the times of a CPU: %s", lines[i]);
	assert_true(first_line("cpu0 odd\ncpu1 1 2 3 4 5 6 7", &line)); /* hides no others */
	assert_int_equal(line.cpu, 1);
	assert_int_equal(line.idle, 9);
	assert_false(cputimes_next(NULL, 0, &(size_t){ 0 }, &line));
}

static void test_this_machine(void **state)
{
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	uint64_t *idle = calloc(cpus, sizeof(*idle)), sum = 0;
	struct machine_times before, after;

	(void)state;
	assert_non_null(idle);
	assert_int_equal(machine_times(&before), 0);
	assert_int_equal(machine_idle(idle, 0), 0); /* room for none */
	assert_int_equal(machine_idle(idle, cpus), 0);
	assert_int_equal(machine_times(&after), 0);
	for (unsigned int i = 0; i < cpus; i++)
		sum += idle[i];
	/* The sum is of what was rounded for each of them, and waiting for disks can go back. */
	assert_true(sum + (cpus + 100) * 20000 >= before.idle);
	assert_true(sum <= after.idle + (cpus + 100) * 20000);
	free(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
