/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables from any bytes as call frame information: the first byte chooses the section, and whether it is read
 * again as that of a debug file; the rest is in it. What is built is read back, and must be what the kernel side relies
 * on: ascending rows, each page beginning at its first byte, rules that exist.
 */
#include "unwind/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/image.h"
#include "unit/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_page(const struct rows_page *page, uint32_t rules)
{
	uint16_t offset, number, before = 0;

	for (uint32_t i = 0; i < page->count; i++) {
		memcpy(&offset, page->offsets + i, sizeof(offset));
		memcpy(&number, page->rules + i, sizeof(number));
		require(number < rules);
		require(i ? offset > before : !offset);
		before = offset;
	}
}

static void check_table(const struct buf *table)
{
	struct rows_reader reader;
	struct rows_page page;
	struct wire_rule rule;
	uint64_t rows = 0;

	require(!rows_open(&reader, table->data, table->len));
	for (uint32_t i = 0; i < reader.rules; i++)
		require(!rows_next_rule(&reader, &rule));
	for (uint32_t i = 0; i < reader.pages; i++) {
		require(!rows_next_page(&reader, &page));
		require(page.number == reader.first_page + i);
		check_page(&page, reader.rules);
		rows += page.count;
	}
	require(reader.at == reader.end && rows == reader.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *image = NULL;
	struct cfi *cfi = NULL;
	struct buf table = { 0 };
	struct elf_file file;

	if (!size)
		return 0;
	elf_file_begin(&file);
	elf_file_add(&file, *data & 1 ? ".debug_frame" : ".eh_frame", SHT_PROGBITS,
		     *data & 2 ? SHF_COMPRESSED : SHF_ALLOC, data + 1, size - 1);
	file.segments[0] =
		(Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 1 << 24, .p_memsz = 1 << 24 };
	elf_file_finish(&file);
	if (!image_from_memory(&image, file.bytes.data, file.bytes.len) &&
	    !cfi_open(&cfi, image, *data & 4 ? image : NULL)) {
		cfi_suffices(cfi, image);
		if (!rows_build(image, cfi, &table))
			check_table(&table);
	}
	cfi_free(cfi);
	image_free(image);
	buf_free(&table);
	elf_file_free(&file);
	return 0;
}
