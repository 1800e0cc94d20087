/* SPDX-License-Identifier: Apache-2.0 */
/* The files of targets: opened where they are mapped, known to be the right ones, never by following a target. */
#ifndef WICK_COLLECT_FILES_H
#define WICK_COLLECT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler;
struct symbols_debug;
struct wire_file;

/* Opens the file that was found, or -errno when no way leads to it any more. */
int files_open(struct sampler *sampler, const struct wire_file *found, const char *path);

/* The id that frames in this file carry. */
int files_id(struct sampler *sampler, int fd, uint64_t *ret);

/* Opens the program of a process, if it is the file of this id. */
int files_open_program(struct sampler *sampler, uint32_t pid, uint64_t id);

/* A split debug file of the file at `path`, looked for in our root and in that of process `pid`. */
int files_open_debug(uint32_t pid, const char *path, const struct symbols_debug *debug);

/* The file that dwz moved common parts of debug information to: known by its build id, or below /usr/lib/debug. */
int files_open_alt(uint32_t pid, const struct symbols_debug *debug);

/* Lets this process have as many descriptors as it may. False if it already does. */
bool files_raise_limit(void);

/* Opens a path for reading if it is a regular file, touching nothing else. */
int files_open_regular(const char *path, int flags);
int files_reopen(int handle); /* the same for an O_PATH descriptor */

/* The same for a path below a root that it cannot leave; O_NOFOLLOW in `flags` is for its last part. */
int files_open_below(int root, const char *path, int flags);

#endif
