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

struct fetch;
struct profile;
struct sampler;
struct worker;
struct namer;

struct namer_options {
	struct profile *profile;
	struct worker *worker;
	enum symbols_demangle demangle;
	bool inlines, lines;
	struct fetch *fetch; /* NULL: no server is asked */
};

int namer_new(struct namer **ret, const struct namer_options *options);
void namer_free(struct namer *namer);

/* Where the kernel can be asked for names; without, they are read from its list. */
void namer_ask_kernel(struct namer *namer, struct sampler *sampler);

/* A file of the profile, just met in process `pid`. Takes the descriptor; negative: it could not be opened. */
void namer_file(struct namer *namer, uint32_t file, uint32_t pid, int fd);

/* A process of the profile in whose anonymous code a frame lies: its perf map is opened while it can be found. */
void namer_jit(struct namer *namer, uint32_t process);

/* Looks again for the maps that were not there: a runtime may write its own late. */
void namer_jit_again(struct namer *namer);

/* Names every frame that has none yet. Waits for the worker. Numbers of stacks and samples may change by it. */
int namer_run(struct namer *namer);

#endif
