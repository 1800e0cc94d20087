/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that came before the table of their file: kept until it is there, then unwound and counted. */
#ifndef WICK_COLLECT_EARLY_H
#define WICK_COLLECT_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct early;
struct ingest;
struct sampler;
struct tables;

struct early_options {
	struct ingest *ingest;
	struct sampler *sampler;
	struct tables *tables;
	bool events;    /* keep times */
	uint64_t *sums; /* the counters of the recording: what is counted here is added to them */
};

int early_new(struct early **ret, const struct early_options *options);
void early_free(struct early *early);

/* A record of the ring. */
int early_take(struct early *early, const void *data, size_t len);

/* Counts those that can be; with `last` all of them. */
int early_run(struct early *early, bool last);

/* How many have been counted, or lost, since the beginning; and whether others wait. */
uint64_t early_done(const struct early *early);
bool early_waits(const struct early *early);

#endif
