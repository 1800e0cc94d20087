/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: samples get the name of a function that they are not in, or a damaged file costs more than names. */
#include "sym/symbols.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "unit/elf_file.h"

enum { CODE_LEN = 1024 };

#define FUNCTION(bind) ELF64_ST_INFO(STB_##bind, STT_FUNC)

struct wanted {
	const char *name;
	unsigned char info;
	uint64_t start, size; /* from the start of the code */
};

struct made {
	struct elf_file file;
	uint64_t code; /* address; section 1 */
	struct symbols *symbols;
};

static void begin(struct made *made)
{
	*made = (struct made){ 0 };
	elf_file_begin(&made->file);
	made->code = elf_file_add_code(&made->file, CODE_LEN);
}

static void add(struct made *made, uint32_t type, const struct wanted *list, size_t len)
{
	autobuf struct buf strings = { 0 };
	Elf64_Sym *symbols = calloc(len + 1, sizeof(*symbols));

	buf_addc(&strings, '\0');
	for (size_t i = 0; i < len; i++) {
		symbols[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)strings.len,
					      .st_info = list[i].info,
					      .st_shndx = 1,
					      .st_value = made->code + list[i].start,
					      .st_size = list[i].size };
		buf_add(&strings, list[i].name, strlen(list[i].name) + 1);
	}
	elf_file_add_symbols(&made->file, type, symbols, len + 1, strings.data, strings.len);
	free(symbols);
}

#define add_symbols(made, type, list) add(made, type, list, sizeof(list) / sizeof(*(list)))

static int memory_file(const struct buf *bytes)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	assert_int_equal(file_write_all(fd, bytes->data, bytes->len), 0);
	return fd;
}

static void open_made(struct made *made)
{
	const struct symbols_options options = { .file = "prog" };
	int fd;

	if (!made->file.header.e_shoff)
		elf_file_finish(&made->file);
	fd = memory_file(&made->file.bytes);
	assert_int_equal(symbols_open(&made->symbols, fd, &options), 0);
	close(fd); /* it is the caller's */
}

static void end(struct made *made)
{
	symbols_free(made->symbols);
	elf_file_free(&made->file);
}

/* The name at an offset from the start of the code, "" if there is none. */
static const char *name_at(struct made *made, uint64_t at)
{
	struct symbol_name name;

	if (!symbols_find(made->symbols, made->code - ELF_FILE_BASE + at, &name, 1))
		return "";
	assert_int_equal(name.len, strlen(name.name));
	assert_false(name.inlined);
	return name.name;
}

static void test_sizes_are_respected(void **state)
{
	static const struct wanted list[] = {
		{ "second", FUNCTION(GLOBAL), 32, 16 },
		{ "first", FUNCTION(LOCAL), 0, 10 },
		{ "last", FUNCTION(WEAK), CODE_LEN - 1, 1 },
	};
	struct symbol_name name;
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 0), "first");
	assert_string_equal(name_at(&made, 9), "first");
	assert_string_equal(name_at(&made, 10), "");
	assert_string_equal(name_at(&made, 31), "");
	assert_string_equal(name_at(&made, 32), "second");
	assert_string_equal(name_at(&made, 47), "second");
	assert_string_equal(name_at(&made, 48), "");
	assert_string_equal(name_at(&made, CODE_LEN - 1), "last");
	assert_int_equal(symbols_find(made.symbols, made.code - ELF_FILE_BASE + 40, &name, 1), 1);
	assert_int_equal(name.start, made.code - ELF_FILE_BASE + 32);
	assert_int_equal(symbols_find(made.symbols, UINT64_MAX, &name, 1), 0);
	assert_int_equal(symbols_find(made.symbols, 1u << 30, &name, 1), 0);
	assert_int_equal(symbols_find(made.symbols, made.code - ELF_FILE_BASE, &name, 0), 0);
	assert_null(symbols_reason(made.symbols));
	assert_true(symbols_memory(made.symbols) > 0);
	end(&made);
	symbols_free(NULL);
}

static void test_the_innermost_wins(void **state)
{
	static const struct wanted list[] = {
		{ "outer", FUNCTION(GLOBAL), 0, 100 },
		{ "middle", FUNCTION(GLOBAL), 10, 50 },
		{ "inner", FUNCTION(GLOBAL), 20, 5 },
		{ "across", FUNCTION(GLOBAL), 90, 20 },
	};
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 5), "outer");
	assert_string_equal(name_at(&made, 10), "middle");
	assert_string_equal(name_at(&made, 24), "inner");
	assert_string_equal(name_at(&made, 25), "middle");
	assert_string_equal(name_at(&made, 60), "outer");
	assert_string_equal(name_at(&made, 95), "across");
	assert_string_equal(name_at(&made, 109), "across");
	assert_string_equal(name_at(&made, 110), "");
	end(&made);
}

static void test_the_best_alias_wins(void **state)
{
	static const struct wanted list[] = {
		{ "a_local", FUNCTION(LOCAL), 0, 10 },
		{ "__global", FUNCTION(GLOBAL), 0, 10 },
		{ "a_weak", FUNCTION(WEAK), 0, 10 },
		{ "global", FUNCTION(GLOBAL), 0, 10 },
		{ "_global", FUNCTION(GLOBAL), 0, 10 },
		{ "zz", FUNCTION(GLOBAL), 16, 4 },
		{ "bbb", FUNCTION(GLOBAL), 16, 4 },
		{ "yy", FUNCTION(GLOBAL), 16, 4 },
		/* Of two with different sizes both are right, as far as they reach. */
		{ "short", FUNCTION(LOCAL), 32, 4 },
		{ "long", FUNCTION(GLOBAL), 32, 8 },
	};
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 3), "global");
	assert_string_equal(name_at(&made, 16), "yy");
	assert_string_equal(name_at(&made, 33), "long");
	assert_string_equal(name_at(&made, 37), "long");
	assert_string_equal(name_at(&made, 40), "");
	end(&made);
}

static void test_only_code_is_named(void **state)
{
	static const struct wanted list[] = {
		{ "object", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 10 },
		{ "tls", ELF64_ST_INFO(STB_GLOBAL, STT_TLS), 0, 10 },
		{ "section", ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, 10 },
		{ "label", ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 16, 0 },
		{ "sized_label", ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 32, 8 },
		{ "ifunc", ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 48, 8 },
		{ "sizeless", FUNCTION(GLOBAL), 64, 0 },
		{ "", FUNCTION(GLOBAL), 80, 8 },
	};
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 1), "");
	assert_string_equal(name_at(&made, 16), "");
	assert_string_equal(name_at(&made, 33), "sized_label");
	assert_string_equal(name_at(&made, 49), "ifunc");
	assert_string_equal(name_at(&made, 64), "");
	assert_string_equal(name_at(&made, 81), "");
	end(&made);
}

static void test_exported_names_and_versions(void **state)
{
	static const struct wanted kept[] = { { "kept", FUNCTION(LOCAL), 0, 8 } };
	static const struct wanted exported[] = {
		{ "versioned@@LIB_2.1", FUNCTION(GLOBAL), 16, 8 },
		{ "@odd", FUNCTION(GLOBAL), 32, 8 },
		{ "_ZN1A1bEi@V1", FUNCTION(GLOBAL), 48, 8 },
	};
	struct symbols_debug debug;
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, kept); /* as strip --keep-symbol leaves it */
	add_symbols(&made, SHT_DYNSYM, exported);
	open_made(&made);
	assert_string_equal(name_at(&made, 0), "kept");
	assert_string_equal(name_at(&made, 16), "versioned");
	assert_string_equal(name_at(&made, 32), "@odd");
	assert_string_equal(name_at(&made, 48), "A::b");
	end(&made);
	begin(&made);
	add_symbols(&made, SHT_DYNSYM, exported);
	open_made(&made);
	assert_string_equal(symbols_reason(made.symbols), "stripped");
	assert_string_equal(name_at(&made, 16), "versioned");
	symbols_debug(made.symbols, &debug);
	assert_true(debug.wanted);
	end(&made);
}

/* Where the entry point has no symbol, it is _start: to the next symbol, and no further than 64 bytes. */
static void test_start(void **state)
{
	static const struct wanted list[] = { { "next", FUNCTION(GLOBAL), 24, 8 },
					      { "far", FUNCTION(GLOBAL), 200, 8 } };
	struct made made;

	(void)state;
	begin(&made);
	made.file.header.e_entry = made.code + 8;
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 7), "");
	assert_string_equal(name_at(&made, 8), "_start");
	assert_string_equal(name_at(&made, 23), "_start");
	assert_string_equal(name_at(&made, 24), "next");
	assert_string_equal(name_at(&made, 32), "");
	end(&made);
	begin(&made);
	made.file.header.e_entry = made.code + 40;
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 40 + 63), "_start");
	assert_string_equal(name_at(&made, 40 + 64), "");
	end(&made);
	begin(&made);
	made.file.header.e_entry = made.code + 40;
	made.file.header.e_type = ET_DYN; /* and nothing says that it is a program */
	open_made(&made);
	assert_string_equal(name_at(&made, 40), "");
	end(&made);
}

static void test_numbers_that_lie(void **state)
{
	static const struct wanted list[] = {
		{ "endless", FUNCTION(GLOBAL), 0, UINT64_MAX },
		{ "wraps", FUNCTION(GLOBAL), 8, UINT64_MAX - ELF_FILE_BASE },
		{ "before", FUNCTION(GLOBAL), (uint64_t)-0x300000, 0x400000 },
		{ "beyond", FUNCTION(GLOBAL), 1u << 30, 16 },
		{ "fine", FUNCTION(GLOBAL), 16, 8 },
	};
	Elf64_Shdr *sections;
	struct made made;

	(void)state;
	begin(&made);
	add_symbols(&made, SHT_SYMTAB, list);
	open_made(&made);
	assert_string_equal(name_at(&made, 0), "");
	assert_string_equal(name_at(&made, 9), "");
	assert_string_equal(name_at(&made, 16), "fine");
	assert_string_equal(name_at(&made, 100), "");
	end(&made);

	/* Sections that are not in the file, links to themselves, entries of another size, strings without end */
	for (int damage = 0; damage < 5; damage++) {
		begin(&made);
		add_symbols(&made, SHT_SYMTAB, list);
		elf_file_finish(&made.file);
		sections = (Elf64_Shdr *)(made.file.bytes.data + made.file.header.e_shoff);
		if (damage == 0)
			sections[2].sh_size = UINT64_MAX;
		else if (damage == 1)
			sections[2].sh_link = 2;
		else if (damage == 2)
			sections[2].sh_entsize = 1;
		else if (damage == 3)
			sections[3].sh_offset = UINT64_MAX - 4;
		else
			sections[3].sh_size = 0;
		open_made(&made);
		assert_string_equal(name_at(&made, 16), "");
		assert_string_equal(symbols_reason(made.symbols), "stripped");
		end(&made);
	}
}

static void test_a_name_without_end(void **state)
{
	autobuf struct buf strings = { 0 };
	Elf64_Sym symbols[3] = { 0 };
	struct made made;

	(void)state;
	begin(&made);
	buf_addc(&strings, '\0');
	for (int i = 0; i < 100000; i++)
		buf_addc(&strings, 'n');
	buf_addc(&strings, '\0');
	buf_adds(&strings, "cut");
	symbols[1] = (Elf64_Sym){
		.st_name = 1, .st_info = FUNCTION(GLOBAL), .st_shndx = 1, .st_value = made.code, .st_size = 8
	};
	symbols[2] = symbols[1];
	symbols[2].st_name = (uint32_t)strings.len - 3;
	symbols[2].st_value += 16;
	elf_file_add_symbols(&made.file, SHT_SYMTAB, symbols, 3, strings.data, strings.len);
	open_made(&made);
	assert_true(strlen(name_at(&made, 0)) <= 16384);
	assert_memory_equal(name_at(&made, 0), "nnnn", 4);
	assert_string_equal(name_at(&made, 16), ""); /* it ends with the table, not with a NUL */
	end(&made);
}

/* More than fit: those that there is room for are named, and the reason is said. Searches among nested ones end. */
static void test_too_many(void **state)
{
	enum { MANY = (2 << 20) + 1000 };
	Elf64_Sym *symbols = calloc(MANY, sizeof(*symbols));
	struct made made;

	(void)state;
	begin(&made);
	for (size_t i = 1; i < MANY; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
					  .st_info = FUNCTION(GLOBAL),
					  .st_shndx = 1,
					  .st_value = made.code + i % 500,
					  .st_size = 1000 - i % 500 - i / 500 % 300 };
	elf_file_add_symbols(&made.file, SHT_SYMTAB, symbols, MANY, "\0many", 6);
	free(symbols);
	open_made(&made);
	assert_string_equal(name_at(&made, 0), "many");
	name_at(&made, 980);
	assert_string_equal(name_at(&made, 1001), "");
	assert_string_equal(symbols_reason(made.symbols), "too_many_symbols");
	assert_true(symbols_memory(made.symbols) < 50 << 20);
	end(&made);
}

/* ---- files inside and beside it ---- */

static const struct wanted hidden[] = { { "hidden", FUNCTION(LOCAL), 16, 8 } };

static void add_packed(struct made *made, const void *data, size_t len)
{
	size_t room = lzma_stream_buffer_bound(len), packed_len = 0;
	unsigned char *packed = malloc(room);

	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, data, len, packed, &packed_len, room),
			 LZMA_OK);
	elf_file_add(&made->file, ".gnu_debugdata", SHT_PROGBITS, 0, packed, packed_len);
	free(packed);
}

static void test_minidebuginfo(void **state)
{
	struct made inner, made;

	(void)state;
	begin(&inner);
	add_symbols(&inner, SHT_SYMTAB, hidden);
	elf_file_finish(&inner.file);
	begin(&made);
	add_packed(&made, inner.file.bytes.data, inner.file.bytes.len);
	open_made(&made);
	assert_string_equal(name_at(&made, 17), "hidden");
	assert_null(symbols_reason(made.symbols));
	end(&made);
	begin(&made);
	add_packed(&made, "not an ELF file", 15);
	open_made(&made);
	assert_string_equal(name_at(&made, 17), "");
	assert_string_equal(symbols_reason(made.symbols), "bad_debugdata");
	end(&made);
	begin(&made);
	elf_file_add(&made.file, ".gnu_debugdata", SHT_PROGBITS, 0, "garbage", 7);
	open_made(&made);
	assert_string_equal(symbols_reason(made.symbols), "bad_debugdata");
	end(&made);
	elf_file_free(&inner.file);
}

/* 100 MB of zeros are 15 kB packed. */
static void test_minidebuginfo_that_expands(void **state)
{
	size_t len = (size_t)100 << 20;
	char *zeros = calloc(1, len);
	struct made made;

	(void)state;
	begin(&made);
	add_packed(&made, zeros, len);
	free(zeros);
	open_made(&made);
	assert_string_equal(name_at(&made, 17), "");
	assert_string_equal(symbols_reason(made.symbols), "too_big");
	assert_true(symbols_memory(made.symbols) < 1 << 20);
	end(&made);
}

static void add_build_id(struct elf_file *file, char last)
{
	char note[] = { 4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 'i', 'd', '-', last };

	elf_file_add(file, ".note.gnu.build-id", SHT_NOTE, 0, note, sizeof(note));
}

static int add_debug(struct made *made, const struct buf *bytes)
{
	int fd = memory_file(bytes), err = symbols_add_debug(made->symbols, fd);

	close(fd);
	return err;
}

static void test_debug_file_by_build_id(void **state)
{
	struct made made, debug, other;
	struct symbols_debug wanted;

	(void)state;
	begin(&made);
	add_build_id(&made.file, '1');
	open_made(&made);
	begin(&debug);
	add_build_id(&debug.file, '1');
	add_symbols(&debug, SHT_SYMTAB, hidden);
	elf_file_finish(&debug.file);
	begin(&other);
	add_build_id(&other.file, '2');
	add_symbols(&other, SHT_SYMTAB, hidden);
	elf_file_finish(&other.file);

	symbols_debug(made.symbols, &wanted);
	assert_true(wanted.wanted);
	assert_int_equal(wanted.build_id_len, 4);
	assert_memory_equal(wanted.build_id, "id-1", 4);
	assert_string_equal(name_at(&made, 17), "");
	assert_int_equal(add_debug(&made, &other.file.bytes), -ESTALE);
	assert_string_equal(name_at(&made, 17), "");
	assert_int_equal(add_debug(&made, &debug.file.bytes), 0);
	assert_string_equal(name_at(&made, 17), "hidden");
	assert_null(symbols_reason(made.symbols));
	assert_int_equal(add_debug(&made, &debug.file.bytes), -EEXIST);
	symbols_debug(made.symbols, &wanted);
	assert_false(wanted.wanted);
	end(&made);
	elf_file_free(&debug.file);
	elf_file_free(&other.file);
}

static void test_debug_file_by_checksum(void **state)
{
	autobuf struct buf link = { 0 };
	struct symbols_debug wanted;
	struct made made, debug;
	uint32_t crc;

	(void)state;
	begin(&debug);
	add_symbols(&debug, SHT_SYMTAB, hidden);
	elf_file_finish(&debug.file);
	crc = (uint32_t)crc32(0, (const void *)debug.file.bytes.data, (unsigned int)debug.file.bytes.len);
	begin(&made);
	buf_add(&link, "x.debug\0", 8);
	buf_u32(&link, crc);
	elf_file_add(&made.file, ".gnu_debuglink", SHT_PROGBITS, 0, link.data, link.len);
	open_made(&made);
	symbols_debug(made.symbols, &wanted);
	assert_string_equal(wanted.link, "x.debug");
	assert_int_equal(wanted.link_crc, crc);
	debug.file.bytes.data[debug.file.bytes.len - 1] ^= 1;
	assert_int_equal(add_debug(&made, &debug.file.bytes), -ESTALE);
	debug.file.bytes.data[debug.file.bytes.len - 1] ^= 1;
	assert_int_equal(add_debug(&made, &debug.file.bytes), 0);
	assert_string_equal(name_at(&made, 17), "hidden");
	end(&made);
	elf_file_free(&debug.file);
}

static void test_links_that_lead_astray(void **state)
{
	static const char *const links[] = { "../../etc/shadow\0\0\0\0____", "/etc/shadow\0____", "", "unended" };
	static const size_t lens[] = { 24, 16, 0, 7 };
	struct symbols_debug wanted;
	struct made made;

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		begin(&made);
		elf_file_add(&made.file, ".gnu_debuglink", SHT_PROGBITS, 0, links[i], lens[i]);
		open_made(&made);
		symbols_debug(made.symbols, &wanted);
		assert_string_equal(wanted.link, "");
		assert_int_equal(add_debug(&made, &made.file.bytes), -ESTALE);
		end(&made);
	}
}

static void test_what_is_no_elf(void **state)
{
	const struct symbols_options options = { .file = "text" };
	autobuf struct buf text = { 0 };
	struct symbols *symbols = NULL;
	int fd;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "text ");
	fd = memory_file(&text);
	assert_int_equal(symbols_open(&symbols, fd, &options), -ENOEXEC);
	assert_null(symbols);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_respected),
		cmocka_unit_test(test_the_innermost_wins),
		cmocka_unit_test(test_the_best_alias_wins),
		cmocka_unit_test(test_only_code_is_named),
		cmocka_unit_test(test_exported_names_and_versions),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_numbers_that_lie),
		cmocka_unit_test(test_a_name_without_end),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_minidebuginfo),
		cmocka_unit_test(test_minidebuginfo_that_expands),
		cmocka_unit_test(test_debug_file_by_build_id),
		cmocka_unit_test(test_debug_file_by_checksum),
		cmocka_unit_test(test_links_that_lead_astray),
		cmocka_unit_test(test_what_is_no_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
