/* SPDX-License-Identifier: Apache-2.0 */
/* The --stats JSON: the accounting of one recording, for machines. Its schema is in docs/stats.md. */
#ifndef WICK_OUT_STATS_H
#define WICK_OUT_STATS_H

struct buf;
struct profile;

int stats_write(const struct profile *profile, struct buf *out);

#endif
