/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through the kernel's tree of mappings reads memory by a layout that no interface promises. So it is tried
 * on ourselves at every start, first and last byte of every mapping of a file; should a kernel change the layout, this
 * says so and wick finds mappings another way instead of lying.
 */
#include "collect/selftest.h"

#include <errno.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/fail.h"
#include "collect/sampler.h"
#include "proc/maps.h"

#define SELFTEST_LINES 256

static int compare(const struct maps_line *line, const struct wire_look *look, uint64_t address)
{
	uint64_t offset = line->offset + (address - line->start);

	if (look->start != line->start || look->end != line->end)
		return fail_plain(-EPROTO, "self-test: the mapping at %#llx was found at %#llx",
				  (unsigned long long)line->start, (unsigned long long)look->start);
	if (!!look->executable != line->executable)
		return fail_plain(-EPROTO, "self-test: the permissions of the mapping at %#llx differ",
				  (unsigned long long)line->start);
	if (look->kind != WIRE_FRAME_FILE || look->offset != offset)
		return fail_plain(-EPROTO, "self-test: the file at %#llx was not found", (unsigned long long)address);
	return 0;
}

int selftest_mappings(struct sampler *sampler)
{
	autobuf struct buf text = { 0 };
	struct maps_line line;
	size_t at = 0;
	int err = maps_read(0, &text), tried = 0;

	if (err)
		return fail(err, "self-test: reading /proc/self/maps");
	for (int i = 0; i < SELFTEST_LINES && maps_next(text.data, text.len, &at, &line); i++) {
		const uint64_t addresses[] = { line.start, line.end - 1 };

		if (!line.path_len || *line.path != '/')
			continue; /* memory without a file may grow while we look */
		for (int end = 0; end < 2; end++) {
			struct wire_look look;

			err = sampler_look(sampler, (const void *)(uintptr_t)addresses[end], &look);
			if (err)
				return fail(err, "self-test: asking the kernel");
			err = compare(&line, &look, addresses[end]);
			if (err)
				return err;
			tried++;
		}
	}
	return tried ? 0 : fail_plain(-EPROTO, "self-test: nothing to compare with");
}
