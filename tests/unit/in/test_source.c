/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of files: lines from windows, packed ones unpacked, bounds; and which format is told by what. */
#include "in/source.h"

#include "unit/in/reads.h"

#include <lzma.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static void add_gzip(struct buf *out, const char *data, size_t len)
{
	z_stream stream = { 0 };
	size_t room = len + 1024;
	unsigned char *packed = malloc(room);

	assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (unsigned char *)data;
	stream.avail_in = (unsigned)len;
	stream.next_out = packed;
	stream.avail_out = (unsigned)room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	buf_add(out, packed, room - stream.avail_out);
	deflateEnd(&stream);
	free(packed);
}

static void add_zstd(struct buf *out, const char *data, size_t len)
{
	size_t room = ZSTD_compressBound(len);
	char *packed = malloc(room);

	buf_add(out, packed, ZSTD_compress(packed, room, data, len, 1));
	free(packed);
}

static void add_xz(struct buf *out, const char *data, size_t len)
{
	size_t room = lzma_stream_buffer_bound(len), used = 0;
	uint8_t *packed = malloc(room);

	assert_int_equal(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)data, len, packed, &used, room),
		LZMA_OK);
	buf_add(out, packed, used);
	free(packed);
}

typedef void pack(struct buf *out, const char *data, size_t len);
static pack *const packs[] = { add_gzip, add_zstd, add_xz };
static const char *const names[] = { "gzip", "zstd", "xz" };

static void test_packed(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		autobuf struct buf packed = { 0 }, twice = { 0 };

		packs[i](&packed, "sh;a 1\n", 7);
		assert_bytes_as(packed.data, packed.len, (struct in_request){ 0 }, "sh;a 1\n", NULL);
		packs[i](&twice, packed.data, packed.len);
		assert_bytes_refused(twice.data, twice.len, (struct in_request){ 0 }, "twice");
		packs[i](&packed, "sh;b 2\n", 7); /* one after the other is one file */
		assert_bytes_as(packed.data, packed.len, (struct in_request){ 0 }, "sh;b 2\nsh;a 1\n", NULL);
		buf_adds(&packed, "trailing");
		assert_bytes_refused(packed.data, packed.len, (struct in_request){ 0 }, names[i]);
	}
}

static void test_packed_and_cut(void **state)
{
	static const char text[] = "a 1/1 1.0: 1 cycles:\n\t1 f\n\n";

	(void)state;
	for (int i = 0; i < 3; i++) {
		autobuf struct buf packed = { 0 };

		packs[i](&packed, text, sizeof(text) - 1);
		packs[i](&packed, text, sizeof(text) - 1);
		packed.len -= 10;
		assert_bytes_refused(packed.data, packed.len, (struct in_request){ 0 }, "cut short");
		packed.len = packed.len / 2 + 7; /* the second is cut, the first is whole */
		assert_bytes_as(packed.data, packed.len, (struct in_request){ .salvage = true }, "a;f 1\n",
				"cut short");
	}
}

/* Little that unpacks to much is given up early, whatever it would be. */
static void test_bomb(void **state)
{
	size_t len = (size_t)80 << 20;
	char *zeros = calloc(1, len);
	autobuf struct buf packed = { 0 };

	(void)state;
	assert_non_null(zeros);
	memset(zeros, 'a', len);
	add_zstd(&packed, zeros, len);
	assert_bytes_refused(packed.data, packed.len, (struct in_request){ 0 }, "a line of more than 16 MiB");
	for (size_t i = 0; i < len; i += 64)
		memcpy(zeros + i, "sh;a 1\n", 7);
	for (size_t i = 0; i < len; i++)
		zeros[i] = zeros[i] ? zeros[i] : 'a';
	buf_clear(&packed);
	add_zstd(&packed, zeros, len);
	assert_bytes_refused(packed.data, packed.len, (struct in_request){ 0 }, "no profile does");
	free(zeros);
}

static void test_lines(void **state)
{
	autobuf struct buf text = { 0 }, packed = { 0 };
	struct source *source;
	struct span line;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "one\r\n\nlast", 10), 10);
	close(ends[1]);
	assert_int_equal(source_open_fd(&source, ends[0]), 0);
	assert_null(source_packed(source));
	assert_int_equal(source_line(source, &line), 1);
	assert_true(span_is(line, "one"));
	assert_int_equal(source_line(source, &line), 1);
	assert_int_equal(line.len, 0);
	assert_int_equal(source_line(source, &line), 1);
	assert_true(span_is(line, "last"));
	assert_int_equal(source_line_number(source), 3);
	assert_int_equal(source_line(source, &line), 0);
	source_free(source);
	close(ends[0]);
	for (int i = 0; i < 1 << 21; i++)
		buf_addc(&text, 'x');
	add_zstd(&packed, text.data, text.len);
	assert_int_equal(source_open_bytes(&source, packed.data, packed.len), 0);
	assert_int_equal(source_line(source, &line), -EFBIG);
	assert_non_null(strstr(fail_text(), "line 1: longer than 1 MiB"));
	source_free(source);
}

static void test_formats(void **state)
{
	(void)state;
	assert_refused("PERFILE2....", "perf script makes text of it");
	assert_refused("PK\x03\x04", "zip archive");
	assert_refused("{\"nodes\": []}", "no profile of Firefox or speedscope");
	assert_reads("{main};run 3\n", "{main};run 3\n"); /* PHP's, no JSON */
	assert_reads("@x;run 3\n", "@x;run 3\n");
	assert_reads("a 0 ;[incomplete: x] 3\n", "a 0 ;[incomplete: x] 3\n");
}

static void test_two_counts(void **state)
{
	const char *text = "sh;a 1 2\nsh;b 0 5\nsh;c 4 0\n";

	(void)state;
	assert_reads_type(text, NULL, "sh;b 5\nsh;a 2\n", "values are after; --type reads others: before");
	assert_reads_type(text, "before", "sh;c 4\nsh;a 1\n", NULL);
	assert_bytes_refused(text, strlen(text), (struct in_request){ .type = "x" }, "it has before, after");
	assert_reads("sh;thread 1 2\nsh;b 5\nsh;c 4\n", "sh;b 5\nsh;c 4\nsh;thread 1 2\n");
	assert_salvages("sh;a 1\nsh;b\nsh;c 1\n", "line 2: no count at its end", "sh;a 1\n", "1 record kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed), cmocka_unit_test(test_packed_and_cut), cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_lines),  cmocka_unit_test(test_formats),        cmocka_unit_test(test_two_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
