/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `wick serve` keeps, for every command that reads profiles: options that choose a range of time, and the profile
 * of it. A running server is asked over its socket; without one its folder is read.
 */
#ifndef WICK_CMD_KEPT_H
#define WICK_CMD_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"
#include "base/rights.h"
#include "store/store.h"

struct buf;
struct input_options;
struct profile;

#define KEPT_SOCKET "/run/wick/wick.sock"
#define KEPT_FOLDER "/var/lib/wick"

struct kept_options {
	const char *from, *to, *data, *socket;
};

/* Each option once: ROW(name, value, reader, field of struct kept_options, help, hint). */
#define KEPT_OPTIONS(ROW)                                                                                            \
	ROW("from", "TIME", opt_text, from, "of what wick serve keeps, from 14:03, -15m, 2026-03-01T14:03:20", NULL) \
	ROW("to", "TIME", opt_text, to, "up to this time (now)", NULL)                                               \
	ROW("data", "DIR", opt_text, data, "read wick serve's folder (" KEPT_FOLDER ")", "dir")                      \
	ROW("socket", "PATH", opt_text, socket, "ask wick serve there (" KEPT_SOCKET ")", "file")

/* Whether one of them was given: no file is read then. */
bool kept_asked(const struct kept_options *options);

/* The range, and that nothing was asked for which goes with files alone. -EINVAL with fail() set. */
int kept_check(const struct kept_options *options, const struct input_options *input, size_t files,
	       struct store_range *ret);

/*
 * A folder that is read. As long as it is open this thread has no more right to write than its owner: SQLite makes
 * files beside those that it reads, and as root it would make them wherever he leads it.
 */
struct kept_store {
	struct store *store;
	struct rights before;
};

int kept_open(struct kept_store *ret, const char *folder);
void kept_close(struct kept_store *kept);

/* The profile of a range. What is wrong is said with fail(); -ENODATA if there is nothing of it. */
int kept_read(struct profile **ret, const struct kept_options *options, const struct store_range *range);

/* Appends the options that ask for the same range again, as typed. */
void kept_add_words(struct buf *out, const struct kept_options *options, const struct store_range *range);

#endif
