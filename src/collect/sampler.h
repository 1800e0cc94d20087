/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side as user space holds it: load it, ask it about ourselves, feed its filters, read what it counted.
 * Beside ticks.c the only place that knows the skeleton.
 */
#ifndef WICK_COLLECT_SAMPLER_H
#define WICK_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct collect_options;
struct sampler;

/* Who may not sample is told so here. */
int sampler_new(struct sampler **ret, const struct collect_options *options);
/* Loads the programs; nothing runs yet. */
int sampler_load(struct sampler *sampler, const struct collect_options *options);
void sampler_free(struct sampler *sampler);

/* Attaches the side band. */
int sampler_attach_notices(struct sampler *sampler);

uint64_t sampler_seed(const struct sampler *sampler);
int sampler_tick_program(const struct sampler *sampler); /* descriptor, for perf events */

/* What is mapped at an address of this process, as the kernel side sees it. */
int sampler_look(struct sampler *sampler, const void *address, struct wire_look *ret);
int sampler_look_program(const struct sampler *sampler); /* descriptor: what look_run wants of helpers */

/* Whether frames are resolved in the kernel. If not, the reason is in fail_text() after sampler_load. */
bool sampler_has_tree(const struct sampler *sampler);

/* The command whose exec starts the profile. */
void sampler_set_command(struct sampler *sampler, uint32_t pid);
/* Whose work counts as wick's own, beside this process; 0: nobody. */
void sampler_set_workers(struct sampler *sampler, const uint32_t pids[WIRE_WORKERS]);
void sampler_set_epoch(struct sampler *sampler, uint32_t epoch);
/* To be called after each change of SAMPLER_TABLES: programs remember what they found there. */
void sampler_tables_changed(struct sampler *sampler);
/* Puts a stack of a user among those that user space has. -ENOSPC: there is no room; -EDQUOT: his share is used up. */
int sampler_know(struct sampler *sampler, uint64_t id, uint64_t user);
/* A file is memory with code that processes have made: frames in it are theirs from now on. */
void sampler_mark_jit(struct sampler *sampler, uint64_t id);
/* A file is to be announced again when it is met. */
void sampler_forget_file(struct sampler *sampler, uint64_t id);
/* Processes that another one follows are followed here as well. */
void sampler_follow_pids(struct sampler *sampler, const struct sampler *other);
void sampler_forget_pid(struct sampler *sampler, uint32_t pid, uint64_t start);

/* Maps that tables.c writes to. */
enum sampler_map {
	SAMPLER_TABLES,
	SAMPLER_FILES,
	SAMPLER_PAGES,
	SAMPLER_RULES,
	SAMPLER_SLABS,
	SAMPLER_NAMES,
	SAMPLER_LOOKS,
};
int sampler_map_fd(const struct sampler *sampler, enum sampler_map map);

/* Lets the kernel fill in the names that are asked for in SAMPLER_NAMES. */
int sampler_run_names(const struct sampler *sampler);

/* Returns when every program has ended that runs now. */
int sampler_grace(struct sampler *sampler);

/* Per-CPU words shared with the kernel side. */
struct wire_cpu *sampler_cpu(const struct sampler *sampler, unsigned int cpu);
unsigned int sampler_cpus(const struct sampler *sampler);

/* Sums of both generations, as they stand; costs no system call. */
uint64_t sampler_counter(const struct sampler *sampler, enum wire_counter counter);
/* Of one CPU, since the start. */
uint64_t sampler_counter_of(const struct sampler *sampler, unsigned int cpu, enum wire_counter counter);

typedef int sampler_record(void *arg, void *data, size_t len);

struct sampler_sinks {
	sampler_record *stack, *event, *notice, *early;
	int (*count)(void *arg, const struct wire_key *key, uint64_t count);
	void *arg;
};

/* Descriptor that becomes readable when a ring is filling. */
int sampler_poll_fd(const struct sampler *sampler);

/* Empties the rings into the sinks. */
int sampler_consume(struct sampler *sampler, const struct sampler_sinks *sinks);

/*
 * Closes the window: lets the program go on in the other generation, waits until nobody uses this one, hands over its
 * records and counts and adds its counters to `sums`. The sums of the window are exact.
 */
int sampler_drain(struct sampler *sampler, const struct sampler_sinks *sinks, uint64_t sums[WIRE_COUNTERS]);

/* How many more keys may come before the window should be closed: its table is half full then. */
uint64_t sampler_room(const struct sampler *sampler);

uint64_t sampler_map_bytes(const struct sampler *sampler);

/* Time the sampling program has run, if the kernel keeps that (sampler_measure). */
int sampler_measure(struct sampler *sampler);
int sampler_run_time(const struct sampler *sampler, uint64_t *ret_ns, uint64_t *ret_runs);

#endif
