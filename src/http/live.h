/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is happening now, as events for those that watch: a dictionary of frames, of who runs and of stacks, that only
 * grows, and for each second the counts in its numbers. So every name is sent once. The last quarter of an hour is kept
 * for those that come later. docs/api.md has the events.
 *
 * When the dictionary has grown too large it begins anew with what is still kept: another era, told to everybody.
 */
#ifndef WICK_HTTP_LIVE_H
#define WICK_HTTP_LIVE_H

#include <stddef.h>
#include <stdint.h>

#define LIVE_SINGLE 60                /* seconds that are kept one by one */
#define LIVE_TENS 84                  /* before these, tens of seconds */
#define LIVE_GREETING_BYTES (3 << 20) /* of everything, for one that comes */
#define LIVE_ERA_BYTES (3 << 19)      /* of a dictionary */
#define LIVE_NOTE_MAX 160

struct buf;
struct live;
struct profile;

struct live_options {
	const char *host;
	uint64_t hz, cpus, window_ms;
	size_t era_bytes; /* 0: LIVE_ERA_BYTES */
};

/* How wick itself does. */
struct live_health {
	uint64_t lost, missed;             /* samples and ticks, since the server began */
	double whole_percent, cpu_percent; /* of user stacks; of one CPU: both of the last window */
	uint64_t rss_bytes, store_bytes;   /* of all processes of wick */
	uint64_t first_ns;                 /* the oldest that is kept; 0: nothing is */
	char note[LIVE_NOTE_MAX];          /* what goes less well than it should, or "" */
};

int live_new(struct live **ret, const struct live_options *options);
void live_free(struct live *live);

/*
 * Takes what was counted in a second. Appends an event's data, and says its name: "second", or "all" if an era begins.
 * 0 or -ENOMEM; after that an era has to begin, and does with the next one.
 */
int live_add(struct live *live, const struct profile *second, struct buf *out, const char **ret_event);
/* Appends everything that is kept: the event "all". */
int live_all(struct live *live, uint64_t now_ns, struct buf *out);
/* The other events' data. `gap` NULL: there is none. */
int live_set_health(struct live *live, const struct live_health *health, struct buf *out);
int live_sealed(uint64_t from_ns, uint64_t to_ns, uint64_t samples, const char *gap, struct buf *out);

#endif
