/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict JSON reader that pulls: the caller asks for what it expects, in the order of the text, and skips the rest.
 * It allocates for strings with escapes alone. After the first thing that is not as asked, `bad` says what was
 * expected, every call returns nothing, and loops over keys and elements end: check it once, at the end.
 *
 *   for (json_in_begin(&json, '{'); json_in_key(&json, &key);)
 *           if (span_is(key, "name")) name = json_in_text(&json); else json_in_skip(&json);
 */
#ifndef WICK_BASE_JSON_READ_H
#define WICK_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

#define JSON_IN_DEPTH 64 /* brackets within each other */

struct json_in {
	const char *start, *at, *end;
	const char *bad; /* what was expected at `at`, or NULL */
	unsigned depth;
	bool fresh; /* nothing yet in the innermost bracket */
	char brackets[JSON_IN_DEPTH];
	struct buf key, text;
};

/* Whether the bytes begin like an object: `{` and a key. (`{main};run 3` is none.) */
bool json_in_detect(const char *data, size_t len);

void json_in_init(struct json_in *json, const char *data, size_t len);
void json_in_free(struct json_in *json);

/* What comes next: one of { [ " 0 (a number) t (true) f (false) n (null), or NUL at the end or for anything else. */
char json_in_peek(struct json_in *json);

void json_in_begin(struct json_in *json, char bracket); /* { or [ */
/* The next key of the object, its value to be taken next; false at its end, which is taken. Good until the next one. */
bool json_in_key(struct json_in *json, struct span *ret);
/* Whether the array has another element, to be taken next; false at its end, which is taken. */
bool json_in_element(struct json_in *json);

struct span json_in_text(struct json_in *json); /* good until the next text */
double json_in_double(struct json_in *json);
uint64_t json_in_u64(struct json_in *json); /* a whole number that fits */
void json_in_skip(struct json_in *json);    /* any value */
void json_in_fail(struct json_in *json, const char *expected);

/* The byte where it is, from 0. */
size_t json_in_place(const struct json_in *json);

/* To come back to a value later: where it stands, right before it is taken or skipped. */
const char *json_in_mark(struct json_in *json);
void json_in_goto(struct json_in *json, const char *mark);

#endif
