/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table that holds numbers of records, not the records: whoever owns them compares them. {0} is an empty one.
 * Eight bytes a slot, a part of the hash in it, so that looking for what is not there rarely touches a record.
 *
 *   at = index_start(&index, hash);
 *   while ((number = index_next(&index, hash, &at)))
 *           if (records[number] is the one)
 *                   return number;
 *   err = index_add(&index, hash, new_number);
 */
#ifndef WICK_BASE_INDEX_H
#define WICK_BASE_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint32_t hash;
	uint32_t number; /* 0: free */
};

struct index {
	struct index_slot *slots; /* cap, and the first few again behind them */
	size_t cap;               /* not more than there are hashes */
	size_t len;
};

void index_free(struct index *index);
/* Of a number that is not 0 and not in it. 0 or -ENOMEM, then nothing has changed. */
int index_add(struct index *index, uint32_t hash, uint32_t number);
size_t index_bytes(const struct index *index);
/* Room for so many in all, so that it need not grow on the way there; as far as there is memory. */
void index_reserve(struct index *index, size_t len);
/* Asks for large pages under large memory that is read here and there: most of such reads' time is finding the page. */
void index_large_pages(void *memory, size_t bytes);
/* Random numbers to key hashes with, so that nobody can choose keys that collide. */
void index_seed(uint64_t seed[2]);
uint32_t index_hash_bytes(const uint64_t seed[2], const void *bytes, size_t len);

static inline size_t index_start(const struct index *index, uint32_t hash)
{
	return (size_t)((uint64_t)hash * index->cap >> 32);
}

#define INDEX_STEP 4 /* slots that are looked at together */

/*
 * The next number under this hash; 0 when there is no more. At least a quarter of the slots is free. How far it is
 * cannot be foreseen, so a few are looked at without a branch for each; behind a free one there is none of that hash.
 */
static inline uint32_t index_next(const struct index *index, uint32_t hash, size_t *at)
{
	if (!index->cap)
		return 0;
	for (;;) {
		const struct index_slot *slot = &index->slots[*at];
		unsigned same = (slot[0].hash == hash) | (slot[1].hash == hash) << 1 | (slot[2].hash == hash) << 2 |
				(slot[3].hash == hash) << 3;
		unsigned step = (unsigned)__builtin_ctz(same | 1u << INDEX_STEP);

		*at += same ? step + 1 : INDEX_STEP;
		*at = *at < index->cap ? *at : *at - index->cap;
		if (same)
			return slot[step].number;
		if (!slot[0].number | !slot[1].number | !slot[2].number | !slot[3].number)
			return 0;
	}
}

/* Begins to fetch where a search would begin. */
static inline void index_fetch(const struct index *index, uint32_t hash)
{
	if (index->cap)
		__builtin_prefetch(&index->slots[index_start(index, hash)]);
}

/* A hash of 64 bits, mixed well, to one for the table. */
static inline uint32_t index_hash(uint64_t mixed)
{
	return (uint32_t)(mixed >> 32);
}

/* Two words to one, for keys: both halves of a product depend on all bits of the factors. */
static inline uint64_t index_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
