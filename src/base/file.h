/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small files whole and writing files so that nobody ever sees half of one. */
#ifndef WICK_BASE_FILE_H
#define WICK_BASE_FILE_H

#include <stddef.h>

struct buf;

/* Appends the file's bytes, at most `limit` (-EFBIG beyond it). Sets no fail(): the caller knows what it is for. */
int file_read(const char *path, size_t limit, struct buf *ret);
int file_read_fd(int fd, size_t limit, struct buf *ret);

/* Writes everything or returns -errno. */
int file_write_all(int fd, const void *data, size_t len);

/*
 * An output: a path, or "-" for standard output. For a path the bytes go to a temporary file in its folder, without
 * a name where the file system can do that, that takes its name at output_commit; a path that is not a regular file (a
 * device, a FIFO) is written to directly. Opening fails early, before any work is done, when the place cannot be
 * written, or when others could make it mean something else: base/outpath.h has the rules.
 */
struct output;

int output_open(struct output **ret, const char *path);
int output_write(struct output *output, const void *data, size_t len);
int output_commit(struct output *output); /* flush, check, rename */
/* Takes away what is half-written, and nothing more: safe in a signal handler. */
void output_abandon(const struct output *output);
void output_free(struct output *output); /* without commit: leaves nothing behind */

#endif
