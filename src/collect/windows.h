/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording without end, cut into windows: open, start, poll for ever, stop. Each second what was counted is handed
 * out, and each window as a profile of its own, named, with its own sums. The profiles follow each other without a
 * gap; a sample is in exactly one of them.
 *
 * What has been met (stacks, files, names) is remembered from window to window, for an era: until it has grown too
 * large or too old. Another recording then begins beside the first, and takes over from one tick to the next.
 */
#ifndef WICK_COLLECT_WINDOWS_H
#define WICK_COLLECT_WINDOWS_H

#include <stdint.h>

struct collect_options;
struct profile;
struct windows;

struct windows_options {
	const struct collect_options *collect; /* must outlive it; max_stacks 0: fitted to the machine */
	uint64_t window_ns; /* windows end on multiples of it of the wall clock, so that they line up */
	uint64_t era_bytes; /* what may be remembered; 0: fitted to the machine */
	uint64_t era_ns;    /* and for how long; 0: an hour */
	/*
	 * About once a second: what was counted since the last call, frames named as far as known by then. NULL: not
	 * wanted.
	 */
	int (*second)(void *arg, const struct profile *delta);
	/* A window is complete; belongs to the callee. */
	int (*sealed)(void *arg, struct profile *window);
	/*
	 * Frames whose names were not there when their window was: only the frames, for store_improve. NULL: not
	 * wanted.
	 */
	int (*late)(void *arg, const struct profile *named);
	/* One line an event: a new era, a recording that had to be begun again. */
	void (*log)(void *arg, const char *line);
	void *arg;
};

/*
 * Everything that can fail early does. Debug files are not asked of servers: that would wait. An error of a callback is
 * returned by the call that it came from.
 */
int windows_open(struct windows **ret, const struct windows_options *options);
int windows_start(struct windows *windows);
int windows_poll(struct windows *windows, int timeout_ms); /* -EINTR after a signal, as collect_poll */
int windows_timeout(const struct windows *windows);        /* ms until something is due: wait no longer */
int windows_stop(struct windows *windows);                 /* seals what there is; within a second */
void windows_free(struct windows *windows);

/* What should be said once it has started, or NULL; as collect_warning. */
const char *windows_warning(const struct windows *windows);

#endif
