/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history to store: windows of ten seconds whose content follows from their number, so that a test can say what must
 * come out. Window n has, of process `alpha`, HISTORY_BASE + n samples in main;work and 3 in main;idle, and of process
 * `beta`, in container `box`, 7 in main;work;deep; each sample of alpha;main;work is an event too, evenly spread.
 */
#ifndef WICK_TESTS_HISTORY_H
#define WICK_TESTS_HISTORY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out/out.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "store/store.h"

#define HISTORY_SEC 1000000000ULL
#define HISTORY_STEP (10 * HISTORY_SEC)
#define HISTORY_WALL (1700000000ULL / 3600 * 3600 * HISTORY_SEC) /* an hour begins */
#define HISTORY_BASE 10
#define HISTORY_BOOT "11111111-2222-3333-4444-555555555555"

/* In memory where that can be: thousands of windows, each synced to a disk, take long. */
static inline char *history_folder(void)
{
	char *folder = strdup(access("/dev/shm", W_OK) ? "/tmp/wick-store-XXXXXX" : "/dev/shm/wick-store-XXXXXX");

	return folder && mkdtemp(folder) ? folder : NULL;
}

static inline void history_remove(char *folder)
{
	static const char *const names[] = { "wick.db", "wick.db-wal", "wick.db-shm", "lock" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	free(folder);
}

static inline uint32_t history_frame(struct profile *profile, uint32_t file, uint64_t address, const char *name)
{
	const struct profile_frame frame = { .kind = FRAME_USER,
					     .file = file,
					     .address = address,
					     .name = *name ? profile_string(profile, name) : PROFILE_NONE };

	return profile_add_frame(profile, &frame);
}

static inline uint32_t history_process(struct profile *profile, uint32_t pid, const char *comm)
{
	uint32_t number = profile_add_process(profile, pid, pid * 1000);
	struct profile_process *process = profile_process(profile, number);

	process->comm = profile_string(profile, comm);
	return number;
}

static inline uint32_t history_sample(struct profile *profile, uint32_t process, uint32_t stack, uint32_t labels,
				      uint64_t value)
{
	const struct profile_sample sample = { .value = value,
					       .stack = stack,
					       .process = process,
					       .comm = profile_process(profile, process)->comm,
					       .labels = labels };

	return profile_add_sample(profile, &sample);
}

static inline void history_meta(struct profile *profile, unsigned int n)
{
	struct profile_meta *meta = profile_meta(profile);

	meta->hz = 49;
	meta->wall_ns = HISTORY_WALL + n * HISTORY_STEP;
	meta->start_us = 5000000 + (uint64_t)n * 10000000;
	meta->duration_ns = HISTORY_STEP;
	meta->cpus = 2;
	meta->unit = profile_string(profile, "samples");
	meta->host = profile_string(profile, "here");
}

/* All that there is to do; 0, or what went wrong: -ELOOP if it does not end. */
static inline int history_tend(struct store *store)
{
	int steps = 0, done;

	while ((done = store_tend(store)) > 0)
		if (++steps == 100000)
			return -ELOOP;
	return done;
}

static inline uint64_t history_total(unsigned int n)
{
	return HISTORY_BASE + n + 3 + 7;
}

/* `names`: whether its frames have names. */
static inline struct profile *history_window(unsigned int n, int names)
{
	struct profile *profile;
	struct profile_file file = { .device = 8, .inode = 42, .size = 100 };
	uint32_t alpha, beta, main_node, work, idle, deep, box, sample, binary;

	if (profile_new(&profile))
		return NULL;
	history_meta(profile, n);
	file.path = profile_string(profile, "/usr/bin/prog");
	file.build_id = profile_bytes(profile, "\x01\x00\x02", 3);
	alpha = history_process(profile, 100, "alpha");
	beta = history_process(profile, 200, "beta");
	profile_process(profile, beta)->parent = alpha;
	box = profile_add_label(profile, PROFILE_NONE, profile_string(profile, "container"),
				profile_string(profile, "box"));
	binary = profile_add_file(profile, &file);
	main_node = profile_add_node(profile, PROFILE_NONE, history_frame(profile, binary, 0x10, names ? "main" : ""));
	work = profile_add_node(profile, main_node, history_frame(profile, binary, 0x20, names ? "work" : ""));
	idle = profile_add_node(profile, main_node, history_frame(profile, binary, 0x30, names ? "idle" : ""));
	deep = profile_add_node(profile, work, history_frame(profile, binary, 0x40, names ? "deep" : ""));
	sample = history_sample(profile, alpha, work, PROFILE_NONE, HISTORY_BASE + n);
	history_sample(profile, alpha, idle, PROFILE_NONE, 3);
	history_sample(profile, beta, deep, box, 7);
	for (unsigned int i = 0; i < HISTORY_BASE + n; i++) {
		const struct profile_event event = { .time_us = i * 10000000ULL / (HISTORY_BASE + n),
						     .sample = sample,
						     .cpu = i & 1 };

		profile_add_event(profile, &event);
	}
	profile_add_counter(profile, "total", "counted", history_total(n));
	profile_add_counter(profile, "lost", "ring", 2);
	return profile;
}

/* A filter with up to two terms, the second one's text may be NULL. */
static inline struct filter *history_filter(enum filter_key key, const char *text, enum filter_key more,
					    const char *more_text)
{
	const struct filter_options options = { .terms_len = more_text ? 2 : 1,
						.terms = { { key, false, true, "container", text },
							   { more, false, true, "container", more_text } } };
	struct filter *filter = NULL;

	return filter_new(&filter, &options, &out_texts) ? NULL : filter;
}

static inline struct filter *history_function(const char *name)
{
	return history_filter(FILTER_FOCUS, name, FILTER_FOCUS, NULL);
}

static inline int history_seal(struct store *store, unsigned int n)
{
	struct profile *profile = history_window(n, 1);
	int err = profile ? store_seal(store, profile, HISTORY_BOOT, NULL) : -1;

	profile_free(profile);
	return err;
}

static inline uint64_t history_sum(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

/* Samples in windows [first, end); UINT64_MAX if the store cannot say. */
static inline uint64_t history_ask(struct store *store, unsigned int first, unsigned int end)
{
	const struct store_range range = { HISTORY_WALL + first * HISTORY_STEP, HISTORY_WALL + end * HISTORY_STEP };
	struct profile *profile;
	uint64_t sum;

	if (store_query(store, &range, NULL, &profile, NULL))
		return UINT64_MAX;
	sum = history_sum(profile);
	profile_free(profile);
	return sum;
}

static inline uint64_t history_expect(unsigned int first, unsigned int end)
{
	uint64_t sum = 0;

	for (unsigned int n = first; n < end; n++)
		sum += history_total(n);
	return sum;
}

#endif
