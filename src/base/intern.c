/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned runs of bytes. In: runs from targets, any content. Out: dense numbers in order of arrival. The bytes lie in
 * chunks that never move, so a pointer from intern_get stays good until intern_free; the hash table holds numbers only,
 * 0 (the empty run, which is never looked up) marking a free slot. The hash is keyed at random per table: names chosen
 * by a target cannot be made to collide. If memory runs out, nothing has changed.
 */
#include "base/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_CHUNK 4096
#define LARGEST_CHUNK 65536 /* a longer run gets a chunk of its own */
#define FIRST_SLOTS 64
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
	uint64_t hash;
};

struct intern {
	struct chunk *chunks; /* the first is the one being filled */
	struct entry *entries;
	uint32_t *slots;
	size_t entry_cap;
	size_t slot_cap; /* power of two */
	uint32_t count;
	uint64_t seed;
	size_t chunk_bytes;
};

int intern_new(struct intern **ret)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->entries = calloc(FIRST_ENTRIES, sizeof(*intern->entries));
	intern->slots = calloc(FIRST_SLOTS, sizeof(*intern->slots));
	if (!intern->entries || !intern->slots) {
		intern_free(intern);
		return -ENOMEM;
	}
	intern->entry_cap = FIRST_ENTRIES;
	intern->slot_cap = FIRST_SLOTS;
	intern->entries[0].data = "";
	intern->count = 1;
	/* Early in boot there may be no randomness yet: then an address, which ASLR at least varies. */
	if (getrandom(&intern->seed, sizeof(intern->seed), GRND_NONBLOCK) != (ssize_t)sizeof(intern->seed))
		intern->seed = (uintptr_t)intern;
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
	free(intern->slots);
	free(intern);
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

static uint64_t hash_bytes(uint64_t seed, const char *data, size_t len)
{
	uint64_t hash = mix(seed ^ len);
	uint64_t word;

	for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		hash = mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, data, len);
	return mix(hash ^ word);
}

/* The slot that holds the run, or the free one where it would go. At least a quarter is free. */
static size_t find_slot(const struct intern *intern, uint64_t hash, const char *data, size_t len)
{
	size_t at = hash & (intern->slot_cap - 1);

	while (intern->slots[at]) {
		const struct entry *entry = &intern->entries[intern->slots[at]];

		if (entry->hash == hash && entry->len == len && !memcmp(entry->data, data, len))
			break;
		at = (at + 1) & (intern->slot_cap - 1);
	}
	return at;
}

static int grow_slots(struct intern *intern)
{
	size_t cap = intern->slot_cap * 2;
	uint32_t *slots;

	if (intern->slot_cap > SIZE_MAX / 2)
		return -ENOMEM;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t number = 1; number < intern->count; number++) {
		size_t at = intern->entries[number].hash & (cap - 1);

		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = number;
	}
	free(intern->slots);
	intern->slots = slots;
	intern->slot_cap = cap;
	return 0;
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
	size_t slot;

	if (!len)
		return 0;
	if (len >= PTRDIFF_MAX)
		return UINT32_MAX;
	entry.hash = hash_bytes(intern->seed, data, len);
	slot = find_slot(intern, entry.hash, data, len);
	if (intern->slots[slot])
		return intern->slots[slot];

	if (intern->count == UINT32_MAX)
		return UINT32_MAX;
	if (intern->count == intern->entry_cap && grow_entries(intern))
		return UINT32_MAX;
	if (intern->count >= intern->slot_cap / 4 * 3) {
		if (grow_slots(intern))
			return UINT32_MAX;
		slot = find_slot(intern, entry.hash, data, len);
	}
	entry.data = copy_in(intern, data, len);
	if (!entry.data)
		return UINT32_MAX;
	intern->entries[intern->count] = entry;
	intern->slots[slot] = intern->count;
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
	       intern->slot_cap * sizeof(*intern->slots);
}
