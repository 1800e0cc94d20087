/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a perf map or a jitdump: a name stands in the bytes, and starts at or below the address. */
#include "sym/jitmap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void ask(const struct jitmap *map, const uint8_t *data, size_t size, uint64_t address)
{
	uint64_t start = 0;
	const char *name;
	size_t len;

	if (!jitmap_find(map, address, &name, &len, &start))
		return;
	must(len > 0 && start <= address);
	must(memmem(data, size, name, len) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitmap *map;

	if (jitmap_from_memory(&map, data, size) != 0)
		return 0;
	/* Addresses: low ones, which texts have, and those that are in the bytes themselves. */
	for (uint64_t address = 0; address < 0x200; address++)
		ask(map, data, size, address);
	for (size_t at = 0; at + 8 <= size; at += 4) {
		uint64_t address;

		memcpy(&address, data + at, sizeof(address));
		ask(map, data, size, address);
		ask(map, data, size, address - 1);
	}
	ask(map, data, size, UINT64_MAX);
	must(jitmap_memory(map) < ((size_t)1 << 30));
	jitmap_free(map);
	return 0;
}
