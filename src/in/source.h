/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file as they come: from a descriptor or from memory, unpacked on the way if they are packed. Lines are
 * handed out from a window, so a file of any size takes the same memory; or all of it is asked for at once.
 */
#ifndef WICK_IN_SOURCE_H
#define WICK_IN_SOURCE_H

#include <stddef.h>

#include "base/span.h"

struct source;

int source_open_fd(struct source **ret, int fd);
int source_open_bytes(struct source **ret, const void *data, size_t len);
void source_free(struct source *source);

/* How it is packed ("gzip"), or NULL. */
const char *source_packed(const struct source *source);

/* What comes next, without taking it: as much as is asked for, less only at the end. A failure to read shows later. */
struct span source_peek(struct source *source, size_t want);

/* Why no more can be read than was peeked at; 0 if nothing is known against it. */
int source_error(const struct source *source);

/* The next line, good until the next call: 1, 0 at the end, or -errno with fail() set. */
int source_line(struct source *source, struct span *ret);
/* The number of the line that was taken last, from 1. */
size_t source_line_number(const struct source *source);
/*
 * As many whole lines as are at hand, one at least: for who looks at several side by side, and counts those before.
 * They may be longer than those of source_line.
 */
int source_lines(struct source *source, size_t before, struct span *ret);
/*
 * For who may have to begin again: what cannot be sought is read into memory. Before anything is taken; then
 * source_again goes back to the beginning.
 */
int source_keep(struct source *source);
int source_again(struct source *source);
/* What share of the file was taken, from 0 to 1; 0 if that is not known. */
double source_share(const struct source *source);

/* Everything that is left, good until source_free; text has lines. After an error *ret is what could be read. */
int source_all(struct source *source, bool text, struct span *ret);

#endif
