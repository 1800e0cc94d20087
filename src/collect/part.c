/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a recording into parts. In: the recording as it stands. Out: what is new since the last cut, taken out of it;
 * and profiles that are filled from parts.
 *
 * Invariant: fired = taken + left_out and taken = counted + lost hold in each part. A sample that waits for an unwind
 * table was taken when its tick came and is counted later: it is moved, as if it had been taken in the part that it is
 * counted in.
 */
#include "collect/part.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/collection.h"
#include "collect/early.h"
#include "collect/name.h"
#include "collect/tables.h"
#include "collect/ticks.h"
#include "collect/ways.h"
#include "profile/pick.h"
#include "profile/profile.h"
#include "worker/pool.h"

struct part {
	struct profile_stacks stacks;
	struct map early; /* sample → how many of it were unwound in user space */
	uint64_t sums[WIRE_COUNTERS];
	uint64_t expected, cpus;
};

void part_free(struct part *part)
{
	if (!part)
		return;
	profile_stacks_free(&part->stacks);
	map_free(&part->early);
	free(part);
}

uint64_t part_samples(const struct part *part)
{
	return part->sums[WIRE_total_counted];
}

static void take_sums(struct part *part, struct collect *collect)
{
	static const enum wire_counter moved[] = { WIRE_total_fired, WIRE_total_taken, WIRE_total_deferred };
	/* Those that were taken and are not counted; or the other way round, if one is counted before its tick is. */
	int64_t early = collect->early ? (int64_t)(collect->sums[WIRE_total_deferred] - early_done(collect->early)) : 0;

	for (int i = 0; i < WIRE_COUNTERS; i++) {
		part->sums[i] = collect->sums[i] - collect->last_sums[i];
		collect->last_sums[i] = collect->sums[i];
	}
	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++)
		part->sums[moved[i]] -= (uint64_t)(early - collect->last_early);
	collect->last_early = early;
}

int part_cut(struct part **ret, struct collect *collect)
{
	struct part *part = calloc(1, sizeof(*part));
	uint64_t expected, late_events;
	int err;

	if (!part)
		return -ENOMEM;
	collect->drain_at = clock_ns(CLOCK_MONOTONIC) + collect->options.drain_ms * NS_PER_MS;
	expected = ticks_expected(collect->ticks);
	err = collect_drain(collect);
	err = err ? err : ingest_take(collect->ingest, &part->stacks, &part->early, &late_events);
	if (err) {
		part_free(part);
		return err;
	}
	part->cpus = ticks_cpus(collect->ticks);
	part->expected = expected - collect->last_expected;
	collect->last_expected = expected;
	take_sums(part, collect);
	part->sums[WIRE_note_events_lost] += late_events;
	*ret = part;
	return 0;
}

int part_settle(struct collect *collect, uint64_t until_ns)
{
	int err = collect_pump(collect);

	if (!collect->early)
		return err;
	while (!err && !(err = early_run(collect->early, false)) && early_waits(collect->early)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now >= until_ns || !(tables_waits(collect->tables) || collect->opening))
			break;
		err = collect_wait(collect, (int)((until_ns - now) / NS_PER_MS) + 1);
	}
	return err ? err : early_run(collect->early, true);
}

/* ---- filling ---- */

struct filling {
	struct collect *collect;
	struct profile *into;
	struct pick *pick;
	bool whole; /* with how frames were found, and with counters that are 0 */
};

int filling_new(struct filling **ret, struct collect *collect, struct profile *into, bool whole)
{
	struct filling *filling = calloc(1, sizeof(*filling));
	int err;

	if (!filling)
		return -ENOMEM;
	*ret = filling;
	filling->collect = collect;
	filling->into = into;
	filling->whole = whole;
	if (whole) /* a second can do without */
		account_refusals(collect);
	err = pick_new(&filling->pick, collect->profile, namer_inlines(collect->namer), into);
	err = err ? err : pick_meta(filling->pick);
	if (!err && whole && !collect->ways)
		err = ways_new(&collect->ways, collect->profile, account_has_row, collect);
	return err;
}

void filling_free(struct filling *filling)
{
	if (!filling)
		return;
	pick_free(filling->pick);
	free(filling);
}

static int add_ways(struct filling *filling, const struct part *part)
{
	int err = 0;

	for (uint32_t i = 1; filling->whole && i < part->stacks.samples_len && !err; i++) {
		const struct profile_sample *sample = &part->stacks.samples[i];
		const uint64_t *early = map_get(&part->early, i);
		uint32_t process = pick_process(filling->pick, sample->process);

		err = ways_add(filling->collect->ways, sample, early ? *early : 0,
			       &profile_process(filling->into, process)->ways);
	}
	return err;
}

int filling_add(struct filling *filling, const struct part *part)
{
	struct profile_meta *meta = profile_meta(filling->into);
	int err = pick_samples(filling->pick, &part->stacks, NULL);

	err = err ? err : add_ways(filling, part);
	for (int i = 0; i < WIRE_COUNTERS && !err; i++)
		if (part->sums[i] || filling->whole)
			err = profile_add_counter(filling->into, counter_names[i].group, counter_names[i].name,
						  part->sums[i]);
	meta->expected += part->expected;
	meta->cpus = part->cpus > meta->cpus ? part->cpus : meta->cpus;
	return err;
}

/* ---- names ---- */

int part_name(struct collect *collect, bool last)
{
	return collect->options.raw ? 0 : namer_ask(collect->namer, last);
}

bool part_named(const struct collect *collect)
{
	return !namer_waits(collect->namer) && !collect->opening;
}

bool part_answered(const struct collect *collect)
{
	return part_named(collect) && !(collect->tables && tables_waits(collect->tables));
}

int part_wait(struct collect *collect, uint64_t until_ns)
{
	int err = part_name(collect, true);

	while (!err && !part_named(collect)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now >= until_ns)
			break;
		err = collect_wait(collect, (int)((until_ns - now) / NS_PER_MS) + 1);
		if (!err && part_named(collect))
			err = part_name(collect, true); /* of those that waited for an answer themselves */
	}
	return err;
}

int part_mark_late(struct collect *collect)
{
	return namer_mark_late(collect->namer);
}

bool part_has_late(const struct collect *collect)
{
	size_t len;

	namer_late(collect->namer, &len);
	return len;
}

int part_late(struct collect *collect, struct profile *into)
{
	struct pick *pick = NULL;
	size_t len;
	const uint32_t *frames = namer_late(collect->namer, &len);
	int err = pick_new(&pick, collect->profile, NULL, into);

	for (size_t i = 0; i < len && !err; i++)
		err = pick_frame(pick, frames[i]) == PROFILE_FULL ? -ENOMEM : 0;
	pick_free(pick);
	namer_forget_late(collect->namer);
	return err;
}

/* ---- how it is ---- */

void part_load(const struct collect *collect, struct part_load *ret)
{
	*ret = (struct part_load){
		.stacks = ingest_stacks(collect->ingest),
		.max_stacks = collect->options.max_stacks,
		.rate = 2 * ticks_rate(collect->ticks), /* one of the program, one of the kernel */
		.bytes = profile_memory(collect->profile) + ingest_memory(collect->ingest),
		.files = namer_open_files(collect->namer),
	};
}

void part_self(const struct collect *collect, struct part_self *ret)
{
	struct helpers_stats helpers;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	helpers_stats(collect->helpers, &helpers);
	*ret = (struct part_self){
		.cpu_us = pool_cpu_us(collect->pool) + helpers.cpu_us +
			  (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
		.deaths = pool_deaths(collect->pool),
		.stuck = helpers.stuck,
		.refused = helpers.refused + pool_refused(collect->pool),
	};
}
