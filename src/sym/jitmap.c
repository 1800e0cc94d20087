/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads perf maps ("START SIZE name" in lines) and jitdump files into ranges that do not overlap: where two entries do,
 * the later one holds. The target writes these files, perhaps while they are read, and may write anything: the file is
 * read through a window, entries and names are bounded, what makes no sense is passed over, and the numbers by which
 * code is known are hashed with a key, so that nobody can choose ones that collide.
 */
#include "sym/jitmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/index.h"
#include "base/map.h"

#define FILE_MAX ((uint64_t)256 << 20)
#define DUMP_MAX ((uint64_t)4 << 30) /* holds the code as well, which is not read */
#define ENTRIES_MAX ((size_t)1 << 20)
#define NAMES_MAX ((size_t)64 << 20)
#define NAME_LEN_MAX 4096 /* a longer name is cut */
#define RECORDS_MAX (1 << 22)
#define WINDOW 65536
#define GLANCE 8192 /* read of a place that is not right behind what was read: most of what follows may be code */

#define DUMP_MAGIC 0x4A695444u
#define DUMP_MAGIC_SWAPPED 0x4454694Au
#define DUMP_HEADER 40
#define RECORD_HEADER 16
#define LOAD_FIXED 40
#define MOVE_FIXED 48

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_CLOSE = 3 };

struct entry {
	uint64_t start, end;
	uint32_t name, len;
	uint32_t order;
};

/* A piece of an entry that no later one covers. */
struct range {
	uint64_t start, end;
	uint32_t entry;
};

struct jitmap {
	struct entry *entries;
	size_t count, cap;
	struct range *ranges;
	size_t range_count;
	struct buf names;
};

/* ---- Reading: a window that moves over a file, or memory as it is ---- */

struct source {
	int fd; /* -1: memory */
	const char *data;
	uint64_t size;
	char *window;
	uint64_t window_at;
	size_t window_len;
};

/* Reads what is at an offset into the window, up to `want` bytes. */
static int source_read(struct source *source, uint64_t offset, size_t want)
{
	source->window_at = offset;
	source->window_len = 0;
	while (source->window_len < want) {
		ssize_t got = pread(source->fd, source->window + source->window_len, want - source->window_len,
				    (off_t)(offset + source->window_len));

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			break;
		source->window_len += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* The bytes from `offset` on: how many there are, at most `want`, which is at most the window. Or -errno. */
static ssize_t source_at(struct source *source, uint64_t offset, size_t want, const char **ret)
{
	if (source->fd < 0) {
		if (offset >= source->size)
			return 0;
		*ret = source->data + offset;
		return (ssize_t)(source->size - offset < want ? source->size - offset : want);
	}
	if (offset < source->window_at || offset - source->window_at > source->window_len ||
	    source->window_len - (offset - source->window_at) < want) {
		bool behind = offset - source->window_at <= source->window_len;
		int err = source_read(source, offset, behind || want > GLANCE ? WINDOW : GLANCE);

		if (err)
			return err;
	}
	*ret = source->window + (offset - source->window_at);
	offset = source->window_len - (offset - source->window_at);
	return (ssize_t)(offset < want ? offset : want);
}

/* ---- Entries ---- */

static int add_entry(struct jitmap *map, uint64_t start, uint64_t size, uint32_t name, uint32_t len)
{
	uint64_t end;

	if (!size || !len || __builtin_add_overflow(start, size, &end))
		return 0;
	if (map->count == map->cap) {
		size_t cap = map->cap ? map->cap * 2 : 256;
		struct entry *entries;

		if (map->count >= ENTRIES_MAX)
			return -EFBIG;
		entries = realloc(map->entries, cap * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		map->entries = entries;
		map->cap = cap;
	}
	map->entries[map->count] = (struct entry){ start, end, name, len, (uint32_t)map->count };
	map->count++;
	return 0;
}

static int add_named(struct jitmap *map, uint64_t start, uint64_t size, const char *name, size_t len)
{
	size_t at = map->names.len;

	len = len < NAME_LEN_MAX ? len : NAME_LEN_MAX;
	if (len > NAMES_MAX - at)
		return -EFBIG;
	/* The same name again and again, as when code is compiled anew: it is often the one before. */
	if (map->count && map->entries[map->count - 1].len == len &&
	    !memcmp(map->names.data + map->entries[map->count - 1].name, name, len))
		return add_entry(map, start, size, map->entries[map->count - 1].name, (uint32_t)len);
	buf_add(&map->names, name, len);
	if (buf_error(&map->names))
		return buf_error(&map->names);
	return add_entry(map, start, size, (uint32_t)at, (uint32_t)len);
}

/* ---- Perf maps ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A hexadecimal number, then blanks. NULL if that is not what is there. */
static const char *take_hex(const char *at, const char *end, uint64_t *ret)
{
	const char *begin;
	uint64_t value = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	for (begin = at; at < end && digit_of(*at) >= 0; at++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)digit_of(*at);
	}
	if (at == begin || at == end || (*at != ' ' && *at != '\t'))
		return NULL;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	*ret = value;
	return at;
}

/* Adds the line; *ret_valid tells whether it was one. */
static int add_line(struct jitmap *map, const char *at, const char *end, bool *ret_valid)
{
	uint64_t start, size;

	while (end > at && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	at = take_hex(at, end, &start);
	at = at ? take_hex(at, end, &size) : NULL;
	if (!at || at == end)
		return 0;
	*ret_valid = true;
	return add_named(map, start, size, at, (size_t)(end - at));
}

/* Passes over the rest of a line that is longer than any window. */
static int skip_line(struct source *source, uint64_t *at)
{
	const char *text, *stop;
	ssize_t got;

	while ((got = source_at(source, *at, WINDOW, &text)) > 0 && *at < FILE_MAX) {
		stop = memchr(text, '\n', (size_t)got);
		if (stop) {
			*at += (uint64_t)(stop - text) + 1;
			return 0;
		}
		*at += (uint64_t)got;
	}
	return got < 0 ? (int)got : 0;
}

/* The whole lines of a text: adds them, and moves *at behind them. */
static int add_lines(struct jitmap *map, const char *text, size_t len, uint64_t *at, bool *ret_valid)
{
	const char *line = text, *end = text + len, *stop;

	for (; line < end && (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
		int err = add_line(map, line, stop, ret_valid);

		if (err)
			return err;
	}
	*at += (uint64_t)(line - text);
	return 0;
}

/* A last line without an end is one that the target is about to write: it is not a name yet. */
static int read_lines(struct jitmap *map, struct source *source)
{
	bool valid = false;
	const char *text;
	uint64_t at = 0;
	ssize_t got;

	while ((got = source_at(source, at, WINDOW, &text)) > 0) {
		uint64_t before = at;
		int err = at > FILE_MAX ? -EFBIG : add_lines(map, text, (size_t)got, &at, &valid);

		if (!err && at == before && got < WINDOW) {
			valid = valid || (!at && digit_of(*text) >= 0);
			at += (uint64_t)got;
			break;
		}
		if (!err && at == before) {
			err = add_line(map, text, text + got, &valid);
			err = err ? err : skip_line(source, &at);
		}
		if (err)
			return err;
	}
	if (got < 0)
		return (int)got;
	return at && !valid ? -EBADMSG : 0;
}

/* ---- Jitdump ---- */

static uint32_t u32_at(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t u64_at(const char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The entries of codes by their numbers. */
struct codes {
	struct map entries;
	uint64_t seed[2];
};

static uint64_t key_of(const struct codes *codes, uint64_t number)
{
	return index_mix(number ^ codes->seed[0], codes->seed[1]);
}

/* pid, tid, vma, address, size, number of the code; name with NUL; the code itself. */
static int add_load(struct jitmap *map, struct codes *codes, const char *body, size_t len)
{
	const char *name = body + LOAD_FIXED, *end;
	uint64_t *slot;
	size_t count = map->count;
	int err;

	if (len <= LOAD_FIXED)
		return 0;
	end = memchr(name, 0, len - LOAD_FIXED);
	if (!end && len - LOAD_FIXED < NAME_LEN_MAX)
		return 0;
	err = add_named(map, u64_at(body + 16), u64_at(body + 24), name, end ? (size_t)(end - name) : NAME_LEN_MAX);
	if (err || map->count == count)
		return err;
	slot = map_put(&codes->entries, key_of(codes, u64_at(body + 32)));
	if (!slot)
		return -ENOMEM;
	*slot = count;
	return 0;
}

/* pid, tid, vma, old address, new address, size, number of the code. */
static int add_move(struct jitmap *map, const struct codes *codes, const char *body, size_t len)
{
	const struct entry *entry;
	const uint64_t *slot;

	if (len < MOVE_FIXED)
		return 0;
	slot = map_get(&codes->entries, key_of(codes, u64_at(body + 40)));
	if (!slot)
		return 0;
	entry = &map->entries[*slot];
	return add_entry(map, u64_at(body + 24), u64_at(body + 32), entry->name, entry->len);
}

static int read_records(struct jitmap *map, struct source *source, struct codes *codes)
{
	const char *bytes;
	uint64_t at;
	ssize_t got = source_at(source, 0, DUMP_HEADER, &bytes);

	if (got < 0)
		return (int)got;
	if (got < DUMP_HEADER || u32_at(bytes + 8) < DUMP_HEADER)
		return -EBADMSG;
	at = u32_at(bytes + 8);
	for (unsigned int i = 0; i < RECORDS_MAX && at < DUMP_MAX; i++) {
		uint32_t type, size;
		int err = 0;

		got = source_at(source, at, RECORD_HEADER + LOAD_FIXED + NAME_LEN_MAX, &bytes);
		if (got < RECORD_HEADER)
			return got < 0 ? (int)got : 0;
		type = u32_at(bytes);
		size = u32_at(bytes + 4);
		if (size < RECORD_HEADER || type == RECORD_CLOSE)
			return 0;
		got = (ssize_t)(size < (size_t)got ? size : (size_t)got) - RECORD_HEADER;
		if (type == RECORD_LOAD)
			err = add_load(map, codes, bytes + RECORD_HEADER, (size_t)got);
		else if (type == RECORD_MOVE)
			err = add_move(map, codes, bytes + RECORD_HEADER, (size_t)got);
		if (err)
			return err;
		at += size;
	}
	return -EFBIG;
}

static int read_dump(struct jitmap *map, struct source *source)
{
	struct codes codes = { 0 };
	int err;

	index_seed(codes.seed);
	err = read_records(map, source, &codes);
	map_free(&codes.entries);
	return err;
}

/* ---- Ranges: a sweep over the entries by address, the newest of those that cover it on top of a heap ---- */

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

struct heap {
	const struct entry *entries;
	uint32_t *items;
	size_t len;
};

static bool newer(const struct heap *heap, size_t left, size_t right)
{
	return heap->entries[heap->items[left]].order > heap->entries[heap->items[right]].order;
}

static void heap_swap(struct heap *heap, size_t left, size_t right)
{
	uint32_t item = heap->items[left];

	heap->items[left] = heap->items[right];
	heap->items[right] = item;
}

static void heap_push(struct heap *heap, uint32_t item)
{
	size_t at = heap->len++;

	heap->items[at] = item;
	for (; at && newer(heap, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(heap, at, (at - 1) / 2);
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0, child;

	heap->items[0] = heap->items[--heap->len];
	while ((child = at * 2 + 1) < heap->len) {
		if (child + 1 < heap->len && newer(heap, child + 1, child))
			child++;
		if (!newer(heap, child, at))
			break;
		heap_swap(heap, at, child);
		at = child;
	}
}

static void add_range(struct jitmap *map, uint64_t start, uint64_t end, uint32_t entry)
{
	struct range *last = map->range_count ? &map->ranges[map->range_count - 1] : NULL;

	if (last && last->entry == entry && last->end == start)
		last->end = end;
	else
		map->ranges[map->range_count++] = (struct range){ start, end, entry };
}

static void sweep(struct jitmap *map, struct heap *heap)
{
	uint64_t at = 0;
	size_t next = 0;

	while (next < map->count || heap->len) {
		const struct entry *top;
		uint64_t end;

		if (!heap->len && at < map->entries[next].start)
			at = map->entries[next].start;
		for (; next < map->count && map->entries[next].start <= at; next++)
			heap_push(heap, (uint32_t)next);
		while (heap->len && map->entries[heap->items[0]].end <= at)
			heap_pop(heap);
		if (!heap->len)
			continue;
		top = &map->entries[heap->items[0]];
		end = next < map->count && map->entries[next].start < top->end ? map->entries[next].start : top->end;
		add_range(map, at, end, heap->items[0]);
		at = end;
	}
}

/* Gives back what growing has left over. */
static void trim(struct jitmap *map)
{
	struct range *ranges = realloc(map->ranges, map->range_count * sizeof(*ranges));
	struct entry *entries = realloc(map->entries, map->count * sizeof(*entries));
	char *names = realloc(map->names.data, map->names.len + 1);

	map->ranges = ranges ? ranges : map->ranges;
	map->entries = entries ? entries : map->entries;
	map->names.data = names ? names : map->names.data;
	map->cap = entries ? map->count : map->cap;
	map->names.cap = names ? map->names.len + 1 : map->names.cap;
}

static int make_ranges(struct jitmap *map)
{
	struct heap heap = { 0 };

	if (!map->count)
		return 0;
	qsort(map->entries, map->count, sizeof(*map->entries), by_start);
	heap.entries = map->entries;
	heap.items = malloc(map->count * sizeof(*heap.items));
	map->ranges = malloc(map->count * 2 * sizeof(*map->ranges));
	if (!heap.items || !map->ranges) {
		free(heap.items);
		return -ENOMEM;
	}
	sweep(map, &heap);
	free(heap.items);
	trim(map);
	return 0;
}

/* ---- */

static int read_all(struct jitmap **ret, struct source *source)
{
	struct jitmap *map = calloc(1, sizeof(*map));
	const char *bytes;
	ssize_t got;
	int err;

	if (!map)
		return -ENOMEM;
	got = source_at(source, 0, 4, &bytes);
	if (got < 0)
		err = (int)got;
	else if (got == 4 && u32_at(bytes) == DUMP_MAGIC)
		err = read_dump(map, source);
	else if (got == 4 && u32_at(bytes) == DUMP_MAGIC_SWAPPED)
		err = -EBADMSG;
	else
		err = source->size > FILE_MAX ? -EFBIG : read_lines(map, source);
	err = err ? err : make_ranges(map);
	if (err) {
		jitmap_free(map);
		return err;
	}
	*ret = map;
	return 0;
}

int jitmap_open(struct jitmap **ret, int fd)
{
	struct source source = { .fd = fd };
	struct stat stat;
	int err;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EBADMSG;
	if ((uint64_t)stat.st_size > DUMP_MAX)
		return -EFBIG;
	source.size = (uint64_t)stat.st_size;
	source.window = malloc(WINDOW);
	if (!source.window)
		return -ENOMEM;
	err = read_all(ret, &source);
	free(source.window);
	return err;
}

int jitmap_from_memory(struct jitmap **ret, const void *data, size_t len)
{
	struct source source = { .fd = -1, .data = data, .size = len };

	return read_all(ret, &source);
}

void jitmap_free(struct jitmap *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map->ranges);
	buf_free(&map->names);
	free(map);
}

bool jitmap_find(const struct jitmap *map, uint64_t address, const char **ret_name, size_t *ret_len,
		 uint64_t *ret_start)
{
	size_t low = 0, high = map->range_count;
	const struct entry *entry;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == map->range_count || map->ranges[low].start > address)
		return false;
	entry = &map->entries[map->ranges[low].entry];
	*ret_name = map->names.data + entry->name;
	*ret_len = entry->len;
	*ret_start = entry->start;
	return true;
}

size_t jitmap_memory(const struct jitmap *map)
{
	return sizeof(*map) + map->cap * sizeof(*map->entries) + map->range_count * sizeof(*map->ranges) +
	       map->names.cap;
}
