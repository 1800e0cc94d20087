/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a recorded stack: replay FILE...
 *
 * Each file was made by tests/unwind/record: registers, memory and call frame information of a thread that stood still,
 * with gdb's answer. The tables are built from that information and the stack is unwound in user space, by the steps
 * that the kernel runs. For every file a line: its name, then `agrees N` if all N frames are gdb's and the root was
 * reached, `agrees N then REASON` if it was not, or what differs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/image.h"
#include "unwind/replay.h"
#include "unwind/rows.h"

#define FILES_MAX 16
#define MEMORY_MAX 8
#define FRAMES_MAX 1200
#define BYTES_MAX ((size_t)64 << 20)

static const char *const reasons[] = {
#define COUNTER(group, name, text) [WIRE_##group##_##name] = #name,
#include "bpf/counters.def"
#undef COUNTER
};

struct row {
	uint64_t offset;
	struct wire_rule rule;
};

struct file {
	bool vdso;
	size_t len;
	struct row *rows;
	size_t rows_len;
};

struct recorded {
	char *bytes;
	size_t len;
	struct wire_early head;
	struct file files[FILES_MAX];
	struct replay_memory memory[MEMORY_MAX];
	size_t registers_len, files_len, memory_len, frames_len;
	uint64_t frames[FRAMES_MAX];
};

static void die(const char *what, int err)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* ---- tables ---- */

static void take_page(struct file *file, const struct rows_page *page, const struct wire_rule *rules,
		      uint32_t rules_len)
{
	for (uint32_t i = 0; i < page->count; i++) {
		uint16_t offset, number;

		memcpy(&offset, page->offsets + i, sizeof(offset));
		memcpy(&number, page->rules + i, sizeof(number));
		if (number >= rules_len)
			die("a rule that there is not", -ERANGE);
		file->rows[file->rows_len++] =
			(struct row){ ((uint64_t)page->number << WIRE_PAGE_SHIFT) + offset, rules[number] };
	}
}

static void take_table(struct file *file, const struct buf *table)
{
	struct rows_reader reader;
	struct wire_rule *rules;
	int err = rows_open(&reader, table->data, table->len);

	if (err)
		die("reading the table", err);
	rules = calloc(reader.rules, sizeof(*rules));
	file->rows = calloc(reader.rows, sizeof(*file->rows));
	if (!rules || !file->rows)
		die("reading the table", -ENOMEM);
	for (uint32_t i = 0; i < reader.rules && !err; i++)
		err = rows_next_rule(&reader, &rules[i]);
	for (uint32_t i = 0; i < reader.pages && !err; i++) {
		struct rows_page page;

		err = rows_next_page(&reader, &page);
		if (!err)
			take_page(file, &page, rules, reader.rules);
	}
	if (err)
		die("reading the table", err);
	free(rules);
}

/* A file may say nothing, as musl does. */
static void build_table(struct file *file, const char *bytes)
{
	struct image *image = NULL;
	struct cfi *cfi = NULL;
	struct buf table = { 0 };
	int err = image_from_memory(&image, bytes, file->len);

	err = err ? err : cfi_open(&cfi, image, NULL);
	err = err ? err : rows_build(image, cfi, &table);
	if (err && err != -ENODATA)
		die("building the table", err);
	if (!err)
		take_table(file, &table);
	cfi_free(cfi);
	image_free(image);
	buf_free(&table);
}

static int find_rule(void *arg, uint64_t owner, uint32_t kind, uint64_t offset, struct wire_rule *ret)
{
	const struct recorded *r = arg;
	const struct file *file = &r->files[owner - 1];
	size_t past = 0;

	(void)kind;
	while (past < file->rows_len && file->rows[past].offset <= offset)
		past++;
	if (past)
		*ret = file->rows[past - 1].rule;
	return past > 0;
}

/* ---- reading ---- */

static void take_map(struct recorded *r, const char *line)
{
	struct wire_early_map *map = &r->head.maps[r->head.maps_len];
	uint64_t start, end, offset;
	char number[16];

	if (sscanf(line, "map %" SCNx64 " %" SCNx64 " %" SCNx64 " %15s", &start, &end, &offset, number) != 4 ||
	    r->head.maps_len >= WIRE_EARLY_MAPS)
		die(line, -EBADMSG);
	*map = (struct wire_early_map){ .start = start, .end = end, .kind = WIRE_FRAME_ANON };
	if (*number != '-') {
		map->owner = strtoull(number, NULL, 10) + 1;
		map->offset = offset - start;
		map->kind = WIRE_FRAME_FILE;
	}
	r->head.maps_len++;
}

static void take_line(struct recorded *r, const char *line)
{
	uint64_t value;
	char kind[8];
	size_t len;

	if (sscanf(line, "register %" SCNx64, &value) == 1 && r->registers_len < WIRE_EARLY_REGISTERS)
		r->head.registers[r->registers_len++] = value;
	else if (!strncmp(line, "map ", 4))
		take_map(r, line);
	else if (sscanf(line, "file %7s %*s %zu", kind, &len) == 2 && r->files_len < FILES_MAX)
		r->files[r->files_len++] = (struct file){ .vdso = !strcmp(kind, "vdso"), .len = len };
	else if (sscanf(line, "memory %" SCNx64 " %zu", &value, &len) == 2 && r->memory_len < MEMORY_MAX)
		r->memory[r->memory_len++] = (struct replay_memory){ .start = value, .len = len };
	else if (sscanf(line, "frame %" SCNx64, &value) == 1 && r->frames_len < FRAMES_MAX)
		r->frames[r->frames_len++] = value;
	else if (strcmp(line, "recorded stack 1") != 0)
		die(line, -EBADMSG);
}

/* What is behind the lines, in their order. */
static void take_data(struct recorded *r, char *at)
{
	for (size_t i = 0; i < r->files_len + r->memory_len; i++) {
		bool is_file = i < r->files_len;
		size_t len = is_file ? r->files[i].len : r->memory[i - r->files_len].len;

		if (len > (size_t)(r->bytes + r->len - at))
			die("the data", -EBADMSG);
		if (is_file)
			build_table(&r->files[i], at);
		else
			r->memory[i - r->files_len].bytes = (unsigned char *)at;
		at += len;
	}
	for (uint32_t i = 0; i < r->head.maps_len; i++) {
		struct wire_early_map *map = &r->head.maps[i];

		if (map->owner > r->files_len)
			die("a file that there is not", -EBADMSG);
		if (map->owner && r->files[map->owner - 1].vdso)
			map->kind = WIRE_FRAME_VDSO;
	}
}

static void read_recorded(struct recorded *r)
{
	char *line = r->bytes, *end;

	while ((end = memchr(line, '\n', (size_t)(r->bytes + r->len - line)))) {
		*end = 0;
		if (!strcmp(line, "data")) {
			take_data(r, end + 1);
			return;
		}
		take_line(r, line);
		line = end + 1;
	}
	die("the lines", -EBADMSG);
}

static void unpack(const char *path, struct recorded *ret)
{
	struct buf packed = { 0 };
	char part[65536];
	unsigned long long len;
	size_t count;
	FILE *in = fopen(path, "re");

	while (in && (count = fread(part, 1, sizeof(part), in)))
		buf_add(&packed, part, count);
	len = in ? ZSTD_getFrameContentSize(packed.data, packed.len) : BYTES_MAX + 1;
	if (len > BYTES_MAX)
		die(path, in ? -EBADMSG : -errno);
	ret->bytes = malloc(len + 1);
	if (!ret->bytes)
		die(path, -ENOMEM);
	ret->len = ZSTD_decompress(ret->bytes, len, packed.data, packed.len);
	if (ret->len != len)
		die(path, -EBADMSG);
	fclose(in);
	buf_free(&packed);
}

/* ---- comparing ---- */

/* Where gdb's frame is; its mapping, or NULL if there is no code. */
static const struct wire_early_map *place_of(const struct recorded *r, uint64_t address, struct wire_frame *ret)
{
	for (uint32_t i = 0; i < r->head.maps_len; i++) {
		const struct wire_early_map *map = &r->head.maps[i];

		if (address < map->start || address >= map->end)
			continue;
		*ret = (struct wire_frame){ map->owner, WIRE_WHERE(map->kind, address + map->offset) };
		return map;
	}
	return NULL;
}

static void compare(const char *name, const struct recorded *r, const struct replay_result *got)
{
	size_t len = got->len - !!got->cut;
	struct wire_frame wanted;

	for (size_t i = 0; i < len; i++) {
		if (i >= r->frames_len || !place_of(r, r->frames[i], &wanted)) {
			printf("%s: gdb has %zu frames, here are %zu\n", name, i, len);
			return;
		}
		if (got->frames[i].owner != wanted.owner || got->frames[i].where != wanted.where) {
			printf("%s: frame %zu is %" PRIx64 "+0x%" PRIx64 ", gdb's is %" PRIx64 "+0x%" PRIx64 "\n", name,
			       i, (uint64_t)got->frames[i].owner, (uint64_t)got->frames[i].where,
			       (uint64_t)wanted.owner, (uint64_t)wanted.where);
			return;
		}
	}
	if (got->cut)
		printf("%s agrees %zu then %s\n", name, len, reasons[got->cut]);
	else if (len < r->frames_len)
		printf("%s: gdb has %zu frames, here are %zu\n", name, r->frames_len, len);
	else
		printf("%s agrees %zu\n", name, len);
}

int main(int argc, char **argv)
{
	struct replay_result *result = malloc(sizeof(*result));

	for (int i = 1; i < argc && result; i++) {
		struct recorded *r = calloc(1, sizeof(*r));
		const char *slash = strrchr(argv[i], '/');
		int err;

		if (!r)
			die(argv[i], -ENOMEM);
		unpack(argv[i], r);
		read_recorded(r);
		err = replay_memory(&r->head, r->memory, r->memory_len, find_rule, r, true, result);
		if (err)
			die(argv[i], err);
		compare(slash ? slash + 1 : argv[i], r, result);
		for (size_t j = 0; j < r->files_len; j++)
			free(r->files[j].rows);
		free(r->bytes);
		free(r);
	}
	free(result);
	return 0;
}
