/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from any bytes that could be a file. The first byte chooses what is asked for; the rest is the file, and once
 * more its own debug file. An answer must end, be ended by NUL, and be inlined into the next one or be the last.
 */
#include "sym/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

#define QUESTIONS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void ask(struct symbols *symbols, uint64_t offset)
{
	struct symbol_name list[SYMBOLS_INLINE_MAX];
	size_t len = symbols_find(symbols, offset, list, SYMBOLS_INLINE_MAX);

	require(len <= SYMBOLS_INLINE_MAX);
	for (size_t i = 0; i < len; i++) {
		require(strlen(list[i].name) == list[i].len);
		require(list[i].inlined == (i + 1 < len));
		require(!list[i].source || strlen(list[i].source) <= 4096);
	}
}

static void ask_all(struct symbols *symbols, size_t size)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		ask(symbols, size * i / QUESTIONS);
	ask(symbols, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols_options options = { .file = "file" };
	struct symbols *symbols = NULL;
	struct symbols_debug debug;
	int fd;

	if (!size)
		return 0;
	options.demangle = data[0] % 3;
	options.inlines = data[0] & 4;
	options.lines = data[0] & 8;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || file_write_all(fd, data + 1, size - 1))
		abort();
	if (!symbols_open(&symbols, fd, &options)) {
		symbols_debug(symbols, &debug);
		require(memchr(debug.link, '\0', sizeof(debug.link)) && !strchr(debug.link, '/'));
		require(memchr(debug.alt_link, '\0', sizeof(debug.alt_link)));
		ask_all(symbols, size);
		symbols_reason(symbols);
		require(symbols_memory(symbols) < (size_t)256 << 20);
		if (!symbols_add_debug(symbols, fd))
			ask_all(symbols, size);
	}
	symbols_free(symbols);
	close(fd);
	return 0;
}
