/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and cursors over any bytes. The first byte of the input chooses what is escaped as well; the rest is the text,
 * and then a list of things for a cursor to read. What text_escape shows must be valid UTF-8 without control
 * characters, and must lead back to the input; the cursor must stay inside. The checks use nothing of what they check.
 */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Decodes one character by the definition: every form but the shortest, surrogates and what is above are refused. */
static size_t decode(const unsigned char *at, size_t left, uint32_t *ret)
{
	for (size_t size = 1; size <= 4 && size <= left; size++) {
		static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 },
				      last[] = { 0, 0x7f, 0x7ff, 0xffff, 0x10ffff };
		static const unsigned char mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 }, mask[] = { 0, 0x80, 0xe0, 0xf0, 0xf8 };
		bool valid = (at[0] & mask[size]) == mark[size];
		uint32_t code = at[0] & (unsigned char)~mask[size];

		for (size_t i = 1; i < size; i++) {
			valid = valid && at[i] >= 0x80 && at[i] <= 0xbf;
			code = code << 6 | (at[i] & 0x3f);
		}
		if (valid && code >= first[size] && code <= last[size] && (code < 0xd800 || code > 0xdfff)) {
			*ret = code;
			return size;
		}
	}
	return 0;
}

static void check_shown(const struct buf *out, const char *also)
{
	const unsigned char *text = (const unsigned char *)out->data;
	size_t size;

	for (size_t at = 0; at < out->len; at += size) {
		uint32_t code = 0;

		size = decode(text + at, out->len - at, &code);
		require(size);
		require(code >= 0x20 && !(code >= 0x7f && code <= 0x9f));
		require(code != 0x2028 && code != 0x2029 && code != 0x200e && code != 0x200f);
		require(!(code >= 0x202a && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069));
		require(!also || code > 0x7f || !strchr(also, (int)code));
	}
}

static void check_leads_back(const struct buf *out, const uint8_t *data, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < out->len; at++) {
		unsigned byte = (unsigned char)out->data[i];

		if (byte == '\\' && out->len - i >= 4 && out->data[i + 1] == 'x' &&
		    strspn(out->data + i + 2, "0123456789abcdef") >= 2) {
			char digits[3] = { 0 };

			memcpy(digits, out->data + i + 2, 2);
			byte = (unsigned)strtoul(digits, NULL, 16);
			i += 4;
		} else {
			i++;
		}
		require(at < size && data[at] == byte);
	}
	require(at == size);
}

static void check_text(const uint8_t *data, size_t size, const char *also)
{
	autobuf struct buf out = { 0 };

	text_escape(&out, (const char *)data, size, also);
	require(!buf_error(&out));
	check_shown(&out, also);
	check_leads_back(&out, data, size);
}

/* Reads as the bytes say, each byte being both what to do and what is read. */
static void check_cursor(const uint8_t *data, size_t size)
{
	struct cursor cursor = cursor_of(data, size);

	for (size_t step = 0; step < size; step++) {
		size_t before = cursor_left(&cursor);
		bool bad = cursor.bad;
		uint64_t value = 0;
		const void *bytes;

		switch (data[step] & 3) {
		case 0:
			value = cursor_u32(&cursor);
			require(cursor.bad || before - cursor_left(&cursor) == 4);
			break;
		case 1:
			value = cursor_u64(&cursor);
			require(cursor.bad || before - cursor_left(&cursor) == 8);
			break;
		case 2:
			value = cursor_varint(&cursor);
			require(cursor.bad || before - cursor_left(&cursor) <= 10);
			break;
		default:
			bytes = cursor_bytes(&cursor, data[step] >> 2);
			require(cursor.bad == !bytes);
			require(!bytes || before - cursor_left(&cursor) == (size_t)data[step] >> 2);
		}
		require(!bad || cursor.bad);
		require(!cursor.bad || (!value && !cursor_left(&cursor)));
		require(cursor.at >= data && cursor.at <= data + size);
	}
}

static void check_varint(const uint8_t *data, size_t size)
{
	autobuf struct buf out = { 0 };
	struct cursor cursor;
	uint64_t value = 0;

	memcpy(&value, data, size < sizeof(value) ? size : sizeof(value));
	buf_varint(&out, value);
	cursor = cursor_of(out.data, out.len);
	require(cursor_varint(&cursor) == value && !cursor.bad && !cursor_left(&cursor));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const also[] = { NULL, ";", " ;", "\"<>&'" };

	if (!size)
		return 0;
	check_text(data + 1, size - 1, also[data[0] % 4]);
	check_cursor(data + 1, size - 1);
	check_varint(data + 1, size - 1);
	return 0;
}
