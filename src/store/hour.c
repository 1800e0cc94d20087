/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows become hours. In: windows that follow each other, of one era, that began in the same hour of the wall clock.
 * Out: one row, in one transaction: what they add up to, and all of them bound together (bundle.c). Once these are too
 * old they become minutes, bound together in the same way, then only the sum stays.
 *
 * An hour is made when a window follows that is not in it: nothing can be added to it then, because sequence numbers
 * only grow. A clock that is set back begins another row of the same hour.
 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/map.h"
#include "profile/profile.h"
#include "store/bundle.h"
#include "store/dict.h"
#include "store/sql.h"
#include "store/sum.h"
#include "store/window.h"

#define MINUTE (60 * STORE_NS_PER_SEC)
#define HOUR (3600 * STORE_NS_PER_SEC)

/* What stands for an hour: its finer rows, and what they are. */
struct group {
	struct store_row *rows;
	size_t len;
	struct bundle bundle; /* the columns of each */
};

static void free_group(struct group *group)
{
	free(group->rows);
	bundle_free(&group->bundle);
	*group = (struct group){ 0 };
}

static bool is_together(const struct store_row *a, const struct store_row *b, uint64_t span)
{
	return a->era == b->era && a->range.from / span == b->range.from / span;
}

/* The oldest windows of an hour; none if what follows them is not known yet. */
static int find_group(struct store *store, struct group *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	struct buf found = { 0 };
	uint64_t value = 0;
	bool ended = false;
	int err = sql_begin(store->db, &rows, WINDOW_COLUMNS " FROM window ORDER BY sequence", "");

	while (!err && !ended && (err = sql_row(rows)) > 0) {
		const struct store_row *first = (const void *)found.data;
		struct store_row row = store_window_of(rows);
		size_t count = found.len / sizeof(row);

		/* They are numbered from the first: there is no hole between them. */
		ended = count &&
			(!is_together(first, &row, HOUR) || count == BUNDLE_WINDOWS_MAX ||
			 row.value > BUNDLE_VALUE_MAX - value || (uint64_t)row.first - (uint64_t)first->first != count);
		value += row.value < BUNDLE_VALUE_MAX ? row.value : BUNDLE_VALUE_MAX;
		if (!ended)
			buf_add(&found, &row, sizeof(row));
		err = 0;
	}
	if (!err && buf_error(&found))
		err = fail(-ENOMEM, "store: windows of an hour");
	*ret = (struct group){ .rows = (void *)found.data,
			       .len = err || !ended ? 0 : found.len / sizeof(struct store_row) };
	return err;
}

static int read_group(struct store *store, struct group *group)
{
	struct bundle *bundle = &group->bundle;
	int err = store_load_dict(store, group->rows[0].era);

	bundle->windows = err ? NULL : calloc(group->len, sizeof(*bundle->windows));
	if (!err && !bundle->windows)
		err = fail(-ENOMEM, "store: windows of an hour");
	for (; !err && bundle->len < group->len; bundle->len += !err)
		err = store_read_window(store, &group->rows[bundle->len], STORE_BODY, &bundle->windows[bundle->len]);
	return err;
}

static int take_counters(const struct map *counters, struct window *sum)
{
	const struct map_slot *slot;

	sum->counters = calloc(counters->len + 1, sizeof(*sum->counters));
	if (!sum->counters)
		return fail(-ENOMEM, "store: counters");
	for (size_t at = 0; (slot = map_next(counters, &at)) && sum->counters_len < counters->len;)
		sum->counters[sum->counters_len++] =
			(struct window_counter){ slot->value, (uint32_t)(slot->key >> 32), (uint32_t)slot->key };
	return 0;
}

static int add_up(const struct profile *model, const struct window *windows, size_t len, struct window *ret)
{
	struct buf rows = { 0 };
	struct map counters = { 0 };
	int err = 0;

	for (size_t i = 0; i < len; i++) {
		buf_add(&rows, windows[i].rows, windows[i].rows_len * sizeof(*windows[i].rows));
		for (size_t c = 0; c < windows[i].counters_len && !err; c++)
			err = store_add_counter(model, &counters, &windows[i].counters[c]);
		store_add_numbers(ret->numbers, &windows[i]);
	}
	if (!err && buf_error(&rows))
		err = fail(-ENOMEM, "store: adding up windows");
	err = err ? err : take_counters(&counters, ret);
	map_free(&counters);
	ret->rows = (void *)rows.data;
	ret->rows_len = rows.len / sizeof(*ret->rows);
	return err ? err : window_arrange(ret);
}

/* The row that several make. */
static struct store_row row_of_all(const struct store_row *rows, size_t len)
{
	struct store_row all = rows[0];

	for (size_t i = 1; i < len; i++) {
		all.range.from = rows[i].range.from < all.range.from ? rows[i].range.from : all.range.from;
		all.range.to = rows[i].range.to > all.range.to ? rows[i].range.to : all.range.to;
		all.value += rows[i].value;
		all.lost += rows[i].lost;
	}
	all.last = rows[len - 1].last;
	all.age_ns = rows[len - 1].age_ns;
	return all;
}

/* The columns of a group, packed. */
struct packed {
	struct buf spans, heads, bodies;
};

static void free_packed(struct packed *packed)
{
	buf_free(&packed->spans);
	buf_free(&packed->heads);
	buf_free(&packed->bodies);
}

static int pack_group(const struct group *group, const struct window *sum, struct packed *ret)
{
	autobuf struct buf raw = { 0 };
	autofree struct bundle_span *spans = calloc(group->len, sizeof(*spans));
	int err = spans ? 0 : fail(-ENOMEM, "store: windows of an hour");

	for (size_t i = 0; i < group->len && !err; i++) {
		const struct store_row *row = &group->rows[i];

		spans[i] = (struct bundle_span){ row->range.from, row->range.to, (uint64_t)(row->last - row->first) + 1,
						 row->value, row->lost };
	}
	if (!err)
		bundle_spans(spans, group->len, &raw);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, &ret->spans);
	buf_clear(&raw);
	err = err ? err : bundle_heads(group->bundle.windows, group->len, &raw);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, &ret->heads);
	buf_clear(&raw);
	return err ? err : bundle_bodies(group->bundle.windows, group->len, sum, &ret->bodies);
}

static int insert_hour(struct store *store, const struct group *group, struct window *sum)
{
	autobuf struct buf raw = { 0 }, head = { 0 }, body = { 0 };
	struct store_row hour = row_of_all(group->rows, group->len);
	struct packed packed = { 0 };
	int err = pack_group(group, sum, &packed);

	window_head(sum, &raw);
	err = err ? err : window_pack(&raw, WINDOW_SMALL, &head);
	err = err ? err : sum_body(sum, &body);
	err = err ? err
		  : sql_run(store->db,
			    "INSERT INTO hour (first, last, era, start_ns, end_ns, age_ns, value, lost, detail, parts,"
			    " head, spans, heads, body, bodies) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			    "iiiiiiiiiibbbbb", hour.first, hour.last, hour.era, (int64_t)hour.range.from,
			    (int64_t)hour.range.to, (int64_t)hour.age_ns, (int64_t)hour.value, (int64_t)hour.lost,
			    (int64_t)STORE_WINDOW, (int64_t)group->len, (const void *)head.data, head.len,
			    (const void *)packed.spans.data, packed.spans.len, (const void *)packed.heads.data,
			    packed.heads.len, (const void *)body.data, body.len, (const void *)packed.bodies.data,
			    packed.bodies.len);
	free_packed(&packed);
	return err ? err
		   : sql_run(store->db, "DELETE FROM window WHERE sequence BETWEEN ? AND ?", "ii", hour.first,
			     hour.last);
}

/* Whether the newest window began another hour than the oldest, or there are very many of one. */
static int is_due(struct store *store, bool *ret)
{
	autostatement sqlite3_stmt *rows = NULL;
	struct store_row row[2] = { 0 };
	int err = sql_begin(store->db, &rows,
			    WINDOW_COLUMNS " FROM window WHERE sequence IN"
					   " ((SELECT min(sequence) FROM window), (SELECT max(sequence) FROM window))"
					   " ORDER BY sequence",
			    "");

	for (int i = 0; i < 2 && !err; i++) {
		err = sql_row(rows);
		if (err <= 0)
			return err;
		row[i] = store_window_of(rows);
		err = 0;
	}
	*ret = !err && (!is_together(&row[0], &row[1], HOUR) ||
			(uint64_t)row[1].last - (uint64_t)row[0].first >= BUNDLE_WINDOWS_MAX);
	return err;
}

static int make_hour(struct store *store, const struct group *group)
{
	struct window sum = { 0 };
	int err = add_up(store->dict->model, group->bundle.windows, group->len, &sum);

	err = err ? err : insert_hour(store, group, &sum);
	window_free(&sum);
	return err;
}

/* A window that cannot be read becomes a gap: nothing behind it would ever become an hour. */
static int remove_damaged(struct store *store, const struct store_row *window)
{
	int err = sql_run(store->db, "DELETE FROM window WHERE sequence = ?", "i", window->first);

	err = err ? err : sql_run(store->db, "DELETE FROM event WHERE window = ?", "i", window->first);
	return err ? err
		   : sql_run(store->db,
			     "INSERT INTO gap (from_ns, to_ns, windows, value, why) VALUES (?, ?, 1, ?, 'damaged')",
			     "iii", (int64_t)window->range.from, (int64_t)window->range.to, (int64_t)window->value);
}

int store_add_hour(struct store *store)
{
	struct group group = { 0 };
	bool due = false;
	int err = is_due(store, &due);

	if (err || !due)
		return err;
	err = find_group(store, &group);
	if (err || !group.len) {
		free_group(&group);
		return err;
	}
	err = sql_script(store->db, "BEGIN IMMEDIATE");
	if (!err) {
		err = read_group(store, &group);
		if (err == -EBADMSG)
			err = remove_damaged(store, &group.rows[group.bundle.len]);
		else
			err = err ? err : make_hour(store, &group);
		err = err ? err : sql_script(store->db, "COMMIT");
		if (err)
			store_end(store);
	}
	free_group(&group);
	return err ? err : 1;
}

/* Windows become minutes: those that follow each other and began in the same. */
static int make_minutes(struct store *store, const struct group *windows, struct group *ret)
{
	int err = 0;

	ret->rows = calloc(windows->len, sizeof(*ret->rows));
	ret->bundle.windows = calloc(windows->len, sizeof(*ret->bundle.windows));
	if (!ret->rows || !ret->bundle.windows)
		return fail(-ENOMEM, "store: minutes");
	for (size_t i = 0, end; i < windows->len && !err; i = end) {
		for (end = i + 1; end < windows->len; end++)
			if (!is_together(&windows->rows[i], &windows->rows[end], MINUTE))
				break;
		ret->rows[ret->len++] = row_of_all(&windows->rows[i], end - i);
		err = add_up(store->dict->model, &windows->bundle.windows[i], end - i,
			     &ret->bundle.windows[ret->bundle.len++]);
	}
	return err;
}

static int write_minutes(struct store *store, const struct store_row *hour)
{
	struct group windows = { 0 }, minutes = { 0 };
	struct packed packed = { 0 };
	struct window sum = { 0 };
	int err = store_load_dict(store, hour->era);

	err = err ? err : store_read_spans(store, hour, STORE_WINDOW, &windows.rows, &windows.len);
	err = err ? err : store_read_bundle(store, hour, &windows.bundle);
	if (!err && windows.bundle.len != windows.len)
		err = fail_plain(-EBADMSG, "store: windows of an hour are damaged");
	err = err ? err : make_minutes(store, &windows, &minutes);
	err = err ? err : store_read_window(store, hour, STORE_BODY, &sum);
	err = err ? err : pack_group(&minutes, &sum, &packed);
	err = err ? err
		  : sql_run(store->db,
			    "UPDATE hour SET detail = ?, parts = ?, spans = ?, heads = ?, bodies = ? WHERE first = ?",
			    "iibbbi", (int64_t)STORE_MINUTE, (int64_t)minutes.len, (const void *)packed.spans.data,
			    packed.spans.len, (const void *)packed.heads.data, packed.heads.len,
			    (const void *)packed.bodies.data, packed.bodies.len, hour->first);
	window_free(&sum);
	free_packed(&packed);
	free_group(&windows);
	free_group(&minutes);
	return err;
}

int store_thin_hour(struct store *store, const struct store_row *hour, enum store_level detail)
{
	int err = 0;

	if (detail == STORE_HOUR)
		return sql_run(store->db, "DELETE FROM hour WHERE first = ?", "i", hour->first);
	if (detail == STORE_WINDOW)
		err = sql_run(store->db, "DELETE FROM event WHERE window BETWEEN ? AND ?", "ii", hour->first,
			      hour->last);
	if (!err && detail == STORE_WINDOW)
		err = write_minutes(store, hour);
	if ((err && err != -EBADMSG) || (!err && detail == STORE_WINDOW))
		return err;
	/* What is damaged goes as well, and the sum stays. */
	return sql_run(store->db,
		       "UPDATE hour SET detail = ?, parts = 0, spans = x'', heads = x'', bodies = x'' WHERE first = ?",
		       "ii", (int64_t)STORE_HOUR, hour->first);
}
