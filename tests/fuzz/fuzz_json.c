/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any bytes as JSON, in two ways that must agree: skipped as one value, and taken apart. What was read and
 * written again must be read the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_read.h"

#define INPUT_MAX (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static void copy(struct json_in *in, struct json *out, const char *key, unsigned depth)
{
	struct span name, text;

	switch (json_in_peek(in)) {
	case '{':
		must(depth < JSON_IN_DEPTH + 1);
		json_object(out, key);
		for (json_in_begin(in, '{'); json_in_key(in, &name);) {
			autobuf struct buf kept = { 0 };

			buf_add(&kept, name.data, name.len);
			buf_addc(&kept, '\0'); /* the writer's keys end there */
			copy(in, out, kept.data, depth + 1);
		}
		json_end(out, '}');
		break;
	case '[':
		must(depth < JSON_IN_DEPTH + 1);
		json_array(out, key);
		for (json_in_begin(in, '['); json_in_element(in);)
			copy(in, out, NULL, depth + 1);
		json_end(out, ']');
		break;
	case '"':
		text = json_in_text(in);
		json_text(out, key, text.data, text.len);
		break;
	case '0':
		json_double(out, key, json_in_double(in));
		break;
	default:
		json_in_skip(in);
		json_null(out, key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autobuf struct buf first = { 0 }, second = { 0 };
	struct json_in skipped, taken, again;
	struct json out = { .out = &first }, out_again = { .out = &second };

	if (len > INPUT_MAX)
		return 0;
	json_in_init(&skipped, (const char *)data, len);
	json_in_init(&taken, (const char *)data, len);
	json_in_skip(&skipped);
	copy(&taken, &out, NULL, 0);
	/* Numbers that are too large for anything are told only by who takes them. */
	must(!skipped.bad || taken.bad);
	if (!taken.bad) {
		must(!skipped.bad && skipped.at == taken.at);
		json_in_init(&again, first.data, first.len);
		copy(&again, &out_again, NULL, 0);
		must(!again.bad && first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
		json_in_free(&again);
	}
	json_in_free(&skipped);
	json_in_free(&taken);
	return 0;
}
