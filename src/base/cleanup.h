/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound release of the few things that leave a function by many doors. */
#ifndef WICK_BASE_CLEANUP_H
#define WICK_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_memory(void *slot)
{
	free(*(void **)slot);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define autofree __attribute__((cleanup(cleanup_memory)))
#define autoclose __attribute__((cleanup(cleanup_fd)))
#define autofclose __attribute__((cleanup(cleanup_file)))

#endif
