/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was counted between two moments of a recording that goes on: samples, events and counters that belong together.
 * Its numbers are those of the recording's profile, so it can be kept until the names are there, and is then picked out
 * of it.
 */
#ifndef WICK_COLLECT_PART_H
#define WICK_COLLECT_PART_H

#include <stdbool.h>
#include <stdint.h>

struct collect;
struct part;
struct pick;
struct profile;
struct ways;

/* Closes a window of the kernel side and takes out what was counted since the last time. */
int part_cut(struct part **ret, struct collect *collect);
void part_free(struct part *part);
uint64_t part_samples(const struct part *part); /* the sum of their values */

/*
 * When ticks have ended: samples that wait for a table are counted if that is there in time, and as they are if not.
 * What comes of it is in the next part.
 */
int part_settle(struct collect *collect, uint64_t until_ns);

/* What fills a profile from the parts of one recording, with the names that are known now. */
struct filling;
int filling_new(struct filling **ret, struct collect *collect, struct profile *into, bool whole);
void filling_free(struct filling *filling);
int filling_add(struct filling *filling, const struct part *part);

/* Asks for the names of frames that are new; without pauses, if no others will come. Never waits. */
int part_name(struct collect *collect, bool last);
bool part_named(const struct collect *collect);    /* no answer is waited for */
bool part_answered(const struct collect *collect); /* nor of another kind: it may be freed while its worker goes on */

/* Waits for all names, but not for ever. */
int part_wait(struct collect *collect, uint64_t until_ns);

/* Frames that have no name though they may get one; and those of them that have one by now, once. */
int part_mark_late(struct collect *collect);
bool part_has_late(const struct collect *collect);
int part_late(struct collect *collect, struct profile *into);

/* How much a recording has gathered. */
struct part_load {
	uint64_t stacks, max_stacks; /* that the kernel side has room for */
	uint64_t rate;               /* new ones a second, at most */
	uint64_t bytes;
	uint64_t files; /* open */
};
void part_load(const struct collect *collect, struct part_load *ret);

/* Of wick itself, since it began: CPU time of all its processes; what workers died of, what held up helpers, and what
 * was refused to users who had their share. */
struct part_self {
	uint64_t cpu_us, deaths, stuck, refused;
};
void part_self(const struct collect *collect, struct part_self *ret);

#endif
