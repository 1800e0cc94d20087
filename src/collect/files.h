/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of targets: opened where they are mapped, known to be the right ones, never by following a target. All of
 * it runs in a helper (collect/helpers.h), because whoever owns a file system, or a process, can make each of its
 * system calls wait for ever.
 */
#ifndef WICK_COLLECT_FILES_H
#define WICK_COLLECT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Serves one struct opening; see worker_serve. The descriptors are those of look_run. */
void files_serve(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply,
		 int *ret_fd);

/* Lets this process have as many descriptors as it may. False if it already does. */
bool files_raise_limit(void);

/* Whether a file system answers by itself, without anybody else's process or network, by its magic number. */
bool files_is_local(uint32_t magic);

#endif
