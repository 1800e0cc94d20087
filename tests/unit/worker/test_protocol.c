/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said between wick and its worker: it comes back as it was, and bytes that are cut or changed are refused
 * without a read beyond them. Each message is copied to memory of its own size, for the sanitizer to watch its end.
 */
#include "worker/protocol.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *exact_copy(const void *data, size_t len)
{
	void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

static void assert_text(const char *text, size_t len, const char *wanted)
{
	assert_int_equal(len, strlen(wanted));
	assert_memory_equal(text, wanted, len);
}

/* ---- questions ---- */

static void assert_comes_back(const struct ask *ask)
{
	uint64_t *addresses = NULL;
	struct buf bytes = { 0 };
	struct ask got;
	void *copy;

	ask_write(ask, &bytes);
	copy = exact_copy(bytes.data, bytes.len);
	assert_int_equal(ask_read(copy, bytes.len, &got, &addresses), 0);
	assert_int_equal(got.kind, ask->kind);
	assert_int_equal(got.demangle, ask->demangle);
	assert_int_equal(got.inlines, ask->inlines);
	assert_int_equal(got.lines, ask->lines);
	assert_int_equal(got.last, ask->last);
	assert_int_equal(got.file_len, ask->file_len);
	if (ask->file_len)
		assert_memory_equal(got.file, ask->file, ask->file_len);
	assert_int_equal(got.addresses_len, ask->addresses_len);
	for (size_t i = 0; i < got.addresses_len; i++)
		assert_int_equal(got.addresses[i], ask->addresses[i]);
	free(addresses);
	for (size_t len = 0; len < bytes.len; len++) { /* no part of it is a question */
		void *part = exact_copy(bytes.data, len);

		assert_int_equal(ask_read(part, len, &got, &addresses), -EBADMSG);
		free(part);
	}
	free(copy);
	buf_free(&bytes);
}

static void test_questions(void **state)
{
	static const uint64_t addresses[] = { 0, 1, 1, 0x7fffffffffff, UINT64_MAX };
	struct ask ask = { .kind = ASK_IDENTIFY };

	(void)state;
	assert_comes_back(&ask);
	ask = (struct ask){ .kind = ASK_NAMES,
			    .file = "a\nb",
			    .file_len = 3,
			    .demangle = DEMANGLE_NO,
			    .inlines = true,
			    .addresses = addresses,
			    .addresses_len = 5 };
	assert_comes_back(&ask);
	ask = (struct ask){ .kind = ASK_ROWS, .demangle = DEMANGLE_FULL, .lines = true, .last = true };
	assert_comes_back(&ask);
}

static void test_questions_that_ask_too_much(void **state)
{
	uint64_t *addresses = NULL;
	struct buf bytes = { 0 };
	struct ask ask;

	(void)state;
	buf_add(&bytes, "\x02\x00\x00\x00", 4);
	buf_varint(&bytes, ASK_ADDRESSES_MAX + 1);
	for (int i = 0; i <= ASK_ADDRESSES_MAX; i++)
		buf_addc(&bytes, 0);
	assert_int_equal(ask_read(bytes.data, bytes.len, &ask, &addresses), -EBADMSG);
	buf_clear(&bytes);
	buf_add(&bytes, "\x02\x00\x00", 3);
	buf_varint(&bytes, 4097); /* a name without end */
	for (int i = 0; i < 5000; i++)
		buf_addc(&bytes, 'x');
	assert_int_equal(ask_read(bytes.data, bytes.len, &ask, &addresses), -EBADMSG);
	assert_null(addresses);
	buf_free(&bytes);
}

/* ---- answers ---- */

static void test_identity(void **state)
{
	static const unsigned char id[SYMBOLS_BUILD_ID_MAX] = { 1, 2, 0, 3 };
	struct answer_reader reader;
	struct buf bytes = { 0 };
	enum answer_kind kind;
	const char *reason;
	const void *got;
	size_t len, reason_len;

	(void)state;
	answer_identity(&bytes, id, sizeof(id), "stripped");
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(kind, ANSWER_IDENTITY);
	assert_int_equal(answer_read_identity(&reader, &got, &len, &reason, &reason_len), 0);
	assert_int_equal(len, sizeof(id));
	assert_memory_equal(got, id, len);
	assert_text(reason, reason_len, "stripped");
	answer_close(&reader);
	for (size_t cut = 1; cut < bytes.len; cut++) {
		void *part = exact_copy(bytes.data, cut);

		assert_int_equal(answer_open(&reader, part, cut, &kind), 0);
		assert_int_equal(answer_read_identity(&reader, &got, &len, &reason, &reason_len), -EBADMSG);
		answer_close(&reader);
		free(part);
	}
	buf_clear(&bytes);
	answer_identity(&bytes, id, 0, NULL);
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(answer_read_identity(&reader, &got, &len, &reason, &reason_len), 0);
	assert_int_equal(len + reason_len, 0);
	answer_close(&reader);
	buf_clear(&bytes);
	buf_add(&bytes, "\x01\x41", 2); /* an id of 65 bytes */
	for (int i = 0; i < 100; i++)
		buf_addc(&bytes, 0);
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(answer_read_identity(&reader, &got, &len, &reason, &reason_len), -EBADMSG);
	answer_close(&reader);
	buf_free(&bytes);
}

static void test_debug_file(void **state)
{
	struct symbols_debug debug = { .build_id = { 9, 8 }, .build_id_len = 20, .link_crc = 0xfedcba98 }, got;
	struct answer_reader reader;
	struct buf bytes = { 0 };
	enum answer_kind kind;

	(void)state;
	memset(debug.link, 'x', sizeof(debug.link) - 1);
	memset(debug.alt_link, 'y', sizeof(debug.alt_link) - 1);
	memset(debug.alt_id, 7, sizeof(debug.alt_id));
	debug.alt_id_len = sizeof(debug.alt_id);
	debug.wanted = true;
	answer_wants_debug(&bytes, &debug);
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(kind, ANSWER_WANTS_DEBUG);
	assert_int_equal(answer_read_debug(&reader, &got), 0);
	assert_int_equal(got.build_id_len, 20);
	assert_memory_equal(got.build_id, debug.build_id, sizeof(got.build_id));
	assert_string_equal(got.link, debug.link);
	assert_int_equal(got.link_crc, debug.link_crc);
	assert_true(got.wanted);
	assert_int_equal(got.alt_id_len, sizeof(debug.alt_id));
	assert_memory_equal(got.alt_id, debug.alt_id, sizeof(got.alt_id));
	assert_string_equal(got.alt_link, debug.alt_link);
	answer_close(&reader);
	for (size_t cut = 1; cut < bytes.len; cut++) {
		void *part = exact_copy(bytes.data, cut);

		assert_int_equal(answer_open(&reader, part, cut, &kind), 0);
		assert_int_equal(answer_read_debug(&reader, &got), -EBADMSG);
		answer_close(&reader);
		free(part);
	}
	buf_clear(&bytes);
	buf_add(&bytes, "\x03\x00\x80\x02", 4); /* a link of 256 bytes: no room for its NUL */
	for (int i = 0; i < 300; i++)
		buf_addc(&bytes, 'x');
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(answer_read_debug(&reader, &got), -EBADMSG);
	answer_close(&reader);
	buf_free(&bytes);
}

static const struct symbol_name names[] = {
	{ .name = "inner", .len = 5, .start = 0x1000, .source = "a.c", .line = 7, .inlined = true },
	{ .name = "outer", .len = 5, .start = 0x1000, .source = "b.c", .line = UINT32_MAX },
	{ .name = "", .len = 0, .start = UINT64_MAX },
	{ .name = "outer", .len = 5, .start = 0x2000, .source = "a.c" },
};

/* Two addresses with names, and one without. */
static void write_names(struct buf *bytes, const char *reason)
{
	struct answer_writer writer = { 0 };

	assert_int_equal(answer_begin(&writer, bytes, reason), 0);
	answer_frames(&writer, names, 2);
	answer_frames(&writer, NULL, 0);
	answer_frames(&writer, names + 2, 2);
	answer_end(&writer);
	assert_int_equal(buf_error(bytes), 0);
}

static int read_names(const void *data, size_t len, struct answer_frame *list, size_t *lens)
{
	struct answer_reader reader;
	enum answer_kind kind;
	const char *reason;
	size_t reason_len, at = 0;
	int err = answer_open(&reader, data, len, &kind);

	err = err ? err : answer_read_reason(&reader, &reason, &reason_len);
	for (int i = 0; i < 3 && !err; i++) {
		err = answer_read_frames(&reader, list + at, 4 - at, &lens[i]);
		at += err ? 0 : lens[i];
	}
	if (!err && cursor_left(&reader.in))
		err = -E2BIG;
	answer_close(&reader);
	return err;
}

static void test_names(void **state)
{
	struct answer_frame list[4];
	struct buf bytes = { 0 };
	size_t lens[3];
	void *copy;

	(void)state;
	write_names(&bytes, "dwarf_budget");
	copy = exact_copy(bytes.data, bytes.len);
	assert_int_equal(read_names(copy, bytes.len, list, lens), 0);
	assert_int_equal(lens[0], 2);
	assert_int_equal(lens[1], 0);
	assert_int_equal(lens[2], 2);
	for (int i = 0; i < 4; i++) {
		assert_text(list[i].name, list[i].name_len, names[i].name);
		assert_text(list[i].source, list[i].source_len, names[i].source ? names[i].source : "");
		assert_int_equal(list[i].start, names[i].start);
		assert_int_equal(list[i].line, names[i].line);
		assert_int_equal(list[i].inlined, names[i].inlined);
	}
	free(copy);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		copy = exact_copy(bytes.data, cut);
		assert_int_equal(read_names(copy, cut, list, lens), -EBADMSG);
		free(copy);
	}
	buf_free(&bytes);
}

/* A name is said once. */
static void test_names_are_short(void **state)
{
	char name[1000];
	const struct symbol_name symbol = { .name = name, .len = sizeof(name), .start = 1 };
	struct answer_writer writer = { 0 };
	struct buf bytes = { 0 };

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(answer_begin(&writer, &bytes, NULL), 0);
	for (int i = 0; i < 100; i++)
		answer_frames(&writer, &symbol, 1);
	answer_end(&writer);
	assert_true(bytes.len < sizeof(name) + 100 * 6 + 10);
	buf_free(&bytes);
}

/* Any byte changed in any way: an answer or a refusal, and never a name outside of the message. */
static void test_names_that_were_changed(void **state)
{
	struct answer_frame list[4];
	struct buf bytes = { 0 };
	size_t lens[3];

	(void)state;
	write_names(&bytes, "stripped");
	for (size_t at = 0; at < bytes.len; at++) {
		for (int value = 0; value < 256; value++) {
			char *copy = exact_copy(bytes.data, bytes.len);
			size_t count = 0;
			int err;

			copy[at] = (char)value;
			err = read_names(copy, bytes.len, list, lens);
			assert_true(!err || err == -EBADMSG || err == -E2BIG);
			for (int i = 0; i < 3 && !err; i++)
				count += lens[i];
			for (size_t i = 0; i < count; i++)
				if (list[i].name_len)
					assert_true(list[i].name >= copy &&
						    list[i].name + list[i].name_len <= copy + bytes.len);
			free(copy);
		}
	}
	buf_free(&bytes);
}

static void test_more_frames_than_there_is_room_for(void **state)
{
	struct answer_frame list[1];
	struct answer_reader reader;
	struct buf bytes = { 0 };
	enum answer_kind kind;
	const char *reason;
	size_t len;

	(void)state;
	write_names(&bytes, NULL);
	assert_int_equal(answer_open(&reader, bytes.data, bytes.len, &kind), 0);
	assert_int_equal(kind, ANSWER_NAMES);
	assert_int_equal(answer_read_reason(&reader, &reason, &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(answer_read_frames(&reader, list, 1, &len), -EBADMSG);
	answer_close(&reader);
	buf_free(&bytes);
}

static void test_kinds(void **state)
{
	struct answer_reader reader;
	enum answer_kind kind;

	(void)state;
	assert_int_equal(answer_open(&reader, "", 0, &kind), -EBADMSG);
	assert_int_equal(answer_open(&reader, "\x00", 1, &kind), -EBADMSG);
	assert_int_equal(answer_open(&reader, "\x7f", 1, &kind), -EBADMSG);
	assert_int_equal(answer_open(&reader, "\x80\x80\x80\x80\x10", 5, &kind), -EBADMSG); /* 1 << 32 */
	for (char i = ANSWER_IDENTITY; i <= ANSWER_NO_ROWS; i++) {
		assert_int_equal(answer_open(&reader, &i, 1, &kind), 0);
		assert_int_equal(kind, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_questions_that_ask_too_much),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_are_short),
		cmocka_unit_test(test_names_that_were_changed),
		cmocka_unit_test(test_more_frames_than_there_is_room_for),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
