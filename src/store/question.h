/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question in SQL, asked of a store that was opened to be read: one SELECT, of the views that docs/store.md names.
 * Nothing can be written, attached or loaded by it, and it ends within the time it is given.
 */
#ifndef WICK_STORE_QUESTION_H
#define WICK_STORE_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "profile/filter.h"

struct store;

enum store_kind { STORE_NULL, STORE_INTEGER, STORE_REAL, STORE_TEXT, STORE_BYTES };

struct store_value {
	enum store_kind kind;
	int64_t integer;
	double real;
	const char *data; /* text or bytes, good until the callback returns */
	size_t len;
};

struct store_question {
	const char *text;
	uint64_t timeout_ns;            /* 0: none */
	filter_text *function, *module; /* what a frame is called */
	/* Before the first row, then for each; what they return but 0 ends it. */
	int (*names)(void *arg, const char *const *names, size_t len);
	int (*row)(void *arg, const struct store_value *values, size_t len);
	void *arg;
};

#define STORE_COLUMNS_MAX 256

/* -EINVAL with fail() set for what is no question, or not allowed; -ETIMEDOUT; what a callback returned. */
int store_ask(struct store *store, const struct store_question *question);

#endif
