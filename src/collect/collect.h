/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collecting a profile from the running kernel, as a life story: open (everything that can fail early does), start,
 * poll until enough, stop. What was seen is then in the profile.
 */
#ifndef WICK_COLLECT_COLLECT_H
#define WICK_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/symbols.h"

struct profile;

#define COLLECT_HZ 99
#define COLLECT_MAX_STACKS 32768
#define COLLECT_RING_BYTES (1 << 20)
#define COLLECT_DRAIN_MS 5000
#define COLLECT_UNWIND_BYTES ((uint64_t)64 << 20)
#define COLLECT_NAMING_NS ((uint64_t)5000000000)

struct collect_options {
	const uint32_t *pids, *tids;
	size_t pids_len, tids_len;
	const char *const *comms;
	size_t comms_len;
	const char *cgroup; /* path, absolute or in the v2 tree */
	/* Paths of pinned hash maps that someone else keeps: ids of cgroups, inodes of mount name spaces. */
	const char *cgroup_map, *mount_map;
	const uint32_t *cpus;
	size_t cpus_len; /* 0: all */
	uint64_t hz;     /* or, if 0: */
	uint64_t period; /* ns, or cycles */
	bool cycles;     /* hardware cycles instead of the clock */
	bool command;    /* a command will be started: collect_command */
	bool children, idle, self, user, kernel, threads, events;
	enum symbols_demangle demangle;
	bool inlines, lines, raw; /* raw: no names */
	bool debuginfod;          /* ask servers for debug files */
	unsigned int unwind;      /* enum wire_unwind */
	bool fixed_phase;         /* for comparison: let the ticks march in step */
	bool no_tree;             /* for tests: as if the tree of mappings could not be read */
	bool measure;             /* how long the program runs */
	bool debug;               /* let the loader speak */
	uint64_t max_stacks, ring_bytes, drain_ms, unwind_bytes;
	bool windows;          /* it is taken out piece by piece: collect/part.h */
	uint64_t max_counts;   /* distinct counts between two fetches; 0: fitted to the rate and max_stacks */
	uint64_t naming_ns;    /* after the end, for tables and names: see COLLECT_NAMING_NS */
	uint64_t begun_ns;     /* when wick began, monotonic */
	struct opener *opener; /* who opens the events; NULL: whoever collects */
};

struct collect;

int collect_open(struct collect **ret, const struct collect_options *options, struct profile *profile);
/*
 * Opens one to go on where another stops, with its options and its worker; collect_follow starts it and ends the ticks
 * of the other, which must not be freed before. No time passes between them.
 */
int collect_open_next(struct collect **ret, struct collect *before, struct profile *profile);
int collect_follow(struct collect *collect, struct collect *before);
void collect_end(struct collect *collect); /* its ticks, if no other one follows */
void collect_free(struct collect *collect);

/* A process that waits to exec: the profile starts with that. Before collect_start. */
void collect_command(struct collect *collect, uint32_t pid);

int collect_start(struct collect *collect);

/*
 * Waits, at most so long, and does what is due. -EINTR after a signal: while it waits none is blocked, so whoever
 * blocks the ones that he handles at all other times misses none.
 */
int collect_poll(struct collect *collect, int timeout_ms);
int collect_timeout(const struct collect *collect); /* ms until something is due: wait no longer */

/* Whether all processes asked for have ended. */
bool collect_targets_gone(const struct collect *collect);

struct collect_progress {
	uint64_t taken, lost;
};
void collect_progress(const struct collect *collect, struct collect_progress *ret);

/* What wick should say once it has started, or NULL: something works less well than it should. */
const char *collect_warning(const struct collect *collect);

int collect_stop(struct collect *collect);

/* Names the frames. After collect_stop. */
int collect_name(struct collect *collect);

#endif
