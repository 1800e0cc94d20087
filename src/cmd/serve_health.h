/* SPDX-License-Identifier: Apache-2.0 */
/* How a server does: sums over all its windows, and what its processes use; for people, and for Prometheus. */
#ifndef WICK_CMD_SERVE_HEALTH_H
#define WICK_CMD_SERVE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/serve_link.h"
#include "http/kept.h"

struct buf;
struct health;
struct keep_result;
struct profile;

int health_new(struct health **ret, uint64_t hz, uint64_t cpus);
void health_free(struct health *health);

/* A window is complete; what became of it. */
int health_window(struct health *health, const struct profile *window);
/* What the store had when it was opened. */
void health_store(struct health *health, uint64_t bytes, uint64_t first_ns);
/* Returns whether things are other than before: a line is due. */
bool health_result(struct health *health, const struct keep_result *result);
uint64_t health_not_stored(const struct health *health); /* windows, since the last one that was */

/* The share of one CPU that processes take, looked at now and then. {0} has not been looked at. */
struct health_share {
	uint64_t seen_ns; /* monotonic */
	double seen_cpu_s, percent;
};

/* The first look only begins: what starting took is no share of anything. One that comes too soon changes nothing. */
void health_look(struct health_share *share, uint64_t now_ns, double cpu_s);

/* What the other process is told. */
int health_status(struct health *health, const struct link_stats *link, struct kept_status *ret, struct buf *metrics);

#endif
