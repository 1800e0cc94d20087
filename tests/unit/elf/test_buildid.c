/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids: those of real files as readelf shows them, and files and notes made by hand in which everything lies. */
#include "elf/buildid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

static void add_note(struct buf *out, uint32_t type, const char *name, uint32_t name_len, const void *desc,
		     uint32_t desc_len)
{
	buf_u32(out, name_len);
	buf_u32(out, desc_len);
	buf_u32(out, type);
	buf_add(out, name, name_len);
	buf_add(out, "\0\0\0", (4 - name_len % 4) % 4);
	buf_add(out, desc, desc_len);
	buf_add(out, "\0\0\0", (4 - desc_len % 4) % 4);
}

/* From a copy to the byte, so that a read behind it is seen. */
static int from_notes(const void *data, size_t len, unsigned char id[BUILD_ID_MAX])
{
	char *copy = malloc(len ? len : 1);
	int got;

	assert_non_null(copy);
	memcpy(copy, data, len);
	got = buildid_from_notes(copy, len, id);
	free(copy);
	return got;
}

static void test_notes(void **state)
{
	autobuf struct buf notes = { 0 };
	unsigned char id[BUILD_ID_MAX];

	(void)state;
	add_note(&notes, NT_GNU_ABI_TAG, "GNU", 4, "0123456789abcdef", 16);
	add_note(&notes, NT_GNU_BUILD_ID, "stapsdt", 8, "not this", 8); /* the same number of another owner */
	add_note(&notes, NT_GNU_BUILD_ID, "GNU\0abc", 8, "nor this", 8);
	add_note(&notes, 7, "x", 1, "odd", 3); /* both padded */
	add_note(&notes, 9, "", 0, "", 0);
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, "\xab\x00\xcd", 3);
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, "second", 6);
	assert_int_equal(from_notes(notes.data, notes.len, id), 3);
	assert_memory_equal(id, "\xab\x00\xcd", 3);
}

static void test_longest_build_id(void **state)
{
	autobuf struct buf notes = { 0 };
	unsigned char id[BUILD_ID_MAX], desc[BUILD_ID_MAX + 1];

	(void)state;
	memset(desc, 0x5a, sizeof(desc));
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, desc, BUILD_ID_MAX + 1); /* too long, and too short, to be one */
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, desc, 0);
	assert_int_equal(from_notes(notes.data, notes.len, id), -ENODATA);
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, desc, BUILD_ID_MAX);
	assert_int_equal(from_notes(notes.data, notes.len, id), BUILD_ID_MAX);
	assert_memory_equal(id, desc, BUILD_ID_MAX);
}

static void test_notes_cut_short(void **state)
{
	autobuf struct buf notes = { 0 };
	unsigned char id[BUILD_ID_MAX];

	(void)state;
	add_note(&notes, NT_GNU_ABI_TAG, "GNU", 4, "0123456789abcdef", 16);
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, "0123456789abcdefghi", 19);
	for (size_t len = 0; len < notes.len - 1; len++)
		assert_int_equal(from_notes(notes.data, len, id), -ENODATA);
	assert_int_equal(from_notes(notes.data, notes.len - 1, id), 19); /* what pads it may be missing */
}

static void test_notes_that_lie(void **state)
{
	static const uint32_t lengths[][2] = { { UINT32_MAX, 4 },      { 4, UINT32_MAX }, { UINT32_MAX, UINT32_MAX },
					       { 0x80000000, 8 },      { 4, 0xfffffffd }, { 0xfffffffc, 0xfffffffc },
					       { UINT32_MAX - 2, 20 }, { 4, 21 } };
	unsigned char id[BUILD_ID_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		autobuf struct buf notes = { 0 };

		buf_u32(&notes, lengths[i][0]);
		buf_u32(&notes, lengths[i][1]);
		buf_u32(&notes, NT_GNU_BUILD_ID);
		buf_add(&notes, "GNU\0aaaabbbbccccddddeeee", 24);
		assert_int_equal(from_notes(notes.data, notes.len, id), -ENODATA);
	}
}

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[66];
	unsigned char notes[64];
};

/* The smallest file with a build id: its note is in the last of `count` segments. */
static void make_image(struct image *image, unsigned int count)
{
	autobuf struct buf notes = { 0 };

	*image = (struct image){
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_phoff = offsetof(struct image, segments),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = (Elf64_Half)count },
	};
	for (unsigned int i = 0; i < count; i++)
		image->segments[i].p_type = PT_LOAD;
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, "0123456789abcdefghij", 20);
	memcpy(image->notes, notes.data, notes.len);
	image->segments[count - 1] =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offsetof(struct image, notes), .p_filesz = notes.len };
}

static int from_bytes(const void *data, size_t len)
{
	autoclose int fd = memfd_create("image", MFD_CLOEXEC);
	unsigned char id[BUILD_ID_MAX];
	int got;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	got = buildid_read(fd, id);
	if (got > 0)
		assert_memory_equal(id, "0123456789abcdefghij", (size_t)got);
	return got;
}

static int from_image(const struct image *image)
{
	return from_bytes(image, sizeof(*image));
}

static void test_smallest_file(void **state)
{
	struct image image;

	(void)state;
	make_image(&image, 1);
	assert_int_equal(from_image(&image), 20);
	make_image(&image, 64);
	assert_int_equal(from_image(&image), 20);
	make_image(&image, 2);
	image.segments[0].p_type = PT_NOTE; /* an empty one before it */
	assert_int_equal(from_image(&image), 20);
}

static void test_not_such_a_file(void **state)
{
	struct image image;

	(void)state;
	assert_int_equal(from_bytes("", 0), -ENOEXEC);
	assert_int_equal(from_bytes("#!/bin/sh\n", 10), -ENOEXEC);
	make_image(&image, 1);
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(from_image(&image), -ENOEXEC);
	make_image(&image, 1);
	image.head.e_ident[0] = 0;
	assert_int_equal(from_image(&image), -ENOEXEC);
	make_image(&image, 1);
	image.head.e_phentsize = 0;
	assert_int_equal(from_image(&image), -ENOEXEC);
	make_image(&image, 1);
	for (size_t len = 0; len < offsetof(struct image, segments) + sizeof(Elf64_Phdr); len++)
		assert_int_equal(from_bytes(&image, len), -ENOEXEC);
	assert_int_equal(from_bytes(&image, offsetof(struct image, notes)), -ENODATA); /* the note is behind the end */
	assert_int_equal(buildid_read(-1, (unsigned char[BUILD_ID_MAX]){ 0 }), -ENOEXEC);
}

static void test_headers_that_lie(void **state)
{
	struct image image;

	(void)state;
	make_image(&image, 1);
	image.head.e_phnum = 0;
	assert_int_equal(from_image(&image), -ENODATA);
	make_image(&image, 65); /* more segments than are looked at */
	assert_int_equal(from_image(&image), -ENODATA);
	make_image(&image, 1);
	image.head.e_phnum = UINT16_MAX;
	assert_int_equal(from_image(&image), 20);
	image.segments[0].p_type = PT_LOAD;
	assert_int_equal(from_image(&image), -ENODATA);
	for (unsigned int bit = 20; bit < 64; bit++) {
		make_image(&image, 1);
		image.head.e_phoff = 1ULL << bit;
		assert_int_equal(from_image(&image), -ENOEXEC);
		make_image(&image, 1);
		image.segments[0].p_offset = 1ULL << bit;
		assert_int_equal(from_image(&image), -ENODATA);
	}
	make_image(&image, 1);
	image.head.e_phoff = UINT64_MAX;
	assert_int_equal(from_image(&image), -ENOEXEC);
	make_image(&image, 1);
	image.segments[0].p_offset = UINT64_MAX;
	assert_int_equal(from_image(&image), -ENODATA);
	make_image(&image, 1);
	image.segments[0].p_filesz = UINT64_MAX; /* what there is of it is enough */
	assert_int_equal(from_image(&image), 20);
	image.segments[0].p_filesz = 0;
	assert_int_equal(from_image(&image), -ENODATA);
}

/* What readelf, which is no part of this, says of the file; "" for nothing. */
static void ask_readelf(const char *path, char *ret, size_t size)
{
	char command[512], line[512];
	FILE *pipe;

	snprintf(command, sizeof(command), "LC_ALL=C readelf -n '%s' 2>&1", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	*ret = '\0';
	while (fgets(line, sizeof(line), pipe)) {
		const char *at = strstr(line, "Build ID: ");

		if (at)
			snprintf(ret, size, "%.*s", (int)strcspn(at + 10, "\n"), at + 10);
	}
	assert_int_equal(pclose(pipe), 0);
}

static void assert_as_readelf(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char id[BUILD_ID_MAX];
	char wanted[256], got[2 * BUILD_ID_MAX + 1] = "";
	int len;

	assert_true(fd >= 0);
	len = buildid_read(fd, id);
	for (int i = 0; i < len; i++)
		snprintf(got + 2 * i, 3, "%02x", id[i]);
	ask_readelf(path, wanted, sizeof(wanted));
	assert_string_equal(got, wanted);
	assert_true(len > 0 || len == -ENODATA);
}

static void test_real_files(void **state)
{
	char self[256] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_as_readelf(self);
	assert_as_readelf("/bin/sh");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_longest_build_id),
		cmocka_unit_test(test_notes_cut_short),
		cmocka_unit_test(test_notes_that_lie),
		cmocka_unit_test(test_smallest_file),
		cmocka_unit_test(test_not_such_a_file),
		cmocka_unit_test(test_headers_that_lie),
		cmocka_unit_test(test_real_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
