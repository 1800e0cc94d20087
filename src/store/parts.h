/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the store share. docs/store.md has the tables. */
#ifndef WICK_STORE_PARTS_H
#define WICK_STORE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>

#include "store/bundle.h"
#include "store/store.h"

struct dict;
struct map;
struct profile;
struct window;
struct window_counter;

#define STORE_ID 0x7769636b /* "wick", the database's application id */
#define STORE_VERSION 2
#define STORE_OLDEST 2 /* that is brought up to date */
#define STORE_FILE "wick.db"
#define STORE_LOCK "lock"

#define STORE_NS_PER_SEC 1000000000ULL

/* Time that could not be written down, until it can. */
struct store_missed {
	uint64_t from, to;
	uint64_t windows, value;
	int why; /* -errno */
};

struct store {
	sqlite3 *db;
	int lock; /* of the one that writes; -1 */
	struct store_options options;
	struct dict *dict; /* of one era: the last that was used */
	int64_t era;       /* its number; 0: none */
	int64_t fresh;     /* the newest change of the dictionary that is in it */
	struct store_missed missed;
	struct bundle bundle;           /* the last that was read */
	int64_t bundle_first;           /* the sequence number its hour begins with */
	enum store_level bundle_detail; /* windows or minutes */
	bool bundle_has_rows;
};

/* A window, minute or hour, without its columns. */
struct store_row {
	int64_t era;
	int64_t first, last; /* sequence numbers of the windows in it */
	enum store_level level;
	struct store_range range;
	uint64_t age_ns; /* the store's own time when the last of them ended: see seal.c */
	uint64_t value;  /* the sum of its samples */
	uint64_t lost;
	int64_t hour;  /* the first of the hour whose bundle it is in; 0: it has a row of its own */
	uint32_t part; /* which of them */
	bool has_events;
	bool whole; /* in the range that was asked for */
};

/* A read transaction: what is read between the two is of one moment. */
int store_begin(struct store *store);
void store_end(struct store *store);

/* Makes store->dict that of an era, as it is now. */
int store_load_dict(struct store *store, int64_t era);

enum store_parts { STORE_HEAD, STORE_BODY, STORE_EVENTS };
/* Unpacks it, up to and with that part; events stay empty where there are none. window_free is due if it is 0. */
int store_read_window(struct store *store, const struct store_row *row, enum store_parts parts, struct window *ret);
/* The windows, or minutes, that an hour consists of. bundle_free is due if it is 0. */
int store_read_bundle(struct store *store, const struct store_row *hour, struct bundle *ret);
/* The same without their columns, as rows; free() the list. */
int store_read_spans(struct store *store, const struct store_row *hour, enum store_level detail, struct store_row **ret,
		     size_t *ret_len);

/* Of a result whose first columns are these. */
#define WINDOW_COLUMNS "SELECT sequence, era, start_ns, end_ns, age_ns, value, lost"
struct store_row store_window_of(sqlite3_stmt *rows);
/* All hours, by sequence number, and what they still consist of (STORE_HOUR: they are one). */
int store_list_hours(struct store *store, sqlite3_stmt **ret);
struct store_row store_hour_of(sqlite3_stmt *rows, enum store_level *ret_detail);

/*
 * The rows that a range consists of, none of them twice, as coarse as fits: those that lie in the range as a whole, and
 * those at its ends, which no finer ones stand for. By sequence number. `coarsest` limits how coarse.
 */
int store_cover(struct store *store, const struct store_range *range, enum store_level coarsest, struct store_row **ret,
		size_t *ret_len);

/* Adds a counter to a sum under group << 32 | name; of what a recording needed at most it is the greatest. */
int store_add_counter(const struct profile *model, struct map *sums, const struct window_counter *counter);
bool store_is_extreme(const char *group, const char *name);

/* Adds the numbers of a window to others. */
void store_add_numbers(uint64_t *numbers, const struct window *window);

/* One step of each, in a transaction of its own: 1 if something was done, 0 if there is nothing to do. */
int store_add_hour(struct store *store);
int store_retain(struct store *store);

/* Windows of an hour become minutes, minutes go, the hour goes: one of these. Within a transaction. */
int store_thin_hour(struct store *store, const struct store_row *hour, enum store_level detail);

#endif
