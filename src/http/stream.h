/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events: what is published goes to everybody who listens. Whoever publishes never waits: each client has a
 * queue within bounds, and one whose queue is full is dropped; a browser then connects again and is greeted anew.
 * Publishing and reading may happen in different threads.
 */
#ifndef WICK_HTTP_STREAM_H
#define WICK_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STREAM_TYPE "text/event-stream"

struct stream;
struct stream_client;

struct stream_options {
	unsigned clients;            /* at most */
	unsigned queue;              /* messages that a client may be behind */
	size_t queue_bytes;          /* and bytes; a message larger than that drops everybody */
	void (*wake)(void *context); /* after something was published, from the thread that did */
	void *context;
};

int stream_new(struct stream **ret, const struct stream_options *options);
void stream_free(struct stream *stream); /* after all clients have left */

/* -EUSERS with fail() set when there are as many as may be. */
int stream_join(struct stream *stream, struct stream_client **ret);
void stream_leave(struct stream_client *client);

/*
 * To all, as one event; `event` NULL: a comment, which only keeps connections alive. Each event has a number, its id:
 * 0, or -ENOMEM, in which case nobody gets it.
 */
int stream_publish(struct stream *stream, const char *event, const char *data, size_t len);
/*
 * To one, before all that is queued for it, which was published since it joined. Its id is that of the last event
 * before it joined.
 */
int stream_greet(struct stream_client *client, const char *event, const char *data, size_t len);

/* Copies what there is: bytes, 0 for nothing yet, -EPIPE if it was dropped or everything is over. */
ssize_t stream_read(struct stream_client *client, char *out, size_t max);
/* Whether stream_read would say anything but 0. */
bool stream_ready(const struct stream_client *client);
bool stream_dropped(const struct stream_client *client);

/* Everything is over: who listens gets what is queued, then the end. */
void stream_end(struct stream *stream);

struct stream_stats {
	unsigned clients;
	uint64_t published, dropped;
};
struct stream_stats stream_stats(struct stream *stream);

#endif
