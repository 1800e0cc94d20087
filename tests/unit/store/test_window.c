/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows and dictionaries as bytes: what is written is read as the same, what is cut short or altered is refused.
 *
 * With a folder as its argument it writes the first inputs for tests/fuzz/fuzz_store.c there instead.
 */
#include "store/window.h"

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
#include "profile/profile.h"
#include "store/carry.h"
#include "store/dict.h"
#include "unit/example.h"

#define ROWS 5

/* Out of order, and one of them in two parts. */
static const struct window_row rows[ROWS] = { { 5, 2, 9 }, { 1, 1, 700 }, { 2, 2, 4 }, { 4, 2, 9 }, { 1, 1, 3 } };
static const struct window_counter counters[] = { { 12, 1, 2 }, { 1ULL << 40, 1, 3 } };
static const struct window_event events[] = { { 0, 1, 0 }, { 250, 0, 3 }, { 99999999, 3, 1 } };

static void *copy_of(const void *data, size_t len)
{
	void *copy = malloc(len);

	return copy ? memcpy(copy, data, len) : NULL;
}

static void make(struct window *ret)
{
	*ret = (struct window){ .numbers = { 10, 2, 300 },
				.rows = copy_of(rows, sizeof(rows)),
				.rows_len = ROWS,
				.counters = copy_of(counters, sizeof(counters)),
				.counters_len = 2,
				.events = copy_of(events, sizeof(events)),
				.events_len = 3 };
	window_arrange(ret);
}

static void test_arranged(void **state)
{
	struct window window;

	(void)state;
	make(&window);
	assert_int_equal(window.rows_len, 4);
	assert_int_equal(window.groups_len, 2);
	assert_int_equal(window.groups[0].who, 1);
	assert_int_equal(window.groups[0].sum, 2);
	assert_int_equal(window.groups[1].rows, 2);
	assert_int_equal(window.groups[1].sum, 11);
	assert_int_equal(window.rows[0].stack, 3);
	assert_int_equal(window.rows[3].stack, 9);
	assert_int_equal(window.rows[3].value, 9);
	window_free(&window);
}

static void test_same_again(void **state)
{
	autobuf struct buf raw = { 0 }, packed = { 0 }, back = { 0 };
	struct window window, again;

	(void)state;
	make(&window);
	window_head(&window, &raw);
	assert_int_equal(window_pack(&raw, WINDOW_QUICK, &packed), 0);
	assert_int_equal(window_unpack(packed.data, packed.len, &back), 0);
	assert_int_equal(window_read_head(&again, back.data, back.len), 0);
	buf_clear(&raw);
	window_body(&window, &raw);
	assert_int_equal(window_read_body(&again, raw.data, raw.len), 0);
	buf_clear(&raw);
	window_events(&window, &raw);
	assert_int_equal(window_read_events(&again, raw.data, raw.len), 0);
	assert_memory_equal(again.numbers, window.numbers, sizeof(window.numbers));
	assert_memory_equal(again.rows, window.rows, 4 * sizeof(*window.rows));
	assert_memory_equal(again.counters, window.counters, 2 * sizeof(*window.counters));
	assert_memory_equal(again.events, window.events, 3 * sizeof(*window.events));
	window_free(&window);
	window_free(&again);
}

static int read_both(const struct buf *head, size_t head_len, const struct buf *body, size_t body_len)
{
	struct window window;
	int err = window_read_head(&window, head->data, head_len);

	err = err ? err : window_read_body(&window, body->data, body_len);
	window_free(&window);
	return err;
}

static void test_cut_short(void **state)
{
	autobuf struct buf head = { 0 }, body = { 0 }, packed = { 0 }, back = { 0 };
	struct window window;

	(void)state;
	make(&window);
	window_head(&window, &head);
	window_body(&window, &body);
	assert_int_equal(read_both(&head, head.len, &body, body.len), 0);
	for (size_t len = 0; len < head.len; len++)
		assert_int_equal(read_both(&head, len, &body, body.len), -EBADMSG);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(read_both(&head, head.len, &body, len), -EBADMSG);
	body.data[body.len - 1]++; /* a value: the sum of its group is another one */
	assert_int_equal(read_both(&head, head.len, &body, body.len), -EBADMSG);
	assert_int_equal(window_pack(&head, WINDOW_SMALL, &packed), 0);
	for (size_t len = 0; len < packed.len; len++) {
		buf_clear(&back);
		assert_int_equal(window_unpack(packed.data, len, &back), -EBADMSG);
	}
	window_free(&window);
}

static void test_overflow(void **state)
{
	struct window_row large[] = { { UINT64_MAX, 1, 1 }, { 1, 1, 2 } };
	struct window window = { .rows = copy_of(large, sizeof(large)), .rows_len = 2 };

	(void)state;
	assert_int_equal(window_arrange(&window), -EOVERFLOW);
	window_free(&window);
}

/* The dictionary of an example, and what its blocks are read back as. */
static struct dict *example_dict(void)
{
	struct profile *profile;
	struct dict *dict;
	struct carry carry;

	if (profile_new(&profile) || dict_new(&dict))
		abort();
	example_fill(profile);
	if (carry_begin(&carry, profile, dict->model, dict))
		abort();
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		const struct dict_who who = { carry_process(&carry, sample->process), sample->tid,
					      carry_string(&carry, sample->comm),
					      carry_labels(&carry, sample->labels) };

		carry_stack(&carry, sample->stack);
		dict_add_who(dict, &who);
	}
	carry_end(&carry);
	profile_free(profile);
	return dict;
}

static void test_dictionary(void **state)
{
	struct dict *dict = example_dict(), *again;

	(void)state;
	assert_int_equal(dict_new(&again), 0);
	for (int table = 0; table < DICT_TABLES; table++) {
		autobuf struct buf once = { 0 }, twice = { 0 };

		assert_true(dict_is_changed(dict, (enum dict_table)table, 0));
		assert_true(dict_count(dict, (enum dict_table)table) > 1);
		dict_write_block(dict, (enum dict_table)table, 0, &once);
		for (size_t len = 0; table && len < once.len; len++)
			assert_int_equal(dict_read_block(again, (enum dict_table)table, 0, once.data, len), -EBADMSG);
		assert_int_equal(dict_read_block(again, (enum dict_table)table, 0, once.data, once.len), 0);
		dict_write_block(again, (enum dict_table)table, 0, &twice);
		assert_int_equal(once.len, twice.len);
		assert_memory_equal(once.data, twice.data, once.len);
	}
	dict_stored(dict);
	for (int table = 0; table < DICT_TABLES; table++)
		assert_false(dict_is_changed(dict, (enum dict_table)table, 0));
	dict_free(dict);
	dict_free(again);
}

/* Only what a name was filled in for is written again; what a new record is in, too. */
static void test_changes(void **state)
{
	struct profile_frame frame = { .kind = FRAME_KERNEL };
	struct dict *dict;

	(void)state;
	assert_int_equal(dict_new(&dict), 0);
	for (frame.address = 1; frame.address < 12000; frame.address++)
		assert_int_equal(dict_add_frame(dict, &frame), frame.address);
	dict_stored(dict);
	frame.address = 6000;
	frame.name = profile_string(dict->model, "late");
	assert_int_equal(dict_add_frame(dict, &frame), 6000);
	assert_false(dict_is_changed(dict, DICT_FRAMES, 0));
	assert_true(dict_is_changed(dict, DICT_FRAMES, 1));
	assert_false(dict_is_changed(dict, DICT_FRAMES, 2));
	assert_true(dict_is_changed(dict, DICT_STRINGS, 0));
	assert_true(dict_is_full(dict, DICT_FRAMES, 1));
	assert_false(dict_is_full(dict, DICT_FRAMES, 2));
	frame.address = 12000;
	frame.name = profile_string(dict->model, "other");
	assert_int_equal(dict_add_frame(dict, &frame), 12000);
	assert_true(dict_is_changed(dict, DICT_FRAMES, 2));
	dict_free(dict);
}

/* Each place stays what it is; the first one met stands for its function; a name that comes later is not lost. */
static void test_functions(void **state)
{
	struct profile_frame frame = { .kind = FRAME_KERNEL, .address = 10 };
	struct dict *dict, *again;
	autobuf struct buf strings = { 0 }, frames = { 0 };

	(void)state;
	assert_int_equal(dict_new(&dict), 0);
	assert_int_equal(dict_add_frame(dict, &frame), 1);
	frame.name = profile_string(dict->model, "work");
	frame.address = 20;
	assert_int_equal(dict_add_frame(dict, &frame), 2);
	frame.address = 30;
	assert_int_equal(dict_add_frame(dict, &frame), 3);
	assert_int_equal(dict_function(dict, 3), 2);
	frame.address = 10; /* met without a name: this is it */
	assert_int_equal(dict_add_frame(dict, &frame), 1);
	assert_int_equal(profile_frame(dict->model, 1)->name, frame.name);
	assert_int_equal(dict_function(dict, 1), 2);
	frame.kind = FRAME_USER; /* of another file, or of none */
	frame.address = 30;
	assert_int_equal(dict_add_frame(dict, &frame), 4);
	assert_int_equal(dict_function(dict, 4), 4);
	/* Two of one function are read as they were written. */
	dict_write_block(dict, DICT_STRINGS, 0, &strings);
	dict_write_block(dict, DICT_FRAMES, 0, &frames);
	assert_int_equal(dict_new(&again), 0);
	assert_int_equal(dict_read_block(again, DICT_STRINGS, 0, strings.data, strings.len), 0);
	assert_int_equal(dict_read_block(again, DICT_FRAMES, 0, frames.data, frames.len), 0);
	assert_int_equal(profile_frame(again->model, 1)->name, frame.name);
	assert_int_equal(profile_frame(again->model, 2)->address, 20);
	assert_int_equal(profile_frame(again->model, 3)->address, 30);
	assert_int_equal(dict_function(again, 3), dict_function(again, 2));
	dict_free(dict);
	dict_free(again);
}

static int write_input(const char *folder, const char *name, const struct buf *bytes)
{
	char path[512];
	FILE *file;
	size_t done;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	done = file ? fwrite(bytes->data, 1, bytes->len, file) : 0;
	return !file || fclose(file) || done != bytes->len;
}

static int write_corpus(const char *folder)
{
	static const char *const names[DICT_TABLES] = { "strings", "labels", "files", "processes",
							"frames",  "stacks", "whos" };
	autobuf struct buf head = { 0 }, bytes = { 0 };
	struct dict *dict = example_dict();
	struct window window;
	int bad;

	make(&window);
	window_head(&window, &head);
	buf_addc(&bytes, 0);
	buf_addc(&bytes, (char)head.len);
	buf_addc(&bytes, 0);
	buf_add(&bytes, head.data, head.len);
	window_body(&window, &bytes);
	bad = write_input(folder, "window", &bytes);
	buf_clear(&bytes);
	buf_addc(&bytes, 1);
	window_events(&window, &bytes);
	bad |= write_input(folder, "events", &bytes);
	buf_clear(&bytes);
	buf_addc(&bytes, 2);
	bad |= window_pack(&head, WINDOW_SMALL, &bytes) || write_input(folder, "packed", &bytes);
	for (int table = 0; table < DICT_TABLES; table++) {
		buf_clear(&bytes);
		buf_addc(&bytes, (char)(table + DICT_TABLES));
		dict_write_block(dict, (enum dict_table)table, 0, &bytes);
		bad |= write_input(folder, names[table], &bytes);
	}
	window_free(&window);
	dict_free(dict);
	return bad;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arranged),  cmocka_unit_test(test_same_again), cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_overflow),  cmocka_unit_test(test_dictionary), cmocka_unit_test(test_changes),
		cmocka_unit_test(test_functions),
	};

	if (argc > 1)
		return write_corpus(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
