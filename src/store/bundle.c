/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of an hour as columns. In: arranged windows, and the hour they add up to. Out: bytes; and back.
 *
 * Everything is a sparse table: keys (who, a counter, a row of the hour) by windows, with a value in each cell. It is
 * written key by key: in how many windows it is, in which, and the values. A row is told by its place among the windows
 * in which its `who` ran at all, so that the rows of a process that ran in one window cost nothing here.
 *
 * Reading trusts nothing: the number of cells is checked against the bytes that are left before memory is taken, and
 * the sums of groups and rows must be those that are known of them.
 */
#include "store/bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/span.h"
#include "profile/wick_format.h"
#include "store/coder.h"
#include "store/window.h"

#define SPAN_COLUMNS 5
#define CELLS_MAX (1u << 26)
#define FIRST_CELLS 1024

struct cell {
	uint64_t key, value;
	size_t window;
};

void bundle_free(struct bundle *bundle)
{
	for (size_t i = 0; i < bundle->len; i++)
		window_free(&bundle->windows[i]);
	free(bundle->windows);
	*bundle = (struct bundle){ 0 };
}

static int damaged(void)
{
	return fail_plain(-EBADMSG, "store: windows of an hour are damaged");
}

static int no_memory(void)
{
	return fail(-ENOMEM, "store: windows of an hour");
}

static uint64_t counter_key(const struct window_counter *counter)
{
	return (uint64_t)counter->group << 32 | counter->name;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->window < right->window ? -1 : left->window > right->window;
}

/* One begins where the one before ended, and is as long, or nearly so. */
void bundle_spans(const struct bundle_span *spans, size_t len, struct buf *ret)
{
	static const struct bundle_span none;

	buf_varint(ret, len);
	for (size_t i = 0; i < len; i++)
		buf_varint(ret, spans[i].windows);
	for (size_t i = 0; i < len; i++)
		buf_varint(ret, wick_zigzag(spans[i].from, i ? spans[i - 1].to : 0));
	for (size_t i = 0; i < len; i++) {
		const struct bundle_span *before = i ? &spans[i - 1] : &none;

		buf_varint(ret, wick_zigzag(spans[i].to - spans[i].from, before->to - before->from));
	}
	for (size_t i = 0; i < len; i++)
		buf_varint(ret, wick_zigzag(spans[i].value, i ? spans[i - 1].value : 0));
	for (size_t i = 0; i < len; i++)
		buf_varint(ret, spans[i].lost);
}

int bundle_read_spans(struct bundle_span **ret, size_t *ret_len, const void *data, size_t len)
{
	struct cursor cursor = cursor_of(data, len);
	uint64_t count = cursor_varint(&cursor), length = 0;
	struct bundle_span *spans;

	if (cursor.bad || !count || count > BUNDLE_WINDOWS_MAX || count > cursor_left(&cursor) / SPAN_COLUMNS)
		return damaged();
	spans = calloc(count, sizeof(*spans));
	if (!spans)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		spans[i].windows = cursor_varint(&cursor);
	for (size_t i = 0; i < count; i++)
		spans[i].from = cursor_varint(&cursor);
	for (size_t i = 0; i < count; i++) {
		length = wick_unzigzag(cursor_varint(&cursor), length);
		spans[i].from = wick_unzigzag(spans[i].from, i ? spans[i - 1].to : 0);
		spans[i].to = spans[i].from;
		if (!span_add(&spans[i].to, length) || spans[i].to > INT64_MAX || !spans[i].windows ||
		    spans[i].windows > BUNDLE_WINDOWS_MAX)
			cursor.bad = 1;
	}
	for (size_t i = 0; i < count; i++)
		spans[i].value = wick_unzigzag(cursor_varint(&cursor), i ? spans[i - 1].value : 0);
	for (size_t i = 0; i < count; i++)
		spans[i].lost = cursor_varint(&cursor);
	if (cursor.bad || cursor_left(&cursor)) {
		free(spans);
		return damaged();
	}
	*ret = spans;
	*ret_len = count;
	return 0;
}

/* Keys, in how many windows each is, in which, and the values: each column with the differences within a key. */
static void write_cells(struct cell *cells, size_t len, struct buf *ret)
{
	uint64_t before = 0;
	size_t keys = 0;

	if (len)
		qsort(cells, len, sizeof(*cells), compare_cells);
	for (size_t i = 0; i < len; i++)
		keys += !i || cells[i].key != cells[i - 1].key;
	buf_varint(ret, len);
	buf_varint(ret, keys);
	for (size_t i = 0, end; i < len; i = end) {
		for (end = i; end < len && cells[end].key == cells[i].key;)
			end++;
		buf_varint(ret, cells[i].key - before);
		buf_varint(ret, end - i);
		before = cells[i].key;
	}
	before = 0;
	for (size_t i = 0; i < len; i++) {
		bool first = !i || cells[i].key != cells[i - 1].key;

		if (!first) {
			buf_varint(ret, cells[i].window - cells[i - 1].window);
			continue;
		}
		buf_varint(ret, wick_zigzag(cells[i].window, before));
		before = cells[i].window;
	}
	for (size_t i = 0; i < len; i++)
		buf_varint(ret,
			   wick_zigzag(cells[i].value, i && cells[i].key == cells[i - 1].key ? cells[i - 1].value : 0));
}

int bundle_heads(const struct window *windows, size_t len, struct buf *ret)
{
	size_t groups = 0, counters = 0;
	struct cell *cells;

	for (size_t i = 0; i < len; i++) {
		groups += windows[i].groups_len;
		counters += windows[i].counters_len;
	}
	cells = calloc((groups > counters ? groups : counters) + 1, sizeof(*cells));
	if (!cells)
		return no_memory();
	buf_varint(ret, len);
	buf_varint(ret, WINDOW_NUMBERS);
	for (int n = 0; n < WINDOW_NUMBERS; n++)
		for (size_t i = 0; i < len; i++)
			buf_varint(ret, wick_zigzag(windows[i].numbers[n], i ? windows[i - 1].numbers[n] : 0));
	groups = counters = 0;
	for (size_t i = 0; i < len; i++)
		for (size_t g = 0; g < windows[i].groups_len; g++)
			cells[groups++] = (struct cell){ windows[i].groups[g].who, windows[i].groups[g].sum, i };
	write_cells(cells, groups, ret);
	for (size_t i = 0; i < len; i++)
		for (size_t c = 0; c < windows[i].counters_len; c++)
			cells[counters++] =
				(struct cell){ counter_key(&windows[i].counters[c]), windows[i].counters[c].value, i };
	write_cells(cells, counters, ret);
	free(cells);
	return buf_error(ret) ? no_memory() : 0;
}

/* Keys that grow, and how many cells each has; the cells get their keys. */
static void take_keys(struct cursor *cursor, struct cell *cells, size_t len, size_t windows, uint64_t most)
{
	uint64_t keys = cursor_varint(cursor), key = 0;
	size_t at = 0;

	for (uint64_t k = 0; k < keys && !cursor->bad; k++) {
		uint64_t more = cursor_varint(cursor), count = cursor_varint(cursor);

		if (!span_add(&key, more) || key > most || (k && !more) || !count || count > windows ||
		    count > len - at)
			cursor->bad = 1;
		for (uint64_t i = 0; i < count && !cursor->bad; i++)
			cells[at++].key = key;
	}
	if (at != len)
		cursor->bad = 1;
}

static struct cell *take_cells(struct cursor *cursor, size_t windows, uint64_t most, size_t *ret_len)
{
	uint64_t len = cursor_varint(cursor), first = 0;
	struct cell *cells;

	*ret_len = 0;
	if (cursor->bad || len > cursor_left(cursor) / 2 || len > CELLS_MAX / 4) {
		cursor->bad = 1;
		return NULL;
	}
	cells = calloc(len + 1, sizeof(*cells));
	if (!cells)
		return NULL;
	take_keys(cursor, cells, len, windows, most);
	for (size_t i = 0; i < len && !cursor->bad; i++) {
		bool again = i && cells[i].key == cells[i - 1].key;
		uint64_t more = cursor_varint(cursor), window;

		window = again ? cells[i - 1].window + more : wick_unzigzag(more, first);
		if (window >= windows || more > UINT32_MAX || (again && !more))
			cursor->bad = 1;
		first = again ? first : window;
		cells[i].window = window;
	}
	for (size_t i = 0; i < len && !cursor->bad; i++)
		cells[i].value = wick_unzigzag(cursor_varint(cursor),
					       i && cells[i].key == cells[i - 1].key ? cells[i - 1].value : 0);
	*ret_len = len;
	return cells;
}

/* Gives each window its cells: first counts them, then takes memory, then fills it. */
static int deal_groups(struct bundle *bundle, const struct cell *cells, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bundle->windows[cells[i].window].groups_len++;
	for (size_t i = 0; i < bundle->len; i++) {
		struct window *window = &bundle->windows[i];

		window->groups = calloc(window->groups_len + 1, sizeof(*window->groups));
		if (!window->groups)
			return no_memory();
		window->groups_len = 0;
	}
	for (size_t i = 0; i < len; i++) {
		struct window *window = &bundle->windows[cells[i].window];

		window->groups[window->groups_len++] =
			(struct window_group){ .sum = cells[i].value, .who = (uint32_t)cells[i].key };
	}
	return 0;
}

static int deal_counters(struct bundle *bundle, const struct cell *cells, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bundle->windows[cells[i].window].counters_len++;
	for (size_t i = 0; i < bundle->len; i++) {
		struct window *window = &bundle->windows[i];

		window->counters = calloc(window->counters_len + 1, sizeof(*window->counters));
		if (!window->counters)
			return no_memory();
		window->counters_len = 0;
	}
	for (size_t i = 0; i < len; i++) {
		struct window *window = &bundle->windows[cells[i].window];

		window->counters[window->counters_len++] =
			(struct window_counter){ cells[i].value, (uint32_t)(cells[i].key >> 32),
						 (uint32_t)cells[i].key };
	}
	return 0;
}

static int take_heads(struct cursor *cursor, struct bundle *bundle)
{
	typedef int deal(struct bundle * bundle, const struct cell *cells, size_t len);
	static const struct {
		deal *deal;
		uint64_t most; /* a key */
	} tables[] = { { deal_groups, UINT32_MAX }, { deal_counters, UINT64_MAX } };
	int err = 0;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]) && !err; t++) {
		size_t len;
		autofree struct cell *cells = take_cells(cursor, bundle->len, tables[t].most, &len);

		if (cursor->bad || !cells)
			return cursor->bad ? damaged() : no_memory();
		err = tables[t].deal(bundle, cells, len);
	}
	return err;
}

int bundle_read_heads(struct bundle *ret, const void *data, size_t len)
{
	struct cursor cursor = cursor_of(data, len);
	uint64_t windows = cursor_varint(&cursor), numbers = cursor_varint(&cursor);
	int err;

	*ret = (struct bundle){ 0 };
	if (cursor.bad || !windows || windows > BUNDLE_WINDOWS_MAX || numbers > cursor_left(&cursor) / windows)
		return damaged();
	ret->windows = calloc(windows, sizeof(*ret->windows));
	if (!ret->windows)
		return no_memory();
	ret->len = windows;
	for (uint64_t n = 0; n < numbers; n++) {
		uint64_t number = 0;

		for (size_t i = 0; i < windows; i++) {
			number = wick_unzigzag(cursor_varint(&cursor), number);
			if (n < WINDOW_NUMBERS) /* a later version may have more */
				ret->windows[i].numbers[n] = number;
		}
	}
	err = cursor.bad ? damaged() : take_heads(&cursor, ret);
	if (!err && (cursor.bad || cursor_left(&cursor)))
		err = damaged();
	if (err)
		bundle_free(ret);
	return err;
}

/* The windows in which each group of the hour ran, in their order: those of group g from starts[g]. */
struct turns {
	uint32_t *starts;  /* one more than there are groups */
	uint32_t *windows; /* which */
	uint32_t *groups;  /* which group it is of that window */
};

static void free_turns(struct turns *turns)
{
	free(turns->starts);
	free(turns->windows);
	free(turns->groups);
}

/* Windows and their sum are sorted by who: they are walked side by side. -ERANGE if one has what the sum lacks. */
static int list_turns(const struct window *windows, size_t len, const struct window *sum, struct turns *ret)
{
	autofree uint32_t *next = calloc(sum->groups_len + 1, sizeof(*next));
	size_t all = 0;

	for (size_t i = 0; i < len; i++)
		all += windows[i].groups_len;
	ret->starts = calloc(sum->groups_len + 2, sizeof(*ret->starts));
	ret->windows = calloc(all + 1, sizeof(*ret->windows));
	ret->groups = calloc(all + 1, sizeof(*ret->groups));
	if (!next || !ret->starts || !ret->windows || !ret->groups)
		return -ENOMEM;
	for (int filling = 0; filling < 2; filling++) {
		for (size_t i = 0; i < len; i++)
			for (size_t own = 0, g = 0; own < windows[i].groups_len; own++) {
				while (g < sum->groups_len && sum->groups[g].who < windows[i].groups[own].who)
					g++;
				if (g == sum->groups_len || sum->groups[g].who != windows[i].groups[own].who)
					return -ERANGE;
				if (filling) {
					ret->windows[next[g]] = (uint32_t)i;
					ret->groups[next[g]++] = (uint32_t)own;
				} else {
					ret->starts[g + 1]++;
				}
			}
		for (size_t g = 0; g < sum->groups_len && !filling; g++) {
			ret->starts[g + 1] += ret->starts[g];
			next[g] = ret->starts[g];
		}
	}
	return 0;
}

/* The cells of each row of the hour: those of row r from starts[r]; a place is one among the turns of its group. */
struct places {
	uint32_t *groups; /* by row */
	uint32_t *starts; /* one more than there are rows */
	uint32_t *places;
	uint64_t *values;
};

static void free_places(struct places *places)
{
	free(places->groups);
	free(places->starts);
	free(places->places);
	free(places->values);
}

static int make_rows(const struct window *sum, struct places *ret)
{
	size_t row = 0;

	ret->groups = calloc(sum->rows_len + 1, sizeof(*ret->groups));
	ret->starts = calloc(sum->rows_len + 2, sizeof(*ret->starts));
	if (!ret->groups || !ret->starts)
		return -ENOMEM;
	for (size_t g = 0; g < sum->groups_len; g++)
		for (uint32_t i = 0; i < sum->groups[g].rows; i++)
			ret->groups[row++] = (uint32_t)g;
	return 0;
}

static int make_cells(struct places *ret, size_t cells)
{
	ret->places = calloc(cells + 1, sizeof(*ret->places));
	ret->values = calloc(cells + 1, sizeof(*ret->values));
	return ret->places && ret->values ? 0 : -ENOMEM;
}

/* Those of one window beside those of the hour, both sorted. Counts them, or if `next` says where, fills them in. */
static int place_rows(const struct window *window, const struct window *sum, uint32_t *turn, uint32_t *next,
		      struct places *ret)
{
	uint32_t group = UINT32_MAX;
	size_t row = 0;

	for (size_t i = 0; i < window->rows_len; i++) {
		const struct window_row *it = &window->rows[i];

		while (row < sum->rows_len && (sum->rows[row].who < it->who ||
					       (sum->rows[row].who == it->who && sum->rows[row].stack < it->stack)))
			row++;
		if (row == sum->rows_len || sum->rows[row].who != it->who || sum->rows[row].stack != it->stack ||
		    !it->value)
			return -ERANGE;
		if (ret->groups[row] != group)
			turn[ret->groups[row]]++;
		group = ret->groups[row];
		if (!next) {
			ret->starts[row + 1]++;
			continue;
		}
		ret->places[next[row]] = turn[group] - 1;
		ret->values[next[row]++] = it->value;
	}
	return 0;
}

static int list_places(const struct window *windows, size_t len, const struct window *sum, struct places *ret)
{
	autofree uint32_t *next = calloc(sum->rows_len + 1, sizeof(*next)),
			  *turn = calloc(sum->groups_len + 1, sizeof(*turn));
	size_t cells = 0;
	int err = next && turn ? make_rows(sum, ret) : -ENOMEM;

	for (size_t i = 0; i < len; i++)
		cells += windows[i].rows_len;
	err = err ? err : make_cells(ret, cells);
	for (size_t i = 0; i < len && !err; i++)
		err = place_rows(&windows[i], sum, turn, NULL, ret);
	if (err)
		return err;
	for (size_t r = 0; r < sum->rows_len; r++) {
		next[r] = ret->starts[r];
		ret->starts[r + 1] += ret->starts[r];
	}
	memset(turn, 0, sum->groups_len * sizeof(*turn));
	for (size_t i = 0; i < len && !err; i++)
		err = place_rows(&windows[i], sum, turn, next, ret);
	return err;
}

static uint32_t count_of(const uint32_t *starts, size_t at)
{
	return starts[at + 1] - starts[at];
}

static int check_values(const struct window *sum, const struct places *places)
{
	for (size_t r = 0; r < sum->rows_len; r++) {
		uint64_t value = 0;

		for (uint32_t i = places->starts[r]; i < places->starts[r + 1]; i++)
			if (!span_add(&value, places->values[i]))
				return -ERANGE;
		if (!value || value != sum->rows[r].value)
			return -ERANGE;
	}
	return 0;
}

/* What is learned of cells. */
struct models {
	struct coder_number counts[8][5]; /* by the row's value, twice */
	struct coder_number
		gaps[32][10]; /* by how far apart places would be if they were evenly spread, and the last gap */
	struct coder_number values[8]; /* by how much is left for each */
};

/* Two steps for each doubling. */
static unsigned int half_steps(uint64_t room, uint64_t count)
{
	uint64_t ratio = (room << 2) / count;
	unsigned int size = coder_size(ratio, 64);

	return size < 2 ? 0 : (size < 17 ? size - 2 : 15) * 2 + (ratio >> (size - 2) & 1);
}

/* In how many windows the row is: no more than its value, or than its group has turns. */
static uint32_t code_count(struct coder *coder, struct models *models, uint64_t value, uint32_t room, uint32_t count)
{
	struct coder_number *model;
	uint64_t less;

	if (!(value > 1 && room > 1))
		return 1;
	model = &models->counts[coder_size(value, 7)][value < 6 ? value - 2 : 4];
	less = coder_number(coder, model, value - count);
	if (less >= value || value - less > room)
		coder->bad = true;
	return coder->bad ? 1 : (uint32_t)(value - less);
}

/* In which of them. */
static void code_places(struct coder *coder, struct models *models, uint32_t room, uint32_t *places, uint32_t count)
{
	uint32_t next = 0;
	uint64_t gap = 0;

	for (uint32_t i = 0; i < count && room > 1; i++) {
		uint32_t left = count - i, space = room - next - left;
		struct coder_number *model = &models->gaps[half_steps(space + 1, left)][coder_size(gap, 9)];

		if (!space) { /* there is one way */
			places[i] = next++;
			continue;
		}
		gap = coder_number(coder, model, (uint64_t)places[i] - next);
		if (gap > space) {
			coder->bad = true;
			return;
		}
		places[i] = next + (uint32_t)gap;
		next = places[i] + 1;
	}
}

/* How much of the row's value is in each; the rest is in the last. */
static void code_values(struct coder *coder, struct models *models, uint64_t value, uint64_t *values, uint32_t count)
{
	for (uint32_t i = 0; i + 1 < count; i++) {
		uint64_t spare = value - (count - i), more = 0;

		if (spare)
			more = coder_number(coder, &models->values[coder_size(spare / (count - i), 7)], values[i] - 1);
		if (more > spare) {
			coder->bad = true;
			return;
		}
		values[i] = more + 1;
		value -= more + 1;
	}
	values[count - 1] = value;
}

static int write_places(const struct window *sum, const struct turns *turns, struct places *places, struct buf *ret)
{
	autofree struct models *models = calloc(1, sizeof(*models));
	struct coder coder;

	if (!models)
		return -ENOMEM;
	coder_write(&coder, ret);
	for (size_t r = 0; r < sum->rows_len; r++) {
		uint32_t room = count_of(turns->starts, places->groups[r]), count = count_of(places->starts, r);

		code_count(&coder, models, sum->rows[r].value, room, count);
		code_places(&coder, models, room, places->places + places->starts[r], count);
		code_values(&coder, models, sum->rows[r].value, places->values + places->starts[r], count);
	}
	return coder_end(&coder);
}

int bundle_bodies(const struct window *windows, size_t len, const struct window *sum, struct buf *ret)
{
	struct turns turns = { 0 };
	struct places places = { 0 };
	int err = list_turns(windows, len, sum, &turns);

	err = err ? err : list_places(windows, len, sum, &places);
	err = err ? err : check_values(sum, &places);
	err = err ? err : write_places(sum, &turns, &places, ret);
	free_turns(&turns);
	free_places(&places);
	if (err == -ERANGE)
		return fail_plain(err, "store: windows are not what their hour says");
	return err || buf_error(ret) ? no_memory() : 0;
}

/* Room for the cells of another row. */
static int reserve_cells(struct places *places, size_t *cap, size_t need)
{
	size_t more = *cap;
	void *grown;

	while (more < need)
		more = more ? more * 2 : FIRST_CELLS;
	if (more == *cap)
		return 0;
	grown = reallocarray(places->places, more, sizeof(*places->places));
	if (grown)
		places->places = grown;
	if (grown)
		grown = reallocarray(places->values, more, sizeof(*places->values));
	if (!grown)
		return -ENOMEM;
	places->values = grown;
	*cap = more;
	return 0;
}

static int read_places(const struct window *sum, const struct turns *turns, const void *data, size_t len,
		       struct places *places)
{
	autofree struct models *models = calloc(1, sizeof(*models));
	size_t cells = 0, cap = 0;
	struct coder coder;
	int err = models ? 0 : -ENOMEM;

	coder_read(&coder, data, len);
	for (size_t r = 0; r < sum->rows_len && !err; r++) {
		uint32_t room = count_of(turns->starts, places->groups[r]);
		uint32_t count = code_count(&coder, models, sum->rows[r].value, room, 1);

		if (coder.bad || !sum->rows[r].value || !room || cells + count > CELLS_MAX)
			return -ERANGE;
		err = reserve_cells(places, &cap, cells + count);
		if (err)
			break;
		memset(places->places + cells, 0, count * sizeof(*places->places));
		memset(places->values + cells, 0, count * sizeof(*places->values));
		code_places(&coder, models, room, places->places + cells, count);
		code_values(&coder, models, sum->rows[r].value, places->values + cells, count);
		cells += count;
		places->starts[r + 1] = (uint32_t)cells;
	}
	if (err)
		return err;
	return coder_end(&coder) ? -ERANGE : 0;
}

/* Gives each window its rows: they come in the order of who and stack. */
static int deal_rows(struct bundle *bundle, const struct window *sum, const struct turns *turns,
		     const struct places *places)
{
	for (size_t r = 0; r < sum->rows_len; r++)
		for (uint32_t i = places->starts[r]; i < places->starts[r + 1]; i++)
			bundle->windows[turns->windows[turns->starts[places->groups[r]] + places->places[i]]]
				.rows_len++;
	for (size_t i = 0; i < bundle->len; i++) {
		struct window *window = &bundle->windows[i];

		window->rows = calloc(window->rows_len + 1, sizeof(*window->rows));
		if (!window->rows)
			return no_memory();
		window->rows_len = 0;
	}
	for (size_t r = 0; r < sum->rows_len; r++)
		for (uint32_t i = places->starts[r]; i < places->starts[r + 1]; i++) {
			uint32_t turn = turns->starts[places->groups[r]] + places->places[i];
			struct window *window = &bundle->windows[turns->windows[turn]];

			window->groups[turns->groups[turn]].rows++;
			window->rows[window->rows_len++] =
				(struct window_row){ places->values[i], sum->rows[r].who, sum->rows[r].stack };
		}
	return 0;
}

int bundle_read_bodies(struct bundle *bundle, const struct window *sum, const void *data, size_t len)
{
	struct turns turns = { 0 };
	struct places places = { 0 };
	int err = list_turns(bundle->windows, bundle->len, sum, &turns);

	err = err ? err : make_rows(sum, &places);
	err = err ? err : read_places(sum, &turns, data, len, &places);
	err = err ? err : deal_rows(bundle, sum, &turns, &places);
	for (size_t i = 0; i < bundle->len && !err; i++)
		err = window_adds_up(&bundle->windows[i]) ? 0 : -ERANGE;
	free_turns(&turns);
	free_places(&places);
	return err == -ERANGE ? damaged() : err ? no_memory() : 0;
}
