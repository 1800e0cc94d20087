/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the process that samples and the one that listens: a pair of sockets, and messages of a length, a kind and
 * bytes. Both ends are the same program, so structs go as they are. Whoever samples never waits for the other: what
 * does not fit into the queue is dropped, and counted.
 */
#ifndef WICK_CMD_SERVE_LINK_H
#define WICK_CMD_SERVE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct kept_sealed;

#define LINK_FD 3 /* the other process's end, in it */
#define LINK_HOST_MAX 64

enum link_kind {
	LINK_HELLO,  /* struct link_hello: the first */
	LINK_SECOND, /* a profile, as .wick */
	LINK_SEALED, /* struct kept_sealed */
	LINK_STATUS, /* struct kept_status, then lines for Prometheus */
	LINK_READY,  /* back: struct link_ready: it listens */
	LINK_FAILED, /* back: it does not, and why */
};

struct link_hello {
	uint64_t hz, cpus, window_ms;
	uint16_t port; /* that the one before it had; 0: none was before it */
	char host[LINK_HOST_MAX];
};

struct link_ready {
	uint16_t port;
};

/* ---- The end that samples ---- */

struct link;

/*
 * Starts the other process as this program with these arguments, so urgent, and waits until it listens. -errno with
 * fail() set.
 */
int link_start(struct link **ret, char **argv, const struct link_hello *hello, int nice);
/* Never waits. False: it was dropped. */
bool link_send(struct link *link, enum link_kind kind, const void *head, size_t head_len, const void *rest, size_t len);
/* A second as .wick, and the middle of it: kept here as well until the window that has it is in the store. */
void link_second(struct link *link, const struct buf *second, uint64_t middle_ns);
void link_sealed(struct link *link, const struct kept_sealed *sealed);
/* Sends what is queued; sees whether the other one has died, and starts it again, not too often. */
void link_tend(struct link *link);
/* Tells the other one the end; waits for it, for a moment. */
void link_hang_up(struct link *link);
void link_end(struct link *link);
void link_free(struct link *link);

struct link_stats {
	pid_t pid; /* 0: none at the moment */
	uint16_t port;
	uint64_t dropped, restarts;
	uint64_t cpu_us; /* of those that have ended */
	bool fresh;      /* it began anew since the last look: it knows nothing */
};
struct link_stats link_stats(struct link *link);

/* ---- The end that listens ---- */

struct link_message {
	enum link_kind kind;
	const char *data;
	size_t len;
};

/* Reads what there is into `in`. 0, -EAGAIN, or -EPIPE at the end. */
int link_receive(int fd, struct buf *in);
/* The message that begins at *at, which moves behind it; false if it is not whole yet. */
bool link_next(const struct buf *in, size_t *at, struct link_message *ret);
int link_reply(int fd, enum link_kind kind, const void *data, size_t len);

#endif
