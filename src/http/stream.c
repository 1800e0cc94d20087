/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events to many clients. A message is made once and shared by count; a client's queue is a ring of pointers to them.
 * One lock guards all of it and is held only for moving pointers and copying to one client, never while waiting: so
 * that however many listen, and however slowly, publishing takes a few microseconds.
 */
#include "http/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/span.h"

struct message {
	unsigned users;
	size_t len;
	char data[];
};

struct stream_client {
	struct stream *stream;
	struct stream_client *next;
	struct message *greeting; /* goes before the queue */
	struct message **ring;
	unsigned first, count;
	size_t bytes;  /* in the queue */
	size_t at;     /* of the message being read */
	uint64_t base; /* the last event before it joined */
	bool dropped;
};

struct stream {
	struct stream_options options;
	pthread_mutex_t lock;
	struct stream_client *clients;
	struct stream_stats stats;
	uint64_t last; /* id */
	bool over;
};

int stream_new(struct stream **ret, const struct stream_options *options)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return fail(-ENOMEM, "event stream");
	stream->options = *options;
	pthread_mutex_init(&stream->lock, NULL);
	*ret = stream;
	return 0;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	while (stream->clients)
		stream_leave(stream->clients);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

static void release(struct message *message)
{
	if (message && !--message->users)
		free(message);
}

static void empty(struct stream_client *client)
{
	for (; client->count; client->count--) {
		release(client->ring[client->first]);
		client->first = (client->first + 1) % client->stream->options.queue;
	}
	release(client->greeting);
	client->greeting = NULL;
	client->bytes = client->at = 0;
}

int stream_join(struct stream *stream, struct stream_client **ret)
{
	struct stream_client *client = calloc(1, sizeof(*client));
	int err = 0;

	if (client)
		client->ring = calloc(stream->options.queue, sizeof(struct message *));
	if (!client || !client->ring) {
		free(client);
		return fail(-ENOMEM, "event stream");
	}
	pthread_mutex_lock(&stream->lock);
	if (stream->stats.clients == stream->options.clients || stream->over) {
		err = -EUSERS;
	} else {
		client->stream = stream;
		client->base = stream->last;
		client->next = stream->clients;
		stream->clients = client;
		stream->stats.clients++;
	}
	pthread_mutex_unlock(&stream->lock);
	if (err) {
		free(client->ring);
		free(client);
		return fail_plain(err, "as many are listening as may: %u", stream->options.clients);
	}
	*ret = client;
	return 0;
}

void stream_leave(struct stream_client *client)
{
	struct stream *stream;
	struct stream_client **at;

	if (!client)
		return;
	stream = client->stream;
	pthread_mutex_lock(&stream->lock);
	for (at = &stream->clients; *at != client; at = &(*at)->next)
		;
	*at = client->next;
	stream->stats.clients--;
	empty(client);
	pthread_mutex_unlock(&stream->lock);
	free(client->ring);
	free(client);
}

/* A line feed would end the field: each line of the data is a field of its own, as the format has it. */
static struct message *make(const char *event, uint64_t id, const char *data, size_t len)
{
	struct span rest = { data, len };
	autobuf struct buf text = { 0 };
	struct message *message;

	if (event)
		buf_addf(&text, "id: %llu\nevent: %s\n", (unsigned long long)id, event);
	do {
		struct span line = span_line(&rest);

		buf_adds(&text, event ? "data: " : ": ");
		for (size_t i = 0; i < line.len; i++) /* which ends a line too */
			buf_addc(&text, line.data[i] == '\r' ? ' ' : line.data[i]);
		buf_addc(&text, '\n');
	} while (rest.len);
	buf_addc(&text, '\n');
	message = buf_error(&text) ? NULL : malloc(sizeof(*message) + text.len);
	if (!message)
		return NULL;
	message->users = 1;
	message->len = text.len;
	memcpy(message->data, text.data, text.len);
	return message;
}

static void put(struct stream *stream, struct stream_client *client, struct message *message)
{
	if (client->dropped)
		return;
	if (client->count == stream->options.queue || client->bytes + message->len > stream->options.queue_bytes) {
		empty(client);
		client->dropped = true;
		stream->stats.dropped++;
		return;
	}
	client->ring[(client->first + client->count++) % stream->options.queue] = message;
	client->bytes += message->len;
	message->users++;
}

int stream_publish(struct stream *stream, const char *event, const char *data, size_t len)
{
	struct message *message;

	pthread_mutex_lock(&stream->lock);
	message = make(event, stream->last + 1, data, len);
	if (message) {
		stream->last += event != NULL;
		stream->stats.published += event != NULL;
		for (struct stream_client *client = stream->clients; client; client = client->next)
			put(stream, client, message);
		release(message);
	}
	pthread_mutex_unlock(&stream->lock);
	if (message && stream->options.wake)
		stream->options.wake(stream->options.context);
	return message ? 0 : -ENOMEM;
}

int stream_greet(struct stream_client *client, const char *event, const char *data, size_t len)
{
	struct message *message = make(event, client->base, data, len);

	if (!message)
		return -ENOMEM;
	pthread_mutex_lock(&client->stream->lock);
	release(client->greeting);
	client->greeting = message;
	pthread_mutex_unlock(&client->stream->lock);
	return 0;
}

/* What is to be read next; NULL: nothing. */
static struct message *current(const struct stream_client *client)
{
	if (client->greeting)
		return client->greeting;
	return client->count ? client->ring[client->first] : NULL;
}

static void advance(struct stream_client *client)
{
	if (client->greeting) {
		release(client->greeting);
		client->greeting = NULL;
	} else {
		client->bytes -= client->ring[client->first]->len;
		release(client->ring[client->first]);
		client->first = (client->first + 1) % client->stream->options.queue;
		client->count--;
	}
	client->at = 0;
}

ssize_t stream_read(struct stream_client *client, char *out, size_t max)
{
	struct stream *stream = client->stream;
	struct message *message;
	size_t done = 0;
	bool ended;

	pthread_mutex_lock(&stream->lock);
	while (done < max && (message = current(client))) {
		size_t part = message->len - client->at < max - done ? message->len - client->at : max - done;

		memcpy(out + done, message->data + client->at, part);
		client->at += part;
		done += part;
		if (client->at == message->len)
			advance(client);
	}
	ended = client->dropped || stream->over;
	pthread_mutex_unlock(&stream->lock);
	return done || !ended ? (ssize_t)done : -EPIPE;
}

bool stream_ready(const struct stream_client *client)
{
	bool ready;

	pthread_mutex_lock(&client->stream->lock);
	ready = client->dropped || client->stream->over || current(client);
	pthread_mutex_unlock(&client->stream->lock);
	return ready;
}

bool stream_dropped(const struct stream_client *client)
{
	bool dropped;

	pthread_mutex_lock(&client->stream->lock);
	dropped = client->dropped;
	pthread_mutex_unlock(&client->stream->lock);
	return dropped;
}

void stream_end(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->over = true;
	pthread_mutex_unlock(&stream->lock);
	if (stream->options.wake)
		stream->options.wake(stream->options.context);
}

struct stream_stats stream_stats(struct stream *stream)
{
	struct stream_stats stats;

	pthread_mutex_lock(&stream->lock);
	stats = stream->stats;
	pthread_mutex_unlock(&stream->lock);
	return stats;
}
