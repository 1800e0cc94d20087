/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map of 64-bit numbers by linear probing. In: any keys, 0 included. Invariant: every key lies between its own
 * place and the next free slot, without a gap; removal shifts back what follows, so that there are no tombstones and a
 * map that is filled and emptied for days stays as fast as a new one. At most 70 % of the slots are used.
 */
#include "base/map.h"

#include <stdlib.h>

#define SMALLEST_CAP 16

void map_free(struct map *map)
{
	if (!map)
		return;
	free(map->slots);
	*map = (struct map){ 0 };
}

/* splitmix64's finalizer: keys are often addresses or small numbers, whose low bits say little. */
static uint64_t mix(uint64_t key)
{
	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ULL;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebULL;
	return key ^ (key >> 31);
}

/* The slot of the key, or the free one where it would go. There always is a free one. */
static size_t find(const struct map *map, uint64_t key)
{
	size_t at = mix(key) & (map->cap - 1);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->cap - 1);
	return at;
}

static bool grow(struct map *map)
{
	struct map bigger = { .cap = map->cap ? map->cap * 2 : SMALLEST_CAP, .len = map->len };

	if (map->cap > SIZE_MAX / 2 / sizeof(*bigger.slots))
		return false;
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].used)
			bigger.slots[find(&bigger, map->slots[i].key)] = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return true;
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
	size_t at;

	if (!map->len)
		return NULL;
	at = find(map, key);
	return map->slots[at].used ? &map->slots[at].value : NULL;
}

uint64_t *map_put(struct map *map, uint64_t key)
{
	uint64_t *there = map_get(map, key);
	size_t at;

	if (there)
		return there;
	/* Cannot overflow: slots of 24 bytes keep cap below SIZE_MAX / 7. */
	if (map->len + 1 > map->cap * 7 / 10 && !grow(map))
		return NULL;
	at = find(map, key);
	map->slots[at] = (struct map_slot){ .key = key, .used = true };
	map->len++;
	return &map->slots[at].value;
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t mask = map->cap - 1;
	size_t hole, at;

	if (!map_get(map, key))
		return false;
	hole = find(map, key);
	for (at = (hole + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		size_t home = mix(map->slots[at].key) & mask;

		/* Moves only what would otherwise be cut off: what began its search at or before the hole. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole] = (struct map_slot){ 0 };
	map->len--;
	return true;
}

const struct map_slot *map_next(const struct map *map, size_t *at)
{
	while (*at < map->cap) {
		const struct map_slot *slot = &map->slots[(*at)++];

		if (slot->used)
			return slot;
	}
	return NULL;
}

size_t map_bytes(const struct map *map)
{
	return map->cap * sizeof(*map->slots);
}
