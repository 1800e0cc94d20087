/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON by pulling. In: bytes from anybody, held by the caller. Out: values as asked for. Invariant: `at` stands at a
 * token or at blanks before one, and never passes `end`; brackets[] holds the open ones, at most JSON_IN_DEPTH, so
 * depth costs no stack.
 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_MAX 64 /* letters of a number */

void json_in_init(struct json_in *json, const char *data, size_t len)
{
	*json = (struct json_in){ .start = data, .at = data, .end = data + len };
}

void json_in_free(struct json_in *json)
{
	buf_free(&json->key);
	buf_free(&json->text);
}

void json_in_fail(struct json_in *json, const char *expected)
{
	if (!json->bad)
		json->bad = expected;
}

size_t json_in_place(const struct json_in *json)
{
	return (size_t)(json->at - json->start);
}

/* The next letter that is not blank, not taken; NUL at the end. */
static char next(struct json_in *json)
{
	while (json->at < json->end &&
	       (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
		json->at++;
	return json->at < json->end ? *json->at : '\0';
}

bool json_in_detect(const char *data, size_t len)
{
	struct json_in json;
	bool open;

	json_in_init(&json, data, len);
	open = next(&json) == '{';
	json.at += open;
	return open && (next(&json) == '"' || next(&json) == '}');
}

char json_in_peek(struct json_in *json)
{
	char c = json->bad ? '\0' : next(json);

	if (c == '-' || (c >= '0' && c <= '9'))
		return '0';
	return c && strchr("{[\"tfn", c) ? c : '\0';
}

void json_in_begin(struct json_in *json, char bracket)
{
	if (json->bad)
		return;
	if (next(json) != bracket) {
		json_in_fail(json, bracket == '{' ? "an object was expected" : "an array was expected");
	} else if (json->depth == JSON_IN_DEPTH) {
		json_in_fail(json, "brackets are nested too deeply");
	} else {
		json->brackets[json->depth++] = bracket;
		json->fresh = true;
		json->at++;
	}
}

/* Whether something follows in the innermost bracket, whose end is taken if not. */
static bool follows(struct json_in *json, char open, char close)
{
	char c;

	if (json->bad)
		return false;
	if (!json->depth || json->brackets[json->depth - 1] != open) {
		json_in_fail(json, "brackets do not match");
		return false;
	}
	c = next(json);
	if (c == close) {
		json->depth--;
		json->fresh = false;
		json->at++;
		return false;
	}
	if (!json->fresh && c != ',') {
		json_in_fail(json, close == '}' ? "a comma or } was expected" : "a comma or ] was expected");
		return false;
	}
	if (!json->fresh)
		json->at++;
	json->fresh = false;
	return true;
}

static int hex4(const char *at)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = span_hex_digit(at[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static void add_utf8(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_addc(out, (char)code);
	} else if (code < 0x800) {
		buf_addc(out, (char)(0xc0 | code >> 6));
		buf_addc(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buf_addc(out, (char)(0xe0 | code >> 12));
		buf_addc(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_addc(out, (char)(0x80 | (code & 0x3f)));
	} else {
		buf_addc(out, (char)(0xf0 | code >> 18));
		buf_addc(out, (char)(0x80 | (code >> 12 & 0x3f)));
		buf_addc(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_addc(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* \uXXXX, of which two may make one character; half of such a pair becomes U+FFFD. */
static void add_unicode(struct json_in *json, struct buf *out)
{
	int code = json->end - json->at >= 4 ? hex4(json->at) : -1;
	int low;

	if (code < 0) {
		json_in_fail(json, "four hexadecimal digits were expected");
		return;
	}
	json->at += 4;
	if (code >= 0xd800 && code < 0xdc00 && json->end - json->at >= 6 && !memcmp(json->at, "\\u", 2)) {
		low = hex4(json->at + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			json->at += 6;
			add_utf8(out, 0x10000 + ((uint32_t)(code - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
			return;
		}
	}
	add_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : (uint32_t)code);
}

static void add_escape(struct json_in *json, struct buf *out)
{
	static const char letters[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	char c = json->at < json->end ? *json->at++ : '\0';

	if (c == 'u') {
		add_unicode(json, out);
		return;
	}
	for (size_t i = 0; i + 1 < sizeof(letters); i += 2)
		if (c && letters[i] == c) {
			buf_addc(out, letters[i + 1]);
			return;
		}
	json_in_fail(json, "no such escape in a string");
}

/* A string, its opening quote next. One without escapes is where it stands. */
static struct span take_string(struct json_in *json, struct buf *copy)
{
	const char *from;

	if (json->bad || next(json) != '"') {
		json_in_fail(json, "a string was expected");
		return (struct span){ "", 0 };
	}
	buf_clear(copy);
	for (from = ++json->at; json->at < json->end && !json->bad;) {
		char c = *json->at;

		if (c == '"') {
			struct span plain = { from, (size_t)(json->at - from) };

			json->at++;
			if (!copy->len)
				return plain;
			buf_add(copy, plain.data, plain.len);
			if (!buf_error(copy))
				return (struct span){ copy->data, copy->len };
			json_in_fail(json, "memory is out");
			break;
		}
		if ((unsigned char)c < 0x20) {
			json_in_fail(json, "a control character in a string");
		} else if (c == '\\') {
			buf_add(copy, from, (size_t)(json->at - from));
			json->at++;
			add_escape(json, copy);
			from = json->at;
		} else {
			json->at++;
		}
	}
	json_in_fail(json, "cut off in a string");
	return (struct span){ "", 0 };
}

bool json_in_key(struct json_in *json, struct span *ret)
{
	if (!follows(json, '{', '}'))
		return false;
	*ret = take_string(json, &json->key);
	if (!json->bad && next(json) != ':')
		json_in_fail(json, "a colon was expected");
	if (json->bad)
		return false;
	json->at++;
	return true;
}

bool json_in_element(struct json_in *json)
{
	return follows(json, '[', ']');
}

struct span json_in_text(struct json_in *json)
{
	return take_string(json, &json->text);
}

/* The letters of a number, as JSON's grammar has them. */
static struct span take_number(struct json_in *json)
{
	const char *at, *from;
	size_t digits = 0;

	if (json_in_peek(json) != '0') {
		json_in_fail(json, "a number was expected");
		return (struct span){ "", 0 };
	}
	from = at = json->at;
	at += *at == '-';
	for (; at < json->end && *at >= '0' && *at <= '9'; digits++)
		at++;
	if (!digits || (digits > 1 && at[-(ptrdiff_t)digits] == '0'))
		json_in_fail(json, "a number was expected");
	if (at < json->end && *at == '.')
		for (at++, digits = 0; at < json->end && *at >= '0' && *at <= '9'; digits++)
			at++;
	if (digits && at < json->end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < json->end && (*at == '+' || *at == '-');
		for (digits = 0; at < json->end && *at >= '0' && *at <= '9'; digits++)
			at++;
	}
	if (!digits || at - from >= NUMBER_MAX)
		json_in_fail(json, "a number was expected");
	if (json->bad)
		return (struct span){ "", 0 };
	json->at = at;
	return (struct span){ from, (size_t)(at - from) };
}

double json_in_double(struct json_in *json)
{
	struct span number = take_number(json);
	char text[NUMBER_MAX];
	uint64_t whole;
	double value;

	if (span_u64(number, &whole))
		return (double)whole;
	memcpy(text, number.data, number.len);
	text[number.len] = '\0';
	value = strtod(text, NULL); /* the program runs in the C locale: the point is a point */
	if (!(value > -1e300 && value < 1e300)) {
		json_in_fail(json, "a smaller number was expected");
		return 0;
	}
	return value;
}

uint64_t json_in_u64(struct json_in *json)
{
	const char *from = json->at;
	struct span number = take_number(json);
	uint64_t value = 0;

	if (!json->bad && !span_u64(number, &value)) {
		json->at = from;
		json_in_fail(json, "a whole number was expected");
	}
	return value;
}

static void take_word(struct json_in *json, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(json->end - json->at) < len || memcmp(json->at, word, len) != 0)
		json_in_fail(json, "a value was expected");
	else
		json->at += len;
}

void json_in_skip(struct json_in *json)
{
	unsigned depth = json->depth;
	struct span key;

	do {
		if (json->depth > depth &&
		    !(json->brackets[json->depth - 1] == '{' ? json_in_key(json, &key) : json_in_element(json)))
			continue;
		switch (json_in_peek(json)) {
		case '{':
		case '[':
			json_in_begin(json, *json->at);
			break;
		case '"':
			json_in_text(json);
			break;
		case '0':
			take_number(json);
			break;
		case 't':
			take_word(json, "true");
			break;
		case 'f':
			take_word(json, "false");
			break;
		case 'n':
			take_word(json, "null");
			break;
		default:
			json_in_fail(json, "a value was expected");
		}
	} while (json->depth > depth && !json->bad);
}

const char *json_in_mark(struct json_in *json)
{
	return json->at;
}

void json_in_goto(struct json_in *json, const char *mark)
{
	json->at = mark;
}
