/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from 64-bit keys to 64-bit values, open addressing. Keys are mixed inside. {0} is an empty map. */
#ifndef WICK_BASE_MAP_H
#define WICK_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t cap; /* power of two, or 0 */
	size_t len;
};

void map_free(struct map *map);
/* The value's place, or NULL. Valid until the next map_put or map_remove. */
uint64_t *map_get(const struct map *map, uint64_t key);
/* The value's place, made with 0 if it was not there; NULL if memory is out. */
uint64_t *map_put(struct map *map, uint64_t key);
bool map_remove(struct map *map, uint64_t key);
/* Walks in no order: start with *at = 0, until it returns NULL. */
const struct map_slot *map_next(const struct map *map, size_t *at);
size_t map_bytes(const struct map *map);

#endif
