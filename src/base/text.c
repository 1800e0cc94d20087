/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from targets made fit to be shown, and numbers from and for people. In: bytes that may be anything. Out: what
 * text_escape appends is always valid UTF-8 without control characters, and no two different inputs look the same,
 * because a backslash that could be taken for an escape is escaped too.
 */
#include "base/text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#define ID_LENGTH 64 /* hexadecimal digits of a container's id, */
#define ID_SHORT 12  /* of which so many are enough */

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

size_t text_utf8(const char *data, size_t len, uint32_t *ret)
{
	/* The smallest code point that needs a sequence of this length: anything below is an overlong form. */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *bytes = (const unsigned char *)data;
	uint32_t code;
	size_t size;

	if (!len)
		return 0;
	if (bytes[0] < 0x80) {
		*ret = bytes[0];
		return 1;
	}
	size = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || size > len)
		return 0;
	code = bytes[0] & (0x7f >> size);
	for (size_t i = 1; i < size; i++) {
		if (!is_continuation(bytes[i]))
			return 0;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return size;
}

bool text_is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x7f, 0x9f },                         /* DEL, C1 */
		{ 0x61c, 0x61c },   { 0x200e, 0x200f }, /* bidi marks */
		{ 0x2028, 0x2029 },                     /* line and paragraph separators */
		{ 0x202a, 0x202e },                     /* bidi embeddings and overrides */
		{ 0x2066, 0x2069 },                     /* bidi isolates */
	};

	if (code < 0x7f) /* nearly always */
		return code < 0x20;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

static bool contains_any(const char *data, size_t len, const char *also)
{
	for (size_t i = 0; also && i < len; i++) {
		if (data[i] && strchr(also, data[i]))
			return true;
	}
	return false;
}

/* Does it look like what an escaped byte becomes? */
static bool is_escape(const char *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	return len >= 4 && data[1] == 'x' && data[2] && strchr(digits, data[2]) && data[3] && strchr(digits, data[3]);
}

/* The length of what can be shown as it is at the start of `data`; 0 if the first byte has to be escaped. */
static size_t plain_length(const char *data, size_t len, const char *also)
{
	uint32_t code = 0;
	size_t size = text_utf8(data, len, &code);

	if (!size || (code == '\\' && is_escape(data, len)) || text_is_control(code) || contains_any(data, size, also))
		return 0;
	return size;
}

void text_escape(struct buf *out, const char *data, size_t len, const char *also)
{
	size_t plain = 0; /* where the run begins that has not been added yet */
	size_t at = 0;

	while (at < len) {
		size_t size = plain_length(data + at, len - at, also);

		if (size) {
			at += size;
			continue;
		}
		/* Of a longer sequence only the first byte: what is left of it is invalid and follows the same way. */
		buf_add(out, data + plain, at - plain);
		buf_addf(out, "\\x%02x", (unsigned char)data[at]);
		plain = ++at;
	}
	if (len > plain)
		buf_add(out, data + plain, len - plain);
}

int text_u64(const char *text, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t value = 0;

	if (!digits || text[digits])
		return -EINVAL;
	for (size_t i = 0; i < digits; i++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

size_t text_label_len(const char *text, size_t len)
{
	size_t user = 0;

	while (user < len && text[user] >= '0' && text[user] <= '9')
		user++;
	user = user && user < len && text[user] == '/' ? user + 1 : 0;
	if (len - user != ID_LENGTH)
		return len;
	for (size_t i = user; i < len; i++)
		if (!memchr("0123456789abcdef", text[i], 16))
			return len;
	return user + ID_SHORT;
}

void text_thousands(struct buf *out, uint64_t value)
{
	char text[32];
	size_t at = sizeof(text);
	unsigned digits = 0;

	do {
		if (digits && digits % 3 == 0)
			text[--at] = ',';
		text[--at] = (char)('0' + value % 10);
		value /= 10;
		digits++;
	} while (value);
	buf_add(out, text + at, sizeof(text) - at);
}

void text_number(struct buf *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_add(out, digits + at, sizeof(digits) - at);
}
