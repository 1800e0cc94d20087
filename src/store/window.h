/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a window is made of, and its bytes: a head (who ran how much, counters, numbers) and a body (which stacks),
 * each a list of columns that is then compressed. Who only wants to know who ran does not unpack the body.
 *
 * Numbers of stacks, strings and `who` are those of a dictionary (dict.h); they are checked by whoever has it.
 */
#ifndef WICK_STORE_WINDOW_H
#define WICK_STORE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* The rows of a group follow each other, sorted by stack; groups are sorted by who. */
struct window_group {
	uint64_t sum;
	uint32_t who;
	uint32_t rows;
};

struct window_row {
	uint64_t value;
	uint32_t who, stack;
};

struct window_counter {
	uint64_t value;
	uint32_t group, name; /* strings */
};

enum window_number {
	WINDOW_DURATION_NS,
	WINDOW_CPUS,
	WINDOW_EXPECTED,
	WINDOW_BUSY_USER_US,
	WINDOW_BUSY_KERNEL_US,
	WINDOW_IDLE_US,
	WINDOW_NUMBERS
};

struct window_event {
	uint64_t time_us; /* since the window's start */
	uint32_t cpu;
	uint32_t row; /* of the window, from 0 */
};

struct window {
	uint64_t numbers[WINDOW_NUMBERS];
	struct window_group *groups;
	struct window_row *rows; /* NULL until the body is read */
	struct window_counter *counters;
	struct window_event *events; /* by time */
	size_t groups_len, rows_len, counters_len, events_len;
};

void window_free(struct window *window);
int window_copy(const struct window *from, struct window *ret); /* without events */

/* Sorts the rows, adds up equal ones, and makes the groups of them. 0, -ENOMEM, or -EOVERFLOW. */
int window_arrange(struct window *window);

/* Whether each group has rows, each row a value, and they are the sums that the groups say. */
bool window_adds_up(const struct window *window);

/* Columns of what is arranged. */
void window_head(const struct window *window, struct buf *ret);
void window_body(const struct window *window, struct buf *ret);
void window_events(const struct window *window, struct buf *ret);

/* From columns: the head first, for it says how many rows there are. -EBADMSG if they are not what was written. */
int window_read_head(struct window *ret, const void *data, size_t len);
int window_read_body(struct window *window, const void *data, size_t len);
int window_read_events(struct window *window, const void *data, size_t len);

/* zstd, within bounds: quickly what will be written again soon, small what stays. */
enum window_effort { WINDOW_QUICK = 3, WINDOW_SMALL = 19 };
int window_pack(const struct buf *raw, enum window_effort effort, struct buf *ret);
int window_unpack(const void *data, size_t len, struct buf *ret);

#endif
