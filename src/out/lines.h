/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with a count: equal ones are added up, then they stand in order. {0} is empty. */
#ifndef WICK_OUT_LINES_H
#define WICK_OUT_LINES_H

#include <stddef.h>
#include <stdint.h>

struct intern;

struct line {
	const char *text;
	uint64_t count;
};

struct lines {
	struct line *list;
	size_t len;
	size_t cap;
	struct intern *texts;
};

int lines_add(struct lines *lines, const char *text, size_t len, uint64_t count);
/* By count, equal ones by text. No adding after that. */
void lines_sort_hottest_first(struct lines *lines);
void lines_sort_hottest_last(struct lines *lines);
void lines_free(struct lines *lines);

#endif
