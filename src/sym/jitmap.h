/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a runtime made: a perf map (/tmp/perf-PID.map) or a jitdump file. Written by the target, read in
 * the worker, bounded. Later entries override earlier ones where they overlap.
 */
#ifndef WICK_SYM_JITMAP_H
#define WICK_SYM_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitmap;

/* Reads the file, whichever of the two it is. -EFBIG beyond the bounds, -EBADMSG if it is neither. */
int jitmap_open(struct jitmap **ret, int fd);
int jitmap_from_memory(struct jitmap **ret, const void *data, size_t len);
void jitmap_free(struct jitmap *map);

/* The name at an address; false if there is none. */
bool jitmap_find(const struct jitmap *map, uint64_t address, const char **ret_name, size_t *ret_len,
		 uint64_t *ret_start);
size_t jitmap_memory(const struct jitmap *map);

#endif
