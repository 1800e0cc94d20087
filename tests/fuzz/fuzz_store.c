/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns that a store holds, before they are packed: whatever the bytes, reading them ends, and what was read is
 * written as something that is read as the same. The first byte says which kind of columns follows: a window (the
 * head, its length in two bytes before it, then the body), events, the windows of an hour (their heads and the hour's
 * head and body, each with its length before it, then their bodies), the sum of an hour (as a window), the times of an
 * hour's windows, or a block of one of the dictionary's tables after a dictionary that has a record of each.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "store/bundle.h"
#include "store/dict.h"
#include "store/sum.h"
#include "store/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_events(struct window *window, const uint8_t *data, size_t len)
{
	autobuf struct buf once = { 0 };
	struct window again = { .rows_len = window->rows_len };

	if (window_read_events(window, data, len))
		return;
	for (size_t i = 0; i < window->events_len; i++)
		require(window->events[i].row < window->rows_len &&
			(!i || window->events[i].time_us >= window->events[i - 1].time_us));
	window_events(window, &once);
	require(!window_read_events(&again, once.data, once.len) && again.events_len == window->events_len);
	window_free(&again);
}

static void read_window(const uint8_t *data, size_t len)
{
	autobuf struct buf head = { 0 }, body = { 0 };
	struct window window, again;
	size_t head_len;

	if (len < 2)
		return;
	head_len = (size_t)data[0] | (size_t)data[1] << 8;
	if (head_len > len - 2 || window_read_head(&window, data + 2, head_len))
		return;
	if (!window_read_body(&window, data + 2 + head_len, len - 2 - head_len)) {
		uint64_t sum = 0, values = 0;

		for (size_t i = 0; i < window.groups_len; i++)
			sum += window.groups[i].sum;
		for (size_t i = 0; i < window.rows_len; i++)
			values += window.rows[i].value;
		require(sum == values);
		window_head(&window, &head);
		window_body(&window, &body);
		require(!window_read_head(&again, head.data, head.len));
		require(!window_read_body(&again, body.data, body.len));
		require(again.rows_len == window.rows_len && again.groups_len == window.groups_len);
		require(!window.rows_len || !memcmp(again.rows, window.rows, window.rows_len * sizeof(*window.rows)));
		window_free(&again);
	}
	window_free(&window);
}

/* As a window, but the body is that of an hour. */
static void read_sum(const uint8_t *data, size_t len)
{
	autobuf struct buf body = { 0 };
	struct window window, again;
	size_t head_len = len < 2 ? 0 : (size_t)data[0] | (size_t)data[1] << 8;

	if (len < 2 || head_len > len - 2 || window_read_head(&window, data + 2, head_len))
		return;
	again = window;
	if (!sum_read_body(&window, data + 2 + head_len, len - 2 - head_len)) {
		require(!sum_body(&window, &body));
		require(!sum_read_body(&again, body.data, body.len));
		require(!window.rows_len || !memcmp(again.rows, window.rows, window.rows_len * sizeof(*window.rows)));
		free(again.rows);
	}
	window_free(&window);
}

static void read_spans(const uint8_t *data, size_t len)
{
	autobuf struct buf once = { 0 };
	struct bundle_span *spans, *again;
	size_t count, again_count;

	if (bundle_read_spans(&spans, &count, data, len))
		return;
	bundle_spans(spans, count, &once);
	require(!bundle_read_spans(&again, &again_count, once.data, once.len) && again_count == count);
	require(!memcmp(spans, again, count * sizeof(*spans)));
	free(spans);
	free(again);
}

/* The next part of an input, whose length is before it. */
static struct cursor take_part(struct cursor *cursor)
{
	const unsigned char *size = cursor_bytes(cursor, 2);
	size_t len = size ? (size_t)size[0] | (size_t)size[1] << 8 : 0;
	const void *data = cursor_bytes(cursor, len);

	return cursor_of(data, data ? len : 0);
}

static void write_bundle(const struct bundle *bundle, const struct window *hour)
{
	autobuf struct buf heads = { 0 }, bodies = { 0 };
	struct bundle again;

	require(!bundle_heads(bundle->windows, bundle->len, &heads));
	require(!bundle_bodies(bundle->windows, bundle->len, hour, &bodies));
	require(!bundle_read_heads(&again, heads.data, heads.len) && again.len == bundle->len);
	require(!bundle_read_bodies(&again, hour, bodies.data, bodies.len));
	for (size_t i = 0; i < again.len; i++) {
		const struct window *one = &bundle->windows[i], *other = &again.windows[i];

		require(one->rows_len == other->rows_len && one->groups_len == other->groups_len &&
			one->counters_len == other->counters_len);
		require(!memcmp(one->rows, other->rows, one->rows_len * sizeof(*one->rows)));
	}
	bundle_free(&again);
}

static void read_bundle(const uint8_t *data, size_t len)
{
	struct cursor input = cursor_of(data, len), heads = take_part(&input), head = take_part(&input),
		      body = take_part(&input);
	struct window hour;
	struct bundle bundle;

	if (window_read_head(&hour, head.at, cursor_left(&head)))
		return;
	if (!sum_read_body(&hour, body.at, cursor_left(&body)) &&
	    !bundle_read_heads(&bundle, heads.at, cursor_left(&heads))) {
		if (!bundle_read_bodies(&bundle, &hour, input.at, cursor_left(&input)))
			write_bundle(&bundle, &hour);
		bundle_free(&bundle);
	}
	window_free(&hour);
}

/* A record in each table, for others to refer to. */
static struct dict *small_dict(void)
{
	struct dict *dict;
	struct profile_file file = { .inode = 1, .path = 1 };
	struct profile_process process = { .pid = 1, .comm = 1 };
	struct profile_frame frame = { .address = 1, .file = 1, .name = 1 };
	struct dict_who who = { .process = 1 };

	require(!dict_new(&dict));
	require(profile_string(dict->model, "a") == 1);
	require(profile_add_label(dict->model, 0, 1, 1) == 1);
	require(dict_add_file(dict, &file) == 1 && dict_add_process(dict, &process) == 1);
	require(dict_add_frame(dict, &frame) == 1 && profile_add_node(dict->model, 0, 1) == 1);
	require(dict_add_who(dict, &who) == 1);
	return dict;
}

static void read_block(enum dict_table table, const uint8_t *data, size_t len)
{
	struct dict *dict = small_dict(), *again = small_dict();
	autobuf struct buf once = { 0 }, twice = { 0 };

	if (!dict_read_block(dict, table, 0, data, len)) {
		dict_write_block(dict, table, 0, &once);
		require(!dict_read_block(again, table, 0, once.data, once.len));
		dict_write_block(again, table, 0, &twice);
		require(once.len == twice.len && !memcmp(once.data, twice.data, once.len));
	}
	dict_free(dict);
	dict_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct window window = { .rows_len = 100 };
	autobuf struct buf raw = { 0 };

	if (!len)
		return 0;
	if (data[0] == 0)
		read_window(data + 1, len - 1);
	else if (data[0] == 1)
		read_events(&window, data + 1, len - 1);
	else if (data[0] == 2)
		window_unpack(data + 1, len < 64 ? len - 1 : 63, &raw);
	else if (data[0] == 3)
		read_bundle(data + 1, len - 1);
	else if (data[0] == 0xfe)
		read_sum(data + 1, len - 1);
	else if (data[0] == 0xff)
		read_spans(data + 1, len - 1);
	else
		read_block((enum dict_table)(data[0] % DICT_TABLES), data + 1, len - 1);
	window_free(&window);
	return 0;
}
