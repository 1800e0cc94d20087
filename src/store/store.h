/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles kept over time: a folder with a database that holds windows of about ten seconds, and what they add up to by
 * the hour and, later, by the minute. One process writes; any number read meanwhile, from handles of their own. A
 * handle is for one thread. docs/store.md says what is in the folder.
 *
 *   store_open ─► store_seal every ten seconds, store_tend between ─► store_free
 *   store_open (read only) ─► store_query, store_series, store_heat, store_gaps ─► store_free
 *
 * Times are of the wall clock, ns since 1970; a range is [from, to). All return 0 or -errno with fail() set.
 */
#ifndef WICK_STORE_STORE_H
#define WICK_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;
struct profile;
struct store;

enum store_level { STORE_WINDOW, STORE_MINUTE, STORE_HOUR, STORE_LEVELS };

struct store_options {
	const char *folder;
	bool read_only;       /* nothing is made or changed: -ENOENT if there is no store */
	uint64_t keep_ns;     /* windows, by whole hours; minutes 4 times, hours 16 times as long; 0: no limit */
	uint64_t keep_bytes;  /* of the whole; 0: no limit */
	uint64_t event_bytes; /* of single events, the newest; 0: none are kept */
};

/*
 * Opens, or makes, the store of a folder; an older one is brought up to date. -EPROTONOSUPPORT if it is newer than
 * this program, -EBUSY if another process writes to it, -EPERM if others may enter the folder, -EBADMSG if it is
 * something else. None of these changes what is there.
 */
int store_open(struct store **ret, const struct store_options *options);
void store_free(struct store *store);

/*
 * Adds all samples of a profile as one window, in one transaction: after it returned, no crash takes the window away.
 * Its time is that of the profile's meta data: wall_ns, start_us (monotonic), duration_ns. `boot` is the kernel's boot
 * id, or "" if there is none; within a boot, -EEXIST for a window that does not begin after the last one.
 *
 * -ENOSPC, -EIO: it could not be written and is not in the store. The caller goes on; the first window that can be
 * written again records the time between as a gap.
 */
int store_seal(struct store *store, const struct profile *window, const char *boot, uint64_t *ret_sequence);

/* Names that are known by now, for the frames of windows that were sealed without: all of the era get them. */
int store_improve(struct store *store, const struct profile *named);

/*
 * One small step of what there is to do besides: windows become hours; what is too old, or too much, becomes coarser
 * and goes. 1: a step was taken, there may be another; 0: nothing is left to do. Each step is a transaction of its own,
 * so a window never waits for more than one.
 */
int store_tend(struct store *store);

struct store_range {
	uint64_t from, to;
};

/* What an answer is of. */
struct store_answer {
	struct store_range covered; /* by what was found; 0, 0: nothing was */
	uint64_t rows;              /* windows, minutes and hours that were read */
	uint64_t cut;               /* of them: windows cut to the range by their events */
	uint64_t rounded; /* of them: not wholly in the range, without events; taken if their middle is in it */
};

/* All that was sampled in a range, as a new profile. `filter` and `ret_answer` may be NULL. */
int store_query(struct store *store, const struct store_range *range, const struct filter *filter, struct profile **ret,
		struct store_answer *ret_answer);

/* By what curves are told apart. */
enum store_by { STORE_BY_NOTHING, STORE_BY_PROCESS, STORE_BY_LABEL };

struct store_series_request {
	struct store_range range;
	size_t buckets;   /* of equal length; 1 to STORE_BUCKETS_MAX */
	enum store_by by; /* nothing: one curve of all that passes the filter */
	const char *label_key;
	size_t curves; /* at most so many, those with the greatest sums; the rest becomes one more, without a name */
	const struct filter *filter; /* or NULL */
};

#define STORE_BUCKETS_MAX 100000
#define STORE_CURVES_MAX 1000

struct store_curve {
	char *name; /* "": without a name, or such a label; NULL: all others, or all where nothing was asked for */
	uint64_t sum;
	uint64_t *values; /* by bucket */
};

struct store_series {
	struct store_curve *curves; /* the greatest first; the one without a name last */
	size_t len, buckets;
};

/*
 * Samples over time. A row that is longer than a bucket is taken by its events, and what has none is spread evenly.
 * What is in it to the last sample adds up to what store_query says of the same range where all rows lie in it.
 */
int store_series(struct store *store, const struct store_series_request *request, struct store_series *ret);
void store_series_free(struct store_series *series);

/*
 * A heat map: a column for each second from the one that `from` lies in, a row for each of `rows` equal parts of a
 * second. counts[column * rows + row] is how many samples were taken in it. Seconds without events count nothing.
 */
struct store_heat {
	uint64_t *counts;
	size_t columns, rows;
	uint64_t from; /* the first column's second */
};

#define STORE_HEAT_COLUMNS_MAX 3600
#define STORE_HEAT_ROWS_MAX 1000

int store_heat(struct store *store, const struct store_range *range, size_t rows, const struct filter *filter,
	       struct store_heat *ret);
void store_heat_free(struct store_heat *heat);

/* Time for which nothing could be written. */
struct store_gap {
	struct store_range range;
	uint64_t windows, value;
	char why[32];
};

/* Those that reach into a range, in their order; free() the list. */
int store_gaps(struct store *store, const struct store_range *range, struct store_gap **ret, size_t *ret_len);

/* From the beginning of the oldest to the end of the newest window; 0, 0 if there is none. */
int store_extent(struct store *store, struct store_range *ret);

/* Bytes that the store uses on disk, those that are free for new windows not counted. */
int store_bytes(struct store *store, uint64_t *ret);

#endif
