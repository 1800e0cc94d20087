/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the symbols of a file, as the worker does, for tests and measurements:
 *
 *   symname [--full|--raw] [--inline] [--lines] [--debug FILE]... [--stats] FILE [OFFSET...]
 *
 * Offsets (in the file) come from the command line or, without any there, one a line from standard input; with --vaddr
 * they are virtual addresses. Prints a line for each: the offset asked about, the start of the function, and its name,
 * or `-` if there is none; inlined functions stand before it, joined by ` <- `.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "sym/symbols.h"

#define DEBUG_MAX 4

struct request {
	struct symbols_options options;
	const char *path, *debug[DEBUG_MAX];
	unsigned int debug_len;
	bool stats, by_address;
	char **offsets;
};

static bool read_option(struct request *request, const char *word, const char *next)
{
	if (!strcmp(word, "--full"))
		request->options.demangle = DEMANGLE_FULL;
	else if (!strcmp(word, "--raw"))
		request->options.demangle = DEMANGLE_NO;
	else if (!strcmp(word, "--inline"))
		request->options.inlines = true;
	else if (!strcmp(word, "--lines"))
		request->options.lines = true;
	else if (!strcmp(word, "--stats"))
		request->stats = true;
	else if (!strcmp(word, "--vaddr"))
		request->by_address = true;
	else if (!strcmp(word, "--debug") && next && request->debug_len < DEBUG_MAX)
		request->debug[request->debug_len++] = next;
	else
		return false;
	return true;
}

static bool read_request(struct request *request, char **words)
{
	while (*words && !strncmp(*words, "--", 2)) {
		bool pair = !strcmp(*words, "--debug");

		if (!read_option(request, *words, words[1]))
			return false;
		words += pair ? 2 : 1;
	}
	if (!*words)
		return false;
	request->path = *words;
	request->options.file = strrchr(*words, '/') ? strrchr(*words, '/') + 1 : *words;
	request->offsets = words + 1;
	return true;
}

static void answer(struct symbols *symbols, const struct image *image, const char *word)
{
	struct symbol_name list[SYMBOLS_INLINE_MAX];
	uint64_t asked = strtoull(word, NULL, 0), offset = asked;
	size_t len = 0;

	if (!image || image_address_to_offset(image, asked, &offset))
		len = symbols_find(symbols, offset, list, SYMBOLS_INLINE_MAX);
	if (!len) {
		printf("0x%" PRIx64 " - -\n", asked);
		return;
	}
	printf("0x%" PRIx64 " 0x%" PRIx64 " ", asked, list[len - 1].start);
	for (size_t i = 0; i < len; i++) {
		printf("%s%s", i ? " <- " : "", list[i].name);
		if (list[i].source)
			printf(" (%s:%u)", list[i].source, list[i].line);
	}
	putchar('\n');
}

static void answer_all(struct symbols *symbols, const struct request *request, const struct image *image)
{
	char line[64];

	for (char **word = request->offsets; *word; word++)
		answer(symbols, image, *word);
	while (!*request->offsets && fgets(line, sizeof(line), stdin))
		answer(symbols, image, line);
}

static void show_stats(struct symbols *symbols)
{
	struct symbols_debug debug;
	const char *reason = symbols_reason(symbols);

	symbols_debug(symbols, &debug);
	fprintf(stderr, "reason %s memory %zu wanted %d link %s\n", reason ? reason : "-", symbols_memory(symbols),
		debug.wanted, debug.link[0] ? debug.link : "-");
}

static int add_debug(struct symbols *symbols, const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : symbols_add_debug(symbols, fd);
}

int main(int argc, char **argv)
{
	struct request request = { .path = NULL };
	struct symbols *symbols = NULL;
	struct image *image = NULL;
	int err, fd;

	if (argc < 2 || !read_request(&request, argv + 1)) {
		fprintf(stderr, "usage: symname [OPTION...] FILE [OFFSET...]\n");
		return 2;
	}
	fd = open(request.path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : symbols_open(&symbols, fd, &request.options);
	if (!err && request.by_address)
		err = image_open(&image, fd);
	if (fd >= 0)
		close(fd);
	for (unsigned int i = 0; i < request.debug_len && !err; i++)
		err = add_debug(symbols, request.debug[i]);
	if (!err)
		answer_all(symbols, &request, image);
	else
		fprintf(stderr, "symname: %s: %s\n", request.path, strerror(-err));
	if (!err && request.stats)
		show_stats(symbols);
	symbols_free(symbols);
	image_free(image);
	return err ? 1 : 0;
}
