/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel side as held by those files that work on it together: sampler.c and drain.c. */
#ifndef WICK_COLLECT_SAMPLER_PARTS_H
#define WICK_COLLECT_SAMPLER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/sampler.h"

struct bpf_link;
struct ring_buffer;
struct sampler_bpf;

#define RINGS 3 /* that a window must have read to its end */

struct sampler {
	struct sampler_bpf *skel;
	struct wire_counters *closed; /* by CPU: of the windows that are closed */
	struct wire_tallies *tallies; /* mapped: generation * cpus + cpu; NULL: all CPUs count together */
	struct wire_cpu *cpus_shared; /* mapped */
	unsigned int cpus;
	bool has_tree;
	bool want_events;
	bool by_cpu; /* each CPU counts for itself first: tallies */
	uint64_t seed;
	uint64_t counts_max;
	struct ring_buffer *rings;
	const char *positions[RINGS]; /* mapped: a page with how far each is read, and one with how far it is written */
	const struct sampler_sinks *sinks; /* while consuming */
	int sink_error;
	int stats_fd;
	struct bpf_link *links[3];
};

/* ---- sampler.c ---- */

/* Of all CPUs, in one generation. */
uint64_t sampler_sum(const struct sampler *sampler, uint32_t generation, enum wire_counter counter);

/* ---- drain.c ---- */

int rings_open(struct sampler *sampler);
void rings_close(struct sampler *sampler);

#endif
