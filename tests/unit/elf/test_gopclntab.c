/* SPDX-License-Identifier: Apache-2.0 */
/* Go's table of functions in its four layouts, whole, stripped and damaged. */
#include "elf/gopclntab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "elf/image.h"
#include "goimage.h"

#define LIST 8

static const int versions[] = { 2, 16, 18, 20 };

struct opened {
	struct image *image;
	struct gopclntab *table;
};

static int open_table(struct opened *opened, const struct goimage *file)
{
	*opened = (struct opened){ 0 };
	assert_int_equal(image_from_memory(&opened->image, file->data, sizeof(file->data)), 0);
	return gopclntab_open(&opened->table, opened->image);
}

static void close_table(struct opened *opened)
{
	gopclntab_free(opened->table);
	image_free(opened->image);
}

static void check_name(const struct gopclntab_name *name, const char *text, const char *file, uint32_t line,
		       bool inlined)
{
	assert_int_equal(name->len, strlen(text));
	assert_memory_equal(name->name, text, name->len);
	assert_int_equal(name->file_len, strlen(file));
	assert_memory_equal(name->file, file, name->file_len);
	assert_int_equal(name->line, line);
	assert_int_equal(name->inlined, inlined);
}

/* Every address of both functions, and those around them. */
static void check_whole(const struct gopclntab *table, bool inlines)
{
	struct gopclntab_name list[LIST];

	assert_int_equal(gopclntab_find(table, GOIMAGE_TEXT - 1, list, LIST), 0);
	for (uint64_t pc = 0; pc < 0x40; pc++) {
		bool inside = pc >= 0x10 && pc < 0x20;
		size_t count = gopclntab_find(table, GOIMAGE_TEXT + pc, list, LIST);

		assert_int_equal(count, inside && inlines ? 2 : 1);
		if (inside && inlines) {
			check_name(&list[0], "main.inner", "b.go", 20, true);
			check_name(&list[1], "main.outer", "a.go", 10, false);
		} else {
			check_name(&list[0], "main.outer", inside ? "b.go" : "a.go",
				   pc < 0x10 ? 10
				   : inside  ? 20
					     : 12,
				   false);
		}
		assert_int_equal(list[count - 1].start, GOIMAGE_TEXT);
	}
	for (uint64_t pc = 0x40; pc < 0x50; pc++)
		assert_int_equal(gopclntab_find(table, GOIMAGE_TEXT + pc, list, LIST), 0);
	for (uint64_t pc = 0x50; pc < 0x80; pc++) {
		assert_int_equal(gopclntab_find(table, GOIMAGE_TEXT + pc, list, LIST), 1);
		assert_memory_equal(list[0].name, "main.next", 10);
		assert_int_equal(list[0].start, GOIMAGE_TEXT + 0x50);
	}
	assert_int_equal(gopclntab_find(table, GOIMAGE_TEXT + 0x80, list, LIST), 0);
	assert_int_equal(gopclntab_find(table, UINT64_MAX, list, LIST), 0);
}

static void check_named(const struct gopclntab *table)
{
	static const char *const names[] = { "main.oute", "main.next", "main.outer2", "main.outer" };
	struct gopclntab_range range;
	uint64_t at = 0;

	assert_true(gopclntab_named(table, names, 4, &at, &range));
	assert_int_equal(range.start, GOIMAGE_TEXT);
	assert_int_equal(range.end, GOIMAGE_TEXT + 0x50);
	assert_int_equal(range.name, 3);
	assert_true(gopclntab_named(table, names, 4, &at, &range));
	assert_int_equal(range.start, GOIMAGE_TEXT + 0x50);
	assert_int_equal(range.name, 1);
	assert_false(gopclntab_named(table, names, 4, &at, &range));
	at = 0;
	assert_false(gopclntab_named(table, names, 1, &at, &range));
}

static void test_every_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct goimage file;
		struct opened opened;

		goimage_make(&file, versions[i]);
		assert_int_equal(open_table(&opened, &file), 0);
		check_whole(opened.table, versions[i] != 2);
		check_named(opened.table);
		close_table(&opened);
	}
}

static void test_without_section_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct goimage file;
		struct opened opened;
		Elf64_Ehdr header;

		goimage_make(&file, versions[i]);
		memcpy(&header, file.data, sizeof(header));
		header.e_shnum = header.e_shstrndx = 0;
		header.e_shoff = 0;
		memcpy(file.data, &header, sizeof(header));
		assert_int_equal(open_table(&opened, &file), 0);
		check_whole(opened.table, versions[i] != 2);
		check_named(opened.table);
		close_table(&opened);
	}
}

static void test_module_in_relocations(void **state)
{
	(void)state;
	for (size_t i = 2; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct goimage file;
		struct opened opened;

		goimage_make(&file, versions[i]);
		goimage_relocate(&file);
		goimage_elf(&file);
		assert_int_equal(open_table(&opened, &file), 0);
		check_whole(opened.table, true);
		close_table(&opened);
	}
}

/* A module record that does not agree is not believed: no inlining, and no names unless the header has the start. */
static void test_module_that_lies(void **state)
{
	static const size_t words[] = { 1, 13, 16, 17, 20, 21, 22 };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct goimage file;
		struct opened opened;

		goimage_make(&file, 20);
		goimage_u64(&file, GOIMAGE_MODULE + words[i] * 8, 0x1234);
		assert_int_equal(open_table(&opened, &file), -ENODATA);
		close_table(&opened);
		goimage_u64(&file, GOIMAGE_TABLE + 24, GOIMAGE_TEXT);
		assert_int_equal(open_table(&opened, &file), 0);
		check_whole(opened.table, false);
		close_table(&opened);
	}
}

static void test_room_for_few(void **state)
{
	struct gopclntab_name list[LIST];
	struct goimage file;
	struct opened opened;

	(void)state;
	goimage_make(&file, 20);
	assert_int_equal(open_table(&opened, &file), 0);
	assert_int_equal(gopclntab_find(opened.table, GOIMAGE_TEXT + 0x10, list, 0), 0);
	assert_int_equal(gopclntab_find(opened.table, GOIMAGE_TEXT + 0x10, list, 1), 1);
	assert_memory_equal(list[0].name, "main.outer", 11);
	assert_false(list[0].inlined);
	close_table(&opened);
}

/* Where no instruction of the caller is left, the tree leads from a place to itself. */
static void test_tree_that_turns_in_circles(void **state)
{
	struct gopclntab_name list[LIST];
	struct goimage file;
	struct opened opened;

	(void)state;
	goimage_make(&file, 20);
	goimage_u32(&file, GOIMAGE_TREE + 8, 0x10);
	assert_int_equal(open_table(&opened, &file), 0);
	assert_int_equal(gopclntab_find(opened.table, GOIMAGE_TEXT + 0x10, list, LIST), 2);
	assert_memory_equal(list[0].name, "main.inner", 11);
	assert_memory_equal(list[1].name, "main.outer", 11);
	close_table(&opened);
}

/* An entry of the tree that cannot be one: the function is named without it. */
static void test_tree_that_lies(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lies[] = { { 4, 12 }, { 4, 0x7fffffff }, { 8, 0x50 }, { 8, 0xffffffff } };

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct gopclntab_name list[LIST];
		struct goimage file;
		struct opened opened;

		goimage_make(&file, 20);
		goimage_u32(&file, GOIMAGE_TREE + lies[i].at, lies[i].value);
		assert_int_equal(open_table(&opened, &file), 0);
		assert_int_equal(gopclntab_find(opened.table, GOIMAGE_TEXT + 0x10, list, LIST), 1);
		assert_memory_equal(list[0].name, "main.outer", 11);
		close_table(&opened);
	}
}

static void test_no_table(void **state)
{
	struct goimage file;
	struct opened opened;

	(void)state;
	goimage_make(&file, 20);
	file.data[GOIMAGE_TABLE] = 0;
	assert_int_equal(open_table(&opened, &file), -ENODATA);
	close_table(&opened);
	goimage_make(&file, 16);
	goimage_u64(&file, GOIMAGE_TABLE + 8, UINT64_MAX / 8);
	assert_int_equal(open_table(&opened, &file), -ENODATA);
	close_table(&opened);
	gopclntab_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_version),         cmocka_unit_test(test_without_section_headers),
		cmocka_unit_test(test_module_in_relocations), cmocka_unit_test(test_module_that_lies),
		cmocka_unit_test(test_room_for_few),          cmocka_unit_test(test_tree_that_turns_in_circles),
		cmocka_unit_test(test_tree_that_lies),        cmocka_unit_test(test_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
