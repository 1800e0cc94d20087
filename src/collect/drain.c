/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel side has sent and counted. A window is closed by letting the program count in the other
 * generation and waiting until nobody uses the old one; then rings, counts and counters of that one are read to their
 * end. Invariant: the counts of a window add up to what the program says it has counted.
 */
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "collect/sampler_parts.h"
#include "sampler.skel.h"

#define DRAIN_BATCH 1024
#define CATCH_UP 16 /* times that a record which is being written is waited for */

static int stack_record(void *arg, void *data, size_t len)
{
	struct sampler *sampler = arg;
	int err = sampler->sinks->stack(sampler->sinks->arg, data, len);

	sampler->sink_error = sampler->sink_error ? sampler->sink_error : err;
	return 0;
}

static int event_record(void *arg, void *data, size_t len)
{
	struct sampler *sampler = arg;
	int err = sampler->sinks->event(sampler->sinks->arg, data, len);

	sampler->sink_error = sampler->sink_error ? sampler->sink_error : err;
	return 0;
}

static int notice_record(void *arg, void *data, size_t len)
{
	struct sampler *sampler = arg;
	int err = sampler->sinks->notice(sampler->sinks->arg, data, len);

	sampler->sink_error = sampler->sink_error ? sampler->sink_error : err;
	return 0;
}

static int early_record(void *arg, void *data, size_t len)
{
	struct sampler *sampler = arg;
	int err = sampler->sinks->early(sampler->sinks->arg, data, len);

	sampler->sink_error = sampler->sink_error ? sampler->sink_error : err;
	return 0;
}

/* The first page of a ring's memory says how far it has been read, the second how far it has been written. */
static int open_positions(struct sampler *sampler)
{
	const struct sampler_bpf *skel = sampler->skel;
	struct bpf_map *const maps[RINGS] = { skel->maps.ring, skel->maps.early_ring, skel->maps.events };

	for (size_t i = 0; i < RINGS; i++) {
		void *at =
			mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, bpf_map__fd(maps[i]), 0);
		if (at == MAP_FAILED)
			return fail(-errno, "mapping the positions of the rings");
		sampler->positions[i] = at;
	}
	return 0;
}

int rings_open(struct sampler *sampler)
{
	const struct sampler_bpf *skel = sampler->skel;

	sampler->rings = ring_buffer__new(bpf_map__fd(skel->maps.ring), stack_record, sampler, NULL);
	if (!sampler->rings ||
	    ring_buffer__add(sampler->rings, bpf_map__fd(skel->maps.notices), notice_record, sampler))
		return fail(-errno, "opening the rings");
	if (ring_buffer__add(sampler->rings, bpf_map__fd(skel->maps.early_ring), early_record, sampler))
		return fail(-errno, "opening the ring of early samples");
	if (sampler->want_events &&
	    ring_buffer__add(sampler->rings, bpf_map__fd(skel->maps.events), event_record, sampler))
		return fail(-errno, "opening the ring of events");
	return open_positions(sampler);
}

void rings_close(struct sampler *sampler)
{
	ring_buffer__free(sampler->rings);
	for (size_t i = 0; i < RINGS; i++)
		if (sampler->positions[i])
			munmap((void *)sampler->positions[i], 2 * (size_t)sysconf(_SC_PAGESIZE));
}

int sampler_poll_fd(const struct sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->rings);
}

int sampler_consume(struct sampler *sampler, const struct sampler_sinks *sinks)
{
	int err;

	sampler->sinks = sinks;
	sampler->sink_error = 0;
	err = ring_buffer__consume(sampler->rings);
	if (err < 0)
		return fail(err, "reading the rings");
	return sampler->sink_error;
}

/* The program goes on in the other generation; returns the one that nobody uses any more. */
static int swap_generation(struct sampler *sampler, uint32_t *ret_old)
{
	uint32_t old = sampler->skel->bss->session.generation;
	int err;

	__atomic_store_n(&sampler->skel->bss->session.generation, old + 1, __ATOMIC_SEQ_CST);
	err = sampler_grace(sampler);
	*ret_old = old & 1;
	return err ? fail(err, "closing a window") : 0;
}

static uint64_t ring_read(const struct sampler *sampler, size_t ring)
{
	return __atomic_load_n((const uint64_t *)sampler->positions[ring], __ATOMIC_ACQUIRE);
}

static uint64_t ring_written(const struct sampler *sampler, size_t ring)
{
	const char *page = sampler->positions[ring] + sysconf(_SC_PAGESIZE);

	return __atomic_load_n((const uint64_t *)page, __ATOMIC_ACQUIRE);
}

/*
 * Reads all that was written to the rings until now. A record that somebody else has begun and not finished hides those
 * behind it, which may be of this window: whoever writes it runs at this moment and is waited for.
 */
static int consume_all(struct sampler *sampler, const struct sampler_sinks *sinks)
{
	uint64_t ends[RINGS];
	bool behind = true;
	int err = 0;

	for (size_t i = 0; i < RINGS; i++)
		ends[i] = i < RINGS - 1 || sampler->want_events ? ring_written(sampler, i) : 0;
	for (int i = 0; i < CATCH_UP && behind && !err; i++) {
		err = i ? sampler_grace(sampler) : 0;
		err = err ? err : sampler_consume(sampler, sinks);
		behind = false;
		for (size_t ring = 0; ring < RINGS; ring++)
			behind |= ring_read(sampler, ring) < ends[ring];
	}
	return err;
}

static int drain_counts(struct sampler *sampler, uint32_t generation, const struct sampler_sinks *sinks,
			uint64_t *ret_sum)
{
	int fd = bpf_map__fd(generation ? sampler->skel->maps.counts_1 : sampler->skel->maps.counts_0);
	uint32_t batch = DRAIN_BATCH, position = 0, count;
	bool first = true, last = false;

	while (!last) {
		autofree struct wire_key *keys = calloc(batch, sizeof(*keys));
		autofree uint64_t *values = calloc(batch, sizeof(*values));

		if (!keys || !values)
			return -ENOMEM;
		count = batch;
		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &position, &position, keys, values, &count,
						    NULL)) {
			if (errno == ENOSPC && batch < sampler->counts_max * 2) { /* a bucket with more than a batch */
				batch *= 2;
				continue;
			}
			if (errno != ENOENT)
				return fail(-errno, "reading the counts");
			last = true;
		}
		first = false;
		for (uint32_t i = 0; i < count && i < batch; i++) {
			int err = sinks->count(sinks->arg, &keys[i], values[i]);

			if (err)
				return err;
			*ret_sum += values[i];
		}
	}
	return 0;
}

/* Those that each CPU kept for itself. The slots are empty afterwards. */
static int drain_tallies(struct sampler *sampler, uint32_t generation, const struct sampler_sinks *sinks,
			 uint64_t *ret_sum)
{
	for (unsigned int cpu = 0; sampler->tallies && cpu < sampler->cpus; cpu++) {
		struct wire_tallies *all = &sampler->tallies[generation * sampler->cpus + cpu];

		if (!sampler->cpus_shared[cpu].counters[generation].value[WIRE_total_counted])
			continue;
		for (int i = 0; i < WIRE_TALLIES; i++) {
			struct wire_tally *tally = &all->items[i];
			uint32_t count = tally->count;
			int err;

			tally->count = 0; /* and the key is as the program counted it */
			err = count ? sinks->count(sinks->arg, &tally->key, count) : 0;
			if (err)
				return err;
			*ret_sum += count;
		}
	}
	return 0;
}

static void close_counters(struct sampler *sampler, uint32_t generation, uint64_t sums[WIRE_COUNTERS])
{
	for (unsigned int cpu = 0; cpu < sampler->cpus; cpu++) {
		struct wire_counters *counters = &sampler->cpus_shared[cpu].counters[generation];

		for (int i = 0; i < WIRE_COUNTERS; i++) {
			sums[i] += counters->value[i];
			sampler->closed[cpu].value[i] += counters->value[i];
		}
		memset(counters, 0, sizeof(*counters));
	}
}

int sampler_drain(struct sampler *sampler, const struct sampler_sinks *sinks, uint64_t sums[WIRE_COUNTERS])
{
	uint64_t counted = 0;
	uint32_t old = 0;
	int err = swap_generation(sampler, &old);

	err = err ? err : consume_all(sampler, sinks);
	err = err ? err : drain_tallies(sampler, old, sinks, &counted);
	if (!err && sampler_sum(sampler, old, WIRE_note_keys))
		err = drain_counts(sampler, old, sinks, &counted);
	if (err)
		return err;
	if (counted != sampler_sum(sampler, old, WIRE_total_counted))
		return fail_plain(-EPROTO, "closing a window: %llu samples were counted and %llu came out",
				  (unsigned long long)sampler_sum(sampler, old, WIRE_total_counted),
				  (unsigned long long)counted);
	close_counters(sampler, old, sums);
	return 0;
}
