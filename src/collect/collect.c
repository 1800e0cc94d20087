/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the parts of collecting together: the kernel side (sampler), its ticks, and what becomes of the records
 * (ingest). It decides when a window is closed: rarely, because the kernel skips samples while maps are read, but
 * before a table is half full.
 */
#include "collect/collect.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/map.h"
#include "collect/addresses.h"
#include "collect/cgroup.h"
#include "collect/collection.h"
#include "collect/early.h"
#include "collect/ingest.h"
#include "collect/name.h"
#include "collect/preload.h"
#include "collect/sampler.h"
#include "collect/tables.h"
#include "collect/ticks.h"
#include "collect/ways.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/vdso.h"
#include "worker/fetch.h"
#include "worker/shelf.h"
#include "worker/serve.h"
#include "worker/worker.h"

#define WORKER_MEMORY ((uint64_t)512 << 20)
#define WORKER_SECONDS 10
#define OFTEN (100 * NS_PER_MS) /* where nothing says how often is enough */
#define RARELY (10 * NS_PER_MS) /* at least between two looks at how full the table of counts is */

static int sink_stack(void *arg, void *data, size_t len)
{
	return ingest_record(((struct collect *)arg)->ingest, data, len);
}

static int sink_event(void *arg, void *data, size_t len)
{
	return ingest_event(((struct collect *)arg)->ingest, data, len);
}

static int sink_early(void *arg, void *data, size_t len)
{
	struct collect *collect = arg;

	return collect->early ? early_take(collect->early, data, len) : 0;
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

/* Early: a process that is forked later inherits more. */
static int start_worker(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	int err = options->windows ? shelf_new(&collect->shelf) : 0;

	err = err ? err
		  : worker_start(&collect->own_worker, &(struct worker_options){
							       .serve = serve,
							       .arg = collect->shelf,
							       .memory_bytes = WORKER_MEMORY,
							       .cpu_seconds = WORKER_SECONDS,
						       });

	collect->worker = collect->own_worker;
	if (!err && options->debuginfod && !options->raw)
		err = fetch_start(&collect->fetch);
	return err;
}

static int open_namer(struct collect *collect)
{
	const struct collect_options *options = &collect->options;

	return namer_new(&collect->namer, &(struct namer_options){
						  .profile = collect->profile,
						  .worker = collect->worker,
						  .demangle = options->demangle,
						  .inlines = options->inlines,
						  .lines = options->lines,
						  .again = options->windows,
						  .fetch = collect->fetch,
					  });
}

static int open_tables(struct collect *collect)
{
	int err = tables_new(&collect->tables, &(struct tables_options){
						       .sampler = collect->sampler,
						       .worker = collect->worker,
						       .bytes = collect->options.unwind_bytes,
						       .find_debug = met_find_debug,
						       .arg = collect,
					       });

	if (!err && !vdso_copy(&collect->vdso))
		tables_want(collect->tables, WIRE_TABLE_VDSO, collect->vdso);
	return err ? err
		   : early_new(&collect->early, &(struct early_options){
							.ingest = collect->ingest,
							.sampler = collect->sampler,
							.tables = collect->tables,
							.events = collect->options.events,
							.sums = collect->sums,
						});
}

/*
 * Where everything is busy, wick would wait for its turn longer than it works: before the first sample, and when a file
 * has to be opened before it is gone. It works little; only who asked for less than others gets less.
 */
static void hurry(struct collect *collect)
{
	collect->nice = getpriority(PRIO_PROCESS, 0);
	if (!collect->nice)
		setpriority(PRIO_PROCESS, 0, PRIO_MIN);
}

static void take_time(const struct collect *collect)
{
	setpriority(PRIO_PROCESS, 0, collect->nice);
}

static struct collect *collect_new(const struct collect_options *options, struct profile *profile)
{
	struct collect *collect = calloc(1, sizeof(*collect));

	if (!collect)
		return NULL;
	collect->options = *options;
	collect->profile = profile;
	collect->vdso = -1;
	collect->sinks = (struct sampler_sinks){ sink_stack, sink_event, sink_notice, sink_early, sink_count, collect };
	return collect;
}

/* When there is a worker. */
static int open_rest(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	struct ingest_options ingest;
	int err = open_namer(collect);

	hurry(collect);
	err = err ? err : cgroups_new(&collect->cgroups);
	err = err ? err : sampler_new(&collect->sampler, options);
	err = err ? err : ticks_open(&collect->ticks, collect->sampler, options);
	err = err ? err : sampler_load(collect->sampler, options);
	if (!err && !sampler_has_tree(collect->sampler)) {
		if (!options->no_tree && asprintf(&collect->warning, "%s", fail_text()) < 0)
			collect->warning = NULL;
		err = addresses_new(&collect->addresses, collect->profile);
	}
	if (err)
		return err;
	namer_ask_kernel(collect->namer, collect->sampler);
	if (options->measure)
		sampler_measure(collect->sampler); /* needs CAP_SYS_ADMIN; without it the figure is missing */
	ingest = met_options(collect);
	err = ingest_new(&collect->ingest, &ingest);
	if (!err && !collect->addresses &&
	    (options->unwind == WIRE_UNWIND_AUTO || options->unwind == WIRE_UNWIND_TABLE))
		err = open_tables(collect);
	return err;
}

int collect_open(struct collect **ret, const struct collect_options *options, struct profile *profile)
{
	int err = check_targets(options);

	if (err)
		return err;
	*ret = collect_new(options, profile);
	if (!*ret)
		return -ENOMEM;
	err = start_worker(*ret);
	return err ? err : open_rest(*ret);
}

int collect_open_next(struct collect **ret, struct collect *before, struct profile *profile)
{
	*ret = collect_new(&before->options, profile);
	if (!*ret)
		return -ENOMEM;
	(*ret)->worker = before->worker;
	return open_rest(*ret);
}

void collect_free(struct collect *collect)
{
	if (!collect)
		return;
	ticks_free(collect->ticks);
	ingest_free(collect->ingest);
	addresses_free(collect->addresses);
	namer_free(collect->namer);
	cgroups_free(collect->cgroups);
	met_free(collect);
	ways_free(collect->ways);
	early_free(collect->early);
	if (collect->vdso >= 0)
		close(collect->vdso);
	tables_free(collect->tables);
	preload_free(collect->preload);
	worker_free(collect->own_worker);
	shelf_free(collect->shelf);
	fetch_free(collect->fetch);
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

/* Everything that takes time, before the first tick. */
static int get_ready(struct collect *collect)
{
	int err = sampler_attach_notices(collect->sampler);

	if (err)
		return err;
	sampler_set_worker(collect->sampler, (uint32_t)worker_pid(collect->worker));
	collect->started_ns = clock_ns(CLOCK_MONOTONIC);
	collect->drain_at = collect->started_ns + collect->options.drain_ms * NS_PER_MS;
	account_start(collect);
	if (machine_times(&collect->times))
		collect->times = (struct machine_times){ 0 };
	return 0;
}

int collect_start(struct collect *collect)
{
	int err = get_ready(collect);

	return err ? err : ticks_start(collect->ticks);
}

int collect_follow(struct collect *collect, struct collect *before)
{
	int err = get_ready(collect);

	if (err)
		return err;
	if (collect->options.children)
		sampler_follow_pids(collect->sampler, before->sampler);
	collect->own_worker = before->own_worker;
	collect->shelf = before->shelf;
	before->own_worker = NULL;
	before->shelf = NULL;
	ticks_stop(before->ticks);
	return ticks_start(collect->ticks);
}

void collect_end(struct collect *collect)
{
	ticks_stop(collect->ticks);
	take_time(collect);
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

int collect_drain(struct collect *collect)
{
	int err = sampler_drain(collect->sampler, &collect->sinks, collect->sums);

	err = err ? err : ingest_events_settle(collect->ingest);
	if (err)
		return err;
	collect->sums[WIRE_note_missed] = ticks_missed(collect->ticks);
	met_name_processes(collect);
	forget_gone(collect);
	ingest_forget_ended(collect->ingest);
	if (collect->tables)
		tables_age(collect->tables);
	namer_jit_again(collect->namer);
	if (collect->addresses)
		addresses_forget(collect->addresses);
	return 0;
}

static bool ends_with_targets(const struct collect_options *options)
{
	return options->pids_len + options->tids_len && !options->children && !options->comms_len;
}

static void look_after_targets(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	bool any = false;

	if (!ends_with_targets(options))
		return;
	for (size_t i = 0; i < options->pids_len; i++)
		any |= process_exists(options->pids[i]);
	for (size_t i = 0; i < options->tids_len; i++)
		any |= process_exists(options->tids[i]);
	collect->targets_gone = !any;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each tick can add one key to the table of counts, no more. */
static uint64_t look_at(const struct collect *collect, uint64_t now)
{
	uint64_t rate = ticks_rate(collect->ticks);
	uint64_t wait = rate ? sampler_room(collect->sampler) * NS_PER_SEC / rate : OFTEN;

	return now + (wait > RARELY ? wait : RARELY);
}

/* Whether there is a table to ask for that no sample has asked for. A command's are not there yet. */
static bool can_load_ahead(const struct collect *collect)
{
	return collect->tables && !collect->loaded_ahead && !collect->options.command && collect->options.user &&
	       worker_idle(collect->worker);
}

int collect_timeout(const struct collect *collect)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), due = ticks_due(collect->ticks, now);

	if (can_load_ahead(collect))
		return 0;
	due = earlier(due, collect->drain_at);
	due = earlier(due, look_at(collect, now));
	if (ends_with_targets(&collect->options))
		due = earlier(due, collect->check_at);
	if (collect->addresses)
		due = earlier(due, now + OFTEN);
	return due > now ? (int)((due - now) / NS_PER_MS) + 1 : 0;
}

/* Begun when sampling is, not before it: the first sample does not wait for a guess. */
static int load_ahead(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	int err;

	if (!can_load_ahead(collect))
		return 0;
	err = collect->preload ? 0
			       : preload_new(&collect->preload, &(struct preload_options){
									.sampler = collect->sampler,
									.tables = collect->tables,
									.pids = options->pids,
									.pids_len = options->pids_len,
									.worker = (uint32_t)worker_pid(collect->worker),
								});
	if (err)
		return err;
	collect->loaded_ahead = !preload_next(collect->preload);
	return worker_pump(collect->worker, false);
}

int collect_poll(struct collect *collect, int timeout_ms)
{
	struct pollfd ready[] = {
		{ .fd = sampler_poll_fd(collect->sampler), .events = POLLIN },
		{ .fd = worker_poll_fd(collect->worker), .events = worker_poll_events(collect->worker) },
	};
	struct timespec timeout = { timeout_ms / 1000, (long)(timeout_ms % 1000 * NS_PER_MS) };
	sigset_t none;
	int err = 0;
	uint64_t now;

	sigemptyset(&none);
	if (ppoll(ready, 2, &timeout, &none) < 0)
		return -errno;
	if (ready[0].revents || collect->addresses) /* processes must be asked while they live */
		err = sampler_consume(collect->sampler, &collect->sinks);
	now = clock_ns(CLOCK_MONOTONIC);
	if (!err && (now >= collect->drain_at || !sampler_room(collect->sampler))) {
		collect->drain_at = now + collect->options.drain_ms * NS_PER_MS;
		err = collect_drain(collect);
	}
	if (!err && now >= collect->check_at) {
		collect->check_at = now + NS_PER_SEC;
		look_after_targets(collect);
	}
	err = err ? err : worker_pump(collect->worker, false);
	if (!err && collect->early)
		err = early_run(collect->early, false);
	err = err ? err : load_ahead(collect);
	sampler_set_worker(collect->sampler, (uint32_t)worker_pid(collect->worker));
	return err ? err : ticks_tend(collect->ticks);
}

bool collect_targets_gone(const struct collect *collect)
{
	return collect->targets_gone;
}

/* What waits for a table gets it, or is counted without. */
static int settle_early(struct collect *collect)
{
	int err = collect->early ? worker_pump(collect->worker, true) : 0;

	err = err || !collect->early ? err : early_run(collect->early, true);
	return err ? err : ingest_events_settle(collect->ingest);
}

int collect_stop(struct collect *collect)
{
	int err;

	account_end(collect);
	ticks_stop(collect->ticks);
	profile_meta(collect->profile)->expected = ticks_expected(collect->ticks);
	err = collect_drain(collect); /* the other generation has been empty since the drain before */
	take_time(collect);
	err = err ? err : settle_early(collect);
	err = err ? err : ways_count(collect->profile, ingest_early_samples(collect->ingest), account_has_row, collect);
	if (err)
		return err;
	for (int i = 0; i < WIRE_COUNTERS && !err; i++)
		err = profile_add_counter(collect->profile, counter_names[i].group, counter_names[i].name,
					  collect->sums[i]);
	return err;
}

int collect_name(struct collect *collect)
{
	int err = collect->options.raw ? 0 : namer_run(collect->namer);

	if (err)
		return err;
	account_refusals(collect);
	account_self(collect);
	return 0;
}
