/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of an hour in one: each comes out as it went in, to the row; what is cut short, altered or does not add
 * up is refused; and answers are the same before and after a store has bound them.
 *
 * With a folder as its argument it writes a first input for tests/fuzz/fuzz_store.c there instead.
 */
#include "store/bundle.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/parts.h"
#include "store/sql.h"
#include "store/sum.h"
#include "store/window.h"
#include "unit/store/history.h"

#define WINDOWS 40
#define PER_HOUR 360

struct hour {
	struct window windows[WINDOWS], sum;
	size_t len;
};

static unsigned int rolled;

static unsigned int roll(unsigned int sides)
{
	rolled = rolled * 1103515245 + 12345;
	return (rolled >> 16) % sides;
}

/* Process 1 is always there, others come and go; most stacks are rare, few are frequent. */
static void fill(struct window *ret, unsigned int n)
{
	ret->rows_len = n == 3 ? 0 : 1 + roll(60);
	ret->rows = calloc(ret->rows_len + 1, sizeof(*ret->rows));
	ret->counters = calloc(3, sizeof(*ret->counters));
	assert_non_null(ret->rows);
	assert_non_null(ret->counters);
	for (size_t i = 0; i < ret->rows_len; i++)
		ret->rows[i] = (struct window_row){ .value = 1 + (roll(4) ? 0 : roll(1000)),
						    .who = i < 20 ? 1 : 2 + n / 3,
						    .stack = roll(3) ? 1 + roll(5) : 1 + roll(2000) };
	for (int i = 0; i < WINDOW_NUMBERS; i++)
		ret->numbers[i] = 10000000000ULL + roll(1000);
	ret->counters[ret->counters_len++] = (struct window_counter){ 5000 + roll(10), 2, 3 };
	if (n % 4)
		ret->counters[ret->counters_len++] = (struct window_counter){ UINT64_MAX - roll(2), 7, 3 };
	assert_int_equal(window_arrange(ret), 0);
}

static void add_up(struct hour *hour)
{
	size_t rows = 0;

	for (size_t i = 0; i < hour->len; i++)
		rows += hour->windows[i].rows_len;
	hour->sum.rows = calloc(rows + 1, sizeof(*hour->sum.rows));
	assert_non_null(hour->sum.rows);
	for (size_t i = 0; i < hour->len; i++)
		for (size_t r = 0; r < hour->windows[i].rows_len; r++)
			hour->sum.rows[hour->sum.rows_len++] = hour->windows[i].rows[r];
	assert_int_equal(window_arrange(&hour->sum), 0);
}

static int set_up(void **state)
{
	struct hour *hour = calloc(1, sizeof(*hour));

	*state = hour;
	if (!hour)
		return -1;
	rolled = 1;
	hour->len = WINDOWS;
	for (unsigned int n = 0; n < WINDOWS; n++)
		fill(&hour->windows[n], n);
	add_up(hour);
	return 0;
}

static int tear_down(void **state)
{
	struct hour *hour = *state;

	for (size_t i = 0; i < hour->len; i++)
		window_free(&hour->windows[i]);
	window_free(&hour->sum);
	free(hour);
	return 0;
}

static void assert_same(const struct window *a, const struct window *b)
{
	assert_memory_equal(a->numbers, b->numbers, sizeof(a->numbers));
	assert_int_equal(a->rows_len, b->rows_len);
	assert_int_equal(a->groups_len, b->groups_len);
	assert_int_equal(a->counters_len, b->counters_len);
	for (size_t i = 0; i < a->rows_len; i++) {
		assert_int_equal(a->rows[i].who, b->rows[i].who);
		assert_int_equal(a->rows[i].stack, b->rows[i].stack);
		assert_int_equal(a->rows[i].value, b->rows[i].value);
	}
	for (size_t i = 0; i < a->groups_len; i++) {
		assert_int_equal(a->groups[i].who, b->groups[i].who);
		assert_int_equal(a->groups[i].rows, b->groups[i].rows);
		assert_int_equal(a->groups[i].sum, b->groups[i].sum);
	}
	for (size_t i = 0; i < a->counters_len; i++) {
		assert_int_equal(a->counters[i].group, b->counters[i].group);
		assert_int_equal(a->counters[i].name, b->counters[i].name);
		assert_int_equal(a->counters[i].value, b->counters[i].value);
	}
}

static void test_same_again(void **state)
{
	const struct hour *hour = *state;
	autobuf struct buf heads = { 0 }, bodies = { 0 };
	struct bundle bundle;

	assert_int_equal(bundle_heads(hour->windows, hour->len, &heads), 0);
	assert_int_equal(bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies), 0);
	assert_int_equal(bundle_read_heads(&bundle, heads.data, heads.len), 0);
	assert_int_equal(bundle.len, hour->len);
	assert_int_equal(bundle.windows[5].groups_len, hour->windows[5].groups_len);
	assert_int_equal(bundle_read_bodies(&bundle, &hour->sum, bodies.data, bodies.len), 0);
	for (size_t i = 0; i < hour->len; i++)
		assert_same(&bundle.windows[i], &hour->windows[i]);
	bundle_free(&bundle);
}

/* One after the other, with a clock that is set, a gap, and minutes among them. */
static void test_spans(void **state)
{
	static const struct bundle_span spans[] = { { 1700000000000000000, 1700000010000000000, 1, 98, 0 },
						    { 1700000010000000000, 1700000020000000123, 1, 0, 7 },
						    { 1600000000000000000, 1600000060000000000, 6, UINT64_MAX, 0 },
						    { 1800000000000000000, 1800000000000000000, 1, 3, UINT64_MAX } };
	const size_t len = sizeof(spans) / sizeof(spans[0]);
	struct bundle_span *again;
	autobuf struct buf bytes = { 0 };
	size_t again_len;

	(void)state;
	bundle_spans(spans, len, &bytes);
	assert_int_equal(bundle_read_spans(&again, &again_len, bytes.data, bytes.len), 0);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, spans, sizeof(spans));
	free(again);
	for (size_t cut = 0; cut < bytes.len; cut++)
		assert_int_equal(bundle_read_spans(&again, &again_len, bytes.data, cut), -EBADMSG);
	buf_addc(&bytes, 0);
	assert_int_equal(bundle_read_spans(&again, &again_len, bytes.data, bytes.len), -EBADMSG);
}

static void test_damaged(void **state)
{
	const struct hour *hour = *state;
	autobuf struct buf heads = { 0 }, bodies = { 0 };
	struct bundle bundle;
	size_t accepted = 0;

	assert_int_equal(bundle_heads(hour->windows, hour->len, &heads), 0);
	assert_int_equal(bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies), 0);
	for (size_t len = 0; len < heads.len; len++)
		assert_int_equal(bundle_read_heads(&bundle, heads.data, len), -EBADMSG);
	for (size_t len = 0; len < bodies.len; len++) {
		assert_int_equal(bundle_read_heads(&bundle, heads.data, heads.len), 0);
		assert_int_equal(bundle_read_bodies(&bundle, &hour->sum, bodies.data, len), -EBADMSG);
		bundle_free(&bundle);
	}
	for (size_t i = 0; i < bodies.len; i++) {
		bodies.data[i] ^= 1;
		assert_int_equal(bundle_read_heads(&bundle, heads.data, heads.len), 0);
		accepted += !bundle_read_bodies(&bundle, &hour->sum, bodies.data, bodies.len);
		bundle_free(&bundle);
		bodies.data[i] ^= 1;
	}
	assert_true(accepted < bodies.len / 10); /* those that say something else that adds up as well */
}

static void test_not_its_sum(void **state)
{
	struct hour *hour = *state;
	autobuf struct buf bodies = { 0 };

	hour->sum.rows[4].value++;
	assert_int_equal(bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies), -ERANGE);
	hour->sum.rows[4].value--;
	hour->windows[1].rows[0].value = 0;
	assert_int_equal(bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies), -ERANGE);
	hour->windows[1].rows[0].value = 1;
	hour->windows[1].groups[0].who = 1000;
	assert_int_equal(bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies), -ERANGE);
}

static int64_t number_of(struct store *store, const char *question)
{
	int64_t number = -1;

	assert_int_equal(sql_number(store->db, &number, -1, question, ""), 0);
	return number;
}

/* Of half a window, which its events tell, and of a curve, which its head tells. */
static void assert_answers(struct store *store)
{
	const struct store_range half = { HISTORY_WALL + 7 * HISTORY_STEP,
					  HISTORY_WALL + 7 * HISTORY_STEP + HISTORY_STEP / 2 };
	const struct store_series_request request = { .range = { HISTORY_WALL, HISTORY_WALL + 20 * HISTORY_STEP },
						      .buckets = 20,
						      .by = STORE_BY_NOTHING,
						      .curves = 1 };
	struct store_series series;
	struct profile *profile;

	for (unsigned int n = 0; n < PER_HOUR; n++)
		assert_int_equal(history_ask(store, n, n + 1), history_total(n));
	assert_int_equal(store_query(store, &half, NULL, &profile, NULL), 0);
	assert_int_equal(history_sum(profile), (HISTORY_BASE + 7 + 1) / 2);
	profile_free(profile);
	assert_int_equal(store_series(store, &request, &series), 0);
	for (unsigned int n = 0; n < 20; n++)
		assert_int_equal(series.curves[0].values[n], history_total(n));
	store_series_free(&series);
}

static void test_bound(void **state)
{
	char *folder = history_folder();
	const struct store_options options = { .folder = folder,
					       .event_bytes = 10 << 20,
					       .keep_ns = 15 * HISTORY_STEP };
	const struct store_options keeping = { .folder = folder, .event_bytes = 10 << 20 };
	struct store *store;

	(void)state;
	assert_non_null(folder);
	assert_int_equal(store_open(&store, &keeping), 0);
	for (unsigned int n = 0; n < PER_HOUR + 20; n++)
		assert_int_equal(history_seal(store, n), 0);
	assert_answers(store);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(number_of(store, "SELECT parts FROM hour WHERE detail = 0 AND first = 1"), PER_HOUR);
	assert_int_equal(number_of(store, "SELECT count(*) FROM window"), 20);
	assert_int_equal(number_of(store, "SELECT rows FROM sizes WHERE what = 'windows'"), PER_HOUR + 20);
	assert_answers(store);
	store_free(store);

	/* Then the windows go: of them come minutes, which then go as well. */
	assert_int_equal(store_open(&store, &options), 0);
	assert_int_equal(history_tend(store), 0);
	assert_int_equal(number_of(store, "SELECT parts FROM hour WHERE detail = 1"), PER_HOUR / 6);
	assert_int_equal(number_of(store, "SELECT count(*) FROM event WHERE window <= 360"), 0);
	assert_int_equal(history_ask(store, 0, PER_HOUR), history_expect(0, PER_HOUR));
	for (unsigned int n = 0; n < PER_HOUR; n += 6)
		assert_int_equal(history_ask(store, n, n + 6), history_expect(n, n + 6));
	store_free(store);
	history_remove(folder);
}

static void add_part(struct buf *bytes, const struct buf *part)
{
	buf_addc(bytes, (char)part->len);
	buf_addc(bytes, (char)(part->len >> 8));
	buf_add(bytes, part->data, part->len);
}

static int write_corpus(const char *folder)
{
	autobuf struct buf bytes = { 0 }, part = { 0 }, bodies = { 0 };
	struct hour *hour;
	char path[512];
	FILE *file;
	size_t done;

	if (set_up((void **)&hour))
		return 1;
	buf_addc(&bytes, 3);
	bundle_heads(hour->windows, hour->len, &part);
	add_part(&bytes, &part);
	buf_clear(&part);
	window_head(&hour->sum, &part);
	add_part(&bytes, &part);
	buf_clear(&part);
	sum_body(&hour->sum, &part);
	add_part(&bytes, &part);
	bundle_bodies(hour->windows, hour->len, &hour->sum, &bodies);
	buf_add(&bytes, bodies.data, bodies.len);
	tear_down((void **)&hour);
	snprintf(path, sizeof(path), "%s/bundle", folder);
	file = fopen(path, "w");
	done = file ? fwrite(bytes.data, 1, bytes.len, file) : 0;
	return !file || fclose(file) || done != bytes.len;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_its_sum, set_up, tear_down),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_bound),
	};

	if (argc > 1)
		return write_corpus(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
