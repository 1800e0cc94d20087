/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of unwind tables, which come from a worker that may have been taken over: whatever the bytes, what it
 * gives is inside them.
 */
#include "unwind/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_inside(const void *what, size_t len, const uint8_t *data, size_t size)
{
	const uint8_t *at = what;

	return at >= data && len <= size && at <= data + (size - len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows_reader reader;
	struct wire_rule rule;
	struct rows_page page;
	int err = rows_open(&reader, data, size);

	for (uint32_t i = 0; !err && i < reader.rules; i++) {
		err = rows_next_rule(&reader, &rule);
		require(err || rule.kind < WIRE_RULE_KINDS);
	}
	for (uint32_t i = 0; !err && i < reader.pages; i++) {
		err = rows_next_page(&reader, &page);
		if (err)
			break;
		require(page.number >= reader.first_page && page.number <= reader.last_page);
		require(page.count && page.count <= 1u << WIRE_PAGE_SHIFT);
		require(is_inside(page.offsets, page.count * sizeof(uint16_t), data, size));
		require(is_inside(page.rules, page.count * sizeof(uint16_t), data, size));
	}
	return 0;
}
