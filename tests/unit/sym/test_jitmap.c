/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdump files as runtimes write them, and as nobody should. */
#include "sym/jitmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

static struct jitmap *read_text(const char *text)
{
	struct jitmap *map = NULL;

	assert_int_equal(jitmap_from_memory(&map, text, strlen(text)), 0);
	return map;
}

/* The name at the address and the start of its code; NULL: none. */
static void check(const struct jitmap *map, uint64_t address, const char *expected, uint64_t expected_start)
{
	const char *name = NULL;
	uint64_t start = 0;
	size_t len = 0;

	assert_int_equal(jitmap_find(map, address, &name, &len, &start), expected != NULL);
	if (!expected)
		return;
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(name, expected, len);
	assert_int_equal(start, expected_start);
}

static void test_lines(void **state)
{
	struct jitmap *map = read_text("1000 10 first\n"
				       "0x2000 0x20 Ljava/lang/String;::hashCode (a b)\r\n"
				       "3000 8\tInterpreter\n"
				       "FFFFFFFFFFFFFF00 ff last\n");

	(void)state;
	check(map, 0xfff, NULL, 0);
	check(map, 0x1000, "first", 0x1000);
	check(map, 0x100f, "first", 0x1000);
	check(map, 0x1010, NULL, 0);
	check(map, 0x2010, "Ljava/lang/String;::hashCode (a b)", 0x2000);
	check(map, 0x3000, "Interpreter", 0x3000);
	check(map, 0xfffffffffffffffe, "last", 0xffffffffffffff00);
	check(map, UINT64_MAX, NULL, 0);
	assert_true(jitmap_memory(map) > 0);
	jitmap_free(map);
	jitmap_free(NULL);
}

static void test_bad_lines_are_passed_over(void **state)
{
	struct jitmap *map = read_text("\n"
				       "words\n"
				       "1000\n"
				       "1000 10\n"
				       "1000 10 \n"
				       "1000 xyz name\n"
				       "11112222333344445 10 too long a number\n"
				       "fffffffffffffff0 20 wraps\n"
				       "5000 0 empty\n"
				       "-1 10 negative\n"
				       "4000 10 right\n");

	(void)state;
	check(map, 0x1000, NULL, 0);
	check(map, 0x5000, NULL, 0);
	check(map, 0xfffffffffffffff8, NULL, 0);
	check(map, 0, NULL, 0);
	check(map, 0x4000, "right", 0x4000);
	jitmap_free(map);
}

static void test_later_entries_override(void **state)
{
	struct jitmap *map = read_text("1000 100 old\n"
				       "1020 10 middle\n"
				       "2000 100 gone\n"
				       "1f00 300 around\n"
				       "1080 100 over the end\n"
				       "1000 8 start\n");

	(void)state;
	check(map, 0x1000, "start", 0x1000);
	check(map, 0x1007, "start", 0x1000);
	check(map, 0x1008, "old", 0x1000);
	check(map, 0x101f, "old", 0x1000);
	check(map, 0x1020, "middle", 0x1020);
	check(map, 0x1030, "old", 0x1000);
	check(map, 0x107f, "old", 0x1000);
	check(map, 0x1080, "over the end", 0x1080);
	check(map, 0x117f, "over the end", 0x1080);
	check(map, 0x1180, NULL, 0);
	check(map, 0x2000, "around", 0x1f00);
	check(map, 0x21ff, "around", 0x1f00);
	jitmap_free(map);
}

/* Every address against the plain definition: the last entry that has it. */
static void test_overlaps_against_definition(void **state)
{
	autobuf struct buf text = { 0 };
	unsigned int starts[300], sizes[300], seed = 1;
	struct jitmap *map;

	(void)state;
	for (unsigned int i = 0; i < 300; i++) {
		seed = seed * 1103515245 + 12345;
		starts[i] = seed >> 16 & 0x3ff;
		sizes[i] = 1 + (seed >> 8 & 0x3f);
		buf_addf(&text, "%x %x n%u\n", starts[i], sizes[i], i);
	}
	assert_int_equal(jitmap_from_memory(&map, text.data, text.len), 0);
	for (unsigned int address = 0; address < 0x480; address++) {
		char name[16];
		int last = -1;

		for (int i = 0; i < 300; i++)
			last = address >= starts[i] && address < starts[i] + sizes[i] ? i : last;
		snprintf(name, sizeof(name), "n%d", last);
		check(map, address, last < 0 ? NULL : name, last < 0 ? 0 : starts[last]);
	}
	jitmap_free(map);
}

/* The runtime may be in the middle of a line: half a name would be a wrong one. */
static void test_unfinished_last_line(void **state)
{
	struct jitmap *map = read_text("1000 10 whole\n2000 10 ha");

	(void)state;
	check(map, 0x1000, "whole", 0x1000);
	check(map, 0x2000, NULL, 0);
	jitmap_free(map);
	map = read_text("1000 10 ha");
	check(map, 0x1000, NULL, 0);
	jitmap_free(map);
	map = read_text("");
	check(map, 0, NULL, 0);
	jitmap_free(map);
}

static void test_endless_line(void **state)
{
	autobuf struct buf text = { 0 };
	const char *name;
	struct jitmap *map;
	uint64_t start;
	size_t len;
	int fd = memfd_create("map", MFD_CLOEXEC);

	(void)state;
	buf_adds(&text, "1000 10 ");
	for (int i = 0; i < 1 << 20; i++)
		buf_addc(&text, 'x');
	buf_adds(&text, "\n2000 10 after\n");
	assert_int_equal(buf_error(&text), 0);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text.data, text.len), 0);
	for (int from_file = 0; from_file < 2; from_file++) {
		assert_int_equal(from_file ? jitmap_open(&map, fd) : jitmap_from_memory(&map, text.data, text.len), 0);
		assert_true(jitmap_find(map, 0x1000, &name, &len, &start));
		assert_true(len >= 256 && len <= 65536);
		check(map, 0x2000, "after", 0x2000);
		jitmap_free(map);
	}
	close(fd);
}

/* Lines that cross from one piece of the file into the next. */
static void test_large_file(void **state)
{
	autobuf struct buf text = { 0 };
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct jitmap *map;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++)
		buf_addf(&text, "%x 10 LazyCompile:~name%u /srv/app.js:%u\n", 0x10000 + i * 16, i, i);
	assert_int_equal(buf_error(&text), 0);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text.data, text.len), 0);
	assert_int_equal(jitmap_open(&map, fd), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		char name[64];

		snprintf(name, sizeof(name), "LazyCompile:~name%u /srv/app.js:%u", i, i);
		check(map, 0x10000 + i * 16 + 15, name, 0x10000 + i * 16);
	}
	jitmap_free(map);
	close(fd);
}

static void test_what_is_no_map(void **state)
{
	struct jitmap *map = NULL;
	int ends[2], fd;

	(void)state;
	assert_int_equal(jitmap_from_memory(&map, "#!/bin/sh\necho\n", 15), -EBADMSG);
	assert_int_equal(jitmap_from_memory(&map,
					    "\x7f"
					    "ELF\1\2\3",
					    7),
			 -EBADMSG);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(jitmap_open(&map, ends[0]), -EBADMSG);
	close(ends[0]);
	close(ends[1]);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(jitmap_open(&map, fd), -EBADMSG);
	close(fd);
	fd = memfd_create("large", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)10 << 30), 0);
	assert_int_equal(jitmap_open(&map, fd), -EFBIG);
	assert_int_equal(ftruncate(fd, (off_t)300 << 20), 0);
	assert_int_equal(jitmap_open(&map, fd), -EFBIG);
	close(fd);
	assert_null(map);
}

/* ---- Jitdump ---- */

static void add_header(struct buf *dump, uint32_t magic)
{
	buf_u32(dump, magic);
	buf_u32(dump, 1);
	buf_u32(dump, 40);
	buf_u32(dump, 62);
	buf_u32(dump, 0);
	buf_u32(dump, 1234);
	buf_u64(dump, 1);
	buf_u64(dump, 0);
}

static void add_record(struct buf *dump, uint32_t type, const struct buf *body)
{
	buf_u32(dump, type);
	buf_u32(dump, (uint32_t)(16 + body->len));
	buf_u64(dump, 7);
	buf_add(dump, body->data, body->len);
}

static void add_load(struct buf *dump, uint64_t address, uint64_t size, uint64_t number, const char *name)
{
	autobuf struct buf body = { 0 };

	buf_u64(&body, 1234);
	buf_u64(&body, address);
	buf_u64(&body, address);
	buf_u64(&body, size);
	buf_u64(&body, number);
	buf_add(&body, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_addc(&body, (char)0xcc);
	add_record(dump, 0, &body);
}

static void add_move(struct buf *dump, uint64_t from, uint64_t into, uint64_t size, uint64_t number)
{
	autobuf struct buf body = { 0 };

	buf_u64(&body, 1234);
	buf_u64(&body, into);
	buf_u64(&body, from);
	buf_u64(&body, into);
	buf_u64(&body, size);
	buf_u64(&body, number);
	add_record(dump, 1, &body);
}

static void make_dump(struct buf *dump)
{
	struct buf none = { 0 };

	add_header(dump, 0x4A695444);
	add_load(dump, 0x1000, 0x100, 1, "one");
	add_record(dump, 4, &none); /* unwinding */
	add_load(dump, 0x2000, 0x40, 2, "two with spaces");
	add_record(dump, 77, &none);
	add_load(dump, 0x1080, 0x10, 3, "three");
	add_move(dump, 0x2000, 0x5000, 0x40, 2);
	add_move(dump, 0x9000, 0x9900, 0x40, 99);
	add_record(dump, 3, &none);
	add_load(dump, 0x7000, 0x10, 4, "after the end");
}

static void test_jitdump(void **state)
{
	autobuf struct buf dump = { 0 };
	struct jitmap *map;

	(void)state;
	make_dump(&dump);
	assert_int_equal(jitmap_from_memory(&map, dump.data, dump.len), 0);
	check(map, 0x1000, "one", 0x1000);
	check(map, 0x1080, "three", 0x1080);
	check(map, 0x1090, "one", 0x1000);
	check(map, 0x203f, "two with spaces", 0x2000);
	check(map, 0x503f, "two with spaces", 0x5000);
	check(map, 0x5040, NULL, 0);
	check(map, 0x9900, NULL, 0);
	check(map, 0x7000, NULL, 0);
	jitmap_free(map);
}

/* Cut anywhere: what came before is there, and nothing else. */
static void test_jitdump_cut(void **state)
{
	autobuf struct buf dump = { 0 };

	(void)state;
	make_dump(&dump);
	for (size_t len = 0; len < dump.len; len++) {
		struct jitmap *map = NULL;
		int err = jitmap_from_memory(&map, dump.data, len);

		assert_true(err == 0 || (len < 40 && err == -EBADMSG));
		if (map)
			check(map, 0x1000, len >= 40 + 16 + 40 + 4 ? "one" : NULL, 0x1000);
		jitmap_free(map);
	}
}

static void test_jitdump_of_other_byte_order(void **state)
{
	autobuf struct buf dump = { 0 };
	struct jitmap *map = NULL;

	(void)state;
	add_header(&dump, 0x4454694A);
	add_load(&dump, 0x1000, 0x100, 1, "one");
	assert_int_equal(jitmap_from_memory(&map, dump.data, dump.len), -EBADMSG);
	assert_null(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_bad_lines_are_passed_over),
		cmocka_unit_test(test_later_entries_override),
		cmocka_unit_test(test_overlaps_against_definition),
		cmocka_unit_test(test_unfinished_last_line),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_what_is_no_map),
		cmocka_unit_test(test_jitdump),
		cmocka_unit_test(test_jitdump_cut),
		cmocka_unit_test(test_jitdump_of_other_byte_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
