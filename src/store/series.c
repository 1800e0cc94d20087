/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples over time, as curves: of processes, of the values of a label, or of all that passes a filter. In: the rows
 * that a range consists of, as coarse as the buckets allow. Out: sums by curve and bucket.
 *
 * The rows are read twice: once to see which curves are the greatest, once to fill those. So memory is that of the
 * curves that were asked for, however many processes there have been. Who ran how much is in the heads of windows;
 * bodies are read only where stacks are asked for, and events only where buckets are shorter than windows.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/intern.h"
#include "base/span.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/parts.h"
#include "store/sieve.h"
#include "store/window.h"

struct series {
	struct store *store;
	const struct store_series_request *request;
	const struct store_row *rows;
	size_t rows_len;
	struct intern *names; /* of curves; 0: without one */
	struct buf sums;      /* uint64_t by name */
	uint32_t *curves;     /* by name, on the second reading: which one it is drawn as */
	struct store_series *ret;
	/* Of the era at hand: */
	struct sieve sieve;
	uint32_t *who_names;
	uint64_t *values; /* by name, of the window at hand: all 0 between two */
};

typedef int take_value(struct series *series, const struct store_row *row, uint32_t name, uint64_t value);

static uint32_t name_of_label(const struct series *series, const struct profile *model, uint32_t set)
{
	uint32_t rest, key, value;
	size_t len;

	for (; set; set = rest) {
		const char *text;

		profile_label(model, set, &rest, &key, &value);
		text = profile_text(model, key, &len);
		if (len == strlen(series->request->label_key) && !memcmp(text, series->request->label_key, len)) {
			text = profile_text(model, value, &len);
			return intern_bytes(series->names, text, len);
		}
	}
	return 0;
}

static uint32_t name_of_who(const struct series *series, const struct dict *dict, uint32_t number)
{
	struct dict_who who = dict_who(dict, number);
	const struct profile_process *process = profile_process(dict->model, who.process);
	const char *text;
	size_t len;

	if (series->request->by == STORE_BY_LABEL)
		return name_of_label(series, dict->model, who.labels);
	if (series->request->by != STORE_BY_PROCESS)
		return 0;
	text = profile_text(dict->model, process->comm ? process->comm : who.comm, &len);
	return intern_bytes(series->names, text, len);
}

static void leave_era(struct series *series)
{
	sieve_free(&series->sieve);
	free(series->who_names);
	free(series->values);
	series->who_names = NULL;
	series->values = NULL;
}

static int enter_era(struct series *series, int64_t era)
{
	int err = store_load_dict(series->store, era);
	uint32_t whos;

	if (err)
		return err;
	whos = dict_count(series->store->dict, DICT_WHOS);
	series->who_names = calloc(whos, sizeof(*series->who_names));
	for (uint32_t i = 1; series->who_names && i < whos; i++) {
		series->who_names[i] = name_of_who(series, series->store->dict, i);
		if (series->who_names[i] == UINT32_MAX)
			return fail(-ENOMEM, "store: curves");
	}
	series->values = calloc((size_t)intern_count(series->names) + 1, sizeof(*series->values));
	if (!series->who_names || !series->values)
		return fail(-ENOMEM, "store: curves");
	return sieve_init(&series->sieve, series->store->dict, series->request->filter);
}

/* Adds up what each curve has of the window. */
static void add_values(struct series *series, const struct window *window)
{
	size_t at = 0;

	for (size_t g = 0; g < window->groups_len; g++) {
		const struct window_group *group = &window->groups[g];
		uint64_t value = series->sieve.stacks ? 0 : group->sum;

		for (uint32_t i = 0; series->sieve.stacks && i < group->rows; i++, at++)
			if (sieve_stack(&series->sieve, window->rows[at].stack))
				value += window->rows[at].value; /* no more than the sum, which fits */
		if (sieve_who(&series->sieve, group->who))
			series->values[series->who_names[group->who]] += value;
	}
}

/* What has a time of its own is taken at that. */
static int take_events(struct series *series, const struct store_row *row, const struct window *window,
		       take_value *take)
{
	int err = 0;

	for (size_t i = 0; i < window->events_len && !err; i++) {
		const struct window_row *of = &window->rows[window->events[i].row];
		uint64_t time = row->range.from + window->events[i].time_us * 1000;
		const struct store_row moment = { .range = { time, time + 1 } };
		uint32_t name = series->who_names[of->who];

		if (!series->values[name] || !sieve_who(&series->sieve, of->who) ||
		    (series->sieve.stacks && !sieve_stack(&series->sieve, of->stack)))
			continue;
		series->values[name]--;
		err = take(series, &moment, name, 1);
	}
	return err;
}

/* Whether the window's own events tell more than that it is there. */
static bool is_long(const struct series *series, const struct store_row *row)
{
	const struct store_range *range = &series->request->range;

	return row->has_events &&
	       (range->to - range->from) / series->request->buckets < row->range.to - row->range.from;
}

static int take_window(struct series *series, const struct store_row *row, take_value *take)
{
	bool by_event = is_long(series, row);
	enum store_parts parts = by_event ? STORE_EVENTS : series->sieve.stacks ? STORE_BODY : STORE_HEAD;
	struct window window;
	int err = store_read_window(series->store, row, parts, &window);

	if (err)
		return err;
	add_values(series, &window);
	if (by_event)
		err = take_events(series, row, &window, take);
	for (size_t g = 0; g < window.groups_len; g++) {
		uint64_t *value = &series->values[series->who_names[window.groups[g].who]];

		if (*value && !err)
			err = take(series, row, series->who_names[window.groups[g].who], *value);
		*value = 0;
	}
	window_free(&window);
	return err;
}

static int take_rows(struct series *series, take_value *take)
{
	int64_t era = 0;
	int err = 0;

	for (size_t i = 0; i < series->rows_len && !err; i++) {
		if (series->rows[i].era != era) {
			era = series->rows[i].era;
			leave_era(series);
			err = enter_era(series, era);
		}
		err = err ? err : take_window(series, &series->rows[i], take);
	}
	leave_era(series);
	return err;
}

/* How much of a row's value came before a moment, if it was spread evenly: to the nearest. */
static uint64_t share(const struct store_row *row, uint64_t value, uint64_t until)
{
	uint64_t length = row->range.to - row->range.from;

	if (until <= row->range.from)
		return 0;
	if (until >= row->range.to)
		return value;
	return (uint64_t)(((unsigned __int128)value * (until - row->range.from) + length / 2) / length);
}

static uint64_t share_in(const struct store_row *row, uint64_t value, const struct store_range *range)
{
	return share(row, value, range->to) - share(row, value, range->from);
}

/* First reading. */
static int add_sum(struct series *series, const struct store_row *row, uint32_t name, uint64_t value)
{
	size_t need = ((size_t)name + 1) * sizeof(uint64_t);

	if (series->sums.len < need) {
		size_t more = need - series->sums.len;
		char *space = buf_space(&series->sums, more);

		if (!space)
			return fail(-ENOMEM, "store: curves");
		memset(space, 0, more);
	}
	if (!span_add((uint64_t *)(void *)series->sums.data + name, share_in(row, value, &series->request->range)))
		return fail(-EOVERFLOW, "store: curves");
	return 0;
}

static uint64_t bucket_start(const struct store_series_request *request, size_t bucket)
{
	uint64_t length = request->range.to - request->range.from;

	return request->range.from + (uint64_t)((unsigned __int128)length * bucket / request->buckets);
}

/* Second reading. */
static int fill_curve(struct series *series, const struct store_row *row, uint32_t name, uint64_t value)
{
	const struct store_series_request *request = series->request;
	const struct store_range *range = &request->range;
	struct store_curve *curve = &series->ret->curves[series->curves[name]];
	uint64_t from = row->range.from > range->from ? row->range.from : range->from;
	size_t bucket =
		(size_t)((unsigned __int128)(from - range->from) * request->buckets / (range->to - range->from));

	if (!curve->values) /* nothing of it lies in the range */
		return 0;
	for (; bucket < request->buckets && bucket_start(request, bucket) < row->range.to; bucket++) {
		const struct store_range part = { bucket_start(request, bucket), bucket_start(request, bucket + 1) };

		curve->values[bucket] += share_in(row, value, &part); /* no more than the sum, which fits */
	}
	return 0;
}

struct ranked {
	uint64_t sum;
	uint32_t name;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	if (left->sum != right->sum)
		return left->sum > right->sum ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static int add_curve(struct series *series, const char *name, size_t len)
{
	struct store_curve *curve = &series->ret->curves[series->ret->len];

	curve->name = name ? strndup(name, len) : NULL;
	curve->values = calloc(series->request->buckets, sizeof(*curve->values));
	series->ret->len++;
	return (name && !curve->name) || !curve->values ? fail(-ENOMEM, "store: curves") : 0;
}

/* Chooses the greatest curves, what has no name being one as well; all others go to the last. */
static int choose_curves(struct series *series)
{
	uint32_t names = intern_count(series->names), named = 0;
	uint64_t rest = 0, *sums = (void *)series->sums.data;
	autofree struct ranked *ranked = calloc(names + 1, sizeof(*ranked));
	bool all = series->request->by == STORE_BY_NOTHING;
	int err = 0;

	series->curves = calloc(names + 1, sizeof(*series->curves));
	series->ret->curves = calloc(series->request->curves + 1, sizeof(*series->ret->curves));
	if (!ranked || !series->curves || !series->ret->curves)
		return fail(-ENOMEM, "store: curves");
	names = (uint32_t)(series->sums.len / sizeof(*sums)); /* of those that have a sum */
	for (uint32_t i = all ? 1 : 0; i < names; i++)
		if (sums[i])
			ranked[named++] = (struct ranked){ sums[i], i };
	qsort(ranked, named, sizeof(*ranked), compare_ranked);
	rest = all && names ? sums[0] : 0;
	for (uint32_t i = 0; i < named && !err; i++) {
		size_t len;
		const char *name = intern_get(series->names, ranked[i].name, &len);

		if (i >= series->request->curves) {
			rest += ranked[i].sum;
			series->curves[ranked[i].name] = (uint32_t)series->request->curves;
			continue;
		}
		series->curves[ranked[i].name] = i;
		series->ret->curves[i].sum = ranked[i].sum;
		err = add_curve(series, name, len);
	}
	if (all)
		series->curves[0] = (uint32_t)series->ret->len;
	if (!err && rest) {
		series->ret->curves[series->ret->len].sum = rest;
		err = add_curve(series, NULL, 0);
	}
	return err;
}

static enum store_level level_for(const struct store_series_request *request)
{
	uint64_t width = (request->range.to - request->range.from) / request->buckets;

	if (width >= 3600 * STORE_NS_PER_SEC)
		return STORE_HOUR;
	return width >= 60 * STORE_NS_PER_SEC ? STORE_MINUTE : STORE_WINDOW;
}

static int make_series(struct series *series)
{
	autofree struct store_row *rows = NULL;
	int err = store_cover(series->store, &series->request->range, level_for(series->request), &rows,
			      &series->rows_len);

	series->rows = rows;
	err = err ? err : take_rows(series, add_sum);
	err = err ? err : choose_curves(series);
	return err || !series->ret->len ? err : take_rows(series, fill_curve);
}

static int check(const struct store_series_request *request)
{
	if (request->range.to <= request->range.from || request->range.to > INT64_MAX)
		return fail_plain(-EINVAL, "series: the range does not end after it begins");
	if (!request->buckets || request->buckets > STORE_BUCKETS_MAX)
		return fail_plain(-EINVAL, "series: 1 to %d buckets", STORE_BUCKETS_MAX);
	if (request->by == STORE_BY_LABEL && !request->label_key)
		return fail_plain(-EINVAL, "series: by which label?");
	if (request->curves > STORE_CURVES_MAX)
		return fail_plain(-EINVAL, "series: at most %d curves", STORE_CURVES_MAX);
	return 0;
}

int store_series(struct store *store, const struct store_series_request *request, struct store_series *ret)
{
	struct store_series made = { .buckets = request->buckets };
	struct series series = { .store = store, .request = request, .ret = &made };
	int err = check(request);

	if (err)
		return err;
	err = intern_new(&series.names) ? fail(-ENOMEM, "store: curves") : store_begin(store);
	if (!err) {
		err = make_series(&series);
		store_end(store);
	}
	intern_free(series.names);
	buf_free(&series.sums);
	free(series.curves);
	if (err)
		store_series_free(&made);
	else
		*ret = made;
	return err;
}

void store_series_free(struct store_series *series)
{
	for (size_t i = 0; i < series->len; i++) {
		free(series->curves[i].name);
		free(series->curves[i].values);
	}
	free(series->curves);
	*series = (struct store_series){ 0 };
}
