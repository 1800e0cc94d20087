/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Widths as terminals show them, without a locale: East Asian and pictures are two columns wide, marks that sit on
 * another character none. What is not sure counts as the wider, so that nothing runs over the edge.
 *
 * Invariant: what columns_add appends is never wider than asked, and never a part of a character.
 */
#include "base/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define DOTS "…"

struct range {
	uint32_t first, last;
};

static const struct range zero[] = {
	{ 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },     { 0x610, 0x61a },   { 0x64b, 0x65f },
	{ 0xe31, 0xe31 },   { 0xe34, 0xe3a },   { 0xe47, 0xe4e },     { 0x1160, 0x11ff }, { 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff }, { 0x200b, 0x200d }, { 0x2060, 0x2060 },   { 0x20d0, 0x20f0 }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0100, 0xe01ef },
};

static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23f3 },   { 0x25fd, 0x25fe },
	{ 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x267f, 0x267f },   { 0x2693, 0x2693 },   { 0x26a1, 0x26ab },
	{ 0x26bd, 0x26fd },   { 0x2705, 0x2705 },   { 0x270a, 0x270b },   { 0x2728, 0x2728 },   { 0x274c, 0x2757 },
	{ 0x2795, 0x2797 },   { 0x27b0, 0x27bf },   { 0x2b1b, 0x2b1c },   { 0x2b50, 0x2b55 },   { 0x2e80, 0x303e },
	{ 0x3041, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x16fe0, 0x1b2ff }, { 0x1f004, 0x1f004 },
	{ 0x1f0cf, 0x1f0cf }, { 0x1f18e, 0x1f19a }, { 0x1f200, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f7e0, 0x1f7ff },
	{ 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count && ranges[i].first <= code; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

/* The bytes of the first character and its columns. A byte that begins none stands for itself. */
static size_t next_character(const char *text, size_t len, size_t *ret_columns)
{
	uint32_t code = 0;
	size_t size = text_utf8(text, len, &code);

	*ret_columns = 1;
	if (!size)
		return 1;
	if (code >= zero[0].first) {
		if (is_in(zero, sizeof(zero) / sizeof(*zero), code))
			*ret_columns = 0;
		else if (is_in(wide, sizeof(wide) / sizeof(*wide), code))
			*ret_columns = 2;
	}
	return size;
}

size_t columns_of(const char *text, size_t len)
{
	size_t sum = 0, one;

	for (size_t at = 0; at < len; sum += one)
		at += next_character(text + at, len - at, &one);
	return sum;
}

/* The bytes at the start that take at most so many columns. */
static size_t head_bytes(const char *text, size_t len, size_t columns)
{
	size_t at = 0, one;

	while (at < len) {
		size_t size = next_character(text + at, len - at, &one);

		if (one > columns)
			break;
		columns -= one;
		at += size;
	}
	return at;
}

/* The same at the end; marks that would have lost their character are left out. */
static size_t tail_bytes(const char *text, size_t len, size_t columns)
{
	size_t left = columns_of(text, len), at = 0, one = 0;

	while (at < len && left > columns) {
		at += next_character(text + at, len - at, &one);
		left -= one;
	}
	while (at < len) {
		size_t size = next_character(text + at, len - at, &one);

		if (one)
			break;
		at += size;
	}
	return len - at;
}

/* The longest argument list, without its brackets, that is in no other; false if brackets do not match. */
static bool find_arguments(const char *text, size_t len, size_t *ret_from, size_t *ret_to)
{
	size_t depth = 0, begin = 0, longest = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '<') {
			if (i >= 8 && !memcmp(text + i - 8, "operator", 8))
				return false;
			if (!depth++)
				begin = i + 1;
		} else if (text[i] == '>' && (!i || text[i - 1] != '-')) {
			if (!depth)
				return false;
			if (!--depth && i - begin > longest) {
				longest = i - begin;
				*ret_from = begin;
				*ret_to = i;
			}
		}
	}
	return !depth && longest;
}

void columns_add(struct buf *out, const char *text, size_t len, size_t width)
{
	size_t from = 0, to = len, outside, room, head, tail;

	if (columns_of(text, len) <= width) {
		buf_add(out, text, len);
		return;
	}
	if (!width)
		return;
	if (!find_arguments(text, len, &from, &to) ||
	    columns_of(text, from) + columns_of(text + to, len - to) + 1 > width) {
		from = 0;
		to = len;
	}
	outside = columns_of(text, from) + columns_of(text + to, len - to);
	room = width - 1 - outside;
	head = from + head_bytes(text + from, to - from, room - room / 2);
	tail = len - to + tail_bytes(text + from, to - from, room / 2);
	buf_add(out, text, head);
	buf_adds(out, DOTS);
	buf_add(out, text + len - tail, tail);
}

void columns_pad(struct buf *out, const char *text, size_t len, size_t width)
{
	size_t start = out->len;

	columns_add(out, text, len, width);
	if (buf_error(out))
		return;
	for (size_t shown = columns_of(out->data + start, out->len - start); shown < width; shown++)
		buf_addc(out, ' ');
}

void columns_wrap(struct buf *out, const char *text, size_t at, size_t width, size_t indent)
{
	size_t room = width > indent ? width - indent : 1;
	bool fresh = true; /* nothing in the line yet */

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t columns = columns_of(text, len);

		if (!fresh && at + 1 + columns > width) {
			buf_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!fresh) {
			buf_addc(out, ' ');
			at++;
		}
		columns_add(out, text, len, room);
		at += columns < room ? columns : room;
		fresh = false;
		text += len;
		text += strspn(text, " ");
	}
}
