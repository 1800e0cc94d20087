/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: good files are refused, offsets lead to wrong addresses, or a damaged file ends the worker. */
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/elf_file.h"

static struct image *open_file(const struct elf_file *file)
{
	struct image *image = NULL;

	assert_int_equal(image_from_memory(&image, file->bytes.data, file->bytes.len), 0);
	return image;
}

static void check_refused(const struct elf_file *file, size_t len)
{
	struct image *image = NULL;

	assert_int_equal(image_from_memory(&image, file->bytes.data, len), -ENOEXEC);
	assert_null(image);
}

static void test_what_is_no_elf_is_refused(void **state)
{
	struct elf_file file;

	(void)state;
	elf_file_begin(&file);
	elf_file_finish(&file);
	check_refused(&file, sizeof(Elf64_Ehdr) - 1);
	check_refused(&file, 0);
	file.bytes.data[EI_CLASS] = ELFCLASS32;
	check_refused(&file, file.bytes.len);
	file.bytes.data[EI_CLASS] = ELFCLASS64;
	file.bytes.data[EI_DATA] = ELFDATA2MSB;
	check_refused(&file, file.bytes.len);
	file.bytes.data[EI_DATA] = ELFDATA2LSB;
	file.bytes.data[1] = 'e';
	check_refused(&file, file.bytes.len);
	elf_file_free(&file);
}

static void test_what_is_no_file_is_refused(void **state)
{
	struct image *image = NULL;
	int ends[2], folder = open(".", O_RDONLY), empty = memfd_create("empty", 0);

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(image_open(&image, ends[0]), -ENOEXEC);
	assert_int_equal(image_open(&image, folder), -ENOEXEC);
	assert_int_equal(image_open(&image, empty), -ENOEXEC);
	assert_int_equal(image_open(&image, -1), -EBADF);
	assert_null(image);
	close(ends[0]);
	close(ends[1]);
	close(folder);
	close(empty);
	image_free(NULL);
}

static void test_sections(void **state)
{
	struct image_section section;
	struct elf_file file;
	struct image *image;

	(void)state;
	elf_file_begin(&file);
	elf_file_add(&file, ".one", SHT_PROGBITS, SHF_ALLOC, "first", 5);
	elf_file_add(&file, ".two", SHT_NOTE, 0, "second!", 7);
	elf_file_finish(&file);
	image = open_file(&file);
	assert_int_equal(image_sections(image), 4);
	assert_true(image_section(image, 2, &section));
	assert_string_equal(section.name, ".two");
	assert_int_equal(section.size, 7);
	assert_memory_equal(image_bytes(image, section.offset, section.size), "second!", 7);
	assert_true(image_section_named(image, ".one", &section));
	assert_int_equal(section.flags, SHF_ALLOC);
	assert_false(image_section_named(image, ".three", &section));
	assert_false(image_section_named(image, "", &section));
	assert_false(image_section(image, 4, &section));
	assert_false(image_section(image, UINT32_MAX, &section));
	image_free(image);
	elf_file_free(&file);
}

static void test_names_that_do_not_end(void **state)
{
	struct image_section section;
	struct elf_file file;
	struct image *image;

	(void)state;
	elf_file_begin(&file);
	elf_file_add(&file, ".one", SHT_PROGBITS, 0, "first", 5);
	file.sections[1].sh_name = 1u << 30;
	elf_file_finish(&file);
	/* The last name loses its end: the table is cut inside of it. */
	((Elf64_Shdr *)(file.bytes.data + file.header.e_shoff))[2].sh_size -= 3;
	image = open_file(&file);
	assert_true(image_section(image, 1, &section));
	assert_string_equal(section.name, "");
	assert_true(image_section(image, 2, &section));
	assert_string_equal(section.name, "");
	image_free(image);
	elf_file_free(&file);
}

static void test_tables_that_reach_outside(void **state)
{
	struct image_section section;
	struct elf_file file;
	struct image *image;
	Elf64_Phdr segment;

	(void)state;
	elf_file_begin(&file);
	elf_file_add(&file, ".one", SHT_PROGBITS, 0, "first", 5);
	elf_file_finish(&file);
	((Elf64_Ehdr *)file.bytes.data)->e_shnum = 60000;
	((Elf64_Ehdr *)file.bytes.data)->e_phnum = 60000;
	image = open_file(&file);
	assert_int_equal(image_sections(image), 3);
	assert_true(image_segments(image) < 20);
	assert_false(image_segment(image, image_segments(image), &segment));
	image_free(image);
	((Elf64_Ehdr *)file.bytes.data)->e_shoff = UINT64_MAX - 8;
	((Elf64_Ehdr *)file.bytes.data)->e_phoff = UINT64_MAX - 8;
	image = open_file(&file);
	assert_int_equal(image_sections(image), 0);
	assert_int_equal(image_segments(image), 0);
	assert_false(image_section(image, 0, &section));
	assert_null(image_bytes(image, UINT64_MAX, 1));
	assert_null(image_bytes(image, 1, UINT64_MAX));
	assert_null(image_bytes(image, file.bytes.len, 1));
	assert_non_null(image_bytes(image, file.bytes.len, 0));
	image_free(image);
	elf_file_free(&file);
}

/* More sections than 16 bits can count: the number is in the first section's header. */
static void test_large_numbers(void **state)
{
	struct image_section section;
	struct elf_file file;
	struct image *image;
	Elf64_Shdr *first;

	(void)state;
	elf_file_begin(&file);
	elf_file_add(&file, ".one", SHT_PROGBITS, 0, "first", 5);
	elf_file_finish(&file);
	first = (Elf64_Shdr *)(file.bytes.data + file.header.e_shoff);
	first->sh_size = 3;
	first->sh_link = 2;
	((Elf64_Ehdr *)file.bytes.data)->e_shnum = 0;
	((Elf64_Ehdr *)file.bytes.data)->e_shstrndx = SHN_XINDEX;
	image = open_file(&file);
	assert_int_equal(image_sections(image), 3);
	assert_true(image_section_named(image, ".one", &section));
	image_free(image);
	elf_file_free(&file);
}

/* A file with so many sections, whose names all begin at the first byte of the table, which has no NUL if `endless`. */
static struct buf many_sections(size_t count, bool endless)
{
	static const char names[] =
		"....................................................................................";
	Elf64_Shdr each = { .sh_type = SHT_PROGBITS };
	struct elf_file file;
	struct buf bytes;

	elf_file_begin(&file);
	elf_file_finish(&file);
	file.header.e_shnum = 0;
	file.header.e_shstrndx = 1;
	file.header.e_shoff = file.bytes.len + sizeof(names);
	memcpy(file.bytes.data, &file.header, sizeof(file.header));
	each.sh_offset = file.bytes.len;
	buf_add(&file.bytes, names, sizeof(names));
	for (size_t i = 0; i < count; i++) {
		each.sh_type = i == 1 ? SHT_STRTAB : SHT_PROGBITS;
		each.sh_size = i ? sizeof(names) - endless : count;
		buf_add(&file.bytes, &each, sizeof(each));
	}
	bytes = file.bytes;
	buf_free(&file.names);
	return bytes;
}

/* No file that can be run has thousands of sections: each look-up goes through all of them. */
static void test_more_sections_than_anybody_needs(void **state)
{
	(void)state;
	for (size_t count = 4095; count <= 4097; count++) {
		struct buf bytes = many_sections(count, false);
		struct image *image = NULL;

		assert_int_equal(image_from_memory(&image, bytes.data, bytes.len), count > 4096 ? -EFBIG : 0);
		if (image)
			assert_int_equal(image_sections(image), count);
		image_free(image);
		buf_free(&bytes);
	}
}

static void test_a_table_of_names_without_an_end(void **state)
{
	(void)state;
	for (int endless = 0; endless <= 1; endless++) {
		struct buf bytes = many_sections(64, endless);
		int fd = memfd_create("file", MFD_CLOEXEC);
		struct image_section section;
		struct image *image = NULL;

		assert_int_equal(write(fd, bytes.data, bytes.len), bytes.len);
		assert_int_equal(image_open(&image, fd), 0);
		assert_true(image_section(image, 7, &section));
		assert_int_equal(section.name[0] == '.', !endless);
		assert_int_equal(image_unlock_sections(image), endless ? -EBADMSG : 0); /* for libelf */
		image_free(image);
		buf_free(&bytes);
		close(fd);
	}
}

/* A name that begins as one of another section, or goes on, is another name; the first of two counts. */
static void test_sections_by_name(void **state)
{
	static const char *const names[] = {
		".a", ".ab", ".abc", ".ab", "", ".a-name-that-is-longer-than-any-other-one"
	};
	struct image_section section;
	struct elf_file file;
	struct image *image;

	(void)state;
	elf_file_begin(&file);
	for (size_t i = 0; i < 6; i++)
		elf_file_add(&file, names[i], SHT_PROGBITS, 0, "bytes", i);
	elf_file_finish(&file);
	image = open_file(&file);
	for (size_t i = 0; i < 6; i++) {
		assert_true(image_section_named(image, names[i], &section));
		assert_string_equal(section.name, names[i]);
		assert_int_equal(section.size, i == 3 ? 1 : i);
	}
	assert_false(image_section_named(image, ".abcd", &section));
	assert_false(image_section_named(image, ".a-name-that-is-longer-than-any-other-two", &section));
	image_free(image);
	elf_file_free(&file);
}

static void test_offsets_and_addresses(void **state)
{
	uint64_t start, end, found = 0;
	struct elf_file file;
	struct image *image;

	(void)state;
	elf_file_begin(&file);
	/* As linkers do it: the page at offset 0x1000 is mapped twice, as data and as code. */
	file.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x1000, .p_filesz = 0x1100 };
	file.segments[1] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1080, .p_vaddr = 0x5080, .p_filesz = 0x1000
	};
	file.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_offset = 0x9000,
					 .p_vaddr = UINT64_MAX - 0x10,
					 .p_filesz = 0x1000 };
	file.segments_len = 3;
	elf_file_finish(&file);
	image = open_file(&file);
	assert_true(image_offset_to_address(image, 0x10, &found));
	assert_int_equal(found, 0x1010);
	assert_true(image_offset_to_address(image, 0x1090, &found));
	assert_int_equal(found, 0x5090);
	assert_true(image_address_to_offset(image, 0x607f, &found));
	assert_int_equal(found, 0x207f);
	assert_false(image_address_to_offset(image, 0x6080, &found));
	assert_false(image_offset_to_address(image, 0x9000, &found)); /* it would wrap around */
	assert_true(image_executable(image, 0x5080));
	assert_false(image_executable(image, 0x1010));
	assert_true(image_code_range(image, &start, &end));
	assert_int_equal(start, 0x5080);
	assert_int_equal(end, 0x6080);
	image_free(image);
	elf_file_free(&file);
}

static void test_build_id(void **state)
{
	static const unsigned char note[] = {
		4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0
	};
	unsigned char id[64];
	struct elf_file file;
	struct image *image;

	(void)state;
	elf_file_begin(&file);
	elf_file_add(&file, ".note", SHT_NOTE, 0, note, sizeof(note));
	elf_file_finish(&file);
	image = open_file(&file);
	assert_int_equal(image_build_id(image, id), 3);
	assert_memory_equal(id, "\xab\xcd\xef", 3);
	image_free(image);
	elf_file_free(&file);

	elf_file_begin(&file);
	elf_file_add(&file, ".data", SHT_PROGBITS, 0, note, sizeof(note));
	elf_file_finish(&file);
	image = open_file(&file);
	assert_int_equal(image_build_id(image, id), 0);
	image_free(image);
	elf_file_free(&file);
}

/* The bytes are gone from memory, not from the file. */
static void test_released_bytes_come_back(void **state)
{
	struct image_section section;
	struct image *image = NULL;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_int_equal(image_open(&image, fd), 0);
	close(fd);
	image_release(image, 0, image_size(image));
	image_release(image, 1, UINT64_MAX);
	assert_memory_equal(image_bytes(image, 0, SELFMAG), ELFMAG, SELFMAG);
	assert_true(image_section_named(image, ".text", &section));
	assert_true(image_executable(image, section.address));
	image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_no_elf_is_refused),
		cmocka_unit_test(test_what_is_no_file_is_refused),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_names_that_do_not_end),
		cmocka_unit_test(test_tables_that_reach_outside),
		cmocka_unit_test(test_large_numbers),
		cmocka_unit_test(test_more_sections_than_anybody_needs),
		cmocka_unit_test(test_a_table_of_names_without_an_end),
		cmocka_unit_test(test_sections_by_name),
		cmocka_unit_test(test_offsets_and_addresses),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_released_bytes_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
