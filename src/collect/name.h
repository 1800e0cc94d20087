/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives names to the frames of a profile. The privileged side opens files and keeps them open, from the moment they
 * are met, so that what is deleted or replaced later is still named by what was mapped; the worker reads them.
 */
#ifndef WICK_COLLECT_NAME_H
#define WICK_COLLECT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/symbols.h"

struct profile;
struct worker;
struct namer;

struct namer_options {
	struct profile *profile;
	enum symbols_demangle demangle;
	bool inlines, lines;
};

/* Starts the worker. Early: it inherits little then. */
int namer_new(struct namer **ret, const struct namer_options *options);
void namer_free(struct namer *namer);

/* A file of the profile, just met in process `pid`. Takes the descriptor; negative: it could not be opened. */
void namer_file(struct namer *namer, uint32_t file, uint32_t pid, int fd);

/* A process of the profile in whose anonymous code a frame lies: its perf map is opened while it can be found. */
void namer_jit(struct namer *namer, uint32_t process);

/* Lets the worker go on; never waits. */
int namer_pump(struct namer *namer);

/* Names every frame that has none yet. Waits for the worker. */
int namer_run(struct namer *namer);

/* For accounting: what the worker used. Ends it. */
struct namer_cost {
	uint64_t cpu_us, max_rss;
	unsigned int deaths;
};
void namer_finish(struct namer *namer, struct namer_cost *ret);

uint32_t namer_worker_pid(const struct namer *namer);
int namer_poll_fd(const struct namer *namer);

#endif
