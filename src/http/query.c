/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads query strings. In: bytes from anybody. Out: numbers within bounds, times, texts without control characters.
 * Each parameter but filter is given once at most. Regular expressions are bounded in what compiling
 * and matching them can cost: no counted repetition, which multiplies, and no references back, which need backtracking.
 */
#include "http/query.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/span.h"
#include "base/text.h"
#include "base/when.h"

const char *const query_names[QUERY_PARAM_COUNT] = {
#define QUERY_NAME(id, name, help) name,
	QUERY_PARAMS(QUERY_NAME)
#undef QUERY_NAME
};

int query_decode(char *text, int form)
{
	char *to = text;

	for (const char *at = text; *at; at++) { /* ends with the text */
		int high, low, c = (unsigned char)*at;

		if (c == '%') {
			high = span_hex_digit(at[1]);
			low = high < 0 ? -1 : span_hex_digit(at[2]);
			if (low < 0)
				return fail_plain(-EINVAL, "a percent sign is not followed by two hexadecimal digits");
			c = high << 4 | low;
			at += 2;
		} else if (c == '+' && form) {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7f)
			return fail_plain(-EINVAL, "there is a control character in the request");
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

static int read_number(const char *name, const char *text, unsigned most, unsigned *ret)
{
	uint64_t value;

	if (text_u64(text, &value) || !value || value > most)
		return fail_plain(-EINVAL, "%s has to be a number from 1 to %u", name, most);
	*ret = (unsigned)value;
	return 0;
}

static int read_offsets(const char *text, struct query *query)
{
	char from[5], *end = strchr(text, '-');
	uint64_t first, last;

	if (!end || end == text || end - text >= (int)sizeof(from) || strlen(end + 1) >= sizeof(from))
		return fail_plain(-EINVAL, "offsets are two numbers of ms, such as 200-400");
	memcpy(from, text, (size_t)(end - text));
	from[end - text] = '\0';
	if (text_u64(from, &first) || text_u64(end + 1, &last) || first >= last || last > QUERY_OFFSET_MAX)
		return fail_plain(-EINVAL, "offsets are within a second, from 0 to %d ms", QUERY_OFFSET_MAX);
	query->offset_from = (unsigned)first;
	query->offset_to = (unsigned)last;
	return 0;
}

static int check_pattern(const char *text)
{
	size_t len = strlen(text);

	if (!len || len > QUERY_PATTERN_MAX)
		return fail_plain(-EINVAL, "a regular expression has to have from 1 to %d bytes", QUERY_PATTERN_MAX);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '{')
			return fail_plain(-EINVAL, "a regular expression may not have counted repetition here");
		if (text[i] == '\\' && text[i + 1] >= '1' && text[i + 1] <= '9')
			return fail_plain(-EINVAL, "a regular expression may not refer back here");
		i += text[i] == '\\' && text[i + 1];
	}
	return 0;
}

static int add_term(struct query *query, const struct filter_term *term)
{
	struct filter_options *filter = &query->filter;

	if (filter->terms_len == sizeof(filter->terms) / sizeof(*filter->terms))
		return fail_plain(-EINVAL, "there are more than %zu filters", filter->terms_len);
	filter->terms[filter->terms_len++] = *term;
	return term->exact ? 0 : check_pattern(term->text);
}

/* What a filter is of, by its name. */
static bool read_key(const char *name, struct filter_term *term)
{
	static const struct {
		const char *name;
		enum filter_key key;
	} keys[] = { { "focus", FILTER_FOCUS },   { "ignore", FILTER_FOCUS },    { "hide", FILTER_HIDE },
		     { "module", FILTER_MODULE }, { "kind", FILTER_KIND },       { "process", FILTER_PROCESS },
		     { "thread", FILTER_THREAD }, { "container", FILTER_LABEL }, { "unit", FILTER_LABEL } };
	static const char label[] = "label.";

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(name, keys[i].name))
			continue;
		term->key = keys[i].key;
		term->label = term->key == FILTER_LABEL ? keys[i].name : NULL;
		term->except ^= !strcmp(name, "ignore");
		return !(term->key == FILTER_HIDE && term->except);
	}
	term->key = FILTER_LABEL;
	term->label = name + strlen(label);
	return !strncmp(name, label, strlen(label)) && *term->label;
}

/* KEY:REGEX or KEY=TEXT, with a minus in front: all but these. */
static int read_filter(struct query *query, char *text)
{
	char *name = text + (*text == '-'), *end = name + strcspn(name, ":=");
	struct filter_term term = { .except = *text == '-', .exact = *end == '=', .text = end + 1 };

	if (!*end)
		return fail_plain(-EINVAL, "a filter is KEY:REGEX or KEY=TEXT");
	*end = '\0';
	if (!read_key(name, &term))
		return fail_plain(-EINVAL, "a filter begins with focus, ignore, hide, module, kind, process, thread, "
					   "container, unit or label.NAME");
	if (!*term.text)
		return fail_plain(-EINVAL, "filter %s has no value", name);
	return add_term(query, &term);
}

static int read_value(struct query *query, enum query_param param, char *text, uint64_t now_ns)
{
	switch (param) {
	case QUERY_FROM:
		return when_parse(text, now_ns, &query->from_ns);
	case QUERY_TO:
		return when_parse(text, now_ns, &query->to_ns);
	case QUERY_AGAINST:
		return when_parse(text, now_ns, &query->against_ns);
	case QUERY_FILTER:
		return read_filter(query, text);
	case QUERY_FORMAT:
		query->format = text;
		return 0;
	case QUERY_SECONDS:
		return read_number("seconds", text, QUERY_SECONDS_MAX, &query->seconds);
	case QUERY_BY:
		query->by = text;
		return 0;
	case QUERY_FN:
		query->fn = text;
		return add_term(query, &(struct filter_term){ .key = FILTER_FOCUS, .exact = true, .text = text });
	case QUERY_OFFSETS:
		return read_offsets(text, query);
	default:
		return read_number("cells", text, QUERY_CELLS_MAX, &query->cells);
	}
}

static int read_pair(struct query *query, char *pair, unsigned takes, uint64_t now_ns)
{
	char *value = strchr(pair, '=');
	unsigned param = 0;
	int err;

	if (value)
		*value++ = '\0';
	err = query_decode(pair, true);
	err = err || !value ? err : query_decode(value, true);
	if (err)
		return err;
	while (param < QUERY_PARAM_COUNT && strcmp(pair, query_names[param]))
		param++;
	if (param == QUERY_PARAM_COUNT || !(takes & 1u << param))
		return fail_plain(-EINVAL, "'%.40s' is no parameter of this path", pair);
	if (!value || !*value)
		return fail_plain(-EINVAL, "%s has no value", pair);
	if (param != QUERY_FILTER && query->given & 1u << param)
		return fail_plain(-EINVAL, "%s is given twice", pair);
	query->given |= 1u << param;
	return read_value(query, (enum query_param)param, value, now_ns);
}

static int read_pairs(struct query *query, unsigned takes, uint64_t now_ns)
{
	char *rest = query->text;

	for (unsigned i = 0; rest && *rest; i++) {
		char *pair = strsep(&rest, "&");
		int err;

		if (i == QUERY_PAIRS_MAX)
			return fail_plain(-EINVAL, "there are more than %d parameters", QUERY_PAIRS_MAX);
		err = *pair ? read_pair(query, pair, takes, now_ns) : 0;
		if (err)
			return err;
	}
	if (query->from_ns >= query->to_ns)
		return fail_plain(-EINVAL, "the range is empty: its beginning is not before its end");
	return 0;
}

int query_parse(struct query *ret, const char *raw, unsigned takes, uint64_t now_ns)
{
	struct query query = { .to_ns = now_ns, .seconds = QUERY_SECONDS_DEFAULT };
	int err;

	raw = raw ? raw : "";
	if (strnlen(raw, QUERY_BYTES_MAX + 1) > QUERY_BYTES_MAX)
		return fail_plain(-EINVAL, "the query is longer than %d bytes", QUERY_BYTES_MAX);
	query.text = strdup(raw);
	if (!query.text)
		return fail(-ENOMEM, "query");
	err = read_pairs(&query, takes, now_ns);
	if (err)
		query_free(&query);
	else
		*ret = query;
	return err;
}

void query_free(struct query *query)
{
	free(query->text);
	*query = (struct query){ 0 };
}

const char *query_form(char *body, const char *name)
{
	for (unsigned i = 0; body && i < QUERY_PAIRS_MAX; i++) {
		char *pair = strsep(&body, "&"), *value = strchr(pair, '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (!query_decode(pair, true) && !strcmp(pair, name))
			return query_decode(value, true) ? NULL : value;
	}
	return NULL;
}
