/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows as columns. In: rows of (who, stack, value), in any order. Out: bytes in which like stands beside like, so
 * that they compress well: numbers that grow are written as differences, everything as varints.
 *
 * Reading trusts nothing: counts are checked against the bytes that are left before memory is taken, and the sums of
 * the groups must be those of their rows.
 */
#include "store/window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/span.h"
#include "profile/wick_format.h"

#define UNPACK_MAX (256u << 20)
#define COUNTER_LEAST 3 /* bytes */
#define GROUP_LEAST 3
#define ROW_LEAST 2
#define EVENT_LEAST 3

void window_free(struct window *window)
{
	free(window->groups);
	free(window->rows);
	free(window->counters);
	free(window->events);
	*window = (struct window){ 0 };
}

static void *copy_of(const void *records, size_t len, size_t size)
{
	void *copy = calloc(len + 1, size);

	return copy && len ? memcpy(copy, records, len * size) : copy;
}

int window_copy(const struct window *from, struct window *ret)
{
	*ret = *from;
	ret->events = NULL;
	ret->events_len = 0;
	ret->groups = copy_of(from->groups, from->groups_len, sizeof(*from->groups));
	ret->rows = from->rows ? copy_of(from->rows, from->rows_len, sizeof(*from->rows)) : NULL;
	ret->counters = copy_of(from->counters, from->counters_len, sizeof(*from->counters));
	if (ret->groups && ret->counters && (ret->rows || !from->rows))
		return 0;
	window_free(ret);
	return fail(-ENOMEM, "store: window");
}

static int compare_rows(const void *a, const void *b)
{
	const struct window_row *left = a, *right = b;

	if (left->who != right->who)
		return left->who < right->who ? -1 : 1;
	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

static int add_up_rows(struct window *window)
{
	size_t kept = 0;

	for (size_t i = 0; i < window->rows_len; i++) {
		const struct window_row *row = &window->rows[i];

		if (kept && !compare_rows(&window->rows[kept - 1], row)) {
			if (!span_add(&window->rows[kept - 1].value, row->value))
				return fail(-EOVERFLOW, "store: adding up a window");
			continue;
		}
		window->rows[kept++] = *row;
	}
	window->rows_len = kept;
	return 0;
}

int window_arrange(struct window *window)
{
	int err;

	free(window->groups);
	window->groups_len = 0;
	window->groups = calloc(window->rows_len + 1, sizeof(*window->groups));
	if (!window->groups)
		return fail(-ENOMEM, "store: window");
	if (window->rows_len)
		qsort(window->rows, window->rows_len, sizeof(*window->rows), compare_rows);
	err = add_up_rows(window);
	for (size_t i = 0; i < window->rows_len && !err; i++) {
		const struct window_row *row = &window->rows[i];
		struct window_group *group = &window->groups[window->groups_len];

		if (!i || row->who != row[-1].who)
			window->groups_len++;
		else
			group--;
		group->who = row->who;
		group->rows++;
		if (!span_add(&group->sum, row->value))
			err = fail(-EOVERFLOW, "store: adding up a window");
	}
	return err;
}

void window_head(const struct window *window, struct buf *ret)
{
	uint32_t before = 0;

	buf_varint(ret, WINDOW_NUMBERS);
	for (int i = 0; i < WINDOW_NUMBERS; i++)
		buf_varint(ret, window->numbers[i]);
	buf_varint(ret, window->groups_len);
	for (size_t i = 0; i < window->groups_len; i++) {
		buf_varint(ret, window->groups[i].who - before);
		before = window->groups[i].who;
	}
	for (size_t i = 0; i < window->groups_len; i++)
		buf_varint(ret, window->groups[i].rows);
	for (size_t i = 0; i < window->groups_len; i++)
		buf_varint(ret, window->groups[i].sum);
	buf_varint(ret, window->counters_len);
	for (size_t i = 0; i < window->counters_len; i++)
		buf_varint(ret, wick_zigzag(window->counters[i].group, i ? window->counters[i - 1].group : 0));
	for (size_t i = 0; i < window->counters_len; i++)
		buf_varint(ret, wick_zigzag(window->counters[i].name, i ? window->counters[i - 1].name : 0));
	for (size_t i = 0; i < window->counters_len; i++)
		buf_varint(ret, window->counters[i].value);
}

void window_body(const struct window *window, struct buf *ret)
{
	const struct window_row *rows = window->rows;

	for (size_t i = 0; i < window->rows_len; i++)
		buf_varint(ret, rows[i].stack - (i && rows[i].who == rows[i - 1].who ? rows[i - 1].stack : 0));
	for (size_t i = 0; i < window->rows_len; i++)
		buf_varint(ret, rows[i].value);
}

void window_events(const struct window *window, struct buf *ret)
{
	uint64_t before = 0;

	buf_varint(ret, window->events_len);
	for (size_t i = 0; i < window->events_len; i++) {
		buf_varint(ret, window->events[i].time_us - before);
		before = window->events[i].time_us;
	}
	for (size_t i = 0; i < window->events_len; i++)
		buf_varint(ret, window->events[i].cpu);
	for (size_t i = 0; i < window->events_len; i++)
		buf_varint(ret, window->events[i].row);
}

static int damaged(void)
{
	return fail_plain(-EBADMSG, "store: a window is damaged");
}

/* A count of records that take at least so many bytes each, and memory for them. */
static void *take_records(struct cursor *cursor, size_t least, size_t size, size_t *ret_len)
{
	uint64_t len = cursor_varint(cursor);
	void *records;

	if (cursor->bad || len > cursor_left(cursor) / least) {
		cursor->bad = 1;
		return NULL;
	}
	records = calloc(len + 1, size);
	*ret_len = records ? len : 0;
	return records;
}

static uint32_t take_u32(struct cursor *cursor)
{
	uint64_t value = cursor_varint(cursor);

	if (value > UINT32_MAX)
		cursor->bad = 1;
	return (uint32_t)value;
}

/* The next of numbers that grow. */
static uint32_t take_growing(struct cursor *cursor, uint32_t before)
{
	uint64_t value = take_u32(cursor) + (uint64_t)before;

	if (value > UINT32_MAX)
		cursor->bad = 1;
	return (uint32_t)value;
}

/* The next of numbers that are close to each other. */
static uint32_t take_near(struct cursor *cursor, uint32_t before)
{
	uint64_t value = wick_unzigzag(cursor_varint(cursor), before);

	if (value > UINT32_MAX)
		cursor->bad = 1;
	return (uint32_t)value;
}

static void take_numbers(struct cursor *cursor, struct window *ret)
{
	uint64_t numbers = cursor_varint(cursor);

	if (numbers > cursor_left(cursor))
		cursor->bad = 1;
	for (uint64_t i = 0; i < numbers && !cursor->bad; i++) {
		uint64_t number = cursor_varint(cursor);

		if (i < WINDOW_NUMBERS) /* a later version may have more */
			ret->numbers[i] = number;
	}
}

static void take_groups(struct cursor *cursor, struct window *ret)
{
	uint32_t before = 0;
	size_t rows = 0;

	for (size_t i = 0; i < ret->groups_len; i++) {
		before = take_growing(cursor, before);
		ret->groups[i].who = before;
		if (i && before == ret->groups[i - 1].who)
			cursor->bad = 1;
	}
	for (size_t i = 0; i < ret->groups_len; i++) {
		ret->groups[i].rows = take_u32(cursor);
		rows += ret->groups[i].rows;
		if (!ret->groups[i].rows)
			cursor->bad = 1;
	}
	for (size_t i = 0; i < ret->groups_len; i++)
		ret->groups[i].sum = cursor_varint(cursor);
	ret->rows_len = rows;
}

int window_read_head(struct window *ret, const void *data, size_t len)
{
	struct cursor cursor = cursor_of(data, len);

	*ret = (struct window){ 0 };
	take_numbers(&cursor, ret);
	ret->groups = take_records(&cursor, GROUP_LEAST, sizeof(*ret->groups), &ret->groups_len);
	if (ret->groups)
		take_groups(&cursor, ret);
	if (ret->groups && !cursor.bad)
		ret->counters = take_records(&cursor, COUNTER_LEAST, sizeof(*ret->counters), &ret->counters_len);
	for (size_t i = 0; i < ret->counters_len; i++)
		ret->counters[i].group = take_near(&cursor, i ? ret->counters[i - 1].group : 0);
	for (size_t i = 0; i < ret->counters_len; i++)
		ret->counters[i].name = take_near(&cursor, i ? ret->counters[i - 1].name : 0);
	for (size_t i = 0; i < ret->counters_len; i++)
		ret->counters[i].value = cursor_varint(&cursor);
	if (!cursor.bad && ret->counters && !cursor_left(&cursor))
		return 0;
	window_free(ret);
	return cursor.bad || cursor_left(&cursor) ? damaged() : fail(-ENOMEM, "store: window");
}

static void take_stacks(struct cursor *cursor, struct window *window)
{
	size_t at = 0;

	for (size_t g = 0; g < window->groups_len; g++) {
		uint32_t before = 0;

		for (uint32_t i = 0; i < window->groups[g].rows; i++, at++) {
			window->rows[at].who = window->groups[g].who;
			window->rows[at].stack = take_growing(cursor, before);
			if (i && window->rows[at].stack == before)
				cursor->bad = 1;
			before = window->rows[at].stack;
		}
	}
}

bool window_adds_up(const struct window *window)
{
	const struct window_row *row = window->rows;

	for (size_t g = 0; g < window->groups_len; g++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < window->groups[g].rows; i++, row++)
			if (!row->value || !span_add(&sum, row->value))
				return false;
		if (!window->groups[g].rows || sum != window->groups[g].sum)
			return false;
	}
	return true;
}

int window_read_body(struct window *window, const void *data, size_t len)
{
	struct cursor cursor = cursor_of(data, len);

	if (window->rows_len > len / ROW_LEAST)
		return damaged();
	window->rows = calloc(window->rows_len + 1, sizeof(*window->rows));
	if (!window->rows)
		return fail(-ENOMEM, "store: window");
	take_stacks(&cursor, window);
	for (size_t i = 0; i < window->rows_len; i++)
		window->rows[i].value = cursor_varint(&cursor);
	return cursor.bad || cursor_left(&cursor) || !window_adds_up(window) ? damaged() : 0;
}

int window_read_events(struct window *window, const void *data, size_t len)
{
	struct cursor cursor = cursor_of(data, len);
	uint64_t before = 0;

	window->events = take_records(&cursor, EVENT_LEAST, sizeof(*window->events), &window->events_len);
	if (!window->events)
		return cursor.bad ? damaged() : fail(-ENOMEM, "store: events");
	for (size_t i = 0; i < window->events_len; i++) {
		if (!span_add(&before, cursor_varint(&cursor)))
			cursor.bad = 1;
		window->events[i].time_us = before;
	}
	for (size_t i = 0; i < window->events_len; i++)
		window->events[i].cpu = take_u32(&cursor);
	for (size_t i = 0; i < window->events_len; i++) {
		window->events[i].row = take_u32(&cursor);
		if (window->events[i].row >= window->rows_len)
			cursor.bad = 1;
	}
	return cursor.bad || cursor_left(&cursor) ? damaged() : 0;
}

int window_pack(const struct buf *raw, enum window_effort effort, struct buf *ret)
{
	size_t bound = ZSTD_compressBound(raw->len), len;
	char *space = buf_error(raw) ? NULL : buf_space(ret, bound);

	if (!space)
		return fail(-ENOMEM, "store: packing");
	if (raw->len > UNPACK_MAX)
		return fail(-EFBIG, "store: packing");
	len = ZSTD_compress(space, bound, raw->len ? raw->data : "", raw->len, (int)effort);
	if (ZSTD_isError(len))
		return fail_plain(-EIO, "store: packing: %s", ZSTD_getErrorName(len));
	ret->len -= bound - len;
	return 0;
}

int window_unpack(const void *data, size_t len, struct buf *ret)
{
	unsigned long long size = ZSTD_getFrameContentSize(data ? data : "", len);
	char *space;
	size_t got;

	if (size > UNPACK_MAX) /* as are the two that mean it is not known, or not zstd */
		return damaged();
	space = buf_space(ret, size);
	if (!space && size)
		return fail(-ENOMEM, "store: unpacking");
	got = ZSTD_decompress(space, size, data, len);
	return ZSTD_isError(got) || got != size ? damaged() : 0;
}
