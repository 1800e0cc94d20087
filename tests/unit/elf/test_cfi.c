/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information written by hand: each instruction does what DWARF says, rows come in order whatever the order
 * of the file, and what cannot be read is a function about which nothing is known, not a wrong one.
 */
#include "elf/cfi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>
#include <cmocka.h>

#include "base/budget.h"
#include "elf/image.h"
#include "unit/elf_file.h"
#include "unit/frames.h"

#define START 0x401000ULL
#define ROWS_MAX 256

struct row {
	uint64_t address;
	bool known;
	struct cfi_state state;
};

struct rows {
	struct row list[ROWS_MAX];
	size_t len;
	size_t fail_at; /* the callback fails there; 0: never */
	struct elf_file file;
	struct image *image;
};

static int keep_row(void *arg, uint64_t address, const struct cfi_state *state)
{
	struct rows *rows = arg;

	if (rows->fail_at && rows->len + 1 == rows->fail_at)
		return -ECANCELED;
	if (rows->len)
		assert_true(address >= rows->list[rows->len - 1].address);
	assert_true(rows->len < ROWS_MAX);
	rows->list[rows->len].address = address;
	rows->list[rows->len].known = state;
	if (state)
		rows->list[rows->len].state = *state;
	rows->len++;
	return 0;
}

static struct rows *rows_new(void)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	assert_non_null(rows);
	elf_file_begin(&rows->file);
	elf_file_add_code(&rows->file, 4096);
	return rows;
}

static void rows_free(struct rows *rows)
{
	image_free(rows->image);
	elf_file_free(&rows->file);
	free(rows);
}

static void add_section(struct rows *rows, struct frames *frames)
{
	elf_file_add(&rows->file, frames->debug ? ".debug_frame" : ".eh_frame", SHT_PROGBITS,
		     frames->debug ? 0 : SHF_ALLOC, frames->bytes.data, frames->bytes.len);
	buf_free(&frames->bytes);
}

static void finish(struct rows *rows)
{
	elf_file_finish(&rows->file);
	assert_int_equal(image_from_memory(&rows->image, rows->file.bytes.data, rows->file.bytes.len), 0);
}

/* Finishes the file and reads all of it. */
static int run(struct rows *rows)
{
	struct cfi *cfi = NULL;
	int err;

	finish(rows);
	err = cfi_open(&cfi, rows->image, NULL);
	err = err ? err : cfi_rows(cfi, keep_row, rows);
	cfi_free(cfi);
	return err;
}

/* One function of 0x100 bytes with this program, under the usual CIE. */
static struct rows *one_function(const char *program, size_t len)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START, 0x100, program, len);
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	return rows;
}

static void assert_cfa(const struct row *row, uint64_t address, uint64_t number, int64_t offset)
{
	assert_int_equal(row->address, address);
	assert_true(row->known);
	assert_null(row->state.cfa_expression);
	assert_int_equal(row->state.cfa_register, number);
	assert_int_equal(row->state.cfa_offset, offset);
}

static void assert_unknown(const struct row *row, uint64_t address)
{
	assert_int_equal(row->address, address);
	assert_false(row->known);
}

static void test_instructions_for_the_cfa(void **state)
{
	static const struct {
		const char *program;
		size_t len;
		uint64_t number;
		int64_t offset;
	} list[] = {
		{ bytes_of(""), 7, 8 },
		{ bytes_of("\x0c\x06\x10"), 6, 16 },                 /* def_cfa */
		{ bytes_of("\x0c\x06\x80\x80\x04"), 6, 65536 },      /* with a long number */
		{ bytes_of("\x12\x06\x7e"), 6, 16 },                 /* def_cfa_sf: -2 times -8 */
		{ bytes_of("\x0d\x03"), 3, 8 },                      /* def_cfa_register */
		{ bytes_of("\x0e\x40"), 7, 64 },                     /* def_cfa_offset */
		{ bytes_of("\x13\x7c"), 7, 32 },                     /* def_cfa_offset_sf */
		{ bytes_of("\x0f\x02\x77\x08\x0c\x06\x10"), 6, 16 }, /* an expression, and then no longer */
		{ bytes_of("\x2e\x20"), 7, 8 },                      /* GNU_args_size: nothing */
		{ bytes_of("\x00\x00\x00\x0e\x18\x00"), 7, 24 },     /* nop */
		{ bytes_of("\x05\xc8\x01\x02\x0a\x0e\x28\x0b"), 7,
		  8 }, /* a register that there is not; a state and back */
		{ bytes_of("\x10\x21\x01\x50\x16\x40\x02\x50\x50"), 7, 8 }, /* expressions for such registers */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct rows *rows = one_function(list[i].program, list[i].len);

		assert_int_equal(rows->len, 2);
		assert_cfa(&rows->list[0], START, list[i].number, list[i].offset);
		assert_int_equal(rows->list[0].state.rules[CFI_RA].how, CFI_AT_CFA);
		assert_int_equal(rows->list[0].state.rules[CFI_RA].value, -8);
		assert_unknown(&rows->list[1], START + 0x100);
		rows_free(rows);
	}
}

static void test_instructions_for_registers(void **state)
{
	static const struct {
		const char *program;
		size_t len;
		unsigned int number;
		enum cfi_how how;
		int64_t value;
	} list[] = {
		{ bytes_of("\x86\x02"), 6, CFI_AT_CFA, -16 },                  /* offset */
		{ bytes_of("\x05\x0c\x03"), 12, CFI_AT_CFA, -24 },             /* offset_extended */
		{ bytes_of("\x11\x0c\x7f"), 12, CFI_AT_CFA, 8 },               /* offset_extended_sf */
		{ bytes_of("\x2f\x0c\x02"), 12, CFI_AT_CFA, 16 },              /* GNU_negative_offset_extended */
		{ bytes_of("\x90\x05\xd0"), 16, CFI_AT_CFA, -8 },              /* restore: as in the CIE */
		{ bytes_of("\x90\x05\x06\x10"), 16, CFI_AT_CFA, -8 },          /* restore_extended */
		{ bytes_of("\x83\x05\xc3"), 3, CFI_UNSET, 0 },                 /* restore what the CIE does not have */
		{ bytes_of("\x07\x10"), 16, CFI_UNDEFINED, 0 },                /* undefined */
		{ bytes_of("\x83\x05\x08\x03"), 3, CFI_SAME, 0 },              /* same_value */
		{ bytes_of("\x09\x10\x0d"), 16, CFI_REGISTER, 13 },            /* register */
		{ bytes_of("\x14\x06\x02"), 6, CFI_IS_CFA, -16 },              /* val_offset */
		{ bytes_of("\x15\x06\x7e"), 6, CFI_IS_CFA, 16 },               /* val_offset_sf */
		{ bytes_of("\x10\x06\x02\x76\x00"), 6, CFI_EXPRESSION, 0 },    /* expression */
		{ bytes_of("\x16\x06\x02\x76\x00"), 6, CFI_IS_EXPRESSION, 0 }, /* val_expression */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct rows *rows = one_function(list[i].program, list[i].len);
		const struct cfi_rule *rule = &rows->list[0].state.rules[list[i].number];

		assert_int_equal(rows->len, 2);
		assert_cfa(&rows->list[0], START, 7, 8);
		assert_int_equal(rule->how, list[i].how);
		assert_int_equal(rule->value, list[i].value);
		if (rule->how == CFI_EXPRESSION || rule->how == CFI_IS_EXPRESSION) {
			assert_int_equal(rule->len, 2);
			assert_memory_equal(rule->expression, "\x76\x00", 2);
		}
		rows_free(rows);
	}
}

static void test_expression_for_the_cfa(void **state)
{
	struct rows *rows = one_function(bytes_of("\x0f\x03\x76\x78\x06"));

	(void)state;
	assert_int_equal(rows->list[0].state.cfa_len, 3);
	assert_memory_equal(rows->list[0].state.cfa_expression, "\x76\x78\x06", 3);
	rows_free(rows);
}

static void test_places(void **state)
{
	/* advance 1, advance_1, advance_2, advance_4, set_loc, one that goes nowhere */
	struct rows *rows =
		one_function(bytes_of("\x41\x0e\x10\x02\x10\x0e\x18\x03\x20\x00\x0e\x20\x04\x08\x00\x00\x00\x0e\x28"
				      "\x01\x80\x10\x40\x00\x00\x00\x00\x00\x0e\x30\x40\x0e\x38"));
	static const struct {
		unsigned int at;
		int offset;
	} wanted[] = { { 0, 8 }, { 0x1, 16 }, { 0x11, 24 }, { 0x31, 32 }, { 0x39, 40 }, { 0x80, 56 } };

	(void)state;
	assert_int_equal(rows->len, 7);
	for (size_t i = 0; i < 6; i++)
		assert_cfa(&rows->list[i], START + wanted[i].at, 7, wanted[i].offset);
	assert_unknown(&rows->list[6], START + 0x100);
	rows_free(rows);
}

static void test_code_in_units(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	frames_add_cie(&frames, &(struct frames_cie){ 1, "", "", 0, 4, 16, bytes_of(FRAMES_START) });
	frames_add_fde(&frames, START, 0x100, bytes_of("\x41\x0e\x10\x02\x10\x0e\x18"));
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 4);
	assert_cfa(&rows->list[1], START + 4, 7, 16);
	assert_cfa(&rows->list[2], START + 4 + 64, 7, 24);
	rows_free(rows);
}

static void test_remembered_states(void **state)
{
	/* remember; cfa 16, rbp saved; remember; cfa rbp; recall; recall */
	struct rows *rows = one_function(bytes_of("\x0a\x41\x0e\x10\x86\x02\x0a\x41\x0d\x06\x83\x03\x41\x0b\x41\x0b"));
	const struct row *list = rows->list;

	(void)state;
	assert_int_equal(rows->len, 6);
	assert_cfa(&list[0], START, 7, 8);
	assert_cfa(&list[1], START + 1, 7, 16);
	assert_int_equal(list[1].state.rules[6].how, CFI_AT_CFA);
	assert_cfa(&list[2], START + 2, 6, 16);
	assert_int_equal(list[2].state.rules[3].how, CFI_AT_CFA);
	assert_cfa(&list[3], START + 3, 7, 16);
	assert_int_equal(list[3].state.rules[6].how, CFI_AT_CFA);
	assert_int_equal(list[3].state.rules[3].how, CFI_UNSET);
	assert_cfa(&list[4], START + 4, 7, 8);
	assert_int_equal(list[4].state.rules[6].how, CFI_UNSET);
	/* Rules that come back have the number that they had, and others have others. */
	assert_int_equal(list[4].state.registers, list[0].state.registers);
	assert_int_equal(list[3].state.registers, list[1].state.registers);
	assert_int_not_equal(list[1].state.registers, list[0].state.registers);
	assert_int_not_equal(list[2].state.registers, list[0].state.registers);
	assert_int_not_equal(list[2].state.registers, list[1].state.registers);
	rows_free(rows);
}

/* What is remembered is the function's own: nothing is left of the function before. */
static void test_many_cies(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		frames_add_usual_cie(&frames);
		frames_add_fde(&frames, START + i * 0x40, 0x40, bytes_of("\x44\x0e\x10\x86\x02\x0a"));
	}
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 201);
	for (unsigned int i = 0; i < 100; i++) {
		assert_cfa(&rows->list[2 * i], START + i * 0x40, 7, 8);
		assert_int_equal(rows->list[2 * i].state.rules[6].how, CFI_UNSET);
		assert_cfa(&rows->list[2 * i + 1], START + i * 0x40 + 4, 7, 16);
		assert_int_equal(rows->list[2 * i + 1].state.rules[6].value, -16);
	}
	rows_free(rows);
}

/* Two CIEs, of which one is forgotten for the other: their programs are run again with each function. */
static void test_programs_that_are_run_again_and_again(void **state)
{
	enum { FUNCTIONS = 2000, PROGRAM = 0x4000 - 15 };
	struct rows *rows = rows_new();
	struct frames frames = { 0 };
	static char program[PROGRAM] = FRAMES_START;
	size_t cies[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		frames_add_cie(&frames, &(struct frames_cie){ .version = 1,
							      .letters = "",
							      .code_factor = 1,
							      .ra = 16,
							      .program = program,
							      .len = sizeof(program) });
		cies[i] = frames.cie;
	}
	assert_int_equal(cies[1] % 0x100, 0);
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		frames.cie = cies[i % 2];
		frames_add_fde(&frames, START + i * 8, 8, NULL, 0);
	}
	add_section(rows, &frames);
	assert_int_equal(run(rows), -EFBIG);
	assert_true(image_budget(rows->image)->spent);
	rows_free(rows);
}

/* What was read up to there stands; from there on nothing is known of the function, and the next is read. */
static void test_programs_that_cannot_be_read(void **state)
{
	static const struct {
		const char *program;
		size_t len;
	} list[] = {
		{ bytes_of("\x0e\x10\x44\x0b") },                                 /* nothing was remembered */
		{ bytes_of("\x0e\x10\x44\x3f") },                                 /* no such instruction */
		{ bytes_of("\x0e\x10\x44\x17") },                                 /* nor this */
		{ bytes_of("\x0e\x10\x44\x0f\x7f\x00") },                         /* an expression beyond the end */
		{ bytes_of("\x0e\x10\x44\x10\x06\xff\xff\xff\x0f") },             /* and of a register */
		{ bytes_of("\x0e\x10\x44\x01\x00\x10\x40\x00\x00\x00\x00\x00") }, /* backwards */
		/* A number without end, and too many states to remember */
		{ bytes_of("\x0e\x10\x44\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
		{ bytes_of("\x0e\x10\x44\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct rows *rows = rows_new();
		struct frames frames = { 0 };

		frames_add_usual_cie(&frames);
		frames_add_fde(&frames, START, 0x40, list[i].program, list[i].len);
		frames_add_fde(&frames, START + 0x40, 0x40, bytes_of("\x0e\x20"));
		add_section(rows, &frames);
		assert_int_equal(run(rows), 0);
		assert_int_equal(rows->len, 4);
		assert_cfa(&rows->list[0], START, 7, 16);
		assert_unknown(&rows->list[1], START + 4);
		assert_cfa(&rows->list[2], START + 0x40, 7, 32);
		assert_unknown(&rows->list[3], START + 0x80);
		rows_free(rows);
	}
}

static void test_rows_beyond_the_function(void **state)
{
	struct rows *rows = one_function(bytes_of("\x0e\x10\x02\x80\x0e\x18\x02\x80\x0e\x20\x44\x3f"));

	(void)state;
	assert_int_equal(rows->len, 3);
	assert_cfa(&rows->list[0], START, 7, 16);
	assert_cfa(&rows->list[1], START + 0x80, 7, 24);
	assert_unknown(&rows->list[2], START + 0x100);
	rows_free(rows);
}

static void test_functions_in_any_order(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START + 0x80, 0x20, bytes_of("\x0e\x30"));
	frames_add_fde(&frames, START + 0x10, 0x10, bytes_of("\x0e\x18"));
	frames_add_fde(&frames, START + 0x90, 0x04, bytes_of("\x0e\x70")); /* inside another: described already */
	frames_add_fde(&frames, START, 0x10, bytes_of("\x0e\x10"));
	frames_add_fde(&frames, START, 0x10, bytes_of("\x0e\x70")); /* twice */
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 5);
	assert_cfa(&rows->list[0], START, 7, 16);
	assert_cfa(&rows->list[1], START + 0x10, 7, 24);
	assert_unknown(&rows->list[2], START + 0x20);
	assert_cfa(&rows->list[3], START + 0x80, 7, 48);
	assert_unknown(&rows->list[4], START + 0xa0);
	rows_free(rows);
}

static void test_entries_that_do_not_count(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, 0, 0x10, bytes_of(""));               /* thrown away by the linker */
	frames_add_fde(&frames, START, 0, bytes_of(""));              /* of nothing */
	frames_add_fde(&frames, START, UINT64_MAX - 5, bytes_of("")); /* around the end of memory */
	frames.cie = 3;                                               /* in the middle of something */
	frames_add_fde(&frames, START, 0x10, bytes_of(""));
	frames.cie = 0;
	frames_add_fde(&frames, START + 0x40, 0x10, bytes_of("\x0e\x10"));
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 2);
	assert_cfa(&rows->list[0], START + 0x40, 7, 16);
	rows_free(rows);
}

static void test_a_cie_that_is_not_understood(void **state)
{
	static const struct frames_cie list[] = {
		{ 0, "", "", 0, 1, 16, bytes_of(FRAMES_START) },
		{ 5, "", "", 0, 1, 16, bytes_of(FRAMES_START) },
		{ 1, "", "", 0, 1, 8, bytes_of(FRAMES_START) }, /* another register for the return address */
		{ 1, "armcc+", "", 0, 1, 16, bytes_of(FRAMES_START) },
		{ 1, "zR", "\xff", 1, 1, 16, bytes_of(FRAMES_START) }, /* pointers left out */
		{ 1, "zR", "\x9b", 1, 1, 16, bytes_of(FRAMES_START) }, /* pointers to pointers */
		{ 1, "zR", "\x47", 1, 1, 16, bytes_of(FRAMES_START) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct rows *rows = rows_new();
		struct frames frames = { 0 };

		frames_add_cie(&frames, &list[i]);
		frames_add_fde(&frames, START, 0x10, bytes_of("\x00\x00"));
		add_section(rows, &frames);
		assert_int_equal(run(rows), -ENODATA);
		assert_int_equal(rows->len, 0);
		rows_free(rows);
	}
}

/* The program of a CIE says what holds at the beginning of a function; it has no addresses to go to. */
static void test_a_cie_whose_program_is_wrong(void **state)
{
	static const struct {
		const char *program;
		size_t len;
	} list[] = { { bytes_of(FRAMES_START "\x44\x0e\x10") }, { bytes_of(FRAMES_START "\x3f") } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct rows *rows = rows_new();
		struct frames frames = { 0 };

		frames_add_cie(&frames, &(struct frames_cie){ 1, "", "", 0, 1, 16, list[i].program, list[i].len });
		frames_add_fde(&frames, START, 0x10, bytes_of("\x44\x0e\x18"));
		add_section(rows, &frames);
		assert_int_equal(run(rows), 0);
		assert_int_equal(rows->len, 2);
		assert_unknown(&rows->list[0], START);
		assert_unknown(&rows->list[1], START + 0x10);
		rows_free(rows);
	}
}

static void test_augmentations(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	elf_file_pad(&rows->file, 16);
	frames.address = ELF_FILE_BASE + rows->file.bytes.len; /* where the section will be */
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START, 0x10, bytes_of("\x0e\x10"));
	/* A personality with its encoding, where the language's data are, what pointers are like, a signal */
	frames_add_cie(&frames, &(struct frames_cie){ 1, "zPLRS", "\x9c\1\2\3\4\5\6\7\x08\x1b\x1b", 11, 1, 16,
						      bytes_of(FRAMES_START) });
	frames_add_fde(&frames, START + 0x10, 0x10, bytes_of("\x0e\x18"));
	/* Letters that nobody knows, after those that everybody does */
	frames_add_cie(&frames, &(struct frames_cie){ 3, "zRX", "\x1b\x77\x77", 3, 1, 16, bytes_of(FRAMES_START) });
	frames_add_fde(&frames, START + 0x20, 0x10, bytes_of("\x0e\x20"));
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 4);
	assert_cfa(&rows->list[0], START, 7, 16);
	assert_cfa(&rows->list[1], START + 0x10, 7, 24);
	assert_cfa(&rows->list[2], START + 0x20, 7, 32);
	assert_false(rows->list[0].state.signal);
	assert_true(rows->list[1].state.signal);
	assert_false(rows->list[2].state.signal);
	rows_free(rows);
}

static void test_both_sections(void **state)
{
	for (unsigned int version = 1; version <= 4; version++) {
		for (int wide = 0; wide < 2; wide++) {
			struct frames frames = { .wide = wide }, debug = { .debug = true, .wide = wide };
			struct rows *rows = rows_new();

			(void)state;
			frames_add_usual_cie(&frames);
			frames_add_fde(&frames, START + 0x20, 0x10, bytes_of("\x0e\x10"));
			add_section(rows, &frames);
			frames_add_cie(&debug, &(struct frames_cie){ (unsigned char)version, "", "", 0, 1, 16,
								     bytes_of(FRAMES_START) });
			frames_add_fde(&debug, START + 0x10, 0x10, bytes_of("\x0e\x18"));
			frames_add_fde(&debug, START + 0x20, 0x10, bytes_of("\x0e\x70")); /* the other one counts */
			add_section(rows, &debug);
			assert_int_equal(run(rows), 0);
			assert_int_equal(rows->len, 3);
			assert_cfa(&rows->list[0], START + 0x10, 7, 24);
			assert_cfa(&rows->list[1], START + 0x20, 7, 16);
			rows_free(rows);
		}
	}
}

/* A debug file fills what the file leaves, up to where that goes on, and changes nothing of it. */
static void test_debug_file(void **state)
{
	struct frames own = { 0 }, debug = { .debug = true };
	struct rows *rows = rows_new(), *other = rows_new();
	struct cfi *cfi = NULL;

	(void)state;
	frames_add_usual_cie(&own);
	frames_add_fde(&own, START + 0x20, 0x10, bytes_of("\x0e\x10"));
	add_section(rows, &own);
	finish(rows);
	frames_add_cie(&debug, &(struct frames_cie){ 4, "", "", 0, 1, 16, bytes_of(FRAMES_START) });
	frames_add_fde(&debug, START + 0x10, 0x30, bytes_of("\x0e\x18\x58\x0e\x20")); /* its second row is beyond */
	frames_add_fde(&debug, START + 0x20, 0x10, bytes_of("\x0e\x70"));
	frames_add_fde(&debug, START + 0x30, 0x10, bytes_of("\x0e\x28"));
	add_section(other, &debug);
	finish(other);
	assert_int_equal(cfi_open(&cfi, rows->image, other->image), 0);
	assert_int_equal(cfi_rows(cfi, keep_row, rows), 0);
	assert_int_equal(rows->len, 4);
	assert_cfa(&rows->list[0], START + 0x10, 7, 24);
	assert_cfa(&rows->list[1], START + 0x20, 7, 16);
	assert_cfa(&rows->list[2], START + 0x30, 7, 40);
	assert_unknown(&rows->list[3], START + 0x40);
	cfi_free(cfi);
	rows_free(rows);
	rows_free(other);
}

/* Of 4,096 bytes of code an eighth may be left out. Padding between functions counts; what is said twice, once. */
static void test_enough_is_said(void **state)
{
	static const struct {
		uint64_t first, gap, second;
		bool suffices;
	} list[] = {
		{ 4096, 0, 1, true },   { 3583, 0, 1, true },    { 3582, 0, 1, false }, { 3550, 32, 2, true },
		{ 3550, 33, 34, true }, { 3550, 33, 33, false }, { 16, 0, 16, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct rows *rows = rows_new();
		struct frames frames = { 0 };
		struct cfi *cfi = NULL;

		frames_add_usual_cie(&frames);
		for (int twice = 0; twice < 2; twice++)
			frames_add_fde(&frames, START, list[i].first, bytes_of(""));
		frames_add_fde(&frames, START + list[i].first + list[i].gap, list[i].second, bytes_of(""));
		add_section(rows, &frames);
		finish(rows);
		assert_int_equal(cfi_open(&cfi, rows->image, NULL), 0);
		assert_int_equal(cfi_suffices(cfi, rows->image), list[i].suffices);
		cfi_free(cfi);
		rows_free(rows);
	}
}

/* Several files linked into one may each bring a terminator. */
static void test_terminators(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };

	(void)state;
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START, 0x10, bytes_of("\x0e\x10"));
	buf_u32(&frames.bytes, 0);
	buf_u32(&frames.bytes, 0);
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START + 0x10, 0x10, bytes_of("\x0e\x18"));
	buf_u32(&frames.bytes, 0);
	add_section(rows, &frames);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 3);
	assert_cfa(&rows->list[1], START + 0x10, 7, 24);
	rows_free(rows);
}

/* Cut at every byte: never more than what is whole. */
static void test_sections_that_are_cut(void **state)
{
	struct frames whole = { 0 };

	(void)state;
	frames_add_usual_cie(&whole);
	frames_add_fde(&whole, START, 0x10, bytes_of("\x44\x0e\x10"));
	for (size_t len = 0; len < whole.bytes.len; len++) {
		struct rows *rows = rows_new();

		elf_file_add(&rows->file, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, whole.bytes.data, len);
		assert_int_equal(run(rows), -ENODATA);
		assert_int_equal(rows->len, 0);
		rows_free(rows);
	}
	buf_free(&whole.bytes);
}

static void test_files_without(void **state)
{
	struct rows *rows = rows_new();
	struct frames frames = { 0 };
	unsigned int number;

	(void)state;
	assert_int_equal(run(rows), -ENODATA);
	rows_free(rows);
	rows = rows_new();
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START, 0x10, bytes_of(""));
	number = elf_file_add(&rows->file, ".eh_frame", SHT_NOBITS, SHF_ALLOC, frames.bytes.data, frames.bytes.len);
	assert_int_equal(run(rows), -ENODATA);
	rows_free(rows);
	rows = rows_new();
	number = elf_file_add(&rows->file, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames.bytes.data, frames.bytes.len);
	rows->file.sections[number].sh_size = 1 << 20; /* not in the file */
	assert_int_equal(run(rows), -ENODATA);
	rows_free(rows);
	buf_free(&frames.bytes);
}

/* A section as -gz leaves it, which says of itself that it has `size` bytes. */
static void add_packed(struct rows *rows, const struct frames *frames, const char *name, uint64_t size)
{
	Elf64_Chdr head = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 8 };
	unsigned char packed[4096];
	uLongf len = sizeof(packed) - sizeof(head);

	memcpy(packed, &head, sizeof(head));
	assert_int_equal(compress(packed + sizeof(head), &len, (const Bytef *)frames->bytes.data, frames->bytes.len),
			 Z_OK);
	elf_file_add(&rows->file, name, SHT_PROGBITS, SHF_COMPRESSED, packed, sizeof(head) + len);
}

static void test_compressed_sections(void **state)
{
	struct frames frames = { .debug = true };
	struct rows *rows = rows_new();

	(void)state;
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, START, 0x10, bytes_of("\x0e\x10"));
	add_packed(rows, &frames, ".debug_frame", frames.bytes.len);
	assert_int_equal(run(rows), 0);
	assert_int_equal(rows->len, 2);
	assert_cfa(&rows->list[0], START, 7, 16);
	rows_free(rows);
	for (int i = 0; i < 4; i++) { /* lies about its size, or where nobody compresses */
		const uint64_t sizes[] = { frames.bytes.len - 1, 0, UINT64_MAX, frames.bytes.len };

		rows = rows_new();
		add_packed(rows, &frames, i == 3 ? ".eh_frame" : ".debug_frame", sizes[i]);
		assert_int_equal(run(rows), -ENODATA);
		rows_free(rows);
	}
	rows = rows_new();
	elf_file_add(&rows->file, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, "short", 5);
	assert_int_equal(run(rows), -ENODATA);
	rows_free(rows);
	buf_free(&frames.bytes);
}

static void test_a_callback_that_fails(void **state)
{
	for (size_t at = 1; at <= 4; at++) {
		struct rows *rows = rows_new();
		struct frames frames = { 0 };

		(void)state;
		frames_add_usual_cie(&frames);
		frames_add_fde(&frames, START, 0x10, bytes_of("\x44\x0e\x10"));
		frames_add_fde(&frames, START + 0x20, 0x10, bytes_of(""));
		add_section(rows, &frames);
		rows->fail_at = at;
		assert_int_equal(run(rows), -ECANCELED);
		assert_int_equal(rows->len, at - 1);
		rows_free(rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions_for_the_cfa),
		cmocka_unit_test(test_instructions_for_registers),
		cmocka_unit_test(test_expression_for_the_cfa),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_code_in_units),
		cmocka_unit_test(test_remembered_states),
		cmocka_unit_test(test_many_cies),
		cmocka_unit_test(test_programs_that_are_run_again_and_again),
		cmocka_unit_test(test_programs_that_cannot_be_read),
		cmocka_unit_test(test_rows_beyond_the_function),
		cmocka_unit_test(test_functions_in_any_order),
		cmocka_unit_test(test_entries_that_do_not_count),
		cmocka_unit_test(test_a_cie_that_is_not_understood),
		cmocka_unit_test(test_a_cie_whose_program_is_wrong),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_both_sections),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_enough_is_said),
		cmocka_unit_test(test_terminators),
		cmocka_unit_test(test_sections_that_are_cut),
		cmocka_unit_test(test_files_without),
		cmocka_unit_test(test_compressed_sections),
		cmocka_unit_test(test_a_callback_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
