/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every second a part is cut off the recording; parts are kept until the names of their frames are there, or for a
 * moment, and then become profiles: one for the second, and one for all parts of a window. A window ends by the
 * monotonic clock, at the moment for which the wall clock promised a multiple of its length when it began; so clocks
 * that are set make a window begin at another time, but none longer or shorter than half as much.
 *
 * Eras: recordings that follow each other. The last one is kept beside the new one until its parts are sealed and the
 * worker, which they share, has answered it.
 *
 * Invariant: each part is in one window; a window's parts, and windows, follow each other without a gap.
 */
#include "collect/windows.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "collect/collect.h"
#include "collect/files.h"
#include "collect/part.h"
#include "proc/process.h"
#include "profile/profile.h"

#define SECOND NS_PER_SEC
#define SECOND_WAITS (200 * NS_PER_MS) /* for names */
#define WINDOW_WAITS (2 * NS_PER_SEC)
#define STOP_WAITS (300 * NS_PER_MS) /* for tables, and then for names */
#define DRAIN_MS 4000                /* never reached, but tables are fitted to it */
#define ERA_NS (3600 * NS_PER_SEC)
#define ERA_BYTES ((uint64_t)8 << 20)
#define ERA_CPU_BYTES ((uint64_t)1 << 19) /* and for each CPU */
#define ERA_FILES 2048
#define STACKS_MIN ((uint64_t)1 << 16)
#define STACKS_CPU ((uint64_t)1 << 13)
#define STACKS_MAX ((uint64_t)1 << 20)
#define PAUSE (60 * NS_PER_SEC) /* after a new era could not begin */
#define AGAIN_MAX 5             /* recordings that fail, one after the other, within PAUSE of each other */

struct era {
	struct collect *collect;
	struct profile *profile;
	uint64_t begun_ns;
};

struct piece {
	struct era *era;
	struct part *part;
};

/* A window that is being filled, or waits for its names. */
struct span {
	struct piece *pieces;
	size_t len, cap;
	uint64_t from_ns, to_ns; /* monotonic */
	uint64_t wall_ns;        /* of its beginning */
	size_t told;             /* pieces that were handed out as seconds */
	struct machine_times times;
	struct part_self self; /* both: at its beginning, and then what came to them until its end */
};

struct windows {
	struct windows_options options;
	struct collect_options collect;
	struct era *era, *before; /* before: its parts are not all sealed, or it waits for answers; NULL: none */
	struct span now, closed;  /* closed: it waits for names, if it has any parts */
	uint64_t told_ns;         /* until when seconds were handed out */
	uint64_t second_at, window_at;
	uint64_t tell_by, seal_by; /* 0: there is nothing to */
	uint64_t era_at;           /* not before */
	uint64_t failed_ns;
	unsigned int failed;
};

static void say(const struct windows *windows, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct windows *windows, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (windows->options.log)
		windows->options.log(windows->options.arg, line);
}

/* ---- opening ---- */

static void era_free(struct era *era)
{
	if (!era)
		return;
	collect_free(era->collect);
	profile_free(era->profile);
	free(era);
}

/* Beside another one, or the first if that is NULL. */
static int era_open(struct windows *windows, struct era *before, struct era **ret)
{
	struct era *era = calloc(1, sizeof(*era));
	int err = era ? profile_new(&era->profile) : -ENOMEM;

	if (!err)
		err = before ? collect_open_next(&era->collect, before->collect, era->profile)
			     : collect_open(&era->collect, &windows->collect, era->profile);
	if (err)
		era_free(era);
	else
		*ret = era;
	return err;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int windows_open(struct windows **ret, const struct windows_options *options)
{
	struct windows *windows = calloc(1, sizeof(*windows));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t count = cpus > 0 ? (uint64_t)cpus : 1;

	if (!windows)
		return -ENOMEM;
	*ret = windows;
	windows->options = *options;
	windows->collect = *options->collect;
	windows->collect.windows = true;
	windows->collect.debuginfod = false;
	windows->collect.drain_ms = DRAIN_MS;
	if (!windows->collect.max_stacks)
		windows->collect.max_stacks = clamp(count * STACKS_CPU, STACKS_MIN, STACKS_MAX);
	if (!windows->options.era_bytes)
		windows->options.era_bytes = ERA_BYTES + count * ERA_CPU_BYTES;
	if (!windows->options.era_ns)
		windows->options.era_ns = ERA_NS;
	files_raise_limit();
	return era_open(windows, NULL, &windows->era);
}

static void span_clear(struct span *span)
{
	for (size_t i = 0; i < span->len; i++)
		part_free(span->pieces[i].part);
	span->len = 0;
}

void windows_free(struct windows *windows)
{
	if (!windows)
		return;
	span_clear(&windows->now);
	span_clear(&windows->closed);
	free(windows->now.pieces);
	free(windows->closed.pieces);
	era_free(windows->before);
	era_free(windows->era);
	free(windows);
}

const char *windows_warning(const struct windows *windows)
{
	return collect_warning(windows->era->collect);
}

/* ---- time ---- */

/* When a window that begins now ends: at a multiple of its length on the wall clock, if that is not too near. */
static uint64_t window_end(const struct windows *windows, uint64_t from_ns, uint64_t wall_ns)
{
	uint64_t length = windows->options.window_ns, left = length - wall_ns % length;

	return from_ns + (left < length / 2 ? left + length : left);
}

static void span_begin(struct windows *windows, uint64_t from_ns, uint64_t wall_ns)
{
	struct span *span = &windows->now;

	span->from_ns = from_ns;
	span->wall_ns = wall_ns;
	if (machine_times(&span->times))
		span->times = (struct machine_times){ 0 };
	part_self(windows->era->collect, &span->self);
	span->told = 0;
	windows->window_at = window_end(windows, from_ns, wall_ns);
}

/* Seconds end where the window does: the last one is longer rather than there being a short one. */
static uint64_t second_end(const struct windows *windows, uint64_t from_ns)
{
	uint64_t end = from_ns + SECOND;

	return end + SECOND / 2 > windows->window_at ? windows->window_at : end;
}

static int begin(struct windows *windows)
{
	int err = collect_start(windows->era->collect);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (err)
		return err;
	windows->era->begun_ns = windows->told_ns = now;
	windows->era_at = 0;
	span_begin(windows, now, clock_ns(CLOCK_REALTIME));
	windows->second_at = second_end(windows, now);
	return 0;
}

int windows_start(struct windows *windows)
{
	return begin(windows);
}

/* ---- handing out ---- */

static int span_add(struct span *span, struct era *era, struct part *part)
{
	if (span->len == span->cap) {
		size_t cap = span->cap ? span->cap * 2 : 16;
		struct piece *grown = reallocarray(span->pieces, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		span->pieces = grown;
		span->cap = cap;
	}
	span->pieces[span->len++] = (struct piece){ era, part };
	return 0;
}

/* Some pieces of a span as a profile of their own, for the time between two moments. */
static int fill(const struct span *span, size_t first, uint64_t from_ns, uint64_t to_ns, bool whole,
		struct profile **ret)
{
	struct profile *profile = NULL;
	struct filling *filling = NULL;
	struct profile_meta *meta;
	int err = profile_new(&profile);

	if (err)
		return err;
	meta = profile_meta(profile);
	meta->start_us = from_ns / NS_PER_US;
	meta->wall_ns = span->wall_ns + (from_ns - span->from_ns);
	meta->duration_ns = to_ns - from_ns;
	for (size_t i = first; i < span->len && !err; i++) {
		if (i == first || span->pieces[i].era != span->pieces[i - 1].era) {
			filling_free(filling);
			filling = NULL;
			err = filling_new(&filling, span->pieces[i].era->collect, profile, whole);
		}
		err = err ? err : filling_add(filling, span->pieces[i].part);
	}
	filling_free(filling);
	if (err)
		profile_free(profile);
	else
		*ret = profile;
	return err;
}

/* What was counted since the last call is handed out. */
static int tell_span(struct windows *windows, struct span *span)
{
	uint64_t from = windows->told_ns;
	size_t first = span->told;
	struct profile *delta = NULL;
	int err;

	if (first == span->len)
		return 0;
	span->told = span->len;
	windows->told_ns = span->to_ns;
	if (!windows->options.second)
		return 0;
	err = fill(span, first, from, span->to_ns, false, &delta);
	err = err ? err : windows->options.second(windows->options.arg, delta);
	profile_free(delta);
	return err;
}

static int tell(struct windows *windows)
{
	int err = tell_span(windows, &windows->closed);

	windows->tell_by = 0;
	return err ? err : tell_span(windows, &windows->now);
}

/* Frames that were sealed without a name and have one now. */
static int tell_late(struct windows *windows, struct era *era)
{
	struct profile *named = NULL;
	int err;

	if (!era || !part_has_late(era->collect))
		return 0;
	err = profile_new(&named);
	err = err ? err : part_late(era->collect, named);
	if (!err && windows->options.late)
		err = windows->options.late(windows->options.arg, named);
	profile_free(named);
	return err;
}

static int seal(struct windows *windows)
{
	struct span *span = &windows->closed;
	struct profile *window = NULL;
	struct profile_meta *meta;
	int err = tell_span(windows, span);

	windows->seal_by = 0;
	if (err || !span->len)
		return err;
	err = fill(span, 0, span->from_ns, span->to_ns, true, &window);
	if (err)
		return err;
	meta = profile_meta(window);
	meta->busy_user_us = span->times.user;
	meta->busy_kernel_us = span->times.kernel;
	meta->idle_us = span->times.idle;
	err = profile_add_counter(window, "self", "cpu_us", span->self.cpu_us);
	err = err ? err : profile_add_counter(window, "note", "worker_deaths", span->self.deaths);
	err = err ? err : profile_add_counter(window, "note", "files_stuck", span->self.stuck);
	err = err ? err : profile_add_counter(window, "note", "user_budget", span->self.refused);
	err = err ? err : part_mark_late(windows->era->collect);
	if (!err && windows->before)
		err = part_mark_late(windows->before->collect);
	span_clear(span);
	if (err)
		profile_free(window);
	return err ? err : windows->options.sealed(windows->options.arg, window);
}

/* ---- cutting ---- */

static int cut(struct windows *windows, struct era *era)
{
	struct part *part = NULL;
	int err;

	windows->now.to_ns = clock_ns(CLOCK_MONOTONIC);
	err = part_cut(&part, era->collect);
	err = err ? err : span_add(&windows->now, era, part);
	if (err) {
		part_free(part);
		return err;
	}
	windows->tell_by = windows->now.to_ns + SECOND_WAITS;
	return part_name(era->collect, era == windows->before);
}

/* The window that was filled until now waits for its names, and the next one begins. */
static int close_window(struct windows *windows)
{
	uint64_t wall = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - windows->now.to_ns);
	struct span swap = windows->closed, *closed = &windows->closed;
	struct machine_times times;
	struct part_self self;
	int err = windows->seal_by ? seal(windows) : 0;

	if (err)
		return err;
	part_self(windows->era->collect, &self);
	swap.len = 0;
	*closed = windows->now;
	windows->now = swap;
	closed->self = (struct part_self){ self.cpu_us - closed->self.cpu_us, self.deaths - closed->self.deaths,
					   self.stuck - closed->self.stuck, self.refused - closed->self.refused };
	if (machine_times(&times))
		times = closed->times;
	closed->times = (struct machine_times){ times.user - closed->times.user, times.kernel - closed->times.kernel,
						times.idle - closed->times.idle };
	windows->seal_by = closed->to_ns + WINDOW_WAITS;
	span_begin(windows, closed->to_ns, wall);
	return 0;
}

/* ---- eras ---- */

static bool era_is_used(const struct span *span, const struct era *era)
{
	for (size_t i = 0; i < span->len; i++)
		if (span->pieces[i].era == era)
			return true;
	return false;
}

static void era_release(struct windows *windows)
{
	struct era *before = windows->before;

	if (!before || era_is_used(&windows->now, before) || era_is_used(&windows->closed, before) ||
	    !part_answered(before->collect))
		return;
	windows->before = NULL;
	era_free(before);
	malloc_trim(0); /* it was many small pieces: they are not to stay for the next hour */
}

/* Why an era has to end, or NULL. It ends while there is room for what may come until the next look. */
static const char *era_is_over(const struct windows *windows, uint64_t now)
{
	struct part_load load;
	struct rlimit limit;
	uint64_t files = ERA_FILES, spare;

	if (windows->before || now < windows->era_at)
		return NULL;
	part_load(windows->era->collect, &load);
	spare = 4 * load.rate > load.max_stacks / 8 ? 4 * load.rate : load.max_stacks / 8;
	spare = spare < load.max_stacks / 2 ? spare : load.max_stacks / 2;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 4 < files)
		files = limit.rlim_cur / 4;
	return load.stacks + spare >= load.max_stacks                    ? "many stacks"
	       : load.bytes >= windows->options.era_bytes                ? "much memory"
	       : load.files >= files                                     ? "many files"
	       : now - windows->era->begun_ns >= windows->options.era_ns ? "long ago"
									 : NULL;
}

/* Another recording takes over. What the last one still has becomes part of the window. */
static int turn(struct windows *windows, const char *why)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct era *next = NULL, *before = windows->era;
	int err = era_open(windows, before, &next);

	if (err) { /* the old one goes on, as long as it can */
		say(windows, "a new era could not begin: %s", fail_text());
		windows->era_at = now + PAUSE;
		return 0;
	}
	windows->before = before;
	windows->era = next;
	next->begun_ns = now;
	err = collect_follow(next->collect, before->collect);
	err = err ? err : part_settle(before->collect, clock_ns(CLOCK_MONOTONIC) + STOP_WAITS);
	err = err ? err : cut(windows, before);
	say(windows, "a new era begins after %llu s: %s", (unsigned long long)((now - before->begun_ns) / NS_PER_SEC),
	    why);
	return err;
}

/* ---- going on ---- */

static int cut_if_due(struct windows *windows, uint64_t now)
{
	const char *why;
	int err;

	if (now < windows->second_at)
		return 0;
	err = cut(windows, windows->era);
	why = err ? NULL : era_is_over(windows, now);
	err = err || !why ? err : turn(windows, why);
	if (!err && windows->now.to_ns >= windows->window_at)
		err = close_window(windows);
	windows->second_at = second_end(windows, windows->now.len ? windows->now.to_ns : windows->now.from_ns);
	return err;
}

static bool named(const struct windows *windows)
{
	return part_named(windows->era->collect) && (!windows->before || part_named(windows->before->collect));
}

/* A recording that failed: what it has counted is sealed, and another one begins. */
static int begin_again(struct windows *windows, int err)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	windows->failed = now - windows->failed_ns < PAUSE ? windows->failed + 1 : 1;
	windows->failed_ns = now;
	if (windows->failed > AGAIN_MAX)
		return err;
	say(windows, "recording begins again: %s", fail_text());
	windows->now.to_ns = now;
	err = close_window(windows);
	err = err ? err : seal(windows);
	if (err)
		return err;
	span_clear(&windows->now);
	era_free(windows->before);
	era_free(windows->era);
	windows->before = windows->era = NULL;
	err = era_open(windows, NULL, &windows->era);
	return err ? err : begin(windows);
}

static int hand_out(struct windows *windows, uint64_t now)
{
	int err =
		windows->before && part_named(windows->before->collect) ? part_name(windows->before->collect, true) : 0;
	bool all = named(windows);

	if (!err && windows->tell_by && (all || now >= windows->tell_by))
		err = tell(windows);
	if (!err && windows->seal_by && (all || now >= windows->seal_by))
		err = seal(windows);
	err = err ? err : tell_late(windows, windows->era);
	err = err ? err : tell_late(windows, windows->before);
	era_release(windows);
	return err;
}

int windows_poll(struct windows *windows, int timeout_ms)
{
	int err = collect_poll(windows->era->collect, timeout_ms);

	if (err == -EINTR)
		return err;
	err = err ? err : cut_if_due(windows, clock_ns(CLOCK_MONOTONIC));
	if (err)
		return begin_again(windows, err);
	return hand_out(windows, clock_ns(CLOCK_MONOTONIC));
}

static int ms_until(uint64_t due, uint64_t now, int most)
{
	uint64_t left = due > now ? (due - now) / NS_PER_MS + 1 : 0;

	return left < (uint64_t)most ? (int)left : most;
}

int windows_timeout(const struct windows *windows)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int timeout = ms_until(windows->second_at, now, collect_timeout(windows->era->collect));

	if (windows->tell_by)
		timeout = ms_until(windows->tell_by, now, timeout);
	return windows->seal_by ? ms_until(windows->seal_by, now, timeout) : timeout;
}

int windows_stop(struct windows *windows)
{
	uint64_t until;
	int err;

	collect_end(windows->era->collect);
	until = clock_ns(CLOCK_MONOTONIC) + STOP_WAITS;
	err = part_settle(windows->era->collect, until);
	err = err ? err : cut(windows, windows->era);
	err = err ? err : part_wait(windows->era->collect, until + STOP_WAITS);
	if (!err)
		err = close_window(windows);
	err = err ? err : seal(windows);
	return err;
}
