/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers from saved profiles. Each of them is one window, from its start for as long as it was recorded. Of a profile
 * that knows when each of its samples was taken, a range has exactly those within it; of one that does not, all if they
 * meet; a profile that does not know when it was recorded is in every range. Nothing changes once the first answer is
 * asked for, so any number of threads may ask.
 */
#include "http/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/span.h"
#include "http/curves.h"
#include "http/metrics.h"
#include "http/query.h"
#include "http/summary.h"
#include "out/out.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"

#define NOT_RECORDED "no file is of this time"

struct replay {
	struct profile **parts;
	size_t len;
};

int replay_new(struct replay **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : fail(-ENOMEM, "replay");
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->len; i++)
		profile_free(replay->parts[i]);
	free(replay->parts);
	free(replay);
}

static const char *unit_of(const struct profile *profile)
{
	return profile_text(profile, profile_meta(profile)->unit, NULL);
}

int replay_add(struct replay *replay, struct profile *profile)
{
	struct profile **parts;

	if (replay->len && strcmp(unit_of(replay->parts[0]), unit_of(profile)))
		return fail_plain(-EINVAL, "values in '%s' cannot be shown with values in '%s'", unit_of(profile),
				  unit_of(replay->parts[0]));
	parts = reallocarray(replay->parts, replay->len + 1, sizeof(struct profile *));
	if (!parts)
		return fail(-ENOMEM, "replay");
	replay->parts = parts;
	parts[replay->len++] = profile;
	return 0;
}

void replay_forget(struct replay *replay, size_t count)
{
	count = count < replay->len ? count : replay->len;
	for (size_t i = 0; i < count; i++)
		profile_free(replay->parts[i]);
	memmove(replay->parts, replay->parts + count, (replay->len - count) * sizeof(*replay->parts));
	replay->len -= count;
}

static uint64_t end_of(const struct profile_meta *meta)
{
	uint64_t end_ns;

	return __builtin_add_overflow(meta->wall_ns, meta->duration_ns, &end_ns) ? UINT64_MAX : end_ns;
}

static bool meets(const struct profile *part, uint64_t from_ns, uint64_t to_ns)
{
	const struct profile_meta *meta = profile_meta(part);

	if (!meta->wall_ns)
		return true;
	return meta->wall_ns < to_ns && (end_of(meta) > from_ns || meta->wall_ns == from_ns);
}

/* A filter that lets everything through makes a copy. */
static int copy_profile(const struct profile *from, const struct filter_options *options, struct profile **ret)
{
	struct filter *filter = NULL;
	int err = filter_new(&filter, options, &out_texts);

	err = err ? err : filter_apply(filter, from, ret);
	filter_free(filter);
	return err;
}

/* Whether each count of each sample has its moment. */
static bool is_timed(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		if (!span_add(&sum, profile_sample(profile, i)->value))
			return false;
	return sum && sum == profile_count(profile, PROFILE_EVENTS) - 1;
}

/* What is asked for: a range, in ns since 1970, or some milliseconds of every second of it. */
struct slice {
	uint64_t from_ns, to_ns;
	unsigned offset_from, offset_to; /* 0 and 0: all of every second */
};

static bool is_within(const struct slice *slice, uint64_t at_ns)
{
	uint64_t ms = at_ns % NS_PER_SEC / NS_PER_MS;

	return at_ns >= slice->from_ns && at_ns < slice->to_ns &&
	       (!slice->offset_to || (ms >= slice->offset_from && ms < slice->offset_to));
}

/* How much of the time before a moment is in those milliseconds. */
static uint64_t before_ns(const struct slice *slice, uint64_t at_ns)
{
	uint64_t from = slice->offset_from * NS_PER_MS, to = slice->offset_to * NS_PER_MS, rest = at_ns % NS_PER_SEC;

	rest = rest < from ? from : rest > to ? to : rest;
	return slice->offset_to ? at_ns / NS_PER_SEC * (to - from) + rest - from : at_ns;
}

/* Adds the samples again whose events are within. Times are in us: so is the slice. */
static int keep_events(struct profile *profile, const struct profile_stacks *stacks, const struct slice *slice)
{
	uint64_t wall_ns = profile_meta(profile)->wall_ns;
	autofree uint32_t *nodes = calloc(stacks->nodes_len, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < stacks->nodes_len; i++) {
		nodes[i] = profile_add_node(profile, nodes[stacks->nodes[i].parent], stacks->nodes[i].frame);
		if (nodes[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < stacks->events_len; i++) {
		struct profile_event event = stacks->events[i];
		struct profile_sample sample = stacks->samples[event.sample];

		if (!is_within(slice, wall_ns + event.time_us * NS_PER_US))
			continue;
		sample.stack = nodes[sample.stack];
		sample.value = 1;
		event.sample = profile_add_sample(profile, &sample);
		if (event.sample == PROFILE_FULL || profile_add_event(profile, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

/* Leaves what was sampled then. -ENODATA if moments are asked for and are not known. */
static int cut(struct profile *profile, const struct slice *slice)
{
	struct profile_meta *meta = profile_meta(profile);
	uint64_t end_ns = end_of(meta);
	struct slice part = *slice;
	struct profile_stacks stacks = { 0 };
	int err;

	if (!meta->wall_ns || !is_timed(profile))
		return slice->offset_to ? -ENODATA : 0;
	part.from_ns = part.from_ns > meta->wall_ns ? part.from_ns : meta->wall_ns;
	part.to_ns = part.to_ns < end_ns ? part.to_ns : end_ns;
	if (!slice->offset_to && slice->from_ns <= meta->wall_ns && slice->to_ns >= end_ns)
		return 0;
	err = profile_take_stacks(profile, &stacks);
	err = err ? err : keep_events(profile, &stacks, slice);
	profile_stacks_free(&stacks);
	meta->duration_ns =
		part.to_ns > part.from_ns ? before_ns(&part, part.to_ns) - before_ns(&part, part.from_ns) : 0;
	return err;
}

static int add_part(struct profile **sum, const struct profile *from, const struct slice *slice)
{
	static const struct filter_options everything = { 0 };
	struct profile *part = NULL;
	int err = copy_profile(from, &everything, &part);

	err = err ? err : cut(part, slice);
	if (!err && !*sum) {
		*sum = part;
		return 0;
	}
	err = err ? err : merge_into(*sum, part);
	profile_free(part);
	return err == -ENODATA ? 0 : err;
}

static int add_parts(const struct replay *replay, const struct slice *slice, struct profile **ret)
{
	struct profile *sum = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < replay->len; i++)
		if (meets(replay->parts[i], slice->from_ns, slice->to_ns))
			err = add_part(&sum, replay->parts[i], slice);
	if (err)
		profile_free(sum);
	else if (!sum)
		return -ENODATA;
	else
		*ret = sum;
	return err;
}

static int replay_profile(void *context, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	return add_parts(context, &(struct slice){ .from_ns = from_ns, .to_ns = to_ns }, ret);
}

static int replay_moments(void *context, const struct query *query, struct profile **ret)
{
	const struct slice slice = { query->from_ns, query->to_ns, query->offset_from, query->offset_to };

	return add_parts(context, &slice, ret);
}

static int get_filtered(void *context, const struct query *query, struct profile **ret)
{
	struct profile *whole = NULL;
	int err = replay_profile(context, query->from_ns, query->to_ns, &whole);

	err = err ? err : copy_profile(whole, &query->filter, ret);
	profile_free(whole);
	return err;
}

static int replay_processes(void *context, const struct query *query, struct buf *out)
{
	struct profile *profile = NULL;
	int err = get_filtered(context, query, &profile);

	err = err ? err : summary_processes(profile, out);
	profile_free(profile);
	return err;
}

/* When it was, in ns since 1970. */
static uint64_t event_ns(const struct profile *profile, uint32_t event)
{
	return profile_meta(profile)->wall_ns + profile_event(profile, event)->time_us * NS_PER_US;
}

/* The range asked for, as far as there are events in it; false if there are none. */
static bool get_range(const struct profile *profile, const struct query *query, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_EVENTS); i++) {
		uint64_t at = event_ns(profile, i);

		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	*ret_from = query->from_ns ? query->from_ns : first;
	*ret_to = query->to_ns < last + 1 ? query->to_ns : last + 1;
	return profile_meta(profile)->wall_ns && *ret_from < *ret_to;
}

/* What passes, and the range that curves are of, which does not depend on what passes. */
static int get_timed(void *context, const struct query *query, struct profile **ret, uint64_t *ret_from,
		     uint64_t *ret_to)
{
	struct profile *whole = NULL;
	int err = replay_profile(context, query->from_ns, query->to_ns, &whole);

	if (!err && !get_range(whole, query, ret_from, ret_to))
		err = -ENODATA;
	err = err ? err : copy_profile(whole, &query->filter, ret);
	profile_free(whole);
	return err;
}

static int add_curves(struct curves *curves, const struct profile *profile, const struct query *query)
{
	const char *by = query->by || query->fn ? query->by : "process";
	int err = 0;

	for (uint32_t i = 1; !err && i < profile_count(profile, PROFILE_EVENTS); i++) {
		uint32_t sample = profile_event(profile, i)->sample;
		size_t len = 0;
		const char *name = by ? summary_name(profile, sample, by, &len) : query->fn;
		err = curves_add(curves, name, by ? len : strlen(name), event_ns(profile, i), 1);
	}
	return err;
}

static int replay_series(void *context, const struct query *query, struct buf *out)
{
	struct profile *profile = NULL;
	struct curves *curves = NULL;
	uint64_t from_ns, to_ns;
	int err = get_timed(context, query, &profile, &from_ns, &to_ns);

	err = err ? err : curves_new(&curves, from_ns, to_ns, query->cells);
	err = err ? err : add_curves(curves, profile, query);
	err = err ? err : curves_write(curves, out);
	curves_free(curves);
	profile_free(profile);
	return err;
}

static int replay_heat(void *context, const struct query *query, struct buf *out)
{
	struct profile *profile = NULL;
	struct heat *heat = NULL;
	uint64_t from_ns, to_ns;
	int err = get_timed(context, query, &profile, &from_ns, &to_ns);

	err = err ? err : heat_new(&heat, from_ns, to_ns);
	for (uint32_t i = 1; !err && i < profile_count(profile, PROFILE_EVENTS); i++)
		heat_add(heat, event_ns(profile, i), 1);
	err = err ? err : heat_write(heat, out);
	heat_free(heat);
	profile_free(profile);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct profile_meta *const *left = a, *const *right = b;

	return (*left)->wall_ns < (*right)->wall_ns ? -1 : (*left)->wall_ns > (*right)->wall_ns;
}

/* Between one file and the next. */
static int replay_gaps(void *context, const struct query *query, struct buf *out)
{
	const struct replay *replay = context;
	autofree const struct profile_meta **list = calloc(replay->len + 1, sizeof(*list));
	struct json json = { .out = out };
	uint64_t end_ns = UINT64_MAX;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < replay->len; i++)
		list[i] = profile_meta(replay->parts[i]);
	qsort(list, replay->len, sizeof(*list), by_start);
	json_array(&json, NULL);
	for (size_t i = 0; i < replay->len; i++) {
		if (list[i]->wall_ns > end_ns && list[i]->wall_ns > query->from_ns && end_ns < query->to_ns) {
			json_object(&json, NULL);
			json_u64(&json, "from_ms", end_ns / NS_PER_MS);
			json_u64(&json, "to_ms", list[i]->wall_ns / NS_PER_MS);
			json_text(&json, "why", NOT_RECORDED, strlen(NOT_RECORDED));
			json_u64(&json, "windows", 0);
			json_end(&json, '}');
		}
		end_ns = list[i]->wall_ns && (end_ns == UINT64_MAX || end_of(list[i]) > end_ns) ? end_of(list[i])
												: end_ns;
	}
	json_end(&json, ']');
	buf_addc(out, '\n');
	return buf_error(out);
}

static int replay_metrics(void *context, struct metrics *metrics)
{
	const struct replay *replay = context;
	autofree struct metrics_tally *tallies = calloc(2, sizeof(*tallies));
	struct profile *all = NULL;
	int err = tallies ? 0 : -ENOMEM;

	err = err ? err : replay_profile(context, 0, UINT64_MAX, &all);
	err = err ? err : summary_tally(all, &tallies[0], &tallies[1]);
	if (!err) {
		metrics_one(metrics, "wick_replay_profiles", "gauge", "Saved profiles that are shown.",
			    (double)replay->len);
		summary_seconds(&tallies[0], &tallies[1], metrics);
		summary_counters(all, metrics);
	}
	for (size_t i = 0; tallies && i < 2; i++)
		metrics_tally_free(&tallies[i]);
	profile_free(all);
	return err;
}

static int replay_ready(void *context, struct buf *note)
{
	const struct replay *replay = context;

	(void)note;
	return replay->len ? 0 : -EAGAIN;
}

struct http_source replay_source(struct replay *replay)
{
	bool timed = false;

	for (size_t i = 0; i < replay->len; i++)
		timed |= profile_meta(replay->parts[i])->wall_ns && profile_count(replay->parts[i], PROFILE_EVENTS) > 1;
	return (struct http_source){ .context = replay,
				     .untimed = !timed,
				     .profile = replay_profile,
				     .moments = replay_moments,
				     .processes = replay_processes,
				     .series = replay_series,
				     .heat = replay_heat,
				     .gaps = replay_gaps,
				     .ready = replay_ready,
				     .metrics = replay_metrics };
}
