/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up counts by text. Each distinct text is kept once, under a small number, which is its place in the list until
 * the list is sorted. A text whose count is 0 is left out: it says nothing.
 */
#include "out/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

/* Number 0 is the empty text, which a line may be as well. */
static int make_room(struct lines *lines, size_t number)
{
	size_t cap = lines->cap ? lines->cap : 64;
	struct line *grown;

	if (number < lines->cap)
		return 0;
	while (cap <= number)
		cap *= 2;
	grown = reallocarray(lines->list, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + lines->cap, 0, (cap - lines->cap) * sizeof(*grown));
	lines->list = grown;
	lines->cap = cap;
	return 0;
}

int lines_add(struct lines *lines, const char *text, size_t len, uint64_t count)
{
	uint32_t number;
	int err = lines->texts ? 0 : intern_new(&lines->texts);

	if (err || !count)
		return err;
	number = intern_bytes(lines->texts, text, len);
	err = number == UINT32_MAX ? -ENOMEM : make_room(lines, number);
	if (err)
		return err;
	lines->list[number].text = intern_get(lines->texts, number, NULL);
	lines->list[number].count += count;
	lines->len = number >= lines->len ? number + 1 : lines->len;
	return 0;
}

static int hottest_first(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->text, right->text);
}

static int hottest_last(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? -1 : 1;
	return strcmp(left->text, right->text);
}

static void sort(struct lines *lines, int (*compare)(const void *, const void *))
{
	/* The place of the empty text has no count unless a line was empty. */
	if (lines->len && !lines->list[0].count)
		lines->list[0] = lines->list[--lines->len];
	if (lines->len)
		qsort(lines->list, lines->len, sizeof(*lines->list), compare);
}

void lines_sort_hottest_first(struct lines *lines)
{
	sort(lines, hottest_first);
}

void lines_sort_hottest_last(struct lines *lines)
{
	sort(lines, hottest_last);
}

void lines_free(struct lines *lines)
{
	free(lines->list);
	intern_free(lines->texts);
	*lines = (struct lines){ 0 };
}
