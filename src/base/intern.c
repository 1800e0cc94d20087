/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned runs of bytes. In: runs from targets, any content. Out: dense numbers in order of arrival. The bytes lie in
 * chunks that never move, so a pointer from intern_get stays good until intern_free. The hash is keyed at random per
 * table: names chosen by a target cannot be made to collide. If memory runs out, nothing has changed.
 */
#include "base/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"

#define FIRST_CHUNK 4096
#define LARGEST_CHUNK 65536 /* a longer run gets a chunk of its own */
#define FIRST_ENTRIES 32

struct chunk {
	struct chunk *next;
	size_t used;
	size_t cap;
	char data[];
};

struct entry {
	const char *data;
	size_t len;
};

struct intern {
	struct chunk *chunks; /* the first is the one being filled */
	struct entry *entries;
	struct index index;
	size_t entry_cap;
	uint32_t count;
	uint64_t seed[2];
	size_t chunk_bytes;
};

int intern_new(struct intern **ret)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->entries = calloc(FIRST_ENTRIES, sizeof(*intern->entries));
	if (!intern->entries) {
		intern_free(intern);
		return -ENOMEM;
	}
	intern->entry_cap = FIRST_ENTRIES;
	intern->entries[0].data = "";
	intern->count = 1;
	index_seed(intern->seed);
	*ret = intern;
	return 0;
}

void intern_free(struct intern *intern)
{
	if (!intern)
		return;
	while (intern->chunks) {
		struct chunk *next = intern->chunks->next;

		free(intern->chunks);
		intern->chunks = next;
	}
	free(intern->entries);
	index_free(&intern->index);
	free(intern);
}

static uint32_t find(const struct intern *intern, uint32_t hash, const char *data, size_t len)
{
	size_t at = index_start(&intern->index, hash);
	uint32_t number;

	while ((number = index_next(&intern->index, hash, &at))) {
		const struct entry *entry = &intern->entries[number];

		if (entry->len == len && !memcmp(entry->data, data, len))
			break;
	}
	return number;
}

static int grow_entries(struct intern *intern)
{
	struct entry *entries;
	size_t cap, bytes;

	if (__builtin_mul_overflow(intern->entry_cap, 2, &cap) || __builtin_mul_overflow(cap, sizeof(*entries), &bytes))
		return -ENOMEM;
	entries = realloc(intern->entries, bytes);
	if (!entries)
		return -ENOMEM;
	intern->entries = entries;
	intern->entry_cap = cap;
	return 0;
}

/* A new chunk for at least `need` bytes. One made for a single long run goes behind the one being filled. */
static struct chunk *add_chunk(struct intern *intern, size_t need)
{
	size_t cap = intern->chunks ? intern->chunks->cap * 2 : FIRST_CHUNK;
	bool alone = need > LARGEST_CHUNK;
	struct chunk *chunk;
	size_t bytes;

	if (cap > LARGEST_CHUNK)
		cap = LARGEST_CHUNK;
	if (cap < need)
		cap = need;
	if (__builtin_add_overflow(cap, sizeof(*chunk), &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	chunk = malloc(bytes);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){ .cap = cap };
	if (alone && intern->chunks) {
		chunk->next = intern->chunks->next;
		intern->chunks->next = chunk;
	} else {
		chunk->next = intern->chunks;
		intern->chunks = chunk;
	}
	intern->chunk_bytes += bytes;
	return chunk;
}

static const char *copy_in(struct intern *intern, const char *data, size_t len)
{
	struct chunk *chunk = intern->chunks;
	size_t need;
	char *copy;

	if (__builtin_add_overflow(len, 1, &need))
		return NULL;
	if (!chunk || chunk->cap - chunk->used < need)
		chunk = add_chunk(intern, need);
	if (!chunk)
		return NULL;
	copy = chunk->data + chunk->used;
	memcpy(copy, data, len);
	copy[len] = '\0';
	chunk->used += need;
	return copy;
}

uint32_t intern_bytes(struct intern *intern, const void *data, size_t len)
{
	struct entry entry = { .len = len };
	uint32_t hash, number;

	if (!len)
		return 0;
	if (len >= PTRDIFF_MAX)
		return UINT32_MAX;
	hash = index_hash_bytes(intern->seed, data, len);
	number = find(intern, hash, data, len);
	if (number)
		return number;

	if (intern->count == UINT32_MAX)
		return UINT32_MAX;
	if (intern->count == intern->entry_cap && grow_entries(intern))
		return UINT32_MAX;
	entry.data = copy_in(intern, data, len);
	if (!entry.data || index_add(&intern->index, hash, intern->count))
		return UINT32_MAX;
	intern->entries[intern->count] = entry;
	return intern->count++;
}

uint32_t intern_text(struct intern *intern, const char *text)
{
	return intern_bytes(intern, text, strlen(text));
}

const char *intern_get(const struct intern *intern, uint32_t number, size_t *ret_len)
{
	const struct entry *entry = &intern->entries[number < intern->count ? number : 0];

	if (ret_len)
		*ret_len = entry->len;
	return entry->data;
}

uint32_t intern_count(const struct intern *intern)
{
	return intern->count;
}

size_t intern_memory(const struct intern *intern)
{
	return sizeof(*intern) + intern->chunk_bytes + intern->entry_cap * sizeof(*intern->entries) +
	       index_bytes(&intern->index);
}
