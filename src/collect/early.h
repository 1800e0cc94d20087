/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that came before the table of their file: kept until it is there, then unwound and counted. */
#ifndef WICK_COLLECT_EARLY_H
#define WICK_COLLECT_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct early;
struct ingest;
struct tables;

/* `sums` are the counters of the recording: what is counted here is added to them. */
int early_new(struct early **ret, struct ingest *ingest, struct tables *tables, bool events, uint64_t *sums);
void early_free(struct early *early);

/* A record of the ring. */
int early_take(struct early *early, const void *data, size_t len);

/* Counts those that can be; with `last` all of them. */
int early_run(struct early *early, bool last);

#endif
