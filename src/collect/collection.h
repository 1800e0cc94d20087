/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a recording, for those files that work on it together: collect.c, met.c, account.c and part.c. */
#ifndef WICK_COLLECT_COLLECTION_H
#define WICK_COLLECT_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/collect.h"
#include "collect/ingest.h"
#include "collect/sampler.h"
#include "collect/origin.h"
#include "proc/process.h"

struct profile_frame;

#define PROGRAMS 64 /* files of programs that wait for their first sample */

/* The file of a program that began lately. */
struct program {
	uint64_t id; /* 0: none */
	int fd;
	struct origin origin;
};

struct collect {
	struct collect_options options;
	struct profile *profile;
	struct sampler *sampler;
	struct ticks *ticks;
	struct ingest *ingest;
	struct pool *pool;
	struct helpers *helpers;
	struct spawner *spawner; /* what these are forked from */
	bool owns_pool;          /* unless another recording has taken over */
	struct shelf *shelf;     /* what each worker begins with: nothing; NULL: it keeps nothing */
	struct fetch *fetch;     /* NULL: no server is asked for debug files */
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
	struct map user_files;       /* user → files that are open for his processes */
	size_t opening;              /* files that a helper is asked for */
	uint64_t over_budget;        /* files that were not opened because a user had his share */
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
	uint64_t ended_ns; /* from then on the time for naming counts */
	struct ways *ways; /* for parts; NULL: not yet */
	/* as it was when the last part was cut off: part.c */
	uint64_t last_sums[WIRE_COUNTERS], last_expected;
	int64_t last_early;
};

/* ---- met.c: what is met for the first time ---- */

/* How the records become the profile of this recording. */
struct ingest_options met_options(struct collect *collect);
/* The programs of processes that began before wick did, while they can be asked. After each drain. */
void met_name_processes(struct collect *collect);
/* The maps of a process, for addresses.c: waits for a helper, but not for long. */
int met_read_maps(void *arg, uint32_t pid, struct buf *ret);
/* Where the file of an id is; for tables.c. */
const char *met_path_of(void *arg, uint64_t id);
void met_free(struct collect *collect);

/* ---- account.c: numbers ---- */

struct counter_name {
	const char *group, *name;
};
extern const struct counter_name counter_names[WIRE_COUNTERS];

void account_start(struct collect *collect);
void account_end(struct collect *collect);  /* before the ticks stop */
void account_self(struct collect *collect); /* ends the worker */
/* Whether there is an unwind row for a frame; for ways.c. */
bool account_has_row(void *arg, const struct profile_frame *frame);
void account_refusals(struct collect *collect);

/* ---- collect.c ---- */

/* Closes a window of the kernel side, and does what is due after each. */
int collect_drain(struct collect *collect);
/* Does what workers and helpers have answered; and waits for more, at most so long. */
int collect_pump(struct collect *collect);
int collect_wait(struct collect *collect, int timeout_ms);

#endif
