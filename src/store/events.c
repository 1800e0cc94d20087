/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of single events: the heat map of a range. In: windows that have events. Out: counts by second and by
 * part of a second. The profile of exactly the milliseconds that somebody chose there is store_query of them, which
 * cuts windows by the same events.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "store/parts.h"
#include "store/sieve.h"
#include "store/window.h"

#define NS_PER_US 1000

static void count(const struct window *window, uint64_t start, const struct store_range *range,
		  const struct sieve *sieve, struct store_heat *heat)
{
	for (size_t i = 0; i < window->events_len; i++) {
		const struct window_row *row = &window->rows[window->events[i].row];
		uint64_t time = start + window->events[i].time_us * NS_PER_US;
		uint64_t column = (time - heat->from) / STORE_NS_PER_SEC;
		uint64_t part = time % STORE_NS_PER_SEC * heat->rows / STORE_NS_PER_SEC;

		if (time < range->from || time >= range->to || column >= heat->columns)
			continue;
		if (sieve_who(sieve, row->who) && sieve_stack(sieve, row->stack))
			heat->counts[column * heat->rows + part]++;
	}
}

/* Of windows of a range that have events, by era. */
static int count_all(struct store *store, const struct store_range *range, const struct filter *filter,
		     struct store_heat *heat)
{
	autofree struct store_row *rows = NULL;
	struct sieve sieve = { 0 };
	int64_t era = 0;
	size_t len = 0;
	int err = store_cover(store, range, STORE_WINDOW, &rows, &len);

	for (size_t i = 0; i < len && !err; i++) {
		struct window window = { 0 };

		if (!rows[i].has_events)
			continue;
		if (rows[i].era != era) {
			era = rows[i].era;
			sieve_free(&sieve);
			err = store_load_dict(store, era);
			err = err ? err : sieve_init(&sieve, store->dict, filter);
		}
		err = err ? err : store_read_window(store, &rows[i], STORE_EVENTS, &window);
		if (!err)
			count(&window, rows[i].range.from, range, &sieve, heat);
		window_free(&window);
	}
	sieve_free(&sieve);
	return err;
}

int store_heat(struct store *store, const struct store_range *range, size_t rows, const struct filter *filter,
	       struct store_heat *ret)
{
	uint64_t from = range->from / STORE_NS_PER_SEC * STORE_NS_PER_SEC, columns;
	struct store_heat heat = { .rows = rows, .from = from };
	int err;

	if (range->to <= range->from || range->to > INT64_MAX || !rows || rows > STORE_HEAT_ROWS_MAX)
		return fail_plain(-EINVAL, "heat map: a range that ends after it begins, in 1 to %d parts of a second",
				  STORE_HEAT_ROWS_MAX);
	columns = (range->to - 1 - from) / STORE_NS_PER_SEC + 1;
	if (columns > STORE_HEAT_COLUMNS_MAX)
		return fail_plain(-EINVAL, "heat map: a range of at most %d seconds", STORE_HEAT_COLUMNS_MAX);
	heat.columns = columns;
	heat.counts = calloc(columns * rows, sizeof(*heat.counts));
	if (!heat.counts)
		return fail(-ENOMEM, "heat map");
	err = store_begin(store);
	if (!err) {
		err = count_all(store, range, filter, &heat);
		store_end(store);
	}
	if (err)
		store_heat_free(&heat);
	else
		*ret = heat;
	return err;
}

void store_heat_free(struct store_heat *heat)
{
	free(heat->counts);
	*heat = (struct store_heat){ 0 };
}
