/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON onto a buffer. In: values, and strings from targets that may hold any bytes. Out: valid JSON in valid UTF-8, on
 * one line, also safe inside a <script> element. Bytes that are not UTF-8 become U+FFFD each; what would steer a
 * terminal is written as \uXXXX. Invariant: `comma` is set when the next value in the same bracket needs one.
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* How the character has to be written, in `escape` of 8 bytes; false if it can stand as it is. */
static bool escape_code(uint32_t code, char after, char *escape)
{
	static const char named[] = "\"\"\\\\\nn\rr\tt\bb\ff"; /* pairs: the character, its letter */

	for (size_t i = 0; i + 1 < sizeof(named); i += 2) {
		if (code == (unsigned char)named[i]) {
			snprintf(escape, 8, "\\%c", named[i + 1]);
			return true;
		}
	}
	/* "</script" and "<!--" would end or hide the rest of a page that has this inside. */
	if (text_is_control(code) || (code == '<' && (after == '/' || after == '!'))) {
		snprintf(escape, 8, "\\u%04x", (unsigned)code & 0xffff);
		return true;
	}
	return false;
}

static void add_string(struct buf *out, const char *data, size_t len)
{
	size_t plain = 0; /* where the run begins that has not been added yet */
	size_t at = 0;

	buf_addc(out, '"');
	while (at < len) {
		char escape[8] = "\xef\xbf\xbd"; /* U+FFFD */
		uint32_t code = 0;
		size_t size = text_utf8(data + at, len - at, &code);

		if (size && !escape_code(code, at + 1 < len ? data[at + 1] : '\0', escape)) {
			at += size;
			continue;
		}
		buf_add(out, data + plain, at - plain);
		buf_adds(out, escape);
		at += size ? size : 1;
		plain = at;
	}
	if (len > plain)
		buf_add(out, data + plain, len - plain);
	buf_addc(out, '"');
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		buf_addc(json->out, ',');
	json->comma = true;
	if (key) {
		add_string(json->out, key, strlen(key));
		buf_addc(json->out, ':');
	}
}

void json_object(struct json *json, const char *key)
{
	begin(json, key);
	buf_addc(json->out, '{');
	json->comma = false;
}

void json_array(struct json *json, const char *key)
{
	begin(json, key);
	buf_addc(json->out, '[');
	json->comma = false;
}

void json_end(struct json *json, char bracket)
{
	buf_addc(json->out, bracket);
	json->comma = true;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	begin(json, key);
	do
		digits[--at] = (char)('0' + value % 10); /* tables of a profile hold millions: printf takes its time */
	while (value /= 10);
	buf_add(json->out, digits + at, sizeof(digits) - at);
}

void json_double(struct json *json, const char *key, double value)
{
	char text[32];
	char *comma;

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	begin(json, key);
	snprintf(text, sizeof(text), "%.6g", value);
	comma = strchr(text, ','); /* the decimal point of many locales, which JSON does not know */
	if (comma)
		*comma = '.';
	buf_adds(json->out, text);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	buf_adds(json->out, "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	buf_adds(json->out, value ? "true" : "false");
}

void json_text(struct json *json, const char *key, const char *data, size_t len)
{
	begin(json, key);
	add_string(json->out, data, len);
}

void json_raw(struct json *json, const char *key, const char *value)
{
	begin(json, key);
	buf_adds(json->out, value);
}
