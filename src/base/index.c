/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing over slots of (hash, number). In: hashes, of which nothing is expected but that they differ where
 * keys do; numbers of somebody's records. Invariant: a number lies between the place its hash begins at and the next
 * free slot, without a gap. Places are in the order of hashes, so growing reads the slots alone, and goes through both
 * tables from one end to the other.
 */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define FIRST_CAP 16
#define CAP_MAX ((size_t)1 << 32)
#define LARGE_PAGE ((uintptr_t)2 << 20)

void index_free(struct index *index)
{
	if (!index)
		return;
	free(index->slots);
	*index = (struct index){ 0 };
}

static void put(struct index *index, struct index_slot slot)
{
	size_t at = index_start(index, slot.hash);

	while (index->slots[at].number)
		at = at + 1 < index->cap ? at + 1 : 0;
	index->slots[at] = slot;
	if (at < INDEX_STEP - 1)
		index->slots[index->cap + at] = slot;
}

static int grow(struct index *index, size_t cap)
{
	struct index bigger = { .cap = cap, .len = index->len };

	if (cap > CAP_MAX)
		return -ENOMEM;
	bigger.slots = calloc(bigger.cap + INDEX_STEP - 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	index_large_pages(bigger.slots, bigger.cap * sizeof(*bigger.slots));
	for (size_t i = 0; i < index->cap; i++)
		if (index->slots[i].number)
			put(&bigger, index->slots[i]);
	free(index->slots);
	*index = bigger;
	return 0;
}

int index_add(struct index *index, uint32_t hash, uint32_t number)
{
	if (index->len >= index->cap / 4 * 3) {
		int err = grow(index, index->cap ? index->cap * 2 : FIRST_CAP);

		if (err)
			return err;
	}
	put(index, (struct index_slot){ hash, number });
	index->len++;
	return 0;
}

void index_reserve(struct index *index, size_t len)
{
	size_t cap = len < CAP_MAX / 2 ? len / 3 * 4 + FIRST_CAP : 0;

	if (cap > index->cap)
		grow(index, cap); /* if it cannot be, index_add tries again when it must be */
}

size_t index_bytes(const struct index *index)
{
	return index->cap * sizeof(*index->slots);
}

void index_large_pages(void *memory, size_t bytes)
{
	uintptr_t from = ((uintptr_t)memory + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	uintptr_t to = ((uintptr_t)memory + bytes) & ~(LARGE_PAGE - 1);

	if (bytes >= 2 * LARGE_PAGE && from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE); /* a wish: without it, it is only slower */
}

void index_seed(uint64_t seed[2])
{
	const size_t len = 2 * sizeof(*seed);

	/* Early in boot there may be no randomness yet: then an address, which ASLR at least varies. */
	if (getrandom(seed, len, GRND_NONBLOCK) != (ssize_t)len) {
		seed[0] = (uintptr_t)seed;
		seed[1] = seed[0] * 0x9e3779b97f4a7c15ULL | 1;
	}
}

/* Both factors of each product hold a part of the seed: no run can make one of them 0 but by chance. */
uint32_t index_hash_bytes(const uint64_t seed[2], const void *bytes, size_t len)
{
	const char *data = bytes;
	uint64_t hash = seed[0] ^ len * 0x9e3779b97f4a7c15ULL, words[2];

	for (; len > sizeof(words); data += sizeof(words), len -= sizeof(words)) {
		memcpy(words, data, sizeof(words));
		hash = index_mix(words[0] ^ hash, words[1] ^ seed[1]);
	}
	words[0] = words[1] = 0;
	if (len >= sizeof(*words)) { /* two that overlap */
		memcpy(&words[0], data, sizeof(*words));
		memcpy(&words[1], data + len - sizeof(*words), sizeof(*words));
	} else if (len >= 4) {
		memcpy(&words[0], data, 4);
		memcpy(&words[1], data + len - 4, 4);
	} else if (len) {
		words[0] = (uint64_t)(unsigned char)data[0] << 16 | (uint64_t)(unsigned char)data[len / 2] << 8 |
			   (unsigned char)data[len - 1];
	}
	hash = index_mix(words[0] ^ hash, words[1] ^ seed[1]);
	return index_hash(index_mix(hash ^ seed[0], 0x9e3779b97f4a7c15ULL));
}
