/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out runs of numbers from 0 to a limit, and takes them back. {0} with a size set is all free. */
#ifndef WICK_BASE_EXTENT_H
#define WICK_BASE_EXTENT_H

#include <stddef.h>
#include <stdint.h>

struct extent_run {
	uint32_t start, len;
};

struct extents {
	uint32_t size;
	uint32_t top;            /* numbers from here on were never handed out */
	struct extent_run *free; /* below it, sorted, none touching another */
	size_t len, cap;
};

/* The start of a run of so many; -ENOSPC if there is none, -ENOMEM. */
int64_t extent_take(struct extents *extents, uint32_t len);
int extent_give(struct extents *extents, uint32_t start, uint32_t len);
void extent_clear(struct extents *extents);

#endif
