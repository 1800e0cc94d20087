/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel addresses: from texts as the kernel writes them, and from this machine's own. */
#include "sym/kernel.h"

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

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000100 t local_name\n"
			   "ffffffff81000100 T __global_name\n"
			   "ffffffff81000100 T global_name\n"
			   "ffffffff81000100 W weak_name\n"
			   "ffffffff810001f0 t __pfx_read_it\n"
			   "ffffffff81000200 T __ia32_sys_read_it\n"
			   "ffffffff81000200 T __x64_sys_read_it\n"
			   "ffffffff81000200 t __do_sys_read_it\n"
			   "ffffffff81000280 t $x\n"
			   "ffffffff81000280 r a_constant\n"
			   "ffffffff81000300 T __sched_text_start\n"
			   "ffffffff81000300 t schedule.part.0\n"
			   "ffffffff81000400 T _etext\n"
			   "ffffffff82000000 D jiffies\n"
			   "ffffffffc0200000 t ext4_second\t[ext4]\n"
			   "ffffffffc0100000 t ext4_first\t[ext4]\n"
			   "ffffffffc0202000 t xfs_only\t[xfs]\n"
			   "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_sampler\t[bpf]\n"
			   "ffffffffc0400000 t ftrace_trampoline\t[__builtin__ftrace]\n";

struct answers {
	struct buf words;
	size_t next;
};

static void take(void *arg, size_t index, const struct kernel_name *name)
{
	struct answers *answers = arg;

	assert_int_equal(index, answers->next++);
	if (!name->name) {
		buf_adds(&answers->words, "- ");
		return;
	}
	buf_add(&answers->words, name->name, name->len);
	if (name->module_len)
		buf_addf(&answers->words, "[%.*s]", (int)name->module_len, name->module);
	buf_addc(&answers->words, ' ');
}

/* The names of the addresses, each with a blank behind. */
static void check(const char *symbols, size_t len, const uint64_t *addresses, size_t count, const char *expected)
{
	struct answers answers = { 0 };

	assert_int_equal(kernel_names_in(symbols, len, addresses, count, take, &answers), 0);
	assert_int_equal(answers.next, count);
	assert_string_equal(answers.words.data, expected);
	buf_free(&answers.words);
}

#define NAMES(expected, ...)                                                                   \
	do {                                                                                   \
		const uint64_t list[] = { __VA_ARGS__ };                                       \
		check(text, sizeof(text) - 1, list, sizeof(list) / sizeof(list[0]), expected); \
	} while (0)

static void test_kernel(void **state)
{
	(void)state;
	NAMES("- - startup_64 startup_64 global_name ", 0, 0x1000, 0xffffffff81000000, 0xffffffff81000000,
	      0xffffffff810001ef);
	NAMES("startup_64 ", 0xffffffff81000001);
	NAMES("__pfx_read_it __pfx_read_it __x64_sys_read_it ", 0xffffffff810001f0, 0xffffffff810001ff,
	      0xffffffff81000200);
	NAMES("__x64_sys_read_it schedule.part.0 schedule.part.0 ", 0xffffffff810002ff, 0xffffffff81000300,
	      0xffffffff810003ff);
}

static void test_outside_of_text(void **state)
{
	(void)state;
	NAMES("- - - ", 0xffffffff81000400, 0xffffffff81000410, 0xffffffff82000000);
	NAMES("- - ", 0xffffffff90000000, UINT64_MAX);
	NAMES("- ", 0xffffffff80ffffff);
}

static void test_modules(void **state)
{
	(void)state;
	NAMES("ext4_first[ext4] ext4_first[ext4] - ", 0xffffffffc0100010, 0xffffffffc01fffff,
	      0xffffffffc0000000 + 0x201000);
	NAMES("ext4_second[ext4] - xfs_only[xfs] - ", 0xffffffffc0200fff, 0xffffffffc0201000, 0xffffffffc0202010,
	      0xffffffffc0204000);
	NAMES("bpf_prog_6deef7357e7b4530_sampler[bpf] bpf_prog_6deef7357e7b4530_sampler[bpf] - ", 0xffffffffc0300000,
	      0xffffffffc0310000, 0xffffffffc0380000);
	NAMES("ftrace_trampoline[__builtin__ftrace] - ", 0xffffffffc0400040, 0xffffffffc0500040);
}

/* The same answers whatever the order of lines. */
static void test_any_order(void **state)
{
	const uint64_t list[] = { 0xffffffff81000000, 0xffffffff81000150, 0xffffffff81000200, 0xffffffffc0180000,
				  0xffffffffc0200001 };
	autobuf struct buf reversed = { 0 };
	const char *end = text + sizeof(text) - 1;

	(void)state;
	while (end > text) {
		const char *line = end - 1;

		while (line > text && line[-1] != '\n')
			line--;
		buf_add(&reversed, line, (size_t)(end - line));
		end = line;
	}
	check(reversed.data, reversed.len, list, 5,
	      "startup_64 global_name __x64_sys_read_it ext4_first[ext4] ext4_second[ext4] ");
}

static void test_hidden_addresses(void **state)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t local_name\n";
	const uint64_t address = 0xffffffff81000000;
	struct answers answers = { 0 };

	(void)state;
	assert_int_equal(kernel_names_in(hidden, sizeof(hidden) - 1, &address, 1, take, &answers), -EACCES);
	assert_non_null(strstr(fail_text(), "kptr_restrict"));
	assert_int_equal(answers.next, 0);
}

static void test_bad_lines(void **state)
{
	static const char bad[] = "\n"
				  "ffffffff81000000\n"
				  "ffffffff81000000 T\n"
				  "ffffffff81000000 T \n"
				  "fffffffff81000000 T too_long_a_number\n"
				  "FFFFFFFF81000000 T capitals\n"
				  "ffffffff81000000 T good\t[\n"
				  "ffffffff81000010 T unfinished";
	const uint64_t list[] = { 0xffffffff81000000, 0xffffffff81000020 };

	(void)state;
	check(bad, sizeof(bad) - 1, list, 2, "good good ");
	check("", 0, list, 2, "- - ");
	assert_int_equal(kernel_names_in(bad, sizeof(bad) - 1, NULL, 0, take, NULL), 0);
}

struct own {
	const char (*names)[64];
	size_t seen, right;
};

static void take_own(void *arg, size_t index, const struct kernel_name *name)
{
	struct own *own = arg;

	own->seen++;
	own->right += name->name && name->len == strlen(own->names[index]) &&
		      !memcmp(name->name, own->names[index], name->len);
}

/* Well-known functions of this machine's kernel, by the addresses that it tells. */
static void test_own_kernel(void **state)
{
	static const char wanted[][64] = { "vfs_read", "vfs_write", "schedule", "kfree" };
	char names[4][64], line[512], name[256];
	struct own own = { .names = (const char(*)[64])names };
	uint64_t addresses[4];
	size_t count = 0;
	FILE *file = fopen("/proc/kallsyms", "re");

	(void)state;
	assert_non_null(file);
	while (count < 4 && fgets(line, sizeof(line), file)) {
		unsigned long long address;
		char type;

		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3)
			continue;
		for (size_t i = 0; i < 4; i++) {
			if (strcmp(name, wanted[i]) || strchr(line, '['))
				continue;
			strcpy(names[count], name);
			addresses[count++] = address + 4;
		}
	}
	fclose(file);
	assert_int_equal(count, 4);
	if (addresses[0] == 4) { /* an ordinary user: then that is what must be said */
		assert_int_equal(kernel_names(addresses, count, take_own, &own), -EACCES);
		return;
	}
	assert_int_equal(kernel_names(addresses, count, take_own, &own), 0);
	assert_int_equal(own.seen, count);
	assert_int_equal(own.right, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),           cmocka_unit_test(test_outside_of_text),
		cmocka_unit_test(test_modules),          cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_hidden_addresses), cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_own_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
