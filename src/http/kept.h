/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `wick serve` answers from: a store that another process writes to, opened read only, and the seconds that are
 * not in it yet. Seconds, health and events come in by the server's own thread; everything may be asked by others.
 */
#ifndef WICK_HTTP_KEPT_H
#define WICK_HTTP_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/live.h"
#include "http/source.h"

struct kept;
struct stream;

/* How whoever samples does. The numbers for Prometheus are lines, and how many of them are series. */
struct kept_status {
	bool sampling;
	struct live_health health;
	uint32_t series;
};

struct kept_sealed {
	uint64_t from_ns, to_ns, samples;
	char gap[32]; /* why it was not written; "": it was */
};

int kept_new(struct kept **ret, const char *folder, const struct live_options *live);
void kept_free(struct kept *kept);

/* Each is published to whoever listens. The profile belongs to it from then on, whatever is returned. */
int kept_second(struct kept *kept, struct profile *second, struct stream *stream);
int kept_seal(struct kept *kept, const struct kept_sealed *sealed, struct stream *stream);
int kept_set_status(struct kept *kept, const struct kept_status *status, const char *metrics, size_t len,
		    struct stream *stream);

/* Good for as long as it is. */
struct http_source kept_source(struct kept *kept);

#endif
