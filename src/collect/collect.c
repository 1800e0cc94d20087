/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the parts of collecting together: the kernel side (sampler), its ticks, and what becomes of the records
 * (ingest). It decides when a window is closed: rarely, because the kernel skips samples while maps are read, but
 * before a table is half full.
 */
#include "collect/collect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "collect/addresses.h"
#include "collect/files.h"
#include "collect/ingest.h"
#include "collect/sampler.h"
#include "collect/ticks.h"
#include "elf/buildid.h"
#include "proc/process.h"
#include "profile/profile.h"

struct collect {
	struct collect_options options;
	struct profile *profile;
	struct sampler *sampler;
	struct ticks *ticks;
	struct ingest *ingest;
	struct addresses *addresses; /* only where the kernel side cannot find mappings */
	char *warning;
	struct sampler_sinks sinks;
	uint64_t sums[WIRE_COUNTERS]; /* of the windows that are closed */
	uint64_t started_ns, drain_at, check_at;
	struct machine_times times;
	struct buf gone[2]; /* pids and starts that ended in this window and the one before */
	uint32_t asked; /* processes up to this one have been asked for their program */
	bool targets_gone;
};

static const struct counter_name {
	const char *group, *name;
} counter_names[WIRE_COUNTERS] = {
#define COUNTER(g, n, text) [WIRE_##g##_##n] = { .group = #g, .name = #n },
#include "bpf/counters.def"
#undef COUNTER
};

static void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;

	struct profile *profile = collect->profile;
	unsigned char id[BUILD_ID_MAX];
	autoclose int fd = files_open(collect->sampler, found,
				      profile_text(profile, profile_file(profile, file)->path, NULL));
	int len = fd < 0 ? fd : buildid_read(fd, id);

	if (len > 0)
		profile_file(profile, file)->build_id = profile_bytes(profile, id, (size_t)len);
	else
		profile_file(profile, file)->reason = profile_string(profile, fd < 0 ? "file_gone" : "no_build_id");
}

static void find_mapping(void *arg, uint32_t pid, struct profile_frame *frame)
{
	struct collect *collect = arg;

	addresses_find(collect->addresses, pid, frame);
}

static int find_program(void *arg, uint32_t pid, uint64_t start, uint32_t *ret_exe, uint32_t *ret_comm)
{
	struct collect *collect = arg;
	autobuf struct buf exe = { 0 }, comm = { 0 };

	if (!pid || !process_is(pid, start) || process_exe(pid, &exe) || process_comm(pid, &comm))
		return -ESRCH;
	*ret_exe = profile_bytes(collect->profile, exe.data, exe.len);
	*ret_comm = profile_bytes(collect->profile, comm.data, comm.len);
	return 0;
}

static int sink_stack(void *arg, void *data, size_t len)
{
	return ingest_record(((struct collect *)arg)->ingest, data, len);
}

static int sink_event(void *arg, void *data, size_t len)
{
	return ingest_event(((struct collect *)arg)->ingest, data, len);
}

static int sink_notice(void *arg, void *data, size_t len)
{
	struct collect *collect = arg;
	struct ingest_ended ended;
	int err = ingest_notice(collect->ingest, data, len, &ended);

	if (ended.pid && (collect->options.children || collect->options.command)) {
		buf_u64(&collect->gone[0], ended.pid);
		buf_u64(&collect->gone[0], ended.start);
	}
	return err;
}

static int sink_count(void *arg, const struct wire_key *key, uint64_t count)
{
	return ingest_count(((struct collect *)arg)->ingest, key, count);
}

static int check_targets(const struct collect_options *options)
{
	for (size_t i = 0; i < options->pids_len; i++)
		if (!process_exists(options->pids[i]))
			return fail_plain(-ESRCH, "pid %u: no such process", options->pids[i]);
	for (size_t i = 0; i < options->tids_len; i++)
		if (!process_exists(options->tids[i]))
			return fail_plain(-ESRCH, "tid %u: no such thread", options->tids[i]);
	return 0;
}

int collect_open(struct collect **ret, const struct collect_options *options, struct profile *profile)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	int err;

	if (!collect)
		return -ENOMEM;
	*ret = collect;
	collect->options = *options;
	collect->profile = profile;
	collect->sinks = (struct sampler_sinks){ sink_stack, sink_event, sink_notice, sink_count, collect };
	err = check_targets(options);
	err = err ? err : sampler_load(&collect->sampler, options);
	if (!err && !sampler_has_tree(collect->sampler)) {
		if (!options->no_tree && asprintf(&collect->warning, "%s", fail_text()) < 0)
			collect->warning = NULL;
		err = addresses_new(&collect->addresses, profile);
	}
	if (err)
		return err;
	if (options->measure)
		sampler_measure(collect->sampler); /* needs CAP_SYS_ADMIN; without it the figure is missing */
	err = ingest_new(&collect->ingest, &(struct ingest_options){
						   .profile = profile,
						   .seed = sampler_seed(collect->sampler),
						   .file_found = file_found,
						   .find_program = find_program,
						   .find_mapping = collect->addresses ? find_mapping : NULL,
						   .arg = collect,
					   });
	return err ? err : ticks_open(&collect->ticks, collect->sampler, options);
}

void collect_free(struct collect *collect)
{
	if (!collect)
		return;
	ticks_free(collect->ticks);
	ingest_free(collect->ingest);
	addresses_free(collect->addresses);
	sampler_free(collect->sampler);
	buf_free(&collect->gone[0]);
	buf_free(&collect->gone[1]);
	free(collect->warning);
	free(collect);
}

const char *collect_warning(const struct collect *collect)
{
	return collect->warning;
}

void collect_command(struct collect *collect, uint32_t pid)
{
	sampler_set_command(collect->sampler, pid);
}

static void fill_meta_start(struct collect *collect)
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

int collect_start(struct collect *collect)
{
	int err = sampler_attach_notices(collect->sampler);

	if (err)
		return err;
	collect->started_ns = clock_ns(CLOCK_MONOTONIC);
	collect->drain_at = collect->started_ns + collect->options.drain_ms * NS_PER_MS;
	fill_meta_start(collect);
	if (machine_times(&collect->times))
		collect->times = (struct machine_times){ 0 };
	return ticks_start(collect->ticks);
}

/* Programs of processes that began before wick did, while they still can be asked. */
static void name_processes(struct collect *collect)
{
	uint32_t number = collect->asked;

	/* Each is asked once: one that is gone will not come back. */
	while ((number = ingest_next_unknown(collect->ingest, number))) {
		struct profile_process *process = profile_process(collect->profile, number);
		autobuf struct buf exe = { 0 }, cgroup = { 0 }, comm = { 0 };

		if (!process->pid || !process_is(process->pid, process->start))
			continue;
		if (!process_exe(process->pid, &exe))
			process->exe = profile_bytes(collect->profile, exe.data, exe.len);
		if (!process_cgroup(process->pid, &cgroup))
			process->cgroup = profile_bytes(collect->profile, cgroup.data, cgroup.len);
		if (!process_comm(process->pid, &comm))
			process->comm = profile_bytes(collect->profile, comm.data, comm.len);
	}
	collect->asked = profile_count(collect->profile, PROFILE_PROCESSES) - 1;
}

/* A process that ended is taken out of the filter only when its last samples have surely been seen. */
static void forget_gone(struct collect *collect)
{
	struct buf swap = collect->gone[1];
	struct cursor cursor = cursor_of(swap.data, swap.len);

	while (cursor_left(&cursor) >= 2 * sizeof(uint64_t)) {
		uint32_t pid = (uint32_t)cursor_u64(&cursor);

		sampler_forget_pid(collect->sampler, pid, cursor_u64(&cursor));
	}
	buf_clear(&swap);
	collect->gone[1] = collect->gone[0];
	collect->gone[0] = swap;
}

static int drain(struct collect *collect)
{
	int err = sampler_drain(collect->sampler, &collect->sinks, collect->sums);

	err = err ? err : ingest_events_settle(collect->ingest);
	if (err)
		return err;
	name_processes(collect);
	forget_gone(collect);
	ingest_forget_ended(collect->ingest);
	if (collect->addresses)
		addresses_forget(collect->addresses);
	return 0;
}

static void look_after_targets(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	bool any = false;

	if (options->children || options->comms_len || !(options->pids_len + options->tids_len))
		return;
	for (size_t i = 0; i < options->pids_len; i++)
		any |= process_exists(options->pids[i]);
	for (size_t i = 0; i < options->tids_len; i++)
		any |= process_exists(options->tids[i]);
	collect->targets_gone = !any;
}

int collect_poll(struct collect *collect, int timeout_ms)
{
	struct pollfd ring = { .fd = sampler_poll_fd(collect->sampler), .events = POLLIN };
	int ready = poll(&ring, 1, timeout_ms), err = 0;
	uint64_t now;

	if (ready < 0)
		return -errno;
	if (ready > 0 || collect->addresses) /* processes must be asked while they live */
		err = sampler_consume(collect->sampler, &collect->sinks);
	now = clock_ns(CLOCK_MONOTONIC);
	if (!err && (now >= collect->drain_at || sampler_is_filling(collect->sampler))) {
		collect->drain_at = now + collect->options.drain_ms * NS_PER_MS;
		err = drain(collect);
	}
	if (!err && now >= collect->check_at) {
		collect->check_at = now + NS_PER_SEC;
		look_after_targets(collect);
	}
	return err ? err : ticks_tend(collect->ticks);
}

bool collect_targets_gone(const struct collect *collect)
{
	return collect->targets_gone;
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

static void count_self(struct collect *collect)
{
	struct profile *profile = collect->profile;
	uint64_t first = first_tick(collect), ns, runs;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	profile_add_counter(profile, "self", "cpu_us",
			    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	profile_add_counter(profile, "self", "max_rss_bytes", (uint64_t)usage.ru_maxrss * 1024);
	profile_add_counter(profile, "self", "bpf_map_bytes", sampler_map_bytes(collect->sampler));
	if (first > collect->options.begun_ns)
		profile_add_counter(profile, "self", "first_sample_us",
				    (first - collect->options.begun_ns) / NS_PER_US);
	if (!sampler_run_time(collect->sampler, &ns, &runs)) {
		profile_add_counter(profile, "self", "bpf_run_ns", ns);
		profile_add_counter(profile, "self", "bpf_runs", runs);
	}
}

static void fill_meta_end(struct collect *collect)
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

int collect_stop(struct collect *collect)
{
	int err;

	fill_meta_end(collect);
	ticks_stop(collect->ticks);
	profile_meta(collect->profile)->expected = ticks_expected(collect->ticks);
	err = drain(collect); /* the other generation has been empty since the drain before */
	if (err)
		return err;
	for (int i = 0; i < WIRE_COUNTERS && !err; i++)
		err = profile_add_counter(collect->profile, counter_names[i].group, counter_names[i].name,
					  collect->sums[i]);
	count_self(collect);
	return err;
}
