/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: samples of stripped functions are not added up, or are added to a function that they are not in. */
#include "elf/ehframe.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/image.h"
#include "unit/elf_file.h"

/* ---- this very program, with the linker's search table ---- */

extern const char __ehdr_start[];

static uint64_t address_of(const void *code)
{
	return (uint64_t)((const char *)code - __ehdr_start);
}

static void test_functions_of_this_program(void **state)
{
	struct ehframe_range range, again;
	struct image *image = NULL;
	struct ehframe *frames = NULL;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_int_equal(image_open(&image, fd), 0);
	close(fd);
	assert_int_equal(ehframe_open(&frames, image), 0);
	assert_true(ehframe_find(frames, address_of(test_functions_of_this_program), &range));
	assert_int_equal(range.start, address_of(test_functions_of_this_program));
	assert_false(range.signal);
	assert_true(ehframe_find(frames, range.end - 1, &again));
	assert_int_equal(again.start, range.start);
	assert_false(ehframe_find(frames, 0, &again));
	assert_false(ehframe_find(frames, UINT64_MAX, &again));
	ehframe_free(frames);
	image_free(image);
	ehframe_free(NULL);
}

/* ---- made by hand ---- */

enum { CODE_LEN = 256, CIE_LEN = 24, FDE_LEN = 24 };

struct made {
	struct elf_file file;
	uint64_t code, frames;
	struct image *image;
	struct ehframe *ehframe;
};

static void add_cie(struct buf *out, unsigned char version, const char *letters, unsigned char encoding)
{
	size_t begin = out->len;

	buf_u32(out, CIE_LEN - 4);
	buf_u32(out, 0);
	buf_addc(out, (char)version);
	buf_add(out, letters, strlen(letters) + 1);
	buf_addc(out, 1);    /* code alignment */
	buf_addc(out, 0x78); /* data alignment: -8 */
	buf_addc(out, 16);
	if (letters[0]) {
		buf_addc(out, 1);
		buf_addc(out, (char)encoding);
	}
	while (out->len < begin + CIE_LEN)
		buf_addc(out, 0);
}

/* Eight bytes for start and size each. */
static void add_fde(struct buf *out, size_t cie, uint64_t start, uint64_t size)
{
	buf_u32(out, FDE_LEN - 4);
	buf_u32(out, (uint32_t)(out->len - cie));
	buf_u64(out, start);
	buf_u64(out, size);
}

/* Two functions, of 16 bytes at 32 and of 32 bytes at 64, the later one first. */
static void make(struct made *made, unsigned char version, const char *letters, unsigned char encoding)
{
	autobuf struct buf frames = { 0 };

	elf_file_begin(&made->file);
	made->code = elf_file_add_code(&made->file, CODE_LEN);
	add_cie(&frames, version, letters, encoding);
	add_fde(&frames, 0, made->code + 64, 32);
	add_fde(&frames, 0, made->code + 32, 16);
	buf_u32(&frames, 0);
	elf_file_add(&made->file, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames.data, frames.len);
}

static int finish(struct made *made)
{
	elf_file_finish(&made->file);
	made->image = NULL;
	made->ehframe = NULL;
	assert_int_equal(image_from_memory(&made->image, made->file.bytes.data, made->file.bytes.len), 0);
	return ehframe_open(&made->ehframe, made->image);
}

static void end(struct made *made)
{
	ehframe_free(made->ehframe);
	image_free(made->image);
	elf_file_free(&made->file);
}

/* Where the function around code + `at` begins, from the start of the code; -1 if there is none. */
static long start_of(const struct made *made, uint64_t at)
{
	struct ehframe_range range;

	if (!ehframe_find(made->ehframe, made->code + at, &range))
		return -1;
	assert_true(range.start <= made->code + at && made->code + at < range.end);
	return (long)(range.start - made->code);
}

static void test_bounds_are_exact(void **state)
{
	struct made made;

	(void)state;
	make(&made, 1, "zR", 0);
	assert_int_equal(finish(&made), 0);
	assert_int_equal(start_of(&made, 31), -1);
	assert_int_equal(start_of(&made, 32), 32);
	assert_int_equal(start_of(&made, 47), 32);
	assert_int_equal(start_of(&made, 48), -1);
	assert_int_equal(start_of(&made, 64), 64);
	assert_int_equal(start_of(&made, 95), 64);
	assert_int_equal(start_of(&made, 96), -1);
	assert_true(ehframe_memory(made.ehframe) > 0);
	end(&made);
}

static void test_signal_trampolines(void **state)
{
	struct ehframe_range range;
	struct made made;

	(void)state;
	make(&made, 3, "zRS", 0);
	assert_int_equal(finish(&made), 0);
	assert_true(ehframe_find(made.ehframe, made.code + 40, &range));
	assert_true(range.signal);
	end(&made);
}

static void test_what_cannot_be_read_has_no_bounds(void **state)
{
	struct made made;

	(void)state;
	make(&made, 7, "zR", 0); /* no such version */
	assert_int_equal(finish(&made), -ENODATA);
	end(&made);
	make(&made, 1, "eh", 0);
	assert_int_equal(finish(&made), -ENODATA);
	end(&made);
	make(&made, 1, "zR", 0x80); /* indirect */
	assert_int_equal(finish(&made), -ENODATA);
	end(&made);
	make(&made, 1, "zR", 0x07); /* no such format */
	assert_int_equal(finish(&made), -ENODATA);
	end(&made);
	elf_file_begin(&made.file);
	elf_file_add_code(&made.file, CODE_LEN);
	assert_int_equal(finish(&made), -ENODATA);
	end(&made);
}

/* A search table by hand: `first` and `second` are the places of the FDEs that its two entries name. */
static void add_header(struct made *made, uint32_t first, uint32_t second, uint32_t count)
{
	autobuf struct buf header = { 0 };
	uint64_t frames = made->file.sections[2].sh_addr, here;
	unsigned int number;

	elf_file_pad(&made->file, 16);
	here = ELF_FILE_BASE + made->file.bytes.len;
	buf_add(&header, "\x01\x1b\x03\x3b", 4);
	buf_u32(&header, (uint32_t)(frames - (here + 4)));
	buf_u32(&header, count);
	buf_u32(&header, (uint32_t)(made->code + 32 - here));
	buf_u32(&header, (uint32_t)(frames + first - here));
	buf_u32(&header, (uint32_t)(made->code + 64 - here));
	buf_u32(&header, (uint32_t)(frames + second - here));
	number = elf_file_add(&made->file, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, header.data, header.len);
	made->file.segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
					       .p_offset = made->file.sections[number].sh_offset,
					       .p_vaddr = here,
					       .p_filesz = header.len };
	made->file.segments_len = 2;
}

static void test_search_table(void **state)
{
	struct made made;

	(void)state;
	make(&made, 1, "zR", 0);
	add_header(&made, CIE_LEN + FDE_LEN, CIE_LEN, 2);
	assert_int_equal(finish(&made), 0);
	assert_int_equal(start_of(&made, 40), 32);
	assert_int_equal(start_of(&made, 48), -1);
	assert_int_equal(start_of(&made, 64), 64);
	end(&made);
}

/* The sections may be stripped: the program header leads to the table, and that to the rest. */
static void test_without_sections(void **state)
{
	struct made made;

	(void)state;
	make(&made, 1, "zR", 0);
	add_header(&made, CIE_LEN + FDE_LEN, CIE_LEN, 2);
	elf_file_finish(&made.file);
	memset(made.file.bytes.data + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	assert_int_equal(image_from_memory(&made.image, made.file.bytes.data, made.file.bytes.len), 0);
	assert_int_equal(image_sections(made.image), 0);
	assert_int_equal(ehframe_open(&made.ehframe, made.image), 0);
	assert_int_equal(start_of(&made, 70), 64);
	end(&made);
}

static void test_tables_that_lie(void **state)
{
	struct made made;

	(void)state;
	make(&made, 1, "zR", 0);
	add_header(&made, CIE_LEN, CIE_LEN + FDE_LEN, 2); /* each leads to the other's */
	assert_int_equal(finish(&made), 0);
	assert_int_equal(start_of(&made, 40), -1);
	assert_int_equal(start_of(&made, 70), -1);
	end(&made);
	make(&made, 1, "zR", 0);
	add_header(&made, 1u << 30, 3, 2); /* and these to nothing */
	assert_int_equal(finish(&made), 0);
	assert_int_equal(start_of(&made, 40), -1);
	assert_int_equal(start_of(&made, 70), -1);
	end(&made);
	make(&made, 1, "zR", 0);
	add_header(&made, 0, 0, 1u << 31); /* longer than the file: the FDEs themselves are read */
	assert_int_equal(finish(&made), 0);
	assert_int_equal(start_of(&made, 40), 32);
	end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_of_this_program),
		cmocka_unit_test(test_bounds_are_exact),
		cmocka_unit_test(test_signal_trampolines),
		cmocka_unit_test(test_what_cannot_be_read_has_no_bounds),
		cmocka_unit_test(test_search_table),
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_tables_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
