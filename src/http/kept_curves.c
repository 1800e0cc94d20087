/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves and heat maps of a store and of the seconds that are not in it yet. In: a query. Out: JSON, as of saved
 * profiles. One filter chooses of both.
 */
#include "http/kept_parts.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "http/curves.h"
#include "http/query.h"
#include "http/summary.h"
#include "out/out.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "store/store.h"

#define CURVES_ASKED (CURVES_NAMES_MAX - 2)

/* A question to the store: a range, and of whom. */
struct question {
	const struct query *query;
	struct store_range range, extent;
	struct filter *filter;
	struct curves *curves;
	struct heat *heat;
};

/* When what there is begins: with the oldest window, or while there is none with the seconds that wait for it. */
static uint64_t beginning(struct kept *kept, const struct store_range *extent)
{
	uint64_t from = extent->from;

	pthread_mutex_lock(&kept->lock);
	if (!from && kept->fresh_len)
		from = kept->seconds[0].middle_ns - NS_PER_SEC / 2;
	pthread_mutex_unlock(&kept->lock);
	return from;
}

/* Without an end: with the last second, so that there is no cell that is not full yet. */
static uint64_t ending(struct kept *kept, const struct store_range *range)
{
	uint64_t to = range->to;

	pthread_mutex_lock(&kept->lock);
	if (kept->latest_ns > range->from && kept->latest_ns < to)
		to = kept->latest_ns;
	pthread_mutex_unlock(&kept->lock);
	return to;
}

/* With the handle held. The range as far as there is something; what is asked of it. */
static int prepare(struct kept *kept, struct question *question)
{
	const struct query *query = question->query;
	int err = filter_new(&question->filter, &query->filter, &out_texts);

	err = err ? err : store_extent(kept->store, &question->extent);
	question->range = (struct store_range){ query->from_ns ? query->from_ns : beginning(kept, &question->extent),
						query->to_ns < INT64_MAX ? query->to_ns : INT64_MAX };
	if (!(query->given & QUERY_TAKES(TO)))
		question->range.to = ending(kept, &question->range);
	return err || question->range.from < question->range.to ? err : -ENODATA;
}

static const char *name_of(const struct query *query, const struct profile *profile, uint32_t sample, size_t *ret_len)
{
	if (query->fn && !query->by) {
		*ret_len = strlen(query->fn);
		return query->fn;
	}
	return summary_name(profile, sample, query->by ? query->by : "process", ret_len);
}

/* What the store does not have yet. */
static int add_fresh(struct kept *kept, struct question *question)
{
	const struct query *query = question->query;
	uint64_t from = question->range.from > question->extent.to ? question->range.from : question->extent.to;
	struct profile *profile = NULL;
	int err = kept_fresh_profile(kept, from, question->range.to, &profile);

	if (err)
		return err == -ENODATA ? 0 : err;
	err = filter_asked(&query->filter) ? kept_filter(question->filter, &profile) : 0;
	for (uint32_t i = 1; !err && i < profile_count(profile, PROFILE_EVENTS); i++) {
		const struct profile_event *event = profile_event(profile, i);
		uint64_t at = profile_meta(profile)->wall_ns + event->time_us * NS_PER_US;
		const char *name;
		size_t len;

		if (question->heat) {
			heat_add(question->heat, at, 1);
			continue;
		}
		name = name_of(query, profile, event->sample, &len);
		err = curves_add(question->curves, name, len, at, 1);
	}
	profile_free(profile);
	return err;
}

/* ---- Curves ---- */

static int take_series(struct question *question, const struct store_series *series)
{
	const struct query *query = question->query;
	uint64_t length = question->range.to - question->range.from;
	int err = 0;

	for (size_t i = 0; !err && i < series->len; i++) {
		const struct store_curve *curve = &series->curves[i];
		const char *name = query->fn && !query->by ? query->fn : curve->name;

		for (size_t cell = 0; !err && cell < series->buckets; cell++) {
			uint64_t middle =
				(uint64_t)((unsigned __int128)length * (2 * cell + 1) / (2 * series->buckets));

			if (curve->values[cell])
				err = curves_add(question->curves, name, name ? strlen(name) : 0,
						 question->range.from + middle, curve->values[cell]);
		}
	}
	return err;
}

static int ask_series(struct kept *kept, struct question *question)
{
	const struct query *query = question->query;
	const char *by = query->by ? query->by : query->fn ? NULL : "process";
	const struct store_series_request request = { .range = question->range,
						      .buckets = query->cells ? query->cells : CURVES_CELLS,
						      .by = !by                     ? STORE_BY_NOTHING
							    : strcmp(by, "process") ? STORE_BY_LABEL
										    : STORE_BY_PROCESS,
						      .label_key = by,
						      .curves = CURVES_ASKED,
						      .filter = question->filter };
	struct store_series series = { 0 };
	int err = store_series(kept->store, &request, &series);

	err = err ? err : take_series(question, &series);
	store_series_free(&series);
	return err;
}

static int finish_question(struct question *question, int err)
{
	filter_free(question->filter);
	curves_free(question->curves);
	heat_free(question->heat);
	return err;
}

int kept_series(void *context, const struct query *query, struct buf *out)
{
	struct question question = { .query = query };
	struct kept *kept = context;
	int err = kept_hold_store(kept);

	err = err ? err : prepare(kept, &question);
	err = err ? err : curves_new(&question.curves, question.range.from, question.range.to, query->cells);
	err = err ? err : ask_series(kept, &question);
	kept_release_store(kept);
	err = err ? err : add_fresh(kept, &question);
	err = err ? err : curves_write(question.curves, out);
	return finish_question(&question, err);
}

/* ---- Heat maps ---- */

static int ask_heat(struct kept *kept, struct question *question)
{
	const struct store_range range = { question->range.from, question->range.to < question->extent.to
									 ? question->range.to
									 : question->extent.to };
	struct store_heat heat = { 0 };
	int err;

	if (range.from >= range.to)
		return 0;
	err = store_heat(kept->store, &range, HEAT_ROWS, question->filter, &heat);
	for (size_t cell = 0; !err && cell < heat.columns * heat.rows; cell++)
		if (heat.counts[cell])
			heat_add(question->heat,
				 heat.from + cell / HEAT_ROWS * NS_PER_SEC +
					 cell % HEAT_ROWS * (NS_PER_SEC / HEAT_ROWS),
				 heat.counts[cell]);
	store_heat_free(&heat);
	return err;
}

int kept_heat(void *context, const struct query *query, struct buf *out)
{
	struct question question = { .query = query };
	struct kept *kept = context;
	int err = kept_hold_store(kept);

	err = err ? err : prepare(kept, &question);
	/* Of a longer range the last part. */
	if (!err && question.range.to - question.range.from > (STORE_HEAT_COLUMNS_MAX - 1) * NS_PER_SEC)
		question.range.from = question.range.to - (STORE_HEAT_COLUMNS_MAX - 1) * NS_PER_SEC;
	err = err ? err : heat_new(&question.heat, question.range.from, question.range.to);
	err = err ? err : ask_heat(kept, &question);
	kept_release_store(kept);
	err = err ? err : add_fresh(kept, &question);
	err = err ? err : heat_write(question.heat, out);
	return finish_question(&question, err);
}
