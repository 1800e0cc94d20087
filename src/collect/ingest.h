/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From wire records to the profile. Pure: bytes in, profile out, so it is tested and fuzzed without a kernel. Records
 * may come in any order and may be damaged; what cannot be right is refused with -EBADMSG and changes nothing.
 */
#ifndef WICK_COLLECT_INGEST_H
#define WICK_COLLECT_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;
struct profile;
struct profile_frame;
struct profile_stacks;
struct wire_event;
struct buf;
struct wire_file;
struct wire_program;
struct wire_frame;
struct wire_key;

struct ingest;

/* Called when a file is met for the first time; `file` is its number in the profile, its path is there already. */
typedef void ingest_file_found(void *arg, uint32_t file, const struct wire_file *found);

/* Turns a frame that is an address in a process (FRAME_JIT) into one in a file, where it is; see settings.no_tree. */
typedef void ingest_find_mapping(void *arg, uint32_t pid, struct profile_frame *frame);

/* The program and name (strings of the profile) of a process that wick saw no exec of. */
typedef int ingest_find_program(void *arg, uint32_t pid, uint64_t start, struct buf *exe, struct buf *comm);

/* A program begins whose file has not been met. */
typedef void ingest_program_found(void *arg, const struct wire_program *program);

/* A cgroup was met for the first time: now it is still there. */
typedef void ingest_group_found(void *arg, uint64_t cgroup);

/* A process counted for the first time in this cgroup: the label set of its samples there. */
typedef uint32_t ingest_process_found(void *arg, uint32_t process, uint64_t cgroup);

/* Code without a file was met in a process. */
typedef void ingest_jit_found(void *arg, uint32_t process);

struct ingest_options {
	struct profile *profile;
	uint64_t seed;                     /* the one the kernel side hashes with */
	ingest_file_found *file_found;     /* may be NULL */
	ingest_file_found *file_again;     /* met once more, maybe in another process; may be NULL */
	ingest_find_mapping *find_mapping; /* NULL unless the kernel side cannot */
	ingest_find_program *find_program; /* may be NULL, as may the rest */
	ingest_program_found *program_found;
	ingest_group_found *group_found;
	ingest_process_found *process_found;
	ingest_jit_found *jit_found;
	void *arg;
};

int ingest_new(struct ingest **ret, const struct ingest_options *options);
void ingest_free(struct ingest *ingest);

/* One record of the stack ring: a stack, a file, a program or a cgroup. */
int ingest_record(struct ingest *ingest, const void *data, size_t len);

/* One record of the notice ring. For WIRE_EXIT the pid and start are handed back, so that filters can forget it. */
struct ingest_ended {
	uint32_t pid;
	uint64_t start;
};
int ingest_notice(struct ingest *ingest, const void *data, size_t len, struct ingest_ended *ret_ended);

/* One drained count. */
int ingest_count(struct ingest *ingest, const struct wire_key *key, uint64_t count);
/*
 * The same for one that was unwound here, with the time of its event, or NULL; how many of each sample were is told by
 * ingest_early_samples.
 */
int ingest_count_early(struct ingest *ingest, const struct wire_key *key, const uint64_t *when);
const struct map *ingest_early_samples(const struct ingest *ingest);

/* A user stack that was put together here, leaf first, under the id that the kernel side would give it. */
bool ingest_has_stack(const struct ingest *ingest, uint64_t id);
int ingest_frames(struct ingest *ingest, uint64_t id, const struct wire_frame *frames, size_t len);

/*
 * One event. It waits until its sample has been drained; ingest_events_settle moves those that can go, of each sample
 * at most as many as were counted: one that was taken since then belongs to what is drained next.
 */
int ingest_event(struct ingest *ingest, const void *data, size_t len);
int ingest_events_settle(struct ingest *ingest);
size_t ingest_events_waiting(const struct ingest *ingest);

/*
 * Takes out all samples and events, as profile_take_samples does, and how many of each sample were unwound here.
 * Stacks, files and processes stay known, as far as they have not ended. An event that has waited since the last time
 * has come too late for its sample, behind one that was being written: it is dropped, and counted in `ret_late`.
 */
int ingest_take(struct ingest *ingest, struct profile_stacks *ret, struct map *ret_early, uint64_t *ret_late);
size_t ingest_stacks(const struct ingest *ingest); /* that are known */

/* Forgets processes that ended before the last call and were never sampled. Call after each drain. */
void ingest_forget_ended(struct ingest *ingest);

/* The profile's file of an id; 0 if it was never met. */
uint32_t ingest_file_number(const struct ingest *ingest, uint64_t id);

/* Walks the processes that were sampled and whose program is not known yet: a number, or 0 at the end. */
uint32_t ingest_next_unknown(struct ingest *ingest, uint32_t after);

size_t ingest_memory(const struct ingest *ingest);

#endif
