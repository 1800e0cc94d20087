/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables, built from frames made by hand and read back: equal neighbours are one row, padding needs none, every
 * page can be searched by itself; and a table that is damaged is refused without a byte read beyond it. What the tables
 * of real files hold is compared with readelf in tests/golden/rows.t.
 */
#include "unwind/rows.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/image.h"
#include "unit/elf_file.h"
#include "unit/frames.h"

#define TEXT 0x1000   /* offset of the code in the file */
#define SIZE 0x100000 /* all the code there may be */
#define ROWS_MAX 64
#define HEAD 24 /* bytes before the rules */

struct row {
	uint64_t offset;
	struct wire_rule rule;
};

struct table {
	struct buf bytes;
	struct row rows[ROWS_MAX];
	size_t len, pages, rules;
	uint32_t first_page;
};

/* The code is said to be at ELF_FILE_BASE + TEXT and to be in the file, whose bytes are not looked at. */
static int build(const struct frames *frames, struct table *table)
{
	struct image *image = NULL;
	struct cfi *cfi = NULL;
	struct elf_file file;
	int err;

	elf_file_begin(&file);
	elf_file_add(&file, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames->bytes.data, frames->bytes.len);
	file.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = ELF_FILE_BASE,
					 .p_filesz = TEXT + SIZE,
					 .p_memsz = TEXT + SIZE };
	elf_file_finish(&file);
	assert_int_equal(image_from_memory(&image, file.bytes.data, file.bytes.len), 0);
	err = cfi_open(&cfi, image, NULL);
	err = err ? err : rows_build(image, cfi, &table->bytes);
	cfi_free(cfi);
	image_free(image);
	elf_file_free(&file);
	return err;
}

static void read_page(struct table *table, const struct rows_page *page, const struct wire_rule *rules)
{
	for (uint32_t i = 0; i < page->count; i++) {
		uint16_t offset, number;

		memcpy(&offset, page->offsets + i, sizeof(offset));
		memcpy(&number, page->rules + i, sizeof(number));
		if (!i)
			assert_int_equal(offset, 0); /* it can be searched by itself */
		assert_true(table->len < ROWS_MAX && number < table->rules);
		table->rows[table->len] =
			(struct row){ (uint64_t)page->number << WIRE_PAGE_SHIFT | offset, rules[number] };
		if (table->len)
			assert_true(table->rows[table->len].offset > table->rows[table->len - 1].offset);
		table->len++;
	}
}

static void read_back(struct table *table)
{
	struct rows_reader reader;
	struct wire_rule rules[ROWS_MAX];
	struct rows_page page;

	assert_int_equal(rows_open(&reader, table->bytes.data, table->bytes.len), 0);
	assert_true(reader.rules <= ROWS_MAX);
	table->rules = reader.rules;
	table->pages = reader.pages;
	table->first_page = reader.first_page;
	for (uint32_t i = 0; i < reader.rules; i++)
		assert_int_equal(rows_next_rule(&reader, &rules[i]), 0);
	for (uint32_t i = 0; i < reader.pages; i++) {
		assert_int_equal(rows_next_page(&reader, &page), 0);
		assert_int_equal(page.number, reader.first_page + i);
		read_page(table, &page, rules);
	}
	assert_ptr_equal(reader.at, reader.end);
	assert_int_equal(reader.rows, table->len);
}

/* Functions from a list: offset from the start of the code, length, CFA offset in units of eight. */
struct function {
	uint64_t at, len;
	unsigned char eights;
};

static void add_functions(struct frames *frames, const struct function *list, size_t len)
{
	frames_add_usual_cie(frames);
	for (size_t i = 0; i < len; i++) {
		char program[] = { 0x0e, (char)(list[i].eights * 8) };

		frames_add_fde(frames, ELF_FILE_BASE + TEXT + list[i].at, list[i].len, program, sizeof(program));
	}
}

static void make(struct table *table, const struct function *list, size_t len)
{
	struct frames frames = { 0 };

	*table = (struct table){ 0 };
	add_functions(&frames, list, len);
	assert_int_equal(build(&frames, table), 0);
	buf_free(&frames.bytes);
	read_back(table);
}

/* Row `number` begins there, with that CFA; 0: nothing is known. */
static void assert_row(const struct table *table, size_t number, uint64_t offset, int cfa)
{
	const struct row *row = &table->rows[number];

	assert_true(number < table->len);
	assert_int_equal(row->offset, offset);
	assert_int_equal(row->rule.kind, cfa ? WIRE_RULE_REGISTER : WIRE_RULE_NONE);
	assert_int_equal(row->rule.offset, cfa);
}

static void test_one_function(void **state)
{
	static const struct function list[] = { { 0x100, 0x40, 2 } };
	struct table table;

	(void)state;
	make(&table, list, 1);
	assert_int_equal(table.len, 3);
	assert_row(&table, 0, 0, 0); /* before it */
	assert_row(&table, 1, TEXT + 0x100, 16);
	assert_row(&table, 2, TEXT + 0x140, 0); /* and after it */
	assert_int_equal(table.rules, 2);
	buf_free(&table.bytes);
}

static void test_equal_neighbours(void **state)
{
	static const struct function list[] = {
		{ 0x100, 0x40, 2 }, { 0x140, 0x40, 2 }, { 0x180, 0x40, 3 }, { 0x1c0, 0x40, 2 }
	};
	struct table table;

	(void)state;
	make(&table, list, 4);
	assert_int_equal(table.len, 5);
	assert_row(&table, 1, TEXT + 0x100, 16);
	assert_row(&table, 2, TEXT + 0x180, 24);
	assert_row(&table, 3, TEXT + 0x1c0, 16);
	assert_row(&table, 4, TEXT + 0x200, 0);
	assert_int_equal(table.rules, 3); /* each once */
	buf_free(&table.bytes);
}

static void test_padding_and_gaps(void **state)
{
	static const struct function list[] = {
		{ 0, 0x21, 2 }, { 0x40, 0x20, 2 }, { 0x80, 0x10, 3 }, { 0xb1, 0x10, 3 }
	};
	struct table table;

	(void)state;
	make(&table, list, 4);
	assert_int_equal(table.len, 6);
	assert_row(&table, 1, TEXT, 16); /* up to 0x60, over 31 bytes of padding, and over 32 */
	assert_row(&table, 2, TEXT + 0x80, 24);
	assert_row(&table, 3, TEXT + 0x90, 0); /* 33 bytes: may be a function that nobody described */
	assert_row(&table, 4, TEXT + 0xb1, 24);
	assert_row(&table, 5, TEXT + 0xc1, 0);
	buf_free(&table.bytes);
}

static void test_pages(void **state)
{
	/* Over the edge of a page; then a page of which it is all; then one that begins with a function */
	static const struct function list[] = {
		{ 0xefe0, 0x40, 2 }, { 0x1f000 - 0x10, 0x10, 3 }, { 0x1f000, 0x20000, 4 }, { 0x3f000, 0x10, 5 }
	};
	struct table table;

	(void)state;
	make(&table, list, 4);
	assert_int_equal(table.pages, 5);
	assert_int_equal(table.first_page, 0);
	assert_int_equal(table.len, 9);
	assert_row(&table, 0, 0, 0);
	assert_row(&table, 1, 0xffe0, 16);
	assert_row(&table, 2, 0x10000, 16); /* goes on */
	assert_row(&table, 3, 0x10020, 0);
	assert_row(&table, 4, 0x1fff0, 24);
	assert_row(&table, 5, 0x20000, 32); /* no row of what went on before it */
	assert_row(&table, 6, 0x30000, 32);
	assert_row(&table, 7, 0x40000, 40);
	assert_row(&table, 8, 0x40010, 0);
	buf_free(&table.bytes);
}

static void test_the_first_page_need_not_be_zero(void **state)
{
	static const struct function list[] = { { 0x2f000, 0x10, 2 }, { 0x2f100, 0x10, 3 } };
	struct table table;

	(void)state;
	make(&table, list, 2);
	assert_int_equal(table.first_page, 3);
	assert_int_equal(table.pages, 1);
	assert_row(&table, 0, 0x30000, 16);
	buf_free(&table.bytes);
}

/* Said of code that is in no segment: it cannot run. */
static void test_code_that_is_not_there(void **state)
{
	static const struct function list[] = { { 0, 0x10, 2 }, { SIZE + 0x1000, 0x10, 3 } };
	static const struct function nowhere[] = { { SIZE + 0x1000, 0x10, 3 } };
	struct frames frames = { 0 };
	struct table table;

	(void)state;
	make(&table, list, 2);
	assert_int_equal(table.len, 3);
	assert_row(&table, 2, TEXT + 0x10, 0);
	buf_free(&table.bytes);
	add_functions(&frames, nowhere, 1);
	table = (struct table){ 0 };
	assert_int_equal(build(&frames, &table), -ENODATA);
	assert_int_equal(table.bytes.len, 0);
	buf_free(&table.bytes);
	buf_free(&frames.bytes);
}

static void test_nothing(void **state)
{
	struct frames frames = { 0 };
	struct table table = { 0 };

	(void)state;
	assert_int_equal(build(&frames, &table), -ENODATA);
	frames_add_usual_cie(&frames);
	assert_int_equal(build(&frames, &table), -ENODATA);
	buf_free(&frames.bytes);
}

/* Rules without number, until it is enough. */
static void test_more_rules_than_there_is_room_for(void **state)
{
	struct frames frames = { 0 };
	struct table table = { 0 };

	(void)state;
	frames_add_usual_cie(&frames);
	for (uint32_t i = 0; i <= WIRE_RULES_MAX; i++) {
		char program[] = { 0x0e, (char)(0x80 | (i & 0x7f)), (char)(0x80 | (i >> 7 & 0x7f)),
				   (char)(i >> 14 | 4) };

		frames_add_fde(&frames, ELF_FILE_BASE + TEXT + i * 8, 8, program, sizeof(program));
	}
	assert_int_equal(build(&frames, &table), -EFBIG);
	buf_free(&frames.bytes);
	buf_free(&table.bytes);
}

/* ---- reading what is not trusted ---- */

static int read_all(const void *data, size_t len)
{
	struct rows_reader reader;
	struct rows_page page;
	struct wire_rule rule;
	int err = rows_open(&reader, data, len);

	for (uint32_t i = 0; !err && i < reader.rules; i++)
		err = rows_next_rule(&reader, &rule);
	for (uint32_t i = 0; !err && i < reader.pages; i++)
		err = rows_next_page(&reader, &page);
	return err;
}

static void test_cut_tables(void **state)
{
	static const struct function list[] = { { 0xefe0, 0x40, 2 }, { 0x1f000, 0x20000, 4 } };
	struct table table;

	(void)state;
	make(&table, list, 2);
	assert_int_equal(read_all(table.bytes.data, table.bytes.len), 0);
	for (size_t len = 0; len < table.bytes.len; len++) {
		char *copy = malloc(len ? len : 1); /* its end is the end of memory, for the sanitizer */

		assert_non_null(copy);
		memcpy(copy, table.bytes.data, len);
		assert_int_equal(read_all(copy, len), -EBADMSG);
		free(copy);
	}
	buf_free(&table.bytes);
}

static void test_damaged_tables(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} list[] = {
		{ 0, 0 }, /* no rules */
		{ 0, WIRE_RULES_MAX + 1 },
		{ 0, UINT32_MAX },
		{ 4, 0 }, /* no pages */
		{ 4, 2 }, /* more than from the first to the last */
		{ 8, 1 }, /* the last before the first */
		{ 12, UINT32_MAX },
		{ HEAD, 0xff },                                 /* a kind of rule that there is not */
		{ HEAD, 0x1001 },                               /* a register that there is not */
		{ HEAD + 2 * sizeof(struct wire_rule), 7 },     /* a page that was not announced */
		{ HEAD + 2 * sizeof(struct wire_rule) + 4, 0 }, /* an empty page */
		{ HEAD + 2 * sizeof(struct wire_rule) + 4, 65537 },
		{ HEAD + 2 * sizeof(struct wire_rule) + 4, UINT32_MAX },
	};
	static const struct function function[] = { { 0x100, 0x40, 2 } };
	struct table table;

	(void)state;
	make(&table, function, 1);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		uint32_t before;

		memcpy(&before, table.bytes.data + list[i].at, sizeof(before));
		memcpy(table.bytes.data + list[i].at, &list[i].value, sizeof(before));
		assert_int_equal(read_all(table.bytes.data, table.bytes.len), -EBADMSG);
		memcpy(table.bytes.data + list[i].at, &before, sizeof(before));
	}
	assert_int_equal(read_all(table.bytes.data, table.bytes.len), 0);
	buf_free(&table.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_function),
		cmocka_unit_test(test_equal_neighbours),
		cmocka_unit_test(test_padding_and_gaps),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_the_first_page_need_not_be_zero),
		cmocka_unit_test(test_code_that_is_not_there),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_more_rules_than_there_is_room_for),
		cmocka_unit_test(test_cut_tables),
		cmocka_unit_test(test_damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
