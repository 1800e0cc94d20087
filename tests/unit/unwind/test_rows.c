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
#define HEAD 24           /* bytes before the rules */
#define LARGE (32u << 20) /* code that is not looked at for usual padding */

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

/* What is in the file at TEXT, and how much code it is said to have; where it is in the file. */
struct code {
	const char *bytes;
	size_t len;
	uint64_t size, offset;
};

static const struct code any = { .size = SIZE };

static void add_code(struct elf_file *file, const struct code *code)
{
	if (!code->bytes)
		return;
	assert_true(file->bytes.len <= TEXT);
	elf_file_pad(file, TEXT);
	buf_add(&file->bytes, code->bytes, code->len);
}

/* The code is said to be at ELF_FILE_BASE + TEXT and to be in the file. */
static int build_with(const struct frames *frames, const struct code *code, struct table *table)
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
					 .p_offset = code->offset,
					 .p_filesz = TEXT + code->size,
					 .p_memsz = TEXT + code->size };
	add_code(&file, code);
	elf_file_finish(&file);
	assert_int_equal(image_from_memory(&image, file.bytes.data, file.bytes.len), 0);
	err = cfi_open(&cfi, image, NULL);
	err = err ? err : rows_build(image, cfi, &table->bytes);
	cfi_free(cfi);
	image_free(image);
	elf_file_free(&file);
	return err;
}

static int build(const struct frames *frames, struct table *table)
{
	return build_with(frames, &any, table);
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

static void make_with(struct table *table, const struct code *code, const struct function *list, size_t len)
{
	struct frames frames = { 0 };

	*table = (struct table){ 0 };
	add_functions(&frames, list, len);
	assert_int_equal(build_with(&frames, code, table), 0);
	buf_free(&frames.bytes);
	read_back(table);
}

static void make(struct table *table, const struct function *list, size_t len)
{
	make_with(table, &any, list, len);
}

/* -EFBIG. */
static void refuse(const struct function *list, size_t len, uint64_t size)
{
	const struct code code = { .size = size };
	struct frames frames = { 0 };
	struct table table = { 0 };

	add_functions(&frames, list, len);
	assert_int_equal(build_with(&frames, &code, &table), -EFBIG);
	assert_int_equal(table.bytes.len, 0);
	buf_free(&frames.bytes);
	buf_free(&table.bytes);
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

/* Functions that have the same row, with a gap between them: is it known to be code? */
static bool is_gap(const char *bytes, size_t len, uint64_t size)
{
	const struct function list[] = { { 0, 0x40 - len, 2 }, { 0x40, 0x20, 2 } };
	char content[0x60] = { 0 };
	const struct code code = { content, sizeof(content), size, 0 };
	struct table table;
	bool gap;

	memset(content, 0xc3, sizeof(content));
	memcpy(content + 0x40 - len, bytes, len);
	make_with(&table, &code, list, 2);
	assert_row(&table, 1, TEXT, 16);
	gap = table.len == 5;
	if (gap) {
		assert_row(&table, 2, TEXT + 0x40 - len, 0);
		assert_row(&table, 3, TEXT + 0x40, 16);
	} else {
		assert_int_equal(table.len, 3);
	}
	buf_free(&table.bytes);
	return gap;
}

static void test_padding_needs_no_row(void **state)
{
	(void)state;
	assert_false(is_gap(bytes_of("\x90"), SIZE));
	assert_false(is_gap(bytes_of("\x66\x90\x0f\x1f\x00"), SIZE));
	assert_false(is_gap(bytes_of("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x0f\x1f\x44\x00\x00"), SIZE));
	assert_false(is_gap(bytes_of("\x0f\x0b\xcc\xcc\xcc"), SIZE));
	assert_false(is_gap(bytes_of("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), SIZE));
}

/* Code that nobody has described must not be taken for the end of the function before it. */
static void test_code_in_a_gap_has_a_row_that_knows_nothing(void **state)
{
	(void)state;
	assert_true(is_gap(bytes_of("\xc3"), SIZE));                     /* ret */
	assert_true(is_gap(bytes_of("\x90\xc3"), SIZE));                 /* behind a nop */
	assert_true(is_gap(bytes_of("\xc3\x90\x90\x90\x90"), SIZE));     /* and before some */
	assert_true(is_gap(bytes_of("\xf3\x90\xeb\xfc"), SIZE));         /* pause; jmp: a loop */
	assert_true(is_gap(bytes_of("\xf3\x0f\x1e\xfa\xcc"), SIZE));     /* endbr64 */
	assert_true(is_gap(bytes_of("\x0f\x1f\x84\x00\x00\x00"), SIZE)); /* a nop that is longer than the gap */
}

/* In a large file usual padding is not looked at; all else is. */
static void test_gaps_of_large_files(void **state)
{
	(void)state;
	assert_false(is_gap(bytes_of("\xc3"), LARGE));
	assert_false(is_gap(bytes_of("\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3"), LARGE));
	assert_true(is_gap(bytes_of("\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3"), LARGE));
	assert_false(is_gap(bytes_of("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"), LARGE));
}

static void test_large_gaps_are_not_padding(void **state)
{
	static const char zeros[0x100] = { 0 };
	static const struct function list[] = { { 0, 0x10, 2 }, { 0x50, 0x10, 2 }, { 0xa1, 0x10, 2 } };
	static const struct code code = { zeros, sizeof(zeros), SIZE, 0 };
	struct table table;

	(void)state;
	make_with(&table, &code, list, 3);
	assert_int_equal(table.len, 5);
	assert_row(&table, 1, TEXT, 16);       /* over 64 bytes, */
	assert_row(&table, 2, TEXT + 0x60, 0); /* not over 65 */
	assert_row(&table, 3, TEXT + 0xa1, 16);
	buf_free(&table.bytes);
}

/* Nobody knows what is in a gap that is not in the file. */
static void test_gaps_that_cannot_be_read(void **state)
{
	static const struct function list[] = { { 0, 0x1f, 2 }, { 0x20, 0x10, 2 } };
	struct table table;

	(void)state;
	make(&table, list, 2);
	assert_int_equal(table.len, 5);
	assert_row(&table, 2, TEXT + 0x1f, 0);
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

/* Functions one after the other, each with a rule of its own. */
static int build_rules(uint32_t count)
{
	struct frames frames = { 0 };
	struct table table = { 0 };
	int err;

	frames_add_usual_cie(&frames);
	for (uint32_t i = 0; i < count; i++) {
		char program[] = { 0x0e, (char)(0x80 | (i & 0x7f)), (char)(0x80 | (i >> 7 & 0x7f)),
				   (char)(i >> 14 | 4) };

		frames_add_fde(&frames, ELF_FILE_BASE + TEXT + i * 8, 8, program, sizeof(program));
	}
	err = build(&frames, &table);
	buf_free(&frames.bytes);
	buf_free(&table.bytes);
	return err;
}

/* One of them is that nothing is known. All files share the kernel's rules. */
static void test_no_file_has_more_than_its_share_of_rules(void **state)
{
	(void)state;
	assert_int_equal(build_rules(ROWS_RULES_MAX - 1), 0);
	assert_int_equal(build_rules(ROWS_RULES_MAX), -EFBIG);
	assert_int_equal(build_rules(34000), -EFBIG);
}

/* A file that is nearly all hole: two functions, and thousands of pages between them. */
static void test_no_file_has_pages_out_of_proportion(void **state)
{
	const struct function near[] = { { 0, 0x10, 2 }, { 0x1000000, 0x10, 3 } };
	const struct function far[] = { { 0, 0x10, 2 }, { 0x4000000, 0x10, 3 } };
	const struct function farther[] = { { 0, 0x10, 2 }, { 0x70000000, 0x10, 3 } };
	const struct code code = { .size = (uint64_t)1 << 31 };
	struct frames frames = { 0 };
	struct table table = { 0 };

	(void)state;
	add_functions(&frames, near, 2);
	assert_int_equal(build_with(&frames, &code, &table), 0);
	buf_free(&frames.bytes);
	buf_free(&table.bytes);
	refuse(far, 2, code.size);
	refuse(farther, 2, code.size);
}

/* The kernel's side looks up offsets of 32 bits. */
static void test_rows_at_4_gib_are_left_out(void **state)
{
	static const struct function list[] = { { 0, 0x10, 2 },
						{ 0x20000 - TEXT, 0x10, 3 },
						{ 0x20010 - TEXT, 0x10, 4 } };
	const struct code over = { .size = SIZE, .offset = ROWS_OFFSET_END - 0x20000 };
	const struct code beyond = { .size = SIZE, .offset = (uint64_t)1 << 40 };
	struct frames frames = { 0 };
	struct table table;

	(void)state;
	make_with(&table, &over, list, 3);
	assert_int_equal(table.pages, 1);
	assert_int_equal(table.len, 3);
	assert_row(&table, 1, over.offset + TEXT, 16);
	assert_row(&table, 2, over.offset + TEXT + 0x10, 0);
	buf_free(&table.bytes);
	add_functions(&frames, list, 3);
	table = (struct table){ 0 };
	assert_int_equal(build_with(&frames, &beyond, &table), -ENODATA);
	buf_free(&table.bytes);
	buf_free(&frames.bytes);
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
		{ 0, ROWS_RULES_MAX + 1 },
		{ 0, UINT32_MAX },
		{ 4, 0 }, /* no pages */
		{ 4, 2 }, /* more than from the first to the last */
		{ 8, 1 }, /* the last before the first */
		{ 12, UINT32_MAX },
		{ 12, 0x10000 },                                /* a page at 4 GiB */
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

/* A whole table, all of it at 4 GiB: no file has rows there. */
static void test_tables_beyond_4_gib_are_refused(void **state)
{
	static const struct function function[] = { { 0x100, 0x40, 2 } };
	struct rows_reader reader;
	struct table table;

	(void)state;
	make(&table, function, 1);
	for (uint32_t page = 0xffff; page <= 0x10000; page++) {
		memcpy(table.bytes.data + 8, &page, sizeof(page));
		memcpy(table.bytes.data + 12, &page, sizeof(page));
		assert_int_equal(rows_open(&reader, table.bytes.data, table.bytes.len), page < 0x10000 ? 0 : -EBADMSG);
	}
	buf_free(&table.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_function),
		cmocka_unit_test(test_equal_neighbours),
		cmocka_unit_test(test_padding_needs_no_row),
		cmocka_unit_test(test_code_in_a_gap_has_a_row_that_knows_nothing),
		cmocka_unit_test(test_gaps_of_large_files),
		cmocka_unit_test(test_large_gaps_are_not_padding),
		cmocka_unit_test(test_gaps_that_cannot_be_read),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_the_first_page_need_not_be_zero),
		cmocka_unit_test(test_code_that_is_not_there),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_no_file_has_more_than_its_share_of_rules),
		cmocka_unit_test(test_no_file_has_pages_out_of_proportion),
		cmocka_unit_test(test_rows_at_4_gib_are_left_out),
		cmocka_unit_test(test_cut_tables),
		cmocka_unit_test(test_damaged_tables),
		cmocka_unit_test(test_tables_beyond_4_gib_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
