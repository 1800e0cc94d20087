/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of numbers: what was put is found, what was removed is not, whatever the order and the keys. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

static void test_empty(void **state)
{
	struct map map = { 0 };
	size_t at = 0;

	(void)state;
	assert_null(map_get(&map, 0));
	assert_false(map_remove(&map, 0));
	assert_null(map_next(&map, &at));
	assert_int_equal(map_bytes(&map), 0);
	map_free(&map);
	map_free(NULL);
}

static void test_new_value_is_zero(void **state)
{
	struct map map = { 0 };
	uint64_t *value = map_put(&map, 7);

	(void)state;
	assert_int_equal(*value, 0);
	*value = 5;
	assert_int_equal(*map_put(&map, 7), 5);
	assert_int_equal(map.len, 1);
	assert_true(map_remove(&map, 7));
	assert_int_equal(*map_put(&map, 7), 0);
	map_free(&map);
}

static void test_extreme_keys(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT32_MAX, 1ULL << 63, UINT64_MAX };
	struct map map = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		*map_put(&map, keys[i]) = ~keys[i];
	assert_int_equal(map.len, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(*map_get(&map, keys[i]), ~keys[i]);
	map_free(&map);
}

/* Page-aligned addresses differ only in bits that a plain mask would drop. */
static size_t longest_run(const struct map *map)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i < map->cap; i++) {
		run = map->slots[i].used ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void test_aligned_keys_spread(void **state)
{
	struct map map = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		*map_put(&map, i << 44) = i;
	assert_true(longest_run(&map) < 200);
	assert_true(map.len * 10 <= map.cap * 7);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(*map_get(&map, i << 44), i);
	map_free(&map);
}

/* Against an array that cannot be wrong: few keys, so that probe runs collide, wrap around and break. */
static void test_random_against_array(void **state)
{
	enum { KEYS = 400 };
	uint64_t values[KEYS] = { 0 };
	bool there[KEYS] = { false };
	struct map map = { 0 };
	size_t len = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 200000; i++) {
		unsigned key = (unsigned)rand() % KEYS;
		/* Swings between nearly full and nearly empty. */
		bool put = rand() % 100 < (i / 20000 % 2 ? 30 : 70);

		if (put) {
			len += !there[key];
			there[key] = true;
			values[key] = (uint64_t)i;
			*map_put(&map, key) = (uint64_t)i;
		} else {
			assert_int_equal(map_remove(&map, key), there[key]);
			len -= there[key];
			there[key] = false;
		}
		assert_int_equal(map.len, len);
		if (i % 100)
			continue;
		for (unsigned k = 0; k < KEYS; k++) {
			const uint64_t *value = map_get(&map, k);

			assert_int_equal(value != NULL, there[k]);
			assert_true(!value || *value == values[k]);
		}
	}
	map_free(&map);
}

static void test_walk_meets_each_once(void **state)
{
	struct map map = { 0 };
	const struct map_slot *slot;
	bool seen[1000] = { false };
	size_t at = 0, count = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		*map_put(&map, i) = i * 3;
	while ((slot = map_next(&map, &at))) {
		assert_true(slot->key < 1000 && !seen[slot->key]);
		assert_int_equal(slot->value, slot->key * 3);
		seen[slot->key] = true;
		count++;
	}
	assert_int_equal(count, 1000);
	assert_null(map_next(&map, &at));
	map_free(&map);
}

static void test_churn_does_not_grow(void **state)
{
	struct map map = { 0 };
	size_t bytes;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		map_put(&map, i);
	bytes = map_bytes(&map);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(map_remove(&map, i));
		assert_non_null(map_put(&map, i + 100));
	}
	assert_int_equal(map_bytes(&map), bytes);
	map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_new_value_is_zero),
		cmocka_unit_test(test_extreme_keys),
		cmocka_unit_test(test_aligned_keys_spread),
		cmocka_unit_test(test_random_against_array),
		cmocka_unit_test(test_walk_meets_each_once),
		cmocka_unit_test(test_churn_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
