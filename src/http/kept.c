/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers from a store and from what is not in it yet. In: a folder, the seconds since the last window. Out: profiles,
 * curves, heat maps. What lies before the end of the newest window comes from the store, what lies behind it from the
 * seconds, so nothing is counted twice.
 *
 * One handle of the store answers one question at a time; it is given up when nobody has asked for a while, and with it
 * the dictionary that it holds.
 */
#include "http/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/json.h"
#include "http/kept_parts.h"
#include "http/metrics.h"
#include "http/query.h"
#include "http/stream.h"
#include "http/summary.h"
#include "out/out.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "store/store.h"

#define FRESH_MAX 120 /* seconds that are not sealed: more only if sealing fails */
#define FRESH_BYTES (32u << 20)
#define IDLE_NS (30 * NS_PER_SEC) /* after which the handle is given up */
#define MOMENTS_MAX 600           /* seconds of which parts are asked for */

/* ---- Who writes and who asks ---- */

int kept_new(struct kept **ret, const char *folder, const struct live_options *live)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	int err;

	if (!kept)
		return fail(-ENOMEM, "kept");
	pthread_mutex_init(&kept->store_lock, NULL);
	pthread_mutex_init(&kept->lock, NULL);
	kept->folder = strdup(folder);
	err = kept->folder ? live_new(&kept->live, live) : fail(-ENOMEM, "kept");
	err = err ? err : replay_new(&kept->fresh);
	if (err)
		kept_free(kept);
	else
		*ret = kept;
	return err;
}

void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	store_free(kept->store);
	replay_free(kept->fresh);
	live_free(kept->live);
	buf_free(&kept->metrics);
	pthread_mutex_destroy(&kept->store_lock);
	pthread_mutex_destroy(&kept->lock);
	free(kept->folder);
	free(kept);
}

static int publish(struct stream *stream, const char *event, const struct buf *data)
{
	return buf_error(data) ? buf_error(data) : stream_publish(stream, event, data->data, data->len);
}

static void forget_fresh(struct kept *kept, size_t count)
{
	replay_forget(kept->fresh, count);
	kept->fresh_len -= count;
	memmove(kept->seconds, kept->seconds + count, kept->fresh_len * sizeof(*kept->seconds));
}

/* The oldest go when there are too many of them. */
static void bound_fresh(struct kept *kept)
{
	size_t bytes = 0, from = kept->fresh_len;

	while (from && bytes + kept->seconds[from - 1].bytes < FRESH_BYTES && kept->fresh_len - from < FRESH_MAX)
		bytes += kept->seconds[--from].bytes;
	forget_fresh(kept, from);
}

static int add_fresh(struct kept *kept, struct profile *second)
{
	const struct profile_meta *meta = profile_meta(second);
	struct kept_second *slot;
	int err;

	profile_settle(second);
	pthread_mutex_lock(&kept->lock);
	err = replay_add(kept->fresh, second);
	if (err) {
		profile_free(second);
	} else {
		slot = &kept->seconds[kept->fresh_len++];
		*slot = (struct kept_second){ meta->wall_ns + meta->duration_ns / 2, profile_memory(second) };
		kept->latest_ns = meta->wall_ns + meta->duration_ns;
		bound_fresh(kept);
	}
	pthread_mutex_unlock(&kept->lock);
	return err;
}

int kept_second(struct kept *kept, struct profile *second, struct stream *stream)
{
	autobuf struct buf data = { 0 };
	const char *event = NULL;
	int err = live_add(kept->live, second, &data, &event);

	if (!err)
		err = publish(stream, event, &data);
	if (add_fresh(kept, second))
		return -ENOMEM;
	/* Nobody waits for the handle here, and nobody is made to wait. */
	if (!pthread_mutex_trylock(&kept->store_lock)) {
		if (kept->store && clock_ns(CLOCK_MONOTONIC) - kept->used_ns > IDLE_NS) {
			store_free(kept->store);
			kept->store = NULL;
		}
		pthread_mutex_unlock(&kept->store_lock);
	}
	return err;
}

int kept_seal(struct kept *kept, const struct kept_sealed *sealed, struct stream *stream)
{
	autobuf struct buf data = { 0 };
	size_t count = 0;

	/* One window later: somebody may have asked the store before this one was in it, and asks here next. */
	pthread_mutex_lock(&kept->lock);
	while (count < kept->fresh_len && kept->seconds[count].middle_ns < kept->sealed_ns)
		count++;
	forget_fresh(kept, count);
	if (!sealed->gap[0])
		kept->sealed_ns = sealed->to_ns;
	pthread_mutex_unlock(&kept->lock);
	live_sealed(sealed->from_ns, sealed->to_ns, sealed->samples, sealed->gap[0] ? sealed->gap : NULL, &data);
	return publish(stream, "sealed", &data);
}

int kept_set_status(struct kept *kept, const struct kept_status *status, const char *metrics, size_t len,
		    struct stream *stream)
{
	autobuf struct buf data = { 0 };
	int err;

	pthread_mutex_lock(&kept->lock);
	kept->status = *status;
	buf_clear(&kept->metrics);
	buf_add(&kept->metrics, metrics, len);
	pthread_mutex_unlock(&kept->lock);
	err = live_set_health(kept->live, &status->health, &data);
	return err ? err : publish(stream, "health", &data);
}

/* ---- The store ---- */

int kept_hold_store(struct kept *kept)
{
	const struct store_options options = { .folder = kept->folder, .read_only = true };
	int err = 0;

	pthread_mutex_lock(&kept->store_lock);
	if (!kept->store)
		err = store_open(&kept->store, &options);
	kept->used_ns = clock_ns(CLOCK_MONOTONIC);
	return err;
}

void kept_release_store(struct kept *kept)
{
	pthread_mutex_unlock(&kept->store_lock);
}

/*
 * What the store has of a range, up to where its newest window ends: one that is sealed meanwhile lies behind that.
 * NULL if it has nothing.
 */
static int ask_store(struct kept *kept, uint64_t from_ns, uint64_t to_ns, struct profile **ret, uint64_t *ret_end)
{
	struct store_range extent = { 0 }, range = { from_ns, to_ns };
	struct store_answer answer = { 0 };
	struct profile *profile = NULL;
	int err = kept_hold_store(kept);

	err = err ? err : store_extent(kept->store, &extent);
	range.to = to_ns < extent.to ? to_ns : extent.to;
	if (!err && range.from < range.to)
		err = store_query(kept->store, &range, NULL, &profile, &answer);
	kept_release_store(kept);
	if (err || !answer.rows) {
		profile_free(profile);
		profile = NULL;
	}
	*ret = profile;
	*ret_end = extent.to;
	return err == -ENOENT ? 0 : err;
}

/* ---- What is not in it yet ---- */

/* Windows have no events, so the sum of both has none either. */
static int drop_events(struct profile *profile)
{
	struct profile_stacks stacks = { 0 };
	autofree uint32_t *nodes = NULL;
	int err = profile_take_stacks(profile, &stacks);

	nodes = err ? NULL : calloc(stacks.nodes_len, sizeof(*nodes));
	err = err ? err : nodes ? 0 : -ENOMEM;
	for (uint32_t i = 1; !err && i < stacks.nodes_len; i++) {
		nodes[i] = profile_add_node(profile, nodes[stacks.nodes[i].parent], stacks.nodes[i].frame);
		err = nodes[i] == PROFILE_FULL ? -ENOMEM : 0;
	}
	for (uint32_t i = 1; !err && i < stacks.samples_len; i++) {
		stacks.samples[i].stack = nodes[stacks.samples[i].stack];
		err = profile_add_sample(profile, &stacks.samples[i]) == PROFILE_FULL ? -ENOMEM : 0;
	}
	profile_stacks_free(&stacks);
	return err;
}

int kept_fresh_profile(struct kept *kept, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	struct http_source source;
	int err = -ENODATA;

	if (from_ns >= to_ns)
		return err;
	pthread_mutex_lock(&kept->lock);
	source = replay_source(kept->fresh);
	if (kept->fresh_len)
		err = source.profile(source.context, from_ns, to_ns, ret);
	pthread_mutex_unlock(&kept->lock);
	return err;
}

/* Both, one of them, or -ENODATA. */
static int add_up(struct profile *old, struct profile *fresh, struct profile **ret)
{
	int err = 0;

	if (old && fresh) {
		err = drop_events(fresh);
		err = err ? err : merge_into(old, fresh);
		profile_free(fresh);
		fresh = NULL;
	}
	*ret = old ? old : fresh;
	if (err)
		profile_free(*ret);
	return err ? err : *ret ? 0 : -ENODATA;
}

static int kept_profile(void *context, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	struct kept *kept = context;
	struct profile *old = NULL, *fresh = NULL;
	uint64_t end = 0;
	int err = ask_store(kept, from_ns, to_ns, &old, &end);

	if (err)
		return err;
	err = kept_fresh_profile(kept, from_ns > end ? from_ns : end, to_ns, &fresh);
	if (err && err != -ENODATA) {
		profile_free(old);
		return err;
	}
	err = add_up(old, fresh, ret);
	if (!err)
		profile_settle(*ret); /* what finds stacks again need not stay; whoever adds to it makes it anew */
	return err;
}

/* Parts of seconds, second by second. */
static int kept_moments(void *context, const struct query *query, struct profile **ret)
{
	uint64_t first = query->from_ns / NS_PER_SEC, end = (query->to_ns + NS_PER_SEC - 1) / NS_PER_SEC;
	struct profile *sum = NULL;
	int err = 0;

	if (end - first > MOMENTS_MAX)
		first = end - MOMENTS_MAX;
	for (uint64_t second = first; !err && second < end; second++) {
		uint64_t from = second * NS_PER_SEC + query->offset_from * NS_PER_MS;
		uint64_t to = second * NS_PER_SEC + query->offset_to * NS_PER_MS;
		struct profile *part = NULL;

		from = from > query->from_ns ? from : query->from_ns;
		to = to < query->to_ns ? to : query->to_ns;
		err = from < to ? kept_profile(context, from, to, &part) : -ENODATA;
		if (err == -ENODATA) {
			err = 0;
			continue;
		}
		if (!err && sum) {
			err = merge_into(sum, part);
			profile_free(part);
		} else if (!err) {
			sum = part;
		}
	}
	if (err)
		profile_free(sum);
	else
		*ret = sum;
	return err ? err : sum ? 0 : -ENODATA;
}

int kept_filter(const struct filter *filter, struct profile **profile)
{
	struct profile *passed = NULL;
	int err = filter_apply(filter, *profile, &passed);

	if (err)
		return err;
	profile_free(*profile);
	*profile = passed;
	return 0;
}

static int kept_processes(void *context, const struct query *query, struct buf *out)
{
	struct profile *profile = NULL;
	struct filter *filter = NULL;
	int err = filter_new(&filter, &query->filter, &out_texts);

	err = err ? err : kept_profile(context, query->from_ns, query->to_ns, &profile);
	if (!err && filter_asked(&query->filter))
		err = kept_filter(filter, &profile);
	err = err ? err : summary_processes(profile, out);
	filter_free(filter);
	profile_free(profile);
	return err;
}

static int kept_gaps(void *context, const struct query *query, struct buf *out)
{
	const struct store_range range = { query->from_ns, query->to_ns };
	autofree struct store_gap *gaps = NULL;
	struct kept *kept = context;
	struct json json = { .out = out };
	size_t len = 0;
	int err = kept_hold_store(kept);

	err = err ? err : store_gaps(kept->store, &range, &gaps, &len);
	kept_release_store(kept);
	if (err && err != -ENOENT)
		return err;
	json_array(&json, NULL);
	for (size_t i = 0; i < len; i++) {
		json_object(&json, NULL);
		json_u64(&json, "from_ms", gaps[i].range.from / NS_PER_MS);
		json_u64(&json, "to_ms", gaps[i].range.to / NS_PER_MS);
		json_text(&json, "why", gaps[i].why, strnlen(gaps[i].why, sizeof(gaps[i].why)));
		json_u64(&json, "windows", gaps[i].windows);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	buf_addc(out, '\n');
	return buf_error(out);
}

/* ---- Of itself ---- */

static int kept_greeting(void *context, struct buf *out)
{
	struct kept *kept = context;

	return live_all(kept->live, clock_ns(CLOCK_REALTIME), out);
}

static int kept_ready(void *context, struct buf *note)
{
	struct kept *kept = context;
	bool sampling;

	pthread_mutex_lock(&kept->lock);
	sampling = kept->status.sampling;
	buf_add(note, kept->status.health.note, strnlen(kept->status.health.note, LIVE_NOTE_MAX));
	pthread_mutex_unlock(&kept->lock);
	return sampling ? 0 : -EAGAIN;
}

static uint64_t kept_latest(void *context)
{
	return ((struct kept *)context)->latest_ns; /* which this thread alone changes */
}

static int kept_metrics(void *context, struct metrics *metrics)
{
	struct kept *kept = context;

	pthread_mutex_lock(&kept->lock);
	buf_add(metrics->out, kept->metrics.data ? kept->metrics.data : "", kept->metrics.len);
	metrics->series += kept->status.series;
	pthread_mutex_unlock(&kept->lock);
	return buf_error(metrics->out);
}

struct http_source kept_source(struct kept *kept)
{
	return (struct http_source){ .context = kept,
				     .live = true,
				     .profile = kept_profile,
				     .moments = kept_moments,
				     .processes = kept_processes,
				     .series = kept_series,
				     .heat = kept_heat,
				     .gaps = kept_gaps,
				     .greeting = kept_greeting,
				     .ready = kept_ready,
				     .latest = kept_latest,
				     .metrics = kept_metrics };
}
