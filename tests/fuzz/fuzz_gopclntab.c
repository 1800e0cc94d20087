/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Go program: names and files lie in the file, and the last function of a list is not inlined. */
#include "elf/gopclntab.h"

#include <stdlib.h>
#include <string.h>

#include "elf/image.h"

#define LIST 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void inside(const uint8_t *data, size_t size, const char *text, size_t len)
{
	const uint8_t *at = (const uint8_t *)text;

	must(len && at >= data && at < data + size && len <= (size_t)(data + size - at));
}

static void ask(const struct gopclntab *table, const uint8_t *data, size_t size, uint64_t address)
{
	struct gopclntab_name list[LIST];

	for (size_t max = 0; max <= LIST; max += LIST / 2) {
		size_t count = gopclntab_find(table, address, list, max);

		must(count <= max);
		for (size_t i = 0; i < count; i++) {
			inside(data, size, list[i].name, list[i].len);
			if (list[i].file)
				inside(data, size, list[i].file, list[i].file_len);
			must(list[i].inlined == (i + 1 < count));
		}
		must(!count || list[count - 1].start <= address);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gopclntab *table;
	struct image *image;

	if (image_from_memory(&image, data, size) != 0)
		return 0;
	if (gopclntab_open(&table, image) == 0) {
		for (uint64_t at = 0; at < 0x100; at += 5)
			ask(table, data, size, 0x401000 + at);
		for (size_t at = 0; at + 8 <= size && at < 4096; at += 32) {
			uint64_t address;

			memcpy(&address, data + at, sizeof(address));
			ask(table, data, size, address);
		}
		gopclntab_free(table);
	}
	image_free(image);
	return 0;
}
