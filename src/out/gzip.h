/* SPDX-License-Identifier: Apache-2.0 */
/* Packs bytes with gzip. */
#ifndef WICK_OUT_GZIP_H
#define WICK_OUT_GZIP_H

struct buf;

enum { GZIP_FAST = 1, GZIP_SMALL = 6 };

int gzip_add(struct buf *out, const struct buf *raw, int level);

#endif
