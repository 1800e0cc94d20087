/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes being written, and bytes being read that may be hostile. In: anything. Out: a buffer whose data ends in NUL
 * whenever it is not NULL; an addition that fails leaves the buffer as it was and stops all later ones, and that
 * outlives buf_clear, so that content written away in pieces cannot lose one in silence. A cursor never reads past its
 * end.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAP 64
#define VARINT_MAX 10 /* bytes: 64 bits in groups of 7 */

void buf_free(struct buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	*buf = (struct buf){ 0 };
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

int buf_error(const struct buf *buf)
{
	return buf->err;
}

/* Makes room for `more` bytes and the NUL. */
static int buf_reserve(struct buf *buf, size_t more)
{
	size_t need, cap;
	char *data;

	if (buf->err)
		return buf->err;
	/* No object may be larger than PTRDIFF_MAX; staying below half of that lets the doubling not overflow. */
	if (__builtin_add_overflow(buf->len, more, &need) || need >= PTRDIFF_MAX / 2)
		return buf->err = -ENOMEM;
	need++;
	if (need <= buf->cap)
		return 0;
	cap = buf->cap ? buf->cap : SMALLEST_CAP;
	while (cap < need)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		return buf->err = -ENOMEM;
	buf->data = data;
	buf->cap = cap;
	return 0;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	if (buf_reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

char *buf_space(struct buf *buf, size_t len)
{
	char *space;

	if (buf_reserve(buf, len))
		return NULL;
	space = buf->data + buf->len;
	buf->len += len;
	buf->data[buf->len] = '\0';
	return space;
}

void buf_addc(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addf(struct buf *buf, const char *format, ...)
{
	va_list args, again;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	if (len < 0 && !buf->err)
		buf->err = -EOVERFLOW;
	if (len >= 0 && !buf_reserve(buf, (size_t)len)) {
		vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
		buf->len += (size_t)len;
	}
	va_end(again);
	va_end(args);
}

static void add_little_endian(struct buf *buf, uint64_t value, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	buf_add(buf, bytes, size);
}

void buf_u32(struct buf *buf, uint32_t value)
{
	add_little_endian(buf, value, 4);
}

void buf_u64(struct buf *buf, uint64_t value)
{
	add_little_endian(buf, value, 8);
}

void buf_varint(struct buf *buf, uint64_t value)
{
	unsigned char bytes[VARINT_MAX];
	size_t len = 0;

	while (value >= 0x80) {
		bytes[len++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	bytes[len++] = (unsigned char)value;
	buf_add(buf, bytes, len);
}

uint64_t cursor_long_varint(struct cursor *cursor)
{
	uint64_t value = 0;

	for (size_t i = 0; i < VARINT_MAX; i++) {
		const unsigned char *byte = cursor_bytes(cursor, 1);

		if (!byte)
			return 0;
		/* The tenth byte has room for one bit. */
		if (i == VARINT_MAX - 1 && *byte > 1)
			break;
		value |= (uint64_t)(*byte & 0x7f) << (7 * i);
		if (*byte < 0x80)
			return value;
	}
	cursor->bad = 1;
	return 0;
}
