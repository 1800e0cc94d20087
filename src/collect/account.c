/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a recording beside its samples: when, where and how it was made, what was counted, lost and missed,
 * and what wick itself used. Each counter is in counters.def once; its name comes from there.
 */
#include "collect/collection.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/preload.h"
#include "collect/tables.h"
#include "collect/ticks.h"
#include "elf/buildid.h"
#include "profile/profile.h"
#include "worker/fetch.h"
#include "worker/pool.h"

const struct counter_name counter_names[WIRE_COUNTERS] = {
#define COUNTER(g, n, text) [WIRE_##g##_##n] = { .group = #g, .name = #n },
#include "bpf/counters.def"
#undef COUNTER
};

void account_start(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	struct profile_meta *meta = profile_meta(collect->profile);
	struct utsname name;
	autobuf struct buf notes = { 0 };
	unsigned char id[BUILD_ID_MAX];
	int len;

	meta->hz = options->hz;
	meta->period = options->hz ? NS_PER_SEC / options->hz : options->period;
	meta->start_us = collect->started_ns / NS_PER_US;
	meta->wall_ns = clock_ns(CLOCK_REALTIME);
	meta->event = profile_string(collect->profile, options->cycles ? "cycles" : "cpu-clock");
	meta->unit = profile_string(collect->profile, "samples");
	meta->version = profile_string(collect->profile, WICK_RELEASE);
	if (!uname(&name)) {
		meta->host = profile_string(collect->profile, name.nodename);
		meta->kernel = profile_string(collect->profile, name.release);
		meta->arch = profile_string(collect->profile, name.machine);
	}
	if (!file_read("/sys/kernel/notes", 1 << 20, &notes)) {
		len = buildid_from_notes(notes.data, notes.len, id);
		if (len > 0)
			meta->kernel_build_id = profile_bytes(collect->profile, id, (size_t)len);
	}
}

void account_end(struct collect *collect)
{
	struct profile_meta *meta = profile_meta(collect->profile);
	struct machine_times now;

	meta->duration_ns = clock_ns(CLOCK_MONOTONIC) - collect->started_ns;
	meta->cpus = ticks_cpus(collect->ticks);
	if (machine_times(&now))
		return;
	meta->busy_user_us = now.user - collect->times.user;
	meta->busy_kernel_us = now.kernel - collect->times.kernel;
	meta->idle_us = now.idle - collect->times.idle;
}

void collect_progress(const struct collect *collect, struct collect_progress *ret)
{
	*ret = (struct collect_progress){ 0 };
	for (int i = 0; i < WIRE_COUNTERS; i++) {
		uint64_t value = collect->sums[i] + sampler_counter(collect->sampler, (enum wire_counter)i);

		if (i == WIRE_total_taken)
			ret->taken = value;
		if (!strcmp(counter_names[i].group, "lost"))
			ret->lost += value;
	}
}

static uint64_t first_tick(const struct collect *collect)
{
	uint64_t first = 0;

	for (unsigned int i = 0; i < sampler_cpus(collect->sampler); i++) {
		uint64_t at = sampler_cpu(collect->sampler, i)->first_ns;

		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

void account_self(struct collect *collect)
{
	struct profile *profile = collect->profile;
	uint64_t first = first_tick(collect), ns, runs;
	struct tables_stats stats = { 0 };
	struct helpers_stats helpers;
	struct rusage usage;

	if (collect->tables)
		tables_stats(collect->tables, &stats);
	pool_stop(collect->pool);
	helpers_stop(collect->helpers);
	helpers_stats(collect->helpers, &helpers);
	getrusage(RUSAGE_SELF, &usage);
	profile_add_counter(profile, "self", "cpu_us",
			    pool_cpu_us(collect->pool) + helpers.cpu_us +
				    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	profile_add_counter(profile, "self", "max_rss_bytes",
			    (uint64_t)usage.ru_maxrss * 1024 + pool_max_rss(collect->pool) + helpers.max_rss);
	profile_add_counter(profile, "note", "worker_deaths", pool_deaths(collect->pool));
	profile_add_counter(profile, "note", "files_stuck", helpers.stuck);
	profile_add_counter(profile, "note", "user_budget",
			    helpers.refused + pool_refused(collect->pool) + collect->over_budget);
	profile_add_counter(profile, "self", "unwind_files", stats.files);
	profile_add_counter(profile, "self", "unwind_rows", stats.rows);
	profile_add_counter(profile, "self", "unwind_bytes", stats.bytes);
	profile_add_counter(profile, "self", "unwind_ahead", preload_count(collect->preload));
	if (collect->fetch)
		profile_add_counter(profile, "note", "debuginfod_failed", fetch_failed(collect->fetch));
	profile_add_counter(profile, "note", "unwind_evicted", stats.evicted);
	profile_add_counter(profile, "note", "unwind_refused", stats.refused);
	profile_add_counter(profile, "self", "bpf_map_bytes", sampler_map_bytes(collect->sampler) + stats.bytes);
	if (first > collect->options.begun_ns)
		profile_add_counter(profile, "self", "first_sample_us",
				    (first - collect->options.begun_ns) / NS_PER_US);
	if (!sampler_run_time(collect->sampler, &ns, &runs)) {
		profile_add_counter(profile, "self", "bpf_run_ns", ns);
		profile_add_counter(profile, "self", "bpf_runs", runs);
	}
}

bool account_has_row(void *arg, const struct profile_frame *frame)
{
	struct collect *collect = arg;
	const uint64_t *id = frame->kind == FRAME_USER ? map_get(&collect->file_ids, frame->file) : NULL;

	if (!collect->tables || (!id && frame->kind != FRAME_VDSO))
		return false;
	return tables_has_row(collect->tables, id ? *id : WIRE_TABLE_VDSO, frame->address);
}

/* A file that has names, or whose functions are known by their bounds, may still have no table. */
void account_refusals(struct collect *collect)
{
	struct profile *profile = collect->profile;
	uint32_t stripped = profile_string(profile, "stripped");

	for (uint32_t i = 1; collect->tables && i < profile_count(profile, PROFILE_FILES); i++) {
		const uint64_t *id = map_get(&collect->file_ids, i);
		const char *reason = id ? tables_refusal(collect->tables, *id) : NULL;
		uint32_t string = reason ? profile_string(profile, reason) : PROFILE_FULL;
		uint32_t before = profile_file(profile, i)->reason;

		if (string != PROFILE_FULL && (before == PROFILE_NONE || before == stripped))
			profile_file(profile, i)->reason = string;
	}
}
