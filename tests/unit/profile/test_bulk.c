/* SPDX-License-Identifier: Apache-2.0 */
/* Samples added in bulk are those that would have been added one by one, however the stacks share their beginnings. */
#include "profile/bulk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"

#define DEEP 40000

static uint32_t frame_of(struct profile *profile, unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "f%u", number);
	return profile_add_frame(profile, &(struct profile_frame){ .name = profile_string(profile, name) });
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	autobuf struct buf left = { 0 }, right = { 0 };

	assert_int_equal(out_folded(a, &left), 0);
	assert_int_equal(out_folded(b, &right), 0);
	assert_string_equal(left.data, right.data);
	assert_int_equal(profile_count(a, PROFILE_NODES), profile_count(b, PROFILE_NODES));
	assert_int_equal(profile_count(a, PROFILE_SAMPLES), profile_count(b, PROFILE_SAMPLES));
}

/* Many more than one batch, in stacks that share more or less with the one before. */
static void test_as_one_by_one(void **state)
{
	struct profile *one, *many;
	struct bulk *bulk;
	uint32_t stack[32];
	unsigned before = 0;

	(void)state;
	assert_int_equal(profile_new(&one), 0);
	assert_int_equal(profile_new(&many), 0);
	assert_int_equal(bulk_new(&bulk, many), 0);
	for (unsigned i = 0; i < 5000; i++) {
		unsigned depth = i * 7 % 23, shared = i * 5 % 11;
		struct profile_sample sample = { .value = 1 + i % 3, .tid = i % 2 };

		shared = shared < before ? shared : before;
		shared = shared < depth ? shared : depth;
		assert_int_equal(bulk_begin(bulk, shared), 0);
		for (unsigned k = shared; k < depth; k++) {
			stack[k] = frame_of(one, i * k % 13);
			assert_int_equal(bulk_frame(bulk, frame_of(many, i * k % 13)), 0);
		}
		assert_int_equal(bulk_end(bulk, &sample), 0);
		for (unsigned k = 0; k < depth; k++)
			sample.stack = profile_add_node(one, sample.stack, stack[k]);
		profile_add_sample(one, &sample);
		before = depth;
	}
	assert_int_equal(bulk_flush(bulk), 0);
	assert_same(one, many);
	bulk_free(bulk);
	profile_free(one);
	profile_free(many);
}

struct told {
	uint32_t numbers[1000];
	size_t len;
};

static int tell(void *context, const uint32_t *samples, size_t len)
{
	struct told *told = context;

	assert_true(len <= BULK_MOST && told->len + len <= 1000);
	for (size_t i = 0; i < len; i++)
		told->numbers[told->len++] = samples[i];
	return told->len < 900 ? 0 : -ERANGE;
}

static void test_numbers_are_told(void **state)
{
	struct told told = { 0 };
	struct profile *profile;
	struct bulk *bulk;
	int err = 0;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	assert_int_equal(bulk_new(&bulk, profile), 0);
	bulk_tell(bulk, tell, &told);
	for (unsigned i = 0; i < 1000 && !err; i++) {
		assert_int_equal(bulk_begin(bulk, 0), 0);
		assert_int_equal(bulk_frame(bulk, frame_of(profile, i % 7)), 0);
		err = bulk_end(bulk, &(struct profile_sample){ .value = 1 });
	}
	assert_int_equal(bulk_flush(bulk), -ERANGE);
	assert_int_equal(told.len, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(told.numbers[i], 1 + i % 7);
	bulk_free(bulk);
	profile_free(profile);
}

static void test_deep_stacks(void **state)
{
	struct profile *profile;
	struct bulk *bulk;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	assert_int_equal(bulk_new(&bulk, profile), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(bulk_begin(bulk, round ? DEEP - 1 : 0), 0);
		for (int k = round ? DEEP - 1 : 0; k < DEEP; k++)
			assert_int_equal(bulk_frame(bulk, frame_of(profile, k % 2)), 0);
		assert_int_equal(bulk_end(bulk, &(struct profile_sample){ .value = 1 }), 0);
	}
	assert_int_equal(bulk_flush(bulk), 0);
	assert_int_equal(profile_count(profile, PROFILE_NODES), DEEP + 1);
	assert_int_equal(profile_sample(profile, 1)->value, 3);
	bulk_free(bulk);
	profile_free(profile);
}

static void test_what_cannot_be(void **state)
{
	struct profile *profile;
	struct bulk *bulk;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	assert_int_equal(bulk_new(&bulk, profile), 0);
	assert_int_equal(bulk_begin(bulk, 1), -EINVAL); /* there is nothing to share with */
	assert_int_equal(bulk_begin(bulk, 0), 0);
	assert_int_equal(bulk_frame(bulk, PROFILE_FULL), 0);
	assert_int_equal(bulk_end(bulk, &(struct profile_sample){ .value = 1 }), 0);
	assert_int_equal(bulk_flush(bulk), -ENOMEM);
	bulk_free(bulk);
	bulk_free(NULL);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_one_by_one),
		cmocka_unit_test(test_numbers_are_told),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
