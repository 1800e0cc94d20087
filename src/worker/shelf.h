/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files that were asked for lately, within bounds: a worker that is asked again and again need not read the
 * same symbols each time. A file is known by what fstat says of it and of its debug files.
 */
#ifndef WICK_WORKER_SHELF_H
#define WICK_WORKER_SHELF_H

#include <stddef.h>

struct ask;
struct shelf;
struct symbols;

int shelf_new(struct shelf **ret);
void shelf_free(struct shelf *shelf);

/* Those of this file, if they are there; they stay where they are. NULL: none. */
struct symbols *shelf_find(struct shelf *shelf, const struct ask *ask, const int *fds, size_t fds_len);

/* Takes them, or frees them. Others that were not asked for the longest make room. */
void shelf_put(struct shelf *shelf, const struct ask *ask, const int *fds, size_t fds_len, struct symbols *symbols);

#endif
