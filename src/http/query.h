/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query string of a request: names and values, decoded and within bounds. A route says which it takes; any other
 * one is an error, so that a misspelt name is not passed over in silence.
 */
#ifndef WICK_HTTP_QUERY_H
#define WICK_HTTP_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "profile/filter.h"

#define QUERY_BYTES_MAX 8192
#define QUERY_PAIRS_MAX 32
#define QUERY_PATTERN_MAX 256    /* bytes of a regular expression */
#define QUERY_SECONDS_MAX 300    /* of sampling that somebody waits for */
#define QUERY_SECONDS_DEFAULT 30 /* as Go's own handler has it */
#define QUERY_CELLS_MAX 5000     /* points or columns of an answer */
#define QUERY_OFFSET_MAX 1000    /* ms of a second */

/* PARAM(name in capitals, name, what it is, for docs and errors) */
#define QUERY_PARAMS(PARAM)                                                                   \
	PARAM(FROM, "from", "the beginning of the range, a time")                             \
	PARAM(TO, "to", "the end of the range, a time; now if not given")                     \
	PARAM(AGAINST, "against", "the beginning of a range as long, to compare with")        \
	PARAM(FILTER, "filter", "what samples are asked for, as focus:REGEX or process=NAME") \
	PARAM(FORMAT, "format", "a name of a format")                                         \
	PARAM(SECONDS, "seconds", "how long to sample")                                       \
	PARAM(BY, "by", "what makes a curve or a row of its own")                             \
	PARAM(CELLS, "cells", "how many points or columns")                                   \
	PARAM(FN, "fn", "the name of a function")                                             \
	PARAM(OFFSETS, "offsets", "parts of every second, FROM-TO in ms")

enum query_param {
#define QUERY_ENUM(id, name, help) QUERY_##id,
	QUERY_PARAMS(QUERY_ENUM)
#undef QUERY_ENUM
		QUERY_PARAM_COUNT
};
#define QUERY_TAKES(id) (1u << QUERY_##id)

extern const char *const query_names[QUERY_PARAM_COUNT];

/* Texts belong to the query. {0} is empty. */
struct query {
	unsigned given;      /* bits of enum query_param */
	uint64_t from_ns;    /* since 1970; 0: from the beginning */
	uint64_t to_ns;      /* not included */
	uint64_t against_ns; /* 0: not given */
	unsigned seconds;
	unsigned cells;          /* 0: not given */
	const char *format, *by; /* NULL: not given */
	const char *fn;
	unsigned offset_from, offset_to; /* ms of every second, the last one not included; 0 and 0: not given */
	struct filter_options filter;    /* of filter and fn */
	char *text;
};

/*
 * Reads a raw query string, what follows the question mark; NULL is an empty one. `takes` are bits of the parameters
 * that the route has. -EINVAL with fail() set, in a sentence that can be sent.
 */
int query_parse(struct query *ret, const char *raw, unsigned takes, uint64_t now_ns);
void query_free(struct query *query);

/*
 * Undoes percent encoding in place, plus signs too if it is a form's. -EINVAL for what is not well-formed, and for
 * control characters.
 */
int query_decode(char *text, int form);

/* The value of a name in the body of a form, decoded, in place; NULL if it is not there. */
const char *query_form(char *body, const char *name);

#endif
