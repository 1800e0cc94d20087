/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the BPF object and holds its maps. Sizes come from the options; a table that is full is the kernel side's to
 * count. The windows of sampler_drain (drain.c) are the heart of the accounting: the program reads the generation
 * once, at its start, and uses it throughout; after the swap an update of a map of maps returns only when every program
 * that may have read the old value has ended.
 */
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/rights.h"
#include "base/file.h"
#include "base/text.h"
#include "collect/btf.h"
#include "collect/cgroup.h"
#include "collect/collect.h"
#include "collect/look.h"
#include "collect/refused.h"
#include "collect/sampler_parts.h"
#include "collect/selftest.h"
#include "proc/process.h"
#include "sampler.skel.h"

#define COUNTS_MIN 1024
#define COUNTS_MAX 16384
#define COUNTS_WINDOWS 4 /* that the table has room for, if every tick brings something new */
#define CHILDREN_MAX 16384
#define EVENTS_RING (1 << 20) /* or less, where ticks are rare */
#define RING_HEADER 8         /* of each record */
#define WAKEUP_RING (1 << 18) /* the smallest of the rings that are not sized by an option */

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int loud(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	return vfprintf(stderr, format, args);
}

static uint64_t page_round(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = page;

	while (size < bytes && size < 1ULL << 31)
		size *= 2;
	return size;
}

/* Each tick can add one count, no more; the table is emptied once a window, or when it is half full. */
static uint64_t fit_counts(const struct sampler *sampler, const struct collect_options *options)
{
	uint64_t hz = options->hz, most = options->max_stacks < COUNTS_MAX ? options->max_stacks : COUNTS_MAX;
	uint64_t ticks;

	if (options->max_counts)
		return options->max_counts < UINT32_MAX ? options->max_counts : UINT32_MAX;
	if (!hz && !options->cycles && options->period)
		hz = NS_PER_SEC / options->period + 1;
	if (hz && hz < COUNTS_MAX && options->drain_ms < COUNTS_MAX * 1000) {
		ticks = hz * sampler->cpus * options->drain_ms / 1000;
		most = ticks * COUNTS_WINDOWS < most ? ticks * COUNTS_WINDOWS : most;
	}
	return most > COUNTS_MIN ? most : COUNTS_MIN;
}

/* Twice what comes until it is read, and not so small that nobody is woken before it is full. */
static uint64_t fit_events(const struct sampler *sampler, const struct collect_options *options)
{
	uint64_t ring = EVENTS_RING, second = options->hz * sampler->cpus * (sizeof(struct wire_event) + RING_HEADER);

	if (!options->hz || options->hz > NS_PER_SEC || options->drain_ms > COUNTS_MAX)
		return ring;
	while (ring > WAKEUP_RING && ring / 4 >= second * options->drain_ms / 1000)
		ring /= 2;
	return ring;
}

/* Counts by CPU are beyond what a limit can hold, so there are none under one that someone has set. */
static bool has_room(const struct collect_options *options)
{
	return (options->max_counts ? options->max_counts : options->max_stacks) >= COUNTS_MAX;
}

/* A ring's size: a power of two in pages. A hash map's: at least one. */
static int set_sizes(struct sampler *sampler, const struct collect_options *options)
{
	struct sampler_bpf *skel = sampler->skel;
	uint64_t ring = page_round(options->ring_bytes);
	uint64_t stacks = options->max_stacks < UINT32_MAX ? options->max_stacks : UINT32_MAX;
	bool following = options->children || options->command;
	int err = 0;

	sampler->counts_max = fit_counts(sampler, options);
	sampler->by_cpu = has_room(options);
	err |= bpf_map__set_max_entries(skel->maps.known, (uint32_t)stacks);
	err |= bpf_map__set_max_entries(skel->maps.counts_0, (uint32_t)sampler->counts_max);
	err |= bpf_map__set_max_entries(skel->maps.counts_1, (uint32_t)sampler->counts_max);
	err |= bpf_map__set_max_entries(skel->maps.ring, (uint32_t)ring);
	err |= bpf_map__set_max_entries(skel->maps.tallies, sampler->by_cpu ? WIRE_GENERATIONS * sampler->cpus : 1);
	err |= bpf_map__set_max_entries(skel->maps.cpus, sampler->cpus);
	err |= bpf_map__set_max_entries(skel->maps.scratches, sampler->cpus + WIRE_ASKERS);
	err |= bpf_map__set_max_entries(skel->maps.earlies, options->unwind == WIRE_UNWIND_AUTO ? sampler->cpus : 1);
	if (options->unwind != WIRE_UNWIND_AUTO)
		err |= bpf_map__set_max_entries(skel->maps.early_ring, (uint32_t)sysconf(_SC_PAGESIZE));
	err |= bpf_map__set_max_entries(skel->maps.pids, (uint32_t)options->pids_len + (following ? CHILDREN_MAX : 1));
	err |= bpf_map__set_max_entries(skel->maps.tids, (uint32_t)options->tids_len + 1);
	err |= bpf_map__set_max_entries(skel->maps.comms, (uint32_t)options->comms_len + 1);
	if (options->events)
		err |= bpf_map__set_max_entries(skel->maps.events, (uint32_t)fit_events(sampler, options));
	return err ? fail_plain(-EINVAL, "sizing the tables: a size is out of range") : 0;
}

static int set_settings(struct sampler *sampler, const struct collect_options *options)
{
	uint64_t ring = page_round(options->ring_bytes);
	struct sampler_bpf *skel = sampler->skel;
	struct wire_settings settings = {
		.seed = sampler->seed,
		.cpus = sampler->cpus,
		.wakeup_bytes = (uint32_t)(ring < WAKEUP_RING ? ring : WAKEUP_RING) / 4,
		.by_pid = options->pids_len || options->command,
		.by_tid = options->tids_len > 0,
		.by_comm = options->comms_len > 0,
		.keep_idle = options->idle,
		.keep_self = options->self,
		.user = options->user,
		.kernel = options->kernel,
		.threads = options->threads,
		.want_events = options->events,
		.children = options->children || options->command,
		.no_tree = !sampler->has_tree,
		.unwind = (uint8_t)options->unwind,
		.tallies = sampler->by_cpu,
		.by_cgroup_map = options->cgroup_map != NULL,
		.by_mount_map = options->mount_map != NULL,
		.cgroup_subsys = -1,
		.max_stacks = bpf_map__max_entries(skel->maps.known),
		.max_files = bpf_map__max_entries(skel->maps.files),
		.ring_bytes = (uint32_t)ring,
		.early_bytes = bpf_map__max_entries(skel->maps.early_ring),
	};
	int err = options->cgroup ? cgroup_settings(options->cgroup, &settings) : 0;

	settings.filtered = settings.by_pid || settings.by_tid || settings.by_comm || settings.by_cgroup_map ||
			    settings.by_mount_map || settings.cgroup;
	/* The skeleton shows it as const, which it is once loaded. */
	if (!err)
		memcpy((void *)&sampler->skel->rodata->settings, &settings, sizeof(settings));
	return err;
}

static int fill_filters(struct sampler *sampler, const struct collect_options *options)
{
	struct sampler_bpf *skel = sampler->skel;
	uint64_t any = 0, start;
	uint32_t one = 1;
	int err = 0;

	for (size_t i = 0; i < options->pids_len && !err; i++)
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.pids), &options->pids[i], &any, BPF_ANY);
	for (size_t i = 0; i < options->tids_len && !err; i++) {
		start = process_start(options->tids[i]);
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.tids), &options->tids[i], &start, BPF_ANY);
	}
	for (size_t i = 0; i < options->comms_len && !err; i++) {
		char comm[WIRE_COMM_LEN] = { 0 };

		memccpy(comm, options->comms[i], 0, sizeof(comm) - 1); /* the kernel keeps no more of a name */
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.comms), comm, &one, BPF_ANY);
	}
	return err ? fail(-errno, "setting the filters") : 0;
}

static void *map_shared(struct bpf_map *map, size_t len, int protection)
{
	void *at = mmap(NULL, len, protection, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static size_t tallies_len(const struct sampler *sampler)
{
	return WIRE_GENERATIONS * sampler->cpus * sizeof(struct wire_tallies);
}

static int open_shared(struct sampler *sampler)
{
	struct sampler_bpf *skel = sampler->skel;

	sampler->cpus_shared =
		map_shared(skel->maps.cpus, sampler->cpus * sizeof(struct wire_cpu), PROT_READ | PROT_WRITE);
	if (sampler->by_cpu)
		sampler->tallies = map_shared(skel->maps.tallies, tallies_len(sampler), PROT_READ | PROT_WRITE);
	if (!sampler->cpus_shared || (sampler->by_cpu && !sampler->tallies))
		return fail(-errno, "mapping the counters");
	return rings_open(sampler);
}

/* Puts a map that someone else keeps in the place of ours. */
static int use_pinned(struct bpf_map *map, const char *path)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	autoclose int fd = path ? bpf_obj_get(path) : -1;

	if (!path)
		return 0;
	if (fd < 0)
		return fail(-errno, "opening the pinned map '%s'", path);
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return fail(-errno, "asking what '%s' is", path);
	if (info.type != BPF_MAP_TYPE_HASH || info.key_size != bpf_map__key_size(map) ||
	    info.value_size != bpf_map__value_size(map)) {
		fail_plain(-EINVAL, "'%s' is not a map that can be used here", path);
		return fail_hint(-EINVAL, "it takes a hash map with keys of %u bytes and values of %u",
				 bpf_map__key_size(map), bpf_map__value_size(map));
	}
	return bpf_map__reuse_fd(map, fd) ? fail(-errno, "using the pinned map '%s'", path) : 0;
}

/*
 * The kernel's types that it needs are put together here, which takes a fraction of the time that libbpf takes to read
 * all of them. It wants a path when the object is opened, and the content when it is loaded, so the descriptor is kept
 * until then. Where that does not work, libbpf does it in its own way.
 */
static int open_object(struct sampler *sampler, int *ret_types)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct sampler_bpf *skel = NULL;
	int fd = memfd_create("types", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		skel = sampler_bpf__open_opts(&options);
	if (skel && btf_pick_running(bpf_object__btf(skel->obj), fd)) {
		sampler_bpf__destroy(skel);
		skel = NULL;
	}
	sampler->skel = skel ? skel : sampler_bpf__open();
	*ret_types = fd;
	return sampler->skel ? 0 : fail(-errno, "reading the BPF object");
}

/* Paths that the user named are looked up with the user's rights. */
static int use_paths(struct sampler *sampler, const struct collect_options *options)
{
	struct rights before;
	int err = rights_lower(&before);

	if (err)
		return fail(err, "giving up capabilities");
	err = set_settings(sampler, options);
	err = err ? err : use_pinned(sampler->skel->maps.cgroup_ids, options->cgroup_map);
	err = err ? err : use_pinned(sampler->skel->maps.mount_ids, options->mount_map);
	rights_restore(&before);
	return err;
}

static int load(struct sampler *sampler, const struct collect_options *options)
{
	autoclose int types = -1;
	int err;

	sampler_bpf__destroy(sampler->skel);
	err = open_object(sampler, &types);
	if (err)
		return err;
	err = set_sizes(sampler, options);
	err = err ? err : use_paths(sampler, options);
	if (err)
		return err;
	err = sampler_bpf__load(sampler->skel);
	return err ? refused_load(err) : 0;
}

int sampler_new(struct sampler **ret, const struct collect_options *options)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int cpus = libbpf_num_possible_cpus();

	if (!sampler)
		return -ENOMEM;
	*ret = sampler;
	libbpf_set_print(options->debug ? loud : quiet);
	sampler->stats_fd = -1;
	sampler->cpus = cpus > 0 ? (unsigned int)cpus : (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	sampler->closed = calloc(sampler->cpus, sizeof(*sampler->closed));
	if (!sampler->closed)
		return -ENOMEM;
	sampler->has_tree = !options->no_tree;
	sampler->want_events = options->events;
	if (getrandom(&sampler->seed, sizeof(sampler->seed), 0) != sizeof(sampler->seed))
		return fail(-errno, "getting a random number");
	return refused_early();
}

int sampler_load(struct sampler *sampler, const struct collect_options *options)
{
	struct wire_look look;
	int err = load(sampler, options);

	if (!err && sampler->has_tree && selftest_mappings(sampler)) {
		sampler->has_tree = false;
		err = load(sampler, options);
	}
	if (!err && sampler_look(sampler, sampler, &look)) /* who we are, whatever else it can tell */
		err = fail(-errno, "asking the kernel who wick is");
	err = err ? err : fill_filters(sampler, options);
	return err ? err : open_shared(sampler);
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t i = 0; i < sizeof(sampler->links) / sizeof(*sampler->links); i++)
		bpf_link__destroy(sampler->links[i]);
	rings_close(sampler);
	if (sampler->tallies)
		munmap(sampler->tallies, tallies_len(sampler));
	if (sampler->cpus_shared)
		munmap(sampler->cpus_shared, sampler->cpus * sizeof(struct wire_cpu));
	if (sampler->stats_fd >= 0)
		close(sampler->stats_fd);
	sampler_bpf__destroy(sampler->skel);
	free(sampler->closed);
	free(sampler);
}

int sampler_attach_notices(struct sampler *sampler)
{
	struct sampler_bpf *skel = sampler->skel;
	struct bpf_program *programs[] = { skel->progs.on_exec, skel->progs.on_fork, skel->progs.on_exit };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		sampler->links[i] = bpf_program__attach(programs[i]);
		if (!sampler->links[i])
			return fail(-errno, "following processes (%s)", bpf_program__name(programs[i]));
	}
	return 0;
}

uint64_t sampler_seed(const struct sampler *sampler)
{
	return sampler->seed;
}

int sampler_tick_program(const struct sampler *sampler)
{
	return bpf_program__fd(sampler->skel->progs.on_tick);
}

int sampler_look(struct sampler *sampler, const void *address, struct wire_look *ret)
{
	const struct wire_query query = { .address = (uintptr_t)address, .fd = -1, .asker = WIRE_ASKER_SELF };

	return look_run(sampler_look_program(sampler), sampler_map_fd(sampler, SAMPLER_LOOKS), &query, ret);
}

int sampler_look_program(const struct sampler *sampler)
{
	return bpf_program__fd(sampler->skel->progs.on_look);
}

bool sampler_has_tree(const struct sampler *sampler)
{
	return sampler->has_tree;
}

void sampler_set_command(struct sampler *sampler, uint32_t pid)
{
	sampler->skel->bss->session.command = pid;
}

void sampler_set_workers(struct sampler *sampler, const uint32_t pids[WIRE_WORKERS])
{
	memcpy(sampler->skel->bss->session.workers, pids, sizeof(sampler->skel->bss->session.workers));
}

void sampler_set_epoch(struct sampler *sampler, uint32_t epoch)
{
	sampler->skel->bss->session.epoch = epoch;
}

void sampler_tables_changed(struct sampler *sampler)
{
	__atomic_add_fetch(&sampler->skel->bss->session.tables, 1, __ATOMIC_SEQ_CST);
}

int sampler_know(struct sampler *sampler, uint64_t id, uint64_t user)
{
	struct wire_session *session = &sampler->skel->bss->session;
	int known = bpf_map__fd(sampler->skel->maps.known), users = bpf_map__fd(sampler->skel->maps.users);
	struct wire_usage usage = { 0 };
	uint32_t sent = 1, state;

	if (!bpf_map_lookup_elem(known, &id, &state))
		return bpf_map_update_elem(known, &id, &sent, BPF_ANY) ? -errno : 0;
	if (bpf_map_lookup_elem(users, &user, &usage))
		usage = (struct wire_usage){ 0 };
	if (!WIRE_USER_MAY(user, usage.stacks, session->stacks, bpf_map__max_entries(sampler->skel->maps.known)))
		return -EDQUOT;
	if (bpf_map_update_elem(known, &id, &sent, BPF_NOEXIST))
		return errno == EEXIST ? 0 : errno == E2BIG ? -ENOSPC : -errno;
	__atomic_add_fetch(&session->stacks, 1, __ATOMIC_RELAXED);
	usage.stacks++;
	bpf_map_update_elem(users, &user, &usage, BPF_ANY); /* what a tick adds at this moment is not counted */
	return 0;
}

void sampler_mark_jit(struct sampler *sampler, uint64_t id)
{
	const struct wire_table jit = { .pages = WIRE_TABLE_JIT };

	bpf_map_update_elem(bpf_map__fd(sampler->skel->maps.tables), &id, &jit, BPF_ANY);
	sampler_tables_changed(sampler);
}

void sampler_forget_file(struct sampler *sampler, uint64_t id)
{
	if (!bpf_map_delete_elem(bpf_map__fd(sampler->skel->maps.files), &id))
		__atomic_sub_fetch(&sampler->skel->bss->session.files, 1, __ATOMIC_RELAXED);
	sampler_tables_changed(sampler); /* whoever remembers the mapping looks at it anew */
}

void sampler_follow_pids(struct sampler *sampler, const struct sampler *other)
{
	int from = bpf_map__fd(other->skel->maps.pids), to = bpf_map__fd(sampler->skel->maps.pids);
	uint32_t pid, *last = NULL;
	uint64_t start;

	/* A process that ends meanwhile may make the walk begin anew, but not for ever. */
	for (uint32_t i = 0; i < 2 * CHILDREN_MAX && !bpf_map_get_next_key(from, last, &pid); i++, last = &pid)
		if (!bpf_map_lookup_elem(from, &pid, &start))
			bpf_map_update_elem(to, &pid, &start, BPF_NOEXIST);
}

void sampler_forget_pid(struct sampler *sampler, uint32_t pid, uint64_t start)
{
	int fd = bpf_map__fd(sampler->skel->maps.pids);
	uint64_t asked;

	if (!bpf_map_lookup_elem(fd, &pid, &asked) && asked == start)
		bpf_map_delete_elem(fd, &pid);
}

struct wire_cpu *sampler_cpu(const struct sampler *sampler, unsigned int cpu)
{
	return cpu < sampler->cpus ? &sampler->cpus_shared[cpu] : NULL;
}

unsigned int sampler_cpus(const struct sampler *sampler)
{
	return sampler->cpus;
}

uint64_t sampler_sum(const struct sampler *sampler, uint32_t generation, enum wire_counter counter)
{
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < sampler->cpus; cpu++)
		sum += __atomic_load_n(&sampler->cpus_shared[cpu].counters[generation].value[counter],
				       __ATOMIC_RELAXED);
	return sum;
}

uint64_t sampler_counter(const struct sampler *sampler, enum wire_counter counter)
{
	return sampler_sum(sampler, 0, counter) + sampler_sum(sampler, 1, counter);
}

uint64_t sampler_counter_of(const struct sampler *sampler, unsigned int cpu, enum wire_counter counter)
{
	uint64_t sum = cpu < sampler->cpus ? sampler->closed[cpu].value[counter] : 0;

	for (int i = 0; cpu < sampler->cpus && i < WIRE_GENERATIONS; i++)
		sum += __atomic_load_n(&sampler->cpus_shared[cpu].counters[i].value[counter], __ATOMIC_RELAXED);
	return sum;
}

uint64_t sampler_room(const struct sampler *sampler)
{
	uint64_t keys = sampler_sum(sampler, sampler->skel->bss->session.generation & 1, WIRE_note_keys);
	uint64_t enough = sampler->counts_max / 2 + 1;

	return keys < enough ? enough - keys : 0;
}

int sampler_map_fd(const struct sampler *sampler, enum sampler_map map)
{
	const struct sampler_bpf *skel = sampler->skel;

	switch (map) {
	case SAMPLER_TABLES:
		return bpf_map__fd(skel->maps.tables);
	case SAMPLER_FILES:
		return bpf_map__fd(skel->maps.files);
	case SAMPLER_PAGES:
		return bpf_map__fd(skel->maps.pages);
	case SAMPLER_RULES:
		return bpf_map__fd(skel->maps.rules);
	case SAMPLER_SLABS:
		return bpf_map__fd(skel->maps.slabs);
	case SAMPLER_NAMES:
		return bpf_map__fd(skel->maps.names);
	case SAMPLER_LOOKS:
		return bpf_map__fd(skel->maps.looks);
	}
	return -EINVAL;
}

int sampler_run_names(const struct sampler *sampler)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	return bpf_prog_test_run_opts(bpf_program__fd(sampler->skel->progs.on_names), &run) ? -errno : 0;
}

int sampler_grace(struct sampler *sampler)
{
	int inner = bpf_map__fd(sampler->skel->maps.grace_inner);
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(sampler->skel->maps.grace), &zero, &inner, BPF_ANY) ? -errno : 0;
}

uint64_t sampler_map_bytes(const struct sampler *sampler)
{
	uint64_t sum = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, sampler->skel->obj)
	{
		autobuf struct buf text = { 0 };
		char path[64];
		const char *line;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
		if (file_read(path, 65536, &text) || !text.len)
			continue;
		line = strstr(text.data, "memlock:");
		if (line && strtoull(line + strlen("memlock:"), NULL, 10))
			sum += strtoull(line + strlen("memlock:"), NULL, 10);
		else /* older kernels do not count rings */
			sum += bpf_map__max_entries(map);
	}
	return sum;
}

int sampler_measure(struct sampler *sampler)
{
	sampler->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return sampler->stats_fd < 0 ? -errno : 0;
}

int sampler_run_time(const struct sampler *sampler, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (sampler->stats_fd < 0)
		return -ENODATA;
	if (bpf_obj_get_info_by_fd(sampler_tick_program(sampler), &info, &len))
		return -errno;
	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return 0;
}
