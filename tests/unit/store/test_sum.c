/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers by their chances, and the bodies of hours that are written so: all come out as they went in; what is cut
 * short, altered or does not add up is refused, and takes no memory that its bytes cannot account for.
 *
 * With a folder as its argument it writes a first input for tests/fuzz/fuzz_store.c there instead.
 */
#include "store/sum.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/coder.h"
#include "store/window.h"

#define PROGRAMS 5
#define GROUPS 200
#define ROWS 4000

static unsigned int rolled;

static unsigned int roll(unsigned int sides)
{
	rolled = rolled * 1103515245 + 12345;
	return (rolled >> 16) % sides;
}

static void test_numbers(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 2, 3, 4, 31, 32, 33, 1000, UINT32_MAX, 1ULL << 63, UINT64_MAX, 0, 7 };
	autobuf struct buf bytes = { 0 };
	struct coder_number model = { 0 };
	struct coder_bit bit = { 0 };
	struct coder coder;

	(void)state;
	coder_write(&coder, &bytes);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(coder_number(&coder, &model, numbers[i]), numbers[i]);
	for (int i = 0; i < 100000; i++) /* hardly anything, but never nothing: 0.001 bits each */
		assert_int_equal(coder_bit(&coder, &bit, i == 5000), i == 5000);
	assert_int_equal(coder_end(&coder), 0);
	assert_in_range(bytes.len, 12, 250);

	model = (struct coder_number){ 0 };
	bit = (struct coder_bit){ 0 };
	coder_read(&coder, bytes.data, bytes.len);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(coder_number(&coder, &model, 0), numbers[i]);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(coder_bit(&coder, &bit, false), i == 5000);
	assert_int_equal(coder_end(&coder), 0);
}

/* Processes of a few programs, each of which has stacks of its own, some frequent. */
static int set_up(void **state)
{
	struct window *window = calloc(1, sizeof(*window));

	*state = window;
	if (!window)
		return -1;
	rolled = 1;
	window->counters = calloc(1, sizeof(*window->counters));
	window->rows = calloc(ROWS + 3, sizeof(*window->rows));
	if (!window->counters || !window->rows)
		return -1;
	for (; window->rows_len < ROWS; window->rows_len++) {
		uint32_t who = 1 + roll(GROUPS), low = roll(40), stack = roll(3) ? low : roll(30000);

		window->rows[window->rows_len] = (struct window_row){ .value = roll(4) ? 1 : 1 + roll(3000),
								      .who = who,
								      .stack = who % PROGRAMS * 30000 + stack };
	}
	window->rows[window->rows_len++] = (struct window_row){ UINT64_MAX, GROUPS + 1, UINT32_MAX };
	window->rows[window->rows_len++] = (struct window_row){ 1, GROUPS + 2, 0 };
	window->rows[window->rows_len++] = (struct window_row){ 1, GROUPS + 2, UINT32_MAX };
	return window_arrange(window);
}

static int tear_down(void **state)
{
	window_free(*state);
	free(*state);
	return 0;
}

static int read_again(struct window *ret, const struct window *window, const void *body, size_t len)
{
	autobuf struct buf head = { 0 };

	window_head(window, &head);
	assert_int_equal(window_read_head(ret, head.data, head.len), 0);
	return sum_read_body(ret, body, len);
}

static void test_same_again(void **state)
{
	struct window *window = *state, again;
	autobuf struct buf body = { 0 }, plain = { 0 };

	assert_int_equal(sum_body(window, &body), 0);
	window_body(window, &plain);
	assert_true(body.len < plain.len * 2 / 3);
	assert_int_equal(read_again(&again, window, body.data, body.len), 0);
	assert_int_equal(again.rows_len, window->rows_len);
	for (size_t i = 0; i < window->rows_len; i++) {
		assert_int_equal(again.rows[i].who, window->rows[i].who);
		assert_int_equal(again.rows[i].stack, window->rows[i].stack);
		assert_int_equal(again.rows[i].value, window->rows[i].value);
	}
	window_free(&again);
}

static void test_damaged(void **state)
{
	struct window *window = *state, again;
	autobuf struct buf body = { 0 };
	size_t accepted = 0;

	assert_int_equal(sum_body(window, &body), 0);
	for (size_t len = 0; len < body.len; len++) {
		assert_int_equal(read_again(&again, window, body.data, len), -EBADMSG);
		window_free(&again);
	}
	for (size_t i = 0; i < body.len; i++) {
		body.data[i] ^= 1;
		accepted += !read_again(&again, window, body.data, body.len);
		window_free(&again);
		body.data[i] ^= 1;
	}
	assert_true(accepted <= 4); /* in the last bytes, which are more than are needed */
	buf_addc(&body, 0);
	assert_int_equal(read_again(&again, window, body.data, body.len), -EBADMSG);
	window_free(&again);
}

/* A few bytes that say they are very many rows. */
static void test_bounds(void **state)
{
	struct window many = { .rows_len = (size_t)1 << 40 };

	(void)state;
	assert_int_equal(sum_read_body(&many, "\1\2\3\4\5", 5), -EBADMSG);
	assert_null(many.rows);
}

static int write_corpus(const char *folder)
{
	autobuf struct buf bytes = { 0 }, head = { 0 };
	struct window *window;
	char path[512];
	FILE *file;
	size_t done;

	if (set_up((void **)&window))
		return 1;
	window_head(window, &head);
	buf_addc(&bytes, (char)0xfe);
	buf_addc(&bytes, (char)head.len);
	buf_addc(&bytes, (char)(head.len >> 8));
	buf_add(&bytes, head.data, head.len);
	sum_body(window, &bytes);
	tear_down((void **)&window);
	snprintf(path, sizeof(path), "%s/sum", folder);
	file = fopen(path, "w");
	done = file ? fwrite(bytes.data, 1, bytes.len, file) : 0;
	return !file || fclose(file) || done != bytes.len;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test_setup_teardown(test_same_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
		cmocka_unit_test(test_bounds),
	};

	if (argc > 1)
		return write_corpus(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
