/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers from saved profiles. Each of them is one window, from its start for as long as it was recorded: a range has
 * those windows that it meets, whole; a profile that does not know when it was taken is in every range. Nothing changes
 * once the first answer is asked for, so any number of threads may ask.
 */
#include "http/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fail.h"
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

static int replay_profile(void *context, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	static const struct filter_options everything = { 0 };
	const struct replay *replay = context;
	struct profile *sum = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < replay->len; i++) {
		if (!meets(replay->parts[i], from_ns, to_ns))
			continue;
		err = sum ? merge_into(sum, replay->parts[i]) : copy_profile(replay->parts[i], &everything, &sum);
	}
	if (err)
		profile_free(sum);
	else if (!sum)
		return -ENODATA;
	else
		*ret = sum;
	return err;
}

static int replay_processes(void *context, const struct query *query, struct buf *out)
{
	struct profile *whole = NULL, *profile = NULL;
	int err = replay_profile(context, query->from_ns, query->to_ns, &whole);

	err = err ? err : copy_profile(whole, &query->filter, &profile);
	err = err ? err : summary_processes(profile, out);
	profile_free(whole);
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

static int replay_ready(void *context)
{
	const struct replay *replay = context;

	return replay->len ? 0 : -EAGAIN;
}

struct http_source replay_source(struct replay *replay)
{
	return (struct http_source){ .context = replay,
				     .profile = replay_profile,
				     .processes = replay_processes,
				     .ready = replay_ready,
				     .metrics = replay_metrics };
}
