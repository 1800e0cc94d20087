/* SPDX-License-Identifier: Apache-2.0 */
/* A run of bytes in somebody else's memory, and the few ways in which readers of text take it apart. */
#ifndef WICK_BASE_SPAN_H
#define WICK_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *data;
	size_t len;
};

static inline bool span_is(struct span span, const char *word)
{
	return span.len == strlen(word) && !memcmp(span.data, word, span.len);
}

static inline bool span_equal(struct span a, struct span b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

static inline bool span_begins(struct span span, const char *with)
{
	size_t len = strlen(with);

	return span.len >= len && !memcmp(span.data, with, len);
}

static inline bool span_ends(struct span span, const char *with)
{
	size_t len = strlen(with);

	return span.len >= len && !memcmp(span.data + span.len - len, with, len);
}

static inline struct span span_from(struct span span, size_t start)
{
	return (struct span){ span.data + start, span.len - start };
}

static inline bool span_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline struct span span_trim(struct span span)
{
	while (span.len && span_is_blank(span.data[0]))
		span = span_from(span, 1);
	while (span.len && span_is_blank(span.data[span.len - 1]))
		span.len--;
	return span;
}

/* Takes the word before the next blanks off the front, and the blanks with it. */
static inline struct span span_word(struct span *from)
{
	struct span word = { from->data, 0 };

	while (word.len < from->len && !span_is_blank(from->data[word.len]))
		word.len++;
	*from = span_from(*from, word.len);
	while (from->len && span_is_blank(from->data[0]))
		*from = span_from(*from, 1);
	return word;
}

/* Takes a line off the front, without its end. */
static inline struct span span_line(struct span *from)
{
	const char *end = from->len ? memchr(from->data, '\n', from->len) : NULL;
	struct span line = { from->data, end ? (size_t)(end - from->data) : from->len };

	*from = span_from(*from, line.len + (end != NULL));
	if (line.len && line.data[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* All of it is a number: decimal digits only, no overflow. */
static inline bool span_u64(struct span span, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < span.len; i++)
		if (span.data[i] < '0' || span.data[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(span.data[i] - '0'), &value))
			return false;
	*ret = value;
	return span.len > 0;
}

/* Adds to a sum of foreign numbers; false, and it stays what it was, if that would not fit. */
static inline bool span_add(uint64_t *sum, uint64_t value)
{
	if (value > UINT64_MAX - *sum)
		return false;
	*sum += value;
	return true;
}

/* One more than the digit's value; 0: it is none. By table: which of the ranges a digit is in cannot be foreseen. */
static const unsigned char span_hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static inline int span_hex_digit(char c)
{
	return span_hex_digits[(unsigned char)c] - 1;
}

/* All of it is hexadecimal digits, at most sixteen. */
static inline bool span_hex(struct span span, uint64_t *ret)
{
	uint64_t value = 0;

	if (!span.len || span.len > 16)
		return false;
	for (size_t i = 0; i < span.len; i++) {
		int digit = span_hex_digit(span.data[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return true;
}

#endif
