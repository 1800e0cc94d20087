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
#include <string.h>
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
#include "collect/helpers.h"
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
#include "worker/pool.h"
#include "worker/serve.h"
#include "worker/shelf.h"
#include "worker/spawner.h"

#define NAMING_WALL 4     /* times as long as users' files, root's may take: the machine may be busy */
#define TABLES_PERCENT 60 /* of the time after the end, for tables of samples that wait */
#define HELPING (1 + POOL_WORKERS + HELPERS)
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
static int start_processes(struct collect *collect)
{
	const struct collect_options *options = &collect->options;
	int err = options->windows ? shelf_new(&collect->shelf) : 0;

	collect->owns_pool = true;
	err = err ? err : spawner_start(&collect->spawner);
	err = err ? err : pool_start(&collect->pool, serve, collect->shelf, collect->spawner);
	err = err ? err : helpers_start(&collect->helpers, collect->spawner);
	if (!err && options->debuginfod && !options->raw)
		err = fetch_start(&collect->fetch);
	return err;
}

static int open_namer(struct collect *collect)
{
	const struct collect_options *options = &collect->options;

	return namer_new(&collect->namer, &(struct namer_options){
						  .profile = collect->profile,
						  .pool = collect->pool,
						  .helpers = collect->helpers,
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
						       .pool = collect->pool,
						       .helpers = collect->helpers,
						       .bytes = collect->options.unwind_bytes,
						       .path_of = met_path_of,
						       .arg = collect,
					       });

	if (!err && !vdso_copy(&collect->vdso))
		tables_want(collect->tables, WIRE_TABLE_VDSO, collect->vdso, &(struct origin){ 0 });
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
		err = addresses_new(&collect->addresses, collect->profile, met_read_maps, collect);
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
	err = start_processes(*ret);
	return err ? err : open_rest(*ret);
}

int collect_open_next(struct collect **ret, struct collect *before, struct profile *profile)
{
	*ret = collect_new(&before->options, profile);
	if (!*ret)
		return -ENOMEM;
	(*ret)->pool = before->pool;
	(*ret)->helpers = before->helpers;
	(*ret)->spawner = before->spawner;
	return open_rest(*ret);
}

void collect_free(struct collect *collect)
{
	if (!collect)
		return;
	if (collect->owns_pool && collect->pool && collect->helpers) { /* whoever asked is still there to be answered */
		pool_cancel(collect->pool, false);
		helpers_cancel(collect->helpers, false);
		pool_cancel(collect->pool, false); /* an answer may lead to another question */
	}
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
	if (collect->owns_pool) {
		pool_free(collect->pool);
		helpers_free(collect->helpers);
		spawner_free(collect->spawner);
	}
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

/* Work of these processes counts as wick's own. */
static void own_pids(const struct collect *collect, uint32_t ret[WIRE_WORKERS])
{
	_Static_assert(POOL_WORKERS + HELPERS <= WIRE_WORKERS, "");
	memset(ret, 0, WIRE_WORKERS * sizeof(*ret));
	pool_pids(collect->pool, ret);
	helpers_pids(collect->helpers, ret + POOL_WORKERS);
}

static void tell_own_pids(struct collect *collect)
{
	uint32_t pids[WIRE_WORKERS];

	own_pids(collect, pids);
	sampler_set_workers(collect->sampler, pids);
}

static bool is_own_pid(void *arg, uint32_t pid)
{
	uint32_t pids[WIRE_WORKERS];
	bool own = false;

	own_pids(arg, pids);
	for (size_t i = 0; i < WIRE_WORKERS; i++)
		own |= pids[i] == pid;
	return own;
}

/* Everything that takes time, before the first tick. */
static int get_ready(struct collect *collect)
{
	int err = sampler_attach_notices(collect->sampler);

	if (err)
		return err;
	tell_own_pids(collect);
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
	collect->owns_pool = before->owns_pool;
	collect->shelf = before->shelf;
	before->owns_pool = false;
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
	       pool_idle(collect->pool) && helpers_idle(collect->helpers);
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
									.helpers = collect->helpers,
									.pids_len = options->pids_len,
									.is_own = is_own_pid,
									.arg = collect,
								});
	if (err)
		return err;
	collect->loaded_ahead = !preload_next(collect->preload);
	return collect_pump(collect);
}

int collect_pump(struct collect *collect)
{
	int err = helpers_pump(collect->helpers);

	return err ? err : pool_pump(collect->pool);
}

/* What to poll for, and how long at most. */
static int poll_list(const struct collect *collect, struct pollfd list[HELPING], int timeout_ms)
{
	int pool = pool_timeout(collect->pool), helpers = helpers_timeout(collect->helpers);

	list[0] = (struct pollfd){ .fd = sampler_poll_fd(collect->sampler), .events = POLLIN };
	pool_poll(collect->pool, list + 1);
	helpers_poll(collect->helpers, list + 1 + POOL_WORKERS);
	timeout_ms = timeout_ms < pool ? timeout_ms : pool;
	return timeout_ms < helpers ? timeout_ms : helpers;
}

int collect_wait(struct collect *collect, int timeout_ms)
{
	struct pollfd ready[HELPING];

	timeout_ms = poll_list(collect, ready, timeout_ms);
	poll(ready + 1, HELPING - 1, timeout_ms);
	return collect_pump(collect);
}

int collect_poll(struct collect *collect, int timeout_ms)
{
	struct pollfd ready[HELPING];
	int wait_ms = poll_list(collect, ready, timeout_ms);
	struct timespec timeout = { wait_ms / 1000, (long)(wait_ms % 1000 * NS_PER_MS) };
	sigset_t none;
	int err = 0;
	uint64_t now;

	sigemptyset(&none);
	if (ppoll(ready, HELPING, &timeout, &none) < 0)
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
	err = err ? err : collect_pump(collect);
	if (!err && collect->early)
		err = early_run(collect->early, false);
	err = err ? err : load_ahead(collect);
	tell_own_pids(collect);
	return err ? err : ticks_tend(collect->ticks);
}

bool collect_targets_gone(const struct collect *collect)
{
	return collect->targets_gone;
}

/*
 * Waits until all questions are answered. When their time is up, those about what users have made are answered without
 * an answer; those about root's files have some times as long, and hardly ever take a part of it.
 */
static int settle(struct collect *collect, uint64_t until_ns)
{
	uint64_t last_ns = collect->ended_ns + NAMING_WALL * collect->options.naming_ns;
	int err = collect_pump(collect);

	while (!err && !(pool_idle(collect->pool) && helpers_idle(collect->helpers))) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now >= until_ns) {
			helpers_cancel(collect->helpers, now < last_ns);
			pool_cancel(collect->pool, now < last_ns);
		}
		err = collect_wait(collect, OFTEN / NS_PER_MS);
	}
	return err;
}

/*
 * What waits for a table gets it, or is counted without. Tables have a part of the time, so that some is left for
 * names.
 */
static int settle_early(struct collect *collect)
{
	uint64_t until = collect->ended_ns + collect->options.naming_ns * TABLES_PERCENT / 100;
	int err = collect->early ? early_run(collect->early, false) : 0;

	while (!err && collect->early && early_waits(collect->early) && clock_ns(CLOCK_MONOTONIC) < until) {
		err = settle(collect, until);
		err = err ? err : early_run(collect->early, false);
		if (!err && pool_idle(collect->pool) && helpers_idle(collect->helpers))
			break; /* nothing was asked for that was not answered */
	}
	err = err || !collect->early ? err : early_run(collect->early, true);
	return err ? err : ingest_events_settle(collect->ingest);
}

/* Asks for names until there is nothing left to ask for, or no time. */
static int name_all(struct collect *collect)
{
	uint64_t until = collect->ended_ns + collect->options.naming_ns;
	int err = namer_ask(collect->namer, true);

	while (!err && (namer_waits(collect->namer) || collect->opening)) {
		err = settle(collect, until);
		err = err ? err : namer_ask(collect->namer, true);
	}
	return err ? err : namer_finish(collect->namer);
}

int collect_stop(struct collect *collect)
{
	int err;

	account_end(collect);
	ticks_stop(collect->ticks);
	profile_meta(collect->profile)->expected = ticks_expected(collect->ticks);
	err = collect_drain(collect); /* the other generation has been empty since the drain before */
	take_time(collect);
	collect->ended_ns = clock_ns(CLOCK_MONOTONIC);
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
	int err = collect->options.raw ? 0 : name_all(collect);

	if (err)
		return err;
	account_refusals(collect);
	account_self(collect);
	return 0;
}
