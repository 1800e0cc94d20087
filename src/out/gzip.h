/* SPDX-License-Identifier: Apache-2.0 */
/* Packs bytes with gzip. */
#ifndef WICK_OUT_GZIP_H
#define WICK_OUT_GZIP_H

struct buf;
struct gzip;

enum { GZIP_FAST = 1, GZIP_SMALL = 6 };

int gzip_add(struct buf *out, const struct buf *raw, int level);

/* The same of bytes that come one after the other: what was given need not be kept. gzip_free is due in any case. */
int gzip_begin(struct gzip **ret, struct buf *out, int level);
int gzip_more(struct gzip *gzip, const struct buf *raw);
int gzip_end(struct gzip *gzip);
void gzip_free(struct gzip *gzip);

#endif
