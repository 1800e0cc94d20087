/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by hash: all are found again, also many under one hash, and nothing else is. */
#include "base/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static size_t count_of(const struct index *index, uint32_t hash, uint32_t wanted)
{
	size_t at = index_start(index, hash), found = 0;
	uint32_t number;

	while ((number = index_next(index, hash, &at)))
		found += number == wanted;
	return found;
}

static void test_empty(void **state)
{
	struct index index = { 0 };

	(void)state;
	assert_int_equal(count_of(&index, 7, 1), 0);
	index_fetch(&index, 7);
	assert_int_equal(index_bytes(&index), 0);
	index_free(&index);
	index_free(NULL);
}

static void test_all_are_found(void **state)
{
	struct index index = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 100000; i++)
		assert_int_equal(index_add(&index, index_hash(index_mix(i, 0x9e3779b97f4a7c15ULL)), i), 0);
	for (uint32_t i = 1; i <= 100000; i++)
		assert_int_equal(count_of(&index, index_hash(index_mix(i, 0x9e3779b97f4a7c15ULL)), i), 1);
	assert_int_equal(count_of(&index, index_hash(index_mix(5, 0x9e3779b97f4a7c15ULL)), 6), 0);
	assert_true(index_bytes(&index) <= 100000 * sizeof(struct index_slot) * 8 / 3);
	index_free(&index);
}

static void test_room_is_made_once(void **state)
{
	struct index index = { 0 };
	size_t bytes;

	(void)state;
	index_add(&index, 5, 1);
	index_reserve(&index, 1000);
	bytes = index_bytes(&index);
	assert_true(bytes <= 1400 * sizeof(struct index_slot));
	for (uint32_t i = 2; i <= 1000; i++)
		assert_int_equal(index_add(&index, i * 0x9e3779b9u, i), 0);
	assert_int_equal(index_bytes(&index), bytes);
	index_reserve(&index, 10);
	assert_int_equal(index_bytes(&index), bytes);
	assert_int_equal(count_of(&index, 5, 1), 1);
	for (uint32_t i = 2; i <= 1000; i++)
		assert_int_equal(count_of(&index, i * 0x9e3779b9u, i), 1);
	index_free(&index);
}

/* Also at the end of the table, where a search goes on at its beginning. */
static void test_one_hash(void **state)
{
	const uint32_t hashes[] = { 0, 1, UINT32_MAX };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct index index = { 0 };

		for (uint32_t i = 1; i <= 1000; i++)
			assert_int_equal(index_add(&index, hashes[k], i), 0);
		for (uint32_t i = 1; i <= 1000; i++)
			assert_int_equal(count_of(&index, hashes[k], i), 1);
		assert_int_equal(count_of(&index, hashes[k] ^ 2, 1), 0);
		index_free(&index);
	}
}

static void test_seeds_differ(void **state)
{
	uint64_t one[2], two[2];

	(void)state;
	index_seed(one);
	index_seed(two);
	assert_true(one[0] != two[0] || one[1] != two[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_all_are_found),
		cmocka_unit_test(test_room_is_made_once),
		cmocka_unit_test(test_one_hash),
		cmocka_unit_test(test_seeds_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
