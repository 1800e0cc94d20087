/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that grow, numbers that come back as they went in, and cursors that stop at the end of hostile bytes. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

static void test_empty(void **state)
{
	struct buf buf = { 0 };

	(void)state;
	assert_int_equal(buf_error(&buf), 0);
	buf_clear(&buf);
	buf_add(&buf, NULL, 0);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf.data, "");
	buf_free(&buf);
	assert_null(buf.data);
	buf_free(&buf);
	buf_free(NULL);
}

static void test_everything_arrives(void **state)
{
	autobuf struct buf buf = { 0 };

	(void)state;
	buf_adds(&buf, "one");
	buf_addc(&buf, ' ');
	buf_addf(&buf, "%d-%s", 2, "two");
	buf_add(&buf, "\0x", 2);
	assert_int_equal(buf.len, 11);
	assert_memory_equal(buf.data, "one 2-two\0x", 12);
}

static void test_grows_far(void **state)
{
	autobuf struct buf buf = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_addf(&buf, "%05d,", i);
	assert_int_equal(buf_error(&buf), 0);
	assert_int_equal(buf.len, 600000);
	assert_string_equal(buf.data + 599994, "99999,");
	assert_memory_equal(buf.data + 6 * 4711, "04711,", 6);
}

static void test_clear_keeps_memory(void **state)
{
	autobuf struct buf buf = { 0 };
	size_t cap;

	(void)state;
	buf_adds(&buf, "something");
	cap = buf.cap;
	buf_clear(&buf);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.cap, cap);
	buf_adds(&buf, "else");
	assert_string_equal(buf.data, "else");
}

static void check_refused(size_t len)
{
	autobuf struct buf buf = { 0 };

	buf_adds(&buf, "kept");
	buf_add(&buf, "x", len);
	assert_int_equal(buf_error(&buf), -ENOMEM);
	assert_string_equal(buf.data, "kept");
	buf_adds(&buf, "not added after a gap");
	buf_addf(&buf, "%d", 1);
	assert_string_equal(buf.data, "kept");
	buf_clear(&buf);
	assert_int_equal(buf_error(&buf), -ENOMEM);
}

static void test_impossible_sizes(void **state)
{
	(void)state;
	check_refused(SIZE_MAX);
	check_refused(SIZE_MAX - 4);
	check_refused(PTRDIFF_MAX);
}

static void test_little_endian(void **state)
{
	autobuf struct buf buf = { 0 };

	(void)state;
	buf_u32(&buf, 0x04030201);
	buf_u64(&buf, 0x0807060504030201);
	assert_int_equal(buf.len, 12);
	assert_memory_equal(buf.data, "\x01\x02\x03\x04\x01\x02\x03\x04\x05\x06\x07\x08", 12);
}

static void test_numbers_come_back(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ULL << 63, UINT64_MAX };
	autobuf struct buf buf = { 0 };
	struct cursor cursor;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		buf_varint(&buf, numbers[i]);
		buf_u64(&buf, numbers[i]);
		buf_u32(&buf, (uint32_t)numbers[i]);
	}
	cursor = cursor_of(buf.data, buf.len);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(cursor_varint(&cursor), numbers[i]);
		assert_int_equal(cursor_u64(&cursor), numbers[i]);
		assert_int_equal(cursor_u32(&cursor), (uint32_t)numbers[i]);
	}
	assert_int_equal(cursor_left(&cursor), 0);
	assert_false(cursor.bad);
}

static void test_varint_is_leb128(void **state)
{
	autobuf struct buf buf = { 0 };

	(void)state;
	buf_varint(&buf, 300);
	assert_int_equal(buf.len, 2);
	assert_memory_equal(buf.data, "\xac\x02", 2);
}

static void test_short_reads_fail(void **state)
{
	static const char bytes[7] = { 1, 2, 3, 4, 5, 6, 7 };
	struct cursor cursor = cursor_of(bytes, 3);

	(void)state;
	assert_int_equal(cursor_u32(&cursor), 0);
	assert_true(cursor.bad);
	cursor = cursor_of(bytes, 7);
	assert_int_equal(cursor_u64(&cursor), 0);
	assert_true(cursor.bad);
	cursor = cursor_of(bytes, 7);
	assert_null(cursor_bytes(&cursor, 8));
	assert_true(cursor.bad);
	cursor = cursor_of(bytes, 7);
	assert_null(cursor_bytes(&cursor, SIZE_MAX));
	assert_true(cursor.bad);
}

static void test_failure_stays(void **state)
{
	struct cursor cursor = cursor_of("abcdefghijkl", 12);

	(void)state;
	assert_null(cursor_bytes(&cursor, 13));
	assert_int_equal(cursor_left(&cursor), 0);
	assert_int_equal(cursor_u32(&cursor), 0);
	assert_int_equal(cursor_u64(&cursor), 0);
	assert_int_equal(cursor_varint(&cursor), 0);
	assert_null(cursor_bytes(&cursor, 0));
	assert_true(cursor.bad);
}

static void check_bad_varint(const char *bytes, size_t len)
{
	struct cursor cursor = cursor_of(bytes, len);

	assert_int_equal(cursor_varint(&cursor), 0);
	assert_true(cursor.bad);
}

static void test_hostile_varints(void **state)
{
	(void)state;
	check_bad_varint("", 0);
	check_bad_varint("\x80", 1);
	check_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9);
	check_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);         /* 65 bits */
	check_bad_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12); /* never ends */
}

static void test_nothing_to_read(void **state)
{
	struct cursor cursor = cursor_of(NULL, 0);

	(void)state;
	assert_int_equal(cursor_left(&cursor), 0);
	assert_non_null(cursor_bytes(&cursor, 0));
	assert_false(cursor.bad);
	assert_null(cursor_bytes(&cursor, 1));
	assert_true(cursor.bad);
}

static void test_bytes_in_order(void **state)
{
	struct cursor cursor = cursor_of("abcdef", 6);

	(void)state;
	assert_memory_equal(cursor_bytes(&cursor, 2), "ab", 2);
	assert_int_equal(cursor_left(&cursor), 4);
	assert_memory_equal(cursor_bytes(&cursor, 4), "cdef", 4);
	assert_int_equal(cursor_left(&cursor), 0);
	assert_false(cursor.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_everything_arrives),
		cmocka_unit_test(test_grows_far),
		cmocka_unit_test(test_clear_keeps_memory),
		cmocka_unit_test(test_impossible_sizes),
		cmocka_unit_test(test_little_endian),
		cmocka_unit_test(test_numbers_come_back),
		cmocka_unit_test(test_varint_is_leb128),
		cmocka_unit_test(test_short_reads_fail),
		cmocka_unit_test(test_failure_stays),
		cmocka_unit_test(test_hostile_varints),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_bytes_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
