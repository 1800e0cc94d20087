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

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/span.h"
#include "http/curves.h"
#include "http/metrics.h"
#include "http/query.h"
#include "http/summary.h"
#include "out/out.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"

struct replay {
	struct profile **parts;
	size_t len;
};

static filter_text *const texts[] = { out_frame_text, out_module_text, NULL };

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

static bool meets(const struct profile *part, uint64_t from_ns, uint64_t to_ns)
{
	const struct profile_meta *meta = profile_meta(part);
	uint64_t end_ns;

	if (!meta->wall_ns)
		return true;
	if (__builtin_add_overflow(meta->wall_ns, meta->duration_ns, &end_ns))
		end_ns = UINT64_MAX;
	return meta->wall_ns < to_ns && (end_ns > from_ns || meta->wall_ns == from_ns);
}

/* A filter that lets everything through makes a copy. */
static int copy_profile(const struct profile *from, const struct filter_options *options, struct profile **ret)
{
	struct filter *filter = NULL;
	int err = filter_new(&filter, options);

	err = err ? err : filter_apply(filter, from, texts, ret);
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

/* Adds the samples again whose events are within, in us since the start. */
static int keep_events(struct profile *profile, const struct profile_stacks *stacks, uint64_t from_us, uint64_t to_us)
{
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

		if (event.time_us < from_us || event.time_us >= to_us)
			continue;
		sample.stack = nodes[sample.stack];
		sample.value = 1;
		event.sample = profile_add_sample(profile, &sample);
		if (event.sample == PROFILE_FULL || profile_add_event(profile, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

/* Leaves what was sampled from one moment up to another. Times are in us: the range is rounded to these. */
static int cut(struct profile *profile, uint64_t from_ns, uint64_t to_ns)
{
	struct profile_meta *meta = profile_meta(profile);
	uint64_t start = from_ns > meta->wall_ns ? from_ns - meta->wall_ns : 0, end = to_ns - meta->wall_ns;
	struct profile_stacks stacks = { 0 };
	int err;

	if (!meta->wall_ns || (!start && end >= meta->duration_ns) || !is_timed(profile))
		return 0;
	err = profile_take_stacks(profile, &stacks);
	err = err ? err : keep_events(profile, &stacks, start / NS_PER_US, end / NS_PER_US);
	profile_stacks_free(&stacks);
	meta->duration_ns = (end < meta->duration_ns ? end : meta->duration_ns) - start;
	return err;
}

static int add_part(struct profile **sum, const struct profile *from, uint64_t from_ns, uint64_t to_ns)
{
	static const struct filter_options everything = { 0 };
	struct profile *part = NULL;
	int err = copy_profile(from, &everything, &part);

	err = err ? err : cut(part, from_ns, to_ns);
	if (!err && !*sum) {
		*sum = part;
		return 0;
	}
	err = err ? err : merge_into(*sum, part);
	profile_free(part);
	return err;
}

static int replay_profile(void *context, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	const struct replay *replay = context;
	struct profile *sum = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < replay->len; i++)
		if (meets(replay->parts[i], from_ns, to_ns))
			err = add_part(&sum, replay->parts[i], from_ns, to_ns);
	if (err)
		profile_free(sum);
	else if (!sum)
		return -ENODATA;
	else
		*ret = sum;
	return err;
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

static int replay_series(void *context, const struct query *query, struct buf *out)
{
	const char *by = query->by ? query->by : "process";
	struct profile *profile = NULL;
	struct curves *curves = NULL;
	uint64_t from_ns, to_ns;
	int err = get_filtered(context, query, &profile);

	if (!err && !get_range(profile, query, &from_ns, &to_ns))
		err = -ENODATA;
	err = err ? err : curves_new(&curves, from_ns, to_ns, query->cells);
	for (uint32_t i = 1; !err && i < profile_count(profile, PROFILE_EVENTS); i++) {
		size_t len;
		const char *name = summary_name(profile, profile_event(profile, i)->sample, by, &len);

		err = curves_add(curves, name, len, event_ns(profile, i), 1);
	}
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
	int err = get_filtered(context, query, &profile);

	if (!err && !get_range(profile, query, &from_ns, &to_ns))
		err = -ENODATA;
	err = err ? err : heat_new(&heat, from_ns, to_ns);
	for (uint32_t i = 1; !err && i < profile_count(profile, PROFILE_EVENTS); i++)
		heat_add(heat, event_ns(profile, i), 1);
	err = err ? err : heat_write(heat, out);
	heat_free(heat);
	profile_free(profile);
	return err;
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
	return (struct http_source){ .context = replay,
				     .profile = replay_profile,
				     .processes = replay_processes,
				     .series = replay_series,
				     .heat = replay_heat,
				     .ready = replay_ready,
				     .metrics = replay_metrics };
}
