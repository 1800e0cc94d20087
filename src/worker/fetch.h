/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from debuginfod servers, for those who ask for it. A process without privileges speaks to the network
 * and hands back open files; what is in them is for the worker to judge. Everything has a limit: the time for one file
 * and for all of them, and the size of each.
 */
#ifndef WICK_WORKER_FETCH_H
#define WICK_WORKER_FETCH_H

#include <stddef.h>
#include <stdint.h>

struct fetch;

/* Starts the process. -EINVAL with fail() set if no server is named, -ENOTSUP if the library is not there. */
int fetch_start(struct fetch **ret);
/* Ends it, and takes away what it left. */
void fetch_free(struct fetch *fetch);

/* Waits for the debug file of a build id. A descriptor, or -errno: -ENOENT if no server knows it. */
int fetch_debug(struct fetch *fetch, const unsigned char *id, size_t len);

/* How many could not be had, for another reason than that nobody knows them. */
uint64_t fetch_failed(const struct fetch *fetch);

#endif
