/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps, line by line. The kernel writes it, but the paths in it are the target's. */
#ifndef WICK_PROC_MAPS_H
#define WICK_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct maps_line {
	uint64_t start, end, offset;
	uint64_t device; /* as the kernel numbers it inside: major << 20 | minor */
	uint64_t inode;
	bool executable;
	const char *path; /* not ended by NUL: path_len bytes; "" where nothing is mapped from a file */
	size_t path_len;
};

/* The text of a process's maps, 0 for our own. */
int maps_read(uint32_t pid, struct buf *ret);

/* The next line of such a text: start with *at = 0. False at the end; a line that cannot be right is passed over. */
bool maps_next(const char *text, size_t len, size_t *at, struct maps_line *ret);

#endif
