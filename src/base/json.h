/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer on a buffer: commas and quoting are its business, nesting the caller's. Strings become valid UTF-8. */
#ifndef WICK_BASE_JSON_H
#define WICK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct json {
	struct buf *out;
	bool comma;
};

void json_object(struct json *json, const char *key); /* key NULL: inside an array, or the root */
void json_array(struct json *json, const char *key);
void json_end(struct json *json, char bracket); /* '}' or ']' */
void json_u64(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value); /* %.6g; null if not finite */
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_text(struct json *json, const char *key, const char *data, size_t len);
void json_raw(struct json *json, const char *key, const char *value); /* JSON already */

#endif
