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

struct expand;
struct fetch;
struct helpers;
struct origin;
struct pool;
struct profile;
struct sampler;
struct namer;

struct namer_options {
	struct profile *profile;
	struct pool *pool;
	struct helpers *helpers;
	enum symbols_demangle demangle;
	bool inlines, lines;
	bool again;          /* names are asked for more than once: what helps the next time is kept */
	struct fetch *fetch; /* NULL: no server is asked */
};

int namer_new(struct namer **ret, const struct namer_options *options);
void namer_free(struct namer *namer);

/* When the kernel side is there: it can be asked for names, and helpers for files. */
void namer_ask_kernel(struct namer *namer, struct sampler *sampler);

/* A file of the profile, just met. Takes the descriptor. */
void namer_file(struct namer *namer, uint32_t file, const struct origin *origin, int fd);
void namer_no_file(struct namer *namer, uint32_t file, const char *reason); /* it could not be opened */

/* A process of the profile in whose anonymous code a frame lies: its perf map is opened while it can be found. */
void namer_jit(struct namer *namer, uint32_t process);

/* Looks again for the maps that were not there: a runtime may write its own late. Not more often than is of use. */
void namer_jit_again(struct namer *namer);

/*
 * Names those frames that were added since the last time, and those that could not be named then but may be now. The
 * kernel's have theirs when it returns; for the others the worker is asked, and each is named when it has answered.
 * What it could not name is not asked for again, but for code whose map has grown. What takes long is asked for
 * rarely, unless all are wanted now.
 */
int namer_ask(struct namer *namer, bool all);
bool namer_waits(const struct namer *namer); /* for an answer */

/* What frames turn out to be several, by what is known now. */
const struct expand *namer_inlines(const struct namer *namer);

/*
 * Frames that have no name yet but may get one are marked; of those that were marked, the ones that have got it, until
 * they are forgotten.
 */
int namer_mark_late(struct namer *namer);
const uint32_t *namer_late(const struct namer *namer, size_t *ret_len);
void namer_forget_late(struct namer *namer);

/* How many files are open for it. */
size_t namer_open_files(const struct namer *namer);

/*
 * When all is named that can be: frames that are several become that. Numbers of stacks and samples may change by it.
 */
int namer_finish(struct namer *namer);

#endif
