/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer. Running out of memory is remembered, not reported at each call: check buf_error() once, when
 * the whole content is there. {0} is an empty buffer.
 */
#ifndef WICK_BASE_BUF_H
#define WICK_BASE_BUF_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data; /* always ends in NUL when not NULL; the NUL is not in len */
	size_t len;
	size_t cap;
	int err;
};

void buf_free(struct buf *buf);
void buf_clear(struct buf *buf); /* empties it, keeps the memory */
int buf_error(const struct buf *buf);

void buf_add(struct buf *buf, const void *data, size_t len);
/* Appends so many bytes for the caller to fill; NULL if memory is out. */
char *buf_space(struct buf *buf, size_t len);
void buf_addc(struct buf *buf, char c);
void buf_adds(struct buf *buf, const char *text);
void buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Binary: little endian, and LEB128 variable length. */
void buf_u32(struct buf *buf, uint32_t value);
void buf_u64(struct buf *buf, uint64_t value);
void buf_varint(struct buf *buf, uint64_t value);

static inline void cleanup_buf(struct buf *buf)
{
	buf_free(buf);
}

#define autobuf __attribute__((cleanup(cleanup_buf)))

/* Reading what may be hostile: every call checks the end; after the first failure all return 0 and `bad` stays set. */
struct cursor {
	const unsigned char *at;
	const unsigned char *end;
	int bad;
};

/* `at` is never NULL, so that zero bytes of nothing differ from a failure. */
static inline struct cursor cursor_of(const void *data, size_t len)
{
	const unsigned char *at = data ? data : (const void *)"";

	return (struct cursor){ .at = at, .end = at + (data ? len : 0) };
}

uint64_t cursor_long_varint(struct cursor *cursor); /* of any length */

static inline size_t cursor_left(const struct cursor *cursor)
{
	return cursor->bad ? 0 : (size_t)(cursor->end - cursor->at);
}

/* NULL if there are not so many. */
static inline const void *cursor_bytes(struct cursor *cursor, size_t len)
{
	const unsigned char *at = cursor->at;

	if (cursor->bad || len > (size_t)(cursor->end - at)) {
		cursor->bad = 1;
		return NULL;
	}
	cursor->at += len;
	return at;
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	const void *bytes = cursor_bytes(cursor, sizeof(uint32_t));
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
	const void *bytes = cursor_bytes(cursor, sizeof(uint64_t));
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* Nearly all are one byte. */
static inline uint64_t cursor_varint(struct cursor *cursor)
{
	if (cursor_left(cursor) && *cursor->at < 0x80)
		return *cursor->at++;
	return cursor_long_varint(cursor);
}

#endif
