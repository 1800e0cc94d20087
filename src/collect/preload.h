/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of what runs now, before it is sampled: the files of the processes that are busy, busiest first. It
 * saves early samples and is only a guess: it has a budget, and takes its turn when nothing else waits.
 */
#ifndef WICK_COLLECT_PRELOAD_H
#define WICK_COLLECT_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct helpers;
struct preload;
struct sampler;
struct tables;

struct preload_options {
	struct sampler *sampler;
	struct tables *tables;
	struct helpers *helpers;
	const uint32_t *pids; /* only these, if any */
	size_t pids_len;
	bool (*is_own)(void *arg, uint32_t pid); /* processes of wick itself are left out */
	void *arg;
};

int preload_new(struct preload **ret, const struct preload_options *options);
void preload_free(struct preload *preload); /* after the tables: they use its descriptors */

/* Asks for the next table. False when there is no more to do: until then a helper may be looking for it. */
bool preload_next(struct preload *preload);

/* How many it has asked for. Of NULL: none. */
size_t preload_count(const struct preload *preload);

/* Where a file that it has asked for was mapped from; NULL if it has not. */
const char *preload_path(const struct preload *preload, uint64_t id);

#endif
