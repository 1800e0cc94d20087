/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that everything after sampling works on: interned strings, files, frames, stacks, processes; samples with
 * a value; events in time; the counters. Filled by the collector or by a reader of files, then only read. Everything
 * here is pure: no kernel, no root, no clock.
 *
 * Numbers are indexes into the tables; number 0 of every table means none. A stack is a node of a tree, (parent,
 * frame), so stacks share their beginnings: its root-most frame hangs on node 0, user frames come first, kernel frames
 * continue them towards the leaf.
 */
#ifndef WICK_PROFILE_PROFILE_H
#define WICK_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/types.h"

#define PROFILE_NONE 0u
#define PROFILE_FULL UINT32_MAX /* what adding returns when memory is out */
#define PROFILE_LABELS_MAX 64   /* pairs in one label set */

enum frame_kind {
	FRAME_USER,   /* in a file: address is an offset in it */
	FRAME_KERNEL, /* address in the kernel */
	FRAME_JIT,    /* address in a process's code without a file */
	FRAME_VDSO,   /* offset in the kernel's page in user space */
	FRAME_INLINE, /* inlined into the frame below it */
	FRAME_CUT,    /* name says why the stack is not complete; root-most */
	FRAME_KINDS
};

struct profile_file {
	uint64_t device, inode, size;  /* what is known of it, for telling files apart; 0 if not known */
	uint64_t generation, mtime_ns; /* these tell apart what was one inode after the other, or rewritten in place */
	uint32_t path;                 /* string */
	uint32_t build_id;             /* string of raw bytes */
	uint32_t reason;               /* string: why it has no build id, names or unwind table; NONE if it has */
};

/* Where in the source a frame is, as other tools' profiles say it. 0 where not known. */
struct profile_source {
	uint32_t file; /* string: its path */
	uint32_t line, column;
	uint32_t first_line; /* of the function */
	uint32_t linkage;    /* string: the function's name for the linker, where that is another one */
};

struct profile_frame {
	uint64_t address;
	uint64_t start;   /* address of its function, while its name is fresh: no file keeps it; 0: not known */
	uint32_t file;    /* FRAME_USER, FRAME_VDSO */
	uint32_t process; /* FRAME_JIT: the process whose code it is */
	uint32_t name;    /* string; NONE: not named */
	uint32_t kind;    /* enum frame_kind */
	struct profile_source source;
};

struct profile_node {
	uint32_t parent;
	uint32_t frame;
};

/* How the ways from frames to their callers were found: frames, summed over samples. */
struct profile_ways {
	uint64_t row;  /* by unwind row */
	uint64_t fp;   /* by frame pointer */
	uint64_t user; /* in user space, of samples that came before an unwind table was there */
};

struct profile_process {
	uint64_t start; /* ns since boot: with pid its identity */
	struct profile_ways ways;
	uint32_t pid;
	uint32_t parent; /* process */
	uint32_t comm;   /* string: the last name it had */
	uint32_t exe;    /* string: path of its program */
	uint32_t cgroup; /* string: path in the cgroup tree */
	uint32_t labels; /* label set that its samples get */
};

struct profile_sample {
	uint64_t value;
	uint32_t stack; /* node */
	uint32_t process;
	uint32_t tid;    /* 0: not asked for */
	uint32_t comm;   /* string */
	uint32_t labels; /* label set */
	uint32_t next;   /* the profile's own: another of the same stack, or 0 */
};

struct profile_event {
	uint64_t time_us; /* since the profile's start_us */
	uint32_t sample;
	uint32_t cpu;
};

struct profile_counter {
	uint32_t group; /* string: total, left_out, lost, stack, cut, frame, note, self */
	uint32_t name;  /* string */
	uint64_t value;
};

#define PROFILE_REMARKS_MAX (1U << 20) /* bytes */

/* What was done and on what. Strings by number; 0 where not known. */
struct profile_meta {
	uint64_t hz;          /* 0 when a period was asked for instead */
	uint64_t period;      /* ns, or events, between samples */
	uint64_t start_us;    /* monotonic, what event times are relative to */
	uint64_t wall_ns;     /* the same moment on the wall clock, ns since 1970 */
	uint64_t duration_ns; /* of sampling */
	uint64_t cpus;        /* online */
	uint64_t expected;    /* ticks: Hz times online CPU time */
	uint32_t event;       /* "cpu-clock", "cycles" */
	uint32_t unit;        /* of values: "samples" */
	uint32_t host;
	uint32_t kernel;          /* release */
	uint32_t kernel_build_id; /* raw bytes */
	uint32_t arch;
	uint32_t version;      /* of wick */
	uint32_t command;      /* the command line */
	uint32_t remarks;      /* of other tools, a line each */
	uint32_t drop_frames;  /* regular expressions for pprof: what it does not show, */
	uint32_t keep_frames;  /* and of that what it does */
	uint32_t default_type; /* of the types, as the file of another tool says it */
	uint32_t period_type;  /* what `period` is of, there, */
	uint32_t period_unit;  /* and in what */
	uint32_t doc_url;      /* where to read about it, there */
	uint64_t kernel_base;  /* address of _text when sampled, so that addresses mean something elsewhere; or 0 */
	uint64_t busy_user_us; /* of the whole machine while sampling */
	uint64_t busy_kernel_us;
	uint64_t idle_us;
};

struct profile;

int profile_new(struct profile **ret);
void profile_free(struct profile *profile);
struct profile_meta *profile_meta(const struct profile *profile);

/*
 * Adding: what is there already is found again, not doubled. All return a number, or PROFILE_FULL; a record that names
 * a number which does not exist gives PROFILE_FULL too, so a failure passes through what is built upon it. Pointers to
 * records hold until the next adding.
 */
uint32_t profile_string(struct profile *profile, const char *text);
uint32_t profile_bytes(struct profile *profile, const void *data, size_t len);
uint32_t profile_add_file(struct profile *profile, const struct profile_file *file);
uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame);
uint32_t profile_add_node(struct profile *profile, uint32_t parent, uint32_t frame);
uint32_t profile_add_process(struct profile *profile, uint32_t pid, uint64_t start); /* fill the rest in place */
/* The same (stack, process, tid, comm, labels) adds to the value. */
uint32_t profile_add_sample(struct profile *profile, const struct profile_sample *sample);
/*
 * Several at once, which do not refer to each other: memory is fetched for all of them before it is waited for. Numbers
 * of nodes come out in `ret`; of samples as well, and -ENOMEM if one could not be added.
 */
void profile_find_nodes(struct profile *profile, const struct profile_node *nodes, size_t len,
			uint32_t *ret); /* 0: none */
/* One on the other, from the parent to the leaf: frames[0] is the parent's callee. */
void profile_add_chain(struct profile *profile, uint32_t parent, const uint32_t *frames, size_t len, uint32_t *ret);
/* One of which it is known that it is not there. */
uint32_t profile_append_node(struct profile *profile, uint32_t parent, uint32_t frame);
int profile_add_samples(struct profile *profile, const struct profile_sample *samples, size_t len, uint32_t *ret);
uint32_t profile_add_event(struct profile *profile, const struct profile_event *event);
/* Labels of a set are pairs of strings, sorted by key. A set is found by adding one pair to another set. */
uint32_t profile_add_label(struct profile *profile, uint32_t set, uint32_t key, uint32_t value);
/* One that is a number, which the text says: "4096 bytes", "-1". The unit, behind the blank, may be missing. */
uint32_t profile_add_number(struct profile *profile, uint32_t set, uint32_t key, uint32_t text);
/* Adds to the counter of that name. */
int profile_add_counter(struct profile *profile, const char *group, const char *name, uint64_t value);

/* Whether anything is known of it. */
static inline bool profile_has_source(const struct profile_source *source)
{
	return source->file || source->line || source->column || source->first_line || source->linkage;
}

/* Reading. Of a number that does not exist: the record of number 0. The writable ones are for filling in names. */
const char *profile_text(const struct profile *profile, uint32_t string, size_t *ret_len);
struct profile_file *profile_file(const struct profile *profile, uint32_t number);
struct profile_frame *profile_frame(const struct profile *profile, uint32_t number);
const struct profile_node *profile_node(const struct profile *profile, uint32_t number);
struct profile_process *profile_process(const struct profile *profile, uint32_t number);
const struct profile_sample *profile_sample(const struct profile *profile, uint32_t number);
const struct profile_event *profile_event(const struct profile *profile, uint32_t number);
const struct profile_counter *profile_counter(const struct profile *profile, uint32_t number);
/* A label set is (rest, key, value); walk by rest until 0. */
void profile_label(const struct profile *profile, uint32_t set, uint32_t *ret_rest, uint32_t *ret_key,
		   uint32_t *ret_value);
/* Whether the value of this pair is a number; which, and where in its text the unit begins. */
bool profile_label_number(const struct profile *profile, uint32_t set, int64_t *ret_number, size_t *ret_unit);
uint64_t profile_counter_value(const struct profile *profile, const char *group, const char *name); /* 0 if unknown */

/* For types.h: the sample counts so much, of the type that is shown. */
void profile_set_value(struct profile *profile, uint32_t sample, uint64_t value);

/* Moves all events to so much later. */
void profile_shift_events(struct profile *profile, uint64_t us);

/*
 * For transformations: what can be made anew from other frames. Taken out, the profile has no stacks, samples or events
 * until they are added again; numbers are those that the records had.
 */
struct profile_stacks {
	struct profile_node *nodes;
	struct profile_sample *samples;
	struct profile_event *events;
	uint32_t nodes_len, samples_len, events_len; /* number 0 included */
	struct types types;                          /* of the samples; the profile has none until they are set again */
};
int profile_take_stacks(struct profile *profile, struct profile_stacks *ret);
/*
 * The same without the nodes, which stay: what was counted goes, what it is made of is there for what is counted next.
 */
int profile_take_samples(struct profile *profile, struct profile_stacks *ret);
void profile_stacks_free(struct profile_stacks *stacks);

/* How many numbers each table has, number 0 included: walk from 1. */
enum profile_table {
	PROFILE_STRINGS,
	PROFILE_FILES,
	PROFILE_FRAMES,
	PROFILE_NODES,
	PROFILE_PROCESSES,
	PROFILE_SAMPLES,
	PROFILE_EVENTS,
	PROFILE_LABELS,
	PROFILE_COUNTERS,
	PROFILE_TABLES
};
uint32_t profile_count(const struct profile *profile, enum profile_table table);
/* So many nodes are expected in all: room is made for them at once, if there is memory. */
void profile_expect_nodes(struct profile *profile, uint32_t count);
/* Gives back the memory that adding needs: for when all is read. Adding takes it again. */
void profile_settle(struct profile *profile);
size_t profile_memory(const struct profile *profile);

#endif
