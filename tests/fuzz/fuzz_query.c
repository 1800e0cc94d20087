/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query strings, forms and headers of anybody. What is accepted is within its bounds and has no control characters; a
 * host that is let in names loopback, by a check of its own that knows nothing of the parser's.
 */
#include "http/query.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "http/guard.h"

#define NOW 1772366400000000000
#define LAST 253402300800000000000.0

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_text(const char *text)
{
	for (; text && *text; text++)
		require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_query(const char *text)
{
	struct query query = { 0 };

	if (query_parse(&query, text, (1u << QUERY_PARAM_COUNT) - 1, NOW))
		return;
	require(query.from_ns < query.to_ns && (double)query.to_ns < LAST && (double)query.against_ns < LAST);
	require(query.seconds >= 1 && query.seconds <= QUERY_SECONDS_MAX && query.cells <= QUERY_CELLS_MAX);
	require(query.offset_to <= QUERY_OFFSET_MAX && (!query.offset_to || query.offset_from < query.offset_to));
	for (size_t i = 0; i < query.filter.terms_len; i++) {
		const struct filter_term *term = &query.filter.terms[i];

		require(*term->text && (term->exact || strlen(term->text) <= QUERY_PATTERN_MAX));
		require((term->key == FILTER_LABEL) == (term->label && *term->label));
		require(term->key != FILTER_HIDE || !term->except);
		check_text(term->text);
		check_text(term->label);
	}
	check_text(query.format);
	check_text(query.fn);
	check_text(query.by);
	query_free(&query);
}

static void check_guard(const char *text)
{
	static const struct guard guard = { .token = "0123456789abcdef" };

	if (guard_host_allowed(&guard, text, NULL))
		require(!strncasecmp(text, "localhost", 9) || !strncmp(text, "127.", 4) || text[0] == '[');
	require(!guard_has_token(&guard, NULL, text));
	if (guard_has_token(&guard, text, NULL))
		require(strlen(text) == 7 + 16 && !strcmp(text + 7, guard.token));
	require(!guard_origin_is_own(&guard, text, "localhost:7777") || !strcasecmp(text, "http://localhost:7777"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_query(text);
	check_guard(text);
	check_text(query_form(text, "token"));
	free(text);
	return 0;
}
