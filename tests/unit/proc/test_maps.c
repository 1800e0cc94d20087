/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps: what the kernel writes is read to the last field, and what it would never write is passed over. */
#include "proc/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#define LINE "00400000-00401000 r-xp 00001000 08:01 42         /bin/a\n"

/* The only line of the text, which is a copy of its own so that a read behind its end is seen. */
static bool only_line(const char *text, struct maps_line *ret, char *path, size_t path_size)
{
	size_t len = strlen(text), at = 0;
	char *copy = malloc(len ? len : 1);
	struct maps_line more;
	bool found;

	assert_non_null(copy);
	memcpy(copy, text, len);
	found = maps_next(copy, len, &at, ret);
	if (found) {
		assert_in_range(ret->path_len, 0, path_size - 1);
		memcpy(path, ret->path, ret->path_len);
		path[ret->path_len] = '\0';
		assert_false(maps_next(copy, len, &at, &more));
	}
	free(copy);
	return found;
}

static void assert_path(const char *text, const char *path)
{
	struct maps_line line;
	char got[512];

	assert_true(only_line(text, &line, got, sizeof(got)));
	assert_string_equal(got, path);
}

static void assert_passed_over(const char *text)
{
	struct maps_line line;
	char got[512];

	if (only_line(text, &line, got, sizeof(got)))
		fail_msg("taken for a mapping: %s", text);
}

static void test_every_field(void **state)
{
	struct maps_line line;
	char path[64];

	(void)state;
	assert_true(only_line("7f0123456000-7f0123458000 r-xp 0000a000 fd:1a 18446744073709551615   /lib/x.so\n", &line,
			      path, sizeof(path)));
	assert_int_equal(line.start, 0x7f0123456000);
	assert_int_equal(line.end, 0x7f0123458000);
	assert_int_equal(line.offset, 0xa000);
	assert_int_equal(line.device, 0xfd << 20 | 0x1a);
	assert_int_equal(line.inode, UINT64_MAX);
	assert_true(line.executable);
	assert_string_equal(path, "/lib/x.so");
	assert_true(only_line("ffffffffff600000-ffffffffffffffff rw-p 00000000 00:00 0 \n", &line, path, sizeof(path)));
	assert_int_equal(line.end, UINT64_MAX);
	assert_false(line.executable);
	assert_string_equal(path, "");
}

/* A path goes on to the end of the line. The kernel writes a newline in it as \012, and so it stays. */
static void test_paths(void **state)
{
	(void)state;
	assert_path(LINE, "/bin/a");
	assert_path("1-2 r-xp 0 08:01 42 /bin/a", "/bin/a"); /* the end of the text is the end of the line */
	assert_path("1-2 r-xp 0 08:01 42      /a b/c  d \n", "/a b/c  d ");
	assert_path("1-2 r-xp 0 08:01 42 /a\\012b\n", "/a\\012b");
	assert_path("1-2 r-xp 0 08:01 42 /usr/bin/x (deleted)\n", "/usr/bin/x (deleted)");
	assert_path("1-2 r-xp 0 08:01 42 /\xff\x1b[31m;\n", "/\xff\x1b[31m;");
	assert_path("1-2 r-xp 0 08:01 42 /1-2 r-xp 0 08:01 42 /b\n", "/1-2 r-xp 0 08:01 42 /b");
	assert_path("1-2 r-xp 0 00:00 0 [vdso]\n", "[vdso]");
	assert_path("1-2 r-xp 0 00:00 0 [anon:a name]\n", "[anon:a name]");
}

static void test_odd_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		" \n",
		"-\n",
		"1\n",
		"1-\n",
		"1-2\n",
		"1-2 \n",
		"1-2 r-xp\n",
		"1-2 r-xp \n",
		"1-2 r-xp 0\n",
		"1-2 r-xp 0 08\n",
		"1-2 r-xp 0 08:\n",
		"1-2 r-xp 0 08:01\n",
		"1-2 r-xp 0 08:01 42\n", /* the kernel writes a space there */
		"1-2 r-xp  08:01 42 /a\n",
		"1-2 r-xp 0 08:01 4a /a\n", /* inodes are decimal */
		"1-2 r-xp 0 08:01 -4 /a\n",
		"1-2 r-xps 0 08:01 42 /a\n",
		"1-2 r-xps0 08:01 42 /a\n",
		"1-2 r-x 0 08:01 42 /a\n",
		"A-B r-xp 0 08:01 42 /a\n",
		"0x1-0x2 r-xp 0 08:01 42 /a\n",
		"-2 r-xp 0 08:01 42 /a\n",
		" 1-2 r-xp 0 08:01 42 /a\n",
		"2-1 r-xp 0 08:01 42 /a\n", /* backwards, and of no length */
		"1-1 r-xp 0 08:01 42 /a\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_passed_over(lines[i]);
}

/* Beyond 64 bits nothing is right, however it would wrap. */
static void test_huge_numbers(void **state)
{
	(void)state;
	assert_path("0000000000000000000000001-2 r-xp 0 08:01 42 /a\n", "/a");
	assert_passed_over("1-10000000000000000 r-xp 0 08:01 42 /a\n");
	assert_passed_over("10000000000000001-2 r-xp 0 08:01 42 /a\n");
	assert_passed_over("1-2 r-xp fffffffffffffffff 08:01 42 /a\n");
	assert_passed_over("1-2 r-xp 0 08:01 18446744073709551616 /a\n");
	assert_passed_over("1-2 r-xp 0 08:01 99999999999999999999 /a\n");
	assert_passed_over("1-2 r-xp 0 1000:01 42 /a\n"); /* a device has 12 and 20 bits */
	assert_passed_over("1-2 r-xp 0 08:100000 42 /a\n");
	assert_path("1-2 r-xp 0 fff:fffff 42 /a\n", "/a");
}

static void test_odd_lines_hide_no_others(void **state)
{
	static const char text[] = "what is this\n" LINE "\n1-1 r-xp 0 08:01 42 /never\n" LINE "rest";
	struct maps_line line;
	size_t at = 0, found = 0;

	(void)state;
	while (maps_next(text, sizeof(text) - 1, &at, &line)) {
		assert_int_equal(line.start, 0x400000);
		found++;
	}
	assert_int_equal(found, 2);
	assert_false(maps_next(text, sizeof(text) - 1, &at, &line)); /* the end stays the end */
	at = 0;
	assert_false(maps_next(NULL, 0, &at, &line));
}

static bool find_own(uint32_t pid, uint64_t address, struct maps_line *ret, struct buf *text)
{
	size_t at = 0;

	assert_int_equal(maps_read(pid, text), 0);
	while (maps_next(text->data, text->len, &at, ret))
		if (address >= ret->start && address < ret->end)
			return true;
	return false;
}

static void test_own_process(void **state)
{
	autobuf struct buf text = { 0 }, by_pid = { 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct maps_line line;

	(void)state;
	assert_true(at != MAP_FAILED);
	assert_int_equal(mprotect(at + page, page, PROT_READ | PROT_EXEC), 0);
	assert_true(find_own(0, (uint64_t)at + page, &line, &text));
	assert_int_equal(line.start, (uint64_t)at + page);
	assert_int_equal(line.end, (uint64_t)at + 2 * page);
	assert_true(line.executable);
	assert_int_equal(line.path_len, 0);
	assert_true(find_own((uint32_t)getpid(), (uint64_t)&test_own_process, &line, &by_pid));
	assert_true(line.executable);
	assert_int_equal(*line.path, '/');
	munmap(at, 3 * page);
}

static void test_process_that_is_gone(void **state)
{
	autobuf struct buf text = { 0 };
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(maps_read((uint32_t)pid, &text), -ENOENT);
	assert_int_equal(text.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_huge_numbers),
		cmocka_unit_test(test_odd_lines_hide_no_others),
		cmocka_unit_test(test_own_process),
		cmocka_unit_test(test_process_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
