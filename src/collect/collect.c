/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the parts of collecting together: the kernel side (sampler), its ticks, and what becomes of the records
 * (ingest). It decides when a window is closed: rarely, because the kernel skips samples while maps are read, but
 * before a table is half full.
 */
#include "collect/collect.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/map.h"
#include "collect/addresses.h"
#include "collect/cgroup.h"
#include "collect/early.h"
#include "collect/files.h"
#include "collect/ingest.h"
#include "collect/name.h"
#include "collect/preload.h"
#include "collect/sampler.h"
#include "collect/tables.h"
#include "collect/ticks.h"
#include "collect/ways.h"
#include "elf/buildid.h"
#include "proc/place.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/vdso.h"
#include "worker/fetch.h"
#include "worker/serve.h"
#include "worker/worker.h"

#define WORKER_MEMORY ((uint64_t)512 << 20)
#define WORKER_SECONDS 10
#define OPEN_TRIES 8
#define PROGRAMS 64             /* files of programs that wait for their first sample */
#define OFTEN (100 * NS_PER_MS) /* where nothing says how often is enough */
#define RARELY (10 * NS_PER_MS) /* at least between two looks at how full the table of counts is */

/* The file of a program that began lately. */
struct program {
	uint64_t id; /* 0: none */
	int fd;
};

struct collect {
	struct collect_options options;
	struct profile *profile;
	struct sampler *sampler;
	struct ticks *ticks;
	struct ingest *ingest;
	struct worker *worker;
	struct fetch *fetch; /* NULL: no server is asked for debug files */
	struct namer *namer;
	struct cgroups *cgroups;
	struct program programs[PROGRAMS];
	size_t programs_next;
	struct tables *tables; /* NULL: frame pointers only */
	struct early *early;   /* where tables are */
	struct preload *preload;
	int vdso;
	struct map file_ids;         /* file of the profile → its id */
	struct map not_opened;       /* file of the profile → how often that was tried */
	struct map jit_seen;         /* processes whose own code was met */
	struct addresses *addresses; /* only where the kernel side cannot find mappings */
	char *warning;
	struct sampler_sinks sinks;
	uint64_t sums[WIRE_COUNTERS]; /* of the windows that are closed */
	uint64_t started_ns, drain_at, check_at;
	struct machine_times times;
	struct buf gone[2]; /* pids and starts that ended in this window and the one before */
	int nice;           /* as wick was started */
	uint32_t asked;     /* processes up to this one have been asked for their program */
	bool targets_gone, loaded_ahead;
};

static const struct counter_name {
	const char *group, *name;
} counter_names[WIRE_COUNTERS] = {
#define COUNTER(g, n, text) [WIRE_##g##_##n] = { .group = #g, .name = #n },
#include "bpf/counters.def"
#undef COUNTER
};

/* A file that nobody could open any more may be met again in another process: it is announced once more then. */
static void try_again(struct collect *collect, uint32_t file, uint64_t id)
{
	uint64_t *tries = map_put(&collect->not_opened, file);

	if (tries && ++*tries < OPEN_TRIES)
		bpf_map_delete_elem(sampler_map_fd(collect->sampler, SAMPLER_FILES), &id);
	else if (collect->tables)
		tables_want(collect->tables, id, -1);
}

/* The oldest makes room: a process that has not been sampled by now is there to be asked, or will never be. */
static void program_found(void *arg, uint32_t pid, uint64_t file_id)
{
	struct collect *collect = arg;
	struct program *program = &collect->programs[collect->programs_next++ % PROGRAMS];

	if (program->id)
		close(program->fd);
	program->fd = files_open_program(collect->sampler, pid, file_id);
	program->id = program->fd < 0 ? 0 : file_id;
}

/* The file of a program that began, if it is kept. */
static int take_program(struct collect *collect, uint64_t file_id)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (collect->programs[i].id == file_id) {
			collect->programs[i].id = 0;
			return collect->programs[i].fd;
		}
	return -ENOENT;
}

static void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;
	const char *path = profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL);
	uint64_t *id = map_put(&collect->file_ids, file);
	int fd = take_program(collect, found->id);

	if (id)
		*id = found->id;
	if (fd < 0)
		fd = files_open(collect->sampler, found, path);
	if (fd < 0)
		try_again(collect, file, found->id);
	else if (collect->tables)
		tables_want(collect->tables, found->id, fd);
	if (fd >= 0)
		map_remove(&collect->not_opened, file);
	namer_file(collect->namer, file, found->pid, fd);
}

static void file_again(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;

	if (map_get(&collect->not_opened, file))
		file_found(arg, file, found);
}

/* Its map is looked for at once, and then once a window until it is there. */
static void jit_found(void *arg, uint32_t process)
{
	struct collect *collect = arg;
	uint64_t *seen = map_put(&collect->jit_seen, process);

	if (!seen || *seen)
		return;
	*seen = 1;
	namer_jit(collect->namer, process);
}

static uint32_t add_label(struct collect *collect, uint32_t set, const char *key, const char *value)
{
	struct profile *profile = collect->profile;

	return *value ? profile_add_label(profile, set, profile_string(profile, key), profile_string(profile, value))
		      : set;
}

static void group_found(void *arg, uint64_t cgroup)
{
	struct collect *collect = arg;
	size_t len;

	cgroups_path(collect->cgroups, cgroup, &len);
}

static uint32_t process_found(void *arg, uint32_t number, uint64_t cgroup)
{
	struct collect *collect = arg;
	struct profile_process *process = profile_process(collect->profile, number);
	autobuf struct buf old = { 0 };
	struct place place;
	uint32_t labels;
	size_t len = 0;
	const char *path = cgroups_path(collect->cgroups, cgroup, &len);

	if (len <= 1) { /* all in one group: an older hierarchy may know more */
		if (!process->pid || !process_is(process->pid, process->start) || process_cgroup(process->pid, &old))
			return PROFILE_NONE;
		path = old.data;
		len = old.len;
	}
	process->cgroup = profile_bytes(collect->profile, path, len);
	place_of(path, len, &place);
	labels = add_label(collect, PROFILE_NONE, "unit", place.unit);
	labels = add_label(collect, labels, "container", place.container);
	return add_label(collect, labels, "pod", place.pod);
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
	int err = worker_start(&collect->worker, &(struct worker_options){
							 .serve = serve,
							 .memory_bytes = WORKER_MEMORY,
							 .cpu_seconds = WORKER_SECONDS,
						 });

	if (!err && options->debuginfod && !options->raw)
		err = fetch_start(&collect->fetch);
	return err ? err
		   : namer_new(&collect->namer, &(struct namer_options){
							.profile = collect->profile,
							.worker = collect->worker,
							.demangle = options->demangle,
							.inlines = options->inlines,
							.lines = options->lines,
							.fetch = collect->fetch,
						});
}

static int find_debug(void *arg, uint64_t id, const struct symbols_debug *debug)
{
	struct collect *collect = arg;
	uint32_t file = ingest_file_number(collect->ingest, id);
	const char *path = file ? profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL)
				: preload_path(collect->preload, id);

	return path ? files_open_debug(0, path, debug) : -ENOENT;
}

static int open_tables(struct collect *collect)
{
	int err = tables_new(&collect->tables, &(struct tables_options){
						       .sampler = collect->sampler,
						       .worker = collect->worker,
						       .bytes = collect->options.unwind_bytes,
						       .find_debug = find_debug,
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

int collect_open(struct collect **ret, const struct collect_options *options, struct profile *profile)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	int err;

	if (!collect)
		return -ENOMEM;
	*ret = collect;
	collect->options = *options;
	collect->profile = profile;
	collect->vdso = -1;
	collect->sinks = (struct sampler_sinks){ sink_stack, sink_event, sink_notice, sink_early, sink_count, collect };
	err = check_targets(options);
	err = err ? err : start_worker(collect);
	hurry(collect);
	err = err ? err : cgroups_new(&collect->cgroups);
	err = err ? err : sampler_new(&collect->sampler, options);
	err = err ? err : ticks_open(&collect->ticks, collect->sampler, options);
	err = err ? err : sampler_load(collect->sampler, options);
	if (!err && !sampler_has_tree(collect->sampler)) {
		if (!options->no_tree && asprintf(&collect->warning, "%s", fail_text()) < 0)
			collect->warning = NULL;
		err = addresses_new(&collect->addresses, profile);
	}
	if (err)
		return err;
	namer_ask_kernel(collect->namer, collect->sampler);
	if (options->measure)
		sampler_measure(collect->sampler); /* needs CAP_SYS_ADMIN; without it the figure is missing */
	err = ingest_new(&collect->ingest, &(struct ingest_options){
						   .profile = profile,
						   .seed = sampler_seed(collect->sampler),
						   .file_found = file_found,
						   .file_again = file_again,
						   .find_program = find_program,
						   .program_found = program_found,
						   .group_found = group_found,
						   .process_found = process_found,
						   .jit_found = collect->addresses ? NULL : jit_found,
						   .find_mapping = collect->addresses ? find_mapping : NULL,
						   .arg = collect,
					   });
	if (!err && !collect->addresses &&
	    (options->unwind == WIRE_UNWIND_AUTO || options->unwind == WIRE_UNWIND_TABLE))
		err = open_tables(collect);
	return err;
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
	for (size_t i = 0; i < PROGRAMS; i++)
		if (collect->programs[i].id)
			close(collect->programs[i].fd);
	early_free(collect->early);
	if (collect->vdso >= 0)
		close(collect->vdso);
	tables_free(collect->tables);
	preload_free(collect->preload);
	worker_free(collect->worker);
	map_free(&collect->file_ids);
	map_free(&collect->not_opened);
	fetch_free(collect->fetch);
	map_free(&collect->jit_seen);
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
	sampler_set_worker(collect->sampler, (uint32_t)worker_pid(collect->worker));
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
		autobuf struct buf exe = { 0 }, comm = { 0 };

		if (!process->pid || !process_is(process->pid, process->start))
			continue;
		if (!process_exe(process->pid, &exe))
			process->exe = profile_bytes(collect->profile, exe.data, exe.len);
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
	collect->sums[WIRE_note_missed] = ticks_missed(collect->ticks);
	name_processes(collect);
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
		err = drain(collect);
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
	struct tables_stats stats = { 0 };
	struct rusage usage;

	if (collect->tables)
		tables_stats(collect->tables, &stats);
	worker_stop(collect->worker);
	getrusage(RUSAGE_SELF, &usage);
	profile_add_counter(profile, "self", "cpu_us",
			    worker_cpu_us(collect->worker) +
				    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	profile_add_counter(profile, "self", "max_rss_bytes",
			    (uint64_t)usage.ru_maxrss * 1024 + worker_max_rss(collect->worker));
	profile_add_counter(profile, "note", "worker_deaths", worker_deaths(collect->worker));
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

/* What waits for a table gets it, or is counted without. */
static int settle_early(struct collect *collect)
{
	int err = collect->early ? worker_pump(collect->worker, true) : 0;

	err = err || !collect->early ? err : early_run(collect->early, true);
	return err ? err : ingest_events_settle(collect->ingest);
}

static bool has_row(void *arg, const struct profile_frame *frame)
{
	struct collect *collect = arg;
	const uint64_t *id = frame->kind == FRAME_USER ? map_get(&collect->file_ids, frame->file) : NULL;

	if (!collect->tables || (!id && frame->kind != FRAME_VDSO))
		return false;
	return tables_has_row(collect->tables, id ? *id : WIRE_TABLE_VDSO, frame->address);
}

int collect_stop(struct collect *collect)
{
	int err;

	fill_meta_end(collect);
	ticks_stop(collect->ticks);
	profile_meta(collect->profile)->expected = ticks_expected(collect->ticks);
	err = drain(collect); /* the other generation has been empty since the drain before */
	take_time(collect);
	err = err ? err : settle_early(collect);
	err = err ? err : ways_count(collect->profile, ingest_early_samples(collect->ingest), has_row, collect);
	if (err)
		return err;
	for (int i = 0; i < WIRE_COUNTERS && !err; i++)
		err = profile_add_counter(collect->profile, counter_names[i].group, counter_names[i].name,
					  collect->sums[i]);
	return err;
}

/* A file that has names, or whose functions are known by their bounds, may still have no table. */
static void note_refusals(struct collect *collect)
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

int collect_name(struct collect *collect)
{
	int err = collect->options.raw ? 0 : namer_run(collect->namer);

	if (err)
		return err;
	note_refusals(collect);
	count_self(collect);
	return 0;
}
