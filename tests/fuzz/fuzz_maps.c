/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as /proc/PID/maps. A mapping that is found must make sense, lie inside its line, and be found again in a
 * line that is written from it as the kernel would.
 */
#include "proc/maps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_again(const struct maps_line *line)
{
	autobuf struct buf text = { 0 };
	struct maps_line again;
	size_t at = 0;

	buf_addf(&text, "%08" PRIx64 "-%08" PRIx64 " r-%cp %08" PRIx64 " %02" PRIx64 ":%02" PRIx64 " %" PRIu64 " ",
		 line->start, line->end, line->executable ? 'x' : '-', line->offset, line->device >> 20,
		 line->device & 0xfffff, line->inode);
	buf_adds(&text, "      ");
	buf_add(&text, line->path, line->path_len);
	must(!buf_error(&text) && maps_next(text.data, text.len, &at, &again));
	must(again.start == line->start && again.end == line->end && again.offset == line->offset);
	must(again.device == line->device && again.inode == line->inode && again.executable == line->executable);
	must(again.path_len == line->path_len && !memcmp(again.path, line->path, line->path_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct maps_line line;
	size_t at = 0, before = 0;

	while (maps_next(text, size, &at, &line)) {
		must(at > before && at <= size + 1);
		must(line.start < line.end && line.device >> 32 == 0);
		must(line.path >= text + before && line.path + line.path_len == text + at - 1);
		must(!memchr(line.path, '\n', line.path_len));
		check_again(&line);
		before = at;
	}
	must(at >= size);
	return 0;
}
