/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that are kept: of this file and no other, as it is now, and never more than there is room for. */
#include "worker/shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "sym/symbols.h"
#include "unit/elf_file.h"
#include "worker/protocol.h"

#define MANY 100

/* A small program whose one function has this name. */
static int program(const char *name)
{
	int fd = memfd_create("made", MFD_CLOEXEC);
	struct elf_file file;
	Elf64_Sym symbols[2] = { { 0 } };
	char strings[64] = "";

	elf_file_begin(&file);
	symbols[1] = (Elf64_Sym){ .st_name = 1,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = 1,
				  .st_value = elf_file_add_code(&file, 64),
				  .st_size = 64 };
	strncpy(strings + 1, name, sizeof(strings) - 2);
	elf_file_add_symbols(&file, SHT_SYMTAB, symbols, 2, strings, sizeof(strings));
	elf_file_finish(&file);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, file.bytes.data, file.bytes.len), 0);
	elf_file_free(&file);
	return fd;
}

static struct symbols *open_of(int fd)
{
	const struct symbols_options options = { .file = "made" };
	struct symbols *symbols;

	assert_int_equal(symbols_open(&symbols, fd, &options), 0);
	return symbols;
}

static const struct ask plain = { .kind = ASK_NAMES, .file = "made", .file_len = 4 };

static void test_found_again(void **state)
{
	int fd = program("one"), other = program("two");
	struct symbols *symbols = open_of(fd);
	struct ask ask = plain;
	struct shelf *shelf;

	(void)state;
	assert_int_equal(shelf_new(&shelf), 0);
	assert_null(shelf_find(shelf, &plain, &fd, 1));
	shelf_put(shelf, &plain, &fd, 1, symbols);
	assert_ptr_equal(shelf_find(shelf, &plain, &fd, 1), symbols);
	/* not for another file, another name of it, other ways to write names, or with a debug file */
	assert_null(shelf_find(shelf, &plain, &other, 1));
	ask.file = "mad";
	ask.file_len = 3;
	assert_null(shelf_find(shelf, &ask, &fd, 1));
	ask = plain;
	ask.demangle = DEMANGLE_FULL;
	assert_null(shelf_find(shelf, &ask, &fd, 1));
	assert_null(shelf_find(shelf, &plain, (const int[]){ fd, other }, 2));
	/* nor when it has been written to since */
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_null(shelf_find(shelf, &plain, &fd, 1));
	shelf_free(shelf);
	close(fd);
	close(other);
}

static void test_lines_are_read_anew(void **state)
{
	int fd = program("one");
	struct ask ask = plain;
	struct shelf *shelf;

	(void)state;
	ask.lines = true;
	assert_int_equal(shelf_new(&shelf), 0);
	shelf_put(shelf, &ask, &fd, 1, open_of(fd)); /* freed: sanitizers would tell */
	assert_null(shelf_find(shelf, &ask, &fd, 1));
	shelf_free(shelf);
	shelf_free(NULL);
	close(fd);
}

static void test_the_oldest_goes(void **state)
{
	int fds[MANY], there = 0;
	struct shelf *shelf;

	(void)state;
	assert_int_equal(shelf_new(&shelf), 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = program("one");
		shelf_put(shelf, &plain, &fds[i], 1, open_of(fds[i]));
		assert_non_null(shelf_find(shelf, &plain, &fds[0], 1)); /* it is used all the time */
		assert_non_null(shelf_find(shelf, &plain, &fds[i], 1));
	}
	for (int i = 0; i < MANY; i++) {
		there += shelf_find(shelf, &plain, &fds[i], 1) != NULL;
		close(fds[i]);
	}
	assert_true(there > 1 && there < MANY / 2);
	shelf_free(shelf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_again),
		cmocka_unit_test(test_lines_are_read_anew),
		cmocka_unit_test(test_the_oldest_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
