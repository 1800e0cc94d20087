/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes windows to the store in a thread of its own, so that a slow disk, or a full one, never holds up sampling; and
 * between them what the store wants to have done. What became of each window is told in order.
 */
#ifndef WICK_CMD_SERVE_KEEP_H
#define WICK_CMD_SERVE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "http/kept.h"

#define KEEP_WORDS_MAX 256

struct keep;
struct profile;
struct store_options;

/* What became of a window. */
struct keep_result {
	struct kept_sealed sealed;  /* its gap says why it was not written */
	char words[KEEP_WORDS_MAX]; /* the same at length */
	uint64_t store_bytes, first_ns;
	unsigned waiting; /* windows that are not written yet */
};

/* Opens the store, which it locks; `nice`: how urgent writing to it is. -errno with fail() set. */
int keep_open(struct keep **ret, const struct store_options *options, int nice);
int keep_start(struct keep *keep);
/* How large the store is and when it begins; for whoever has it to himself, so before it starts. */
void keep_size(struct keep *keep, uint64_t *ret_bytes, uint64_t *ret_first_ns);

/* Both never wait. The window belongs to it from then on; of the names it makes a copy. */
void keep_put(struct keep *keep, struct profile *window);
int keep_names(struct keep *keep, const struct profile *named);
/* The next of them; false if there is none. */
bool keep_take(struct keep *keep, struct keep_result *ret);

/* Writes what is there, and ends. False if the disk does not answer within the time: then it may not be freed. */
bool keep_stop(struct keep *keep, uint64_t patience_ms);
void keep_free(struct keep *keep);

#endif
