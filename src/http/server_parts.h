/* SPDX-License-Identifier: Apache-2.0 */
/* What server.c, which has the loop, conns.c, which has connections, and serving.c, which has requests, share. */
#ifndef WICK_HTTP_SERVER_PARTS_H
#define WICK_HTTP_SERVER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "http/guard.h"
#include "http/mhd.h"
#include "http/peer.h"
#include "http/route.h"
#include "http/server.h"
#include "http/work.h"

#define SERVER_WAITING_MAX 64 /* requests that wait for the seconds they asked for */
#define SERVER_OWNERS_MAX 3   /* root, the real user, and who asked sudo */

struct stream;
struct stream_client;

enum phase {
	PHASE_READ, /* nothing, or a part of a request, has come */
	PHASE_WORK, /* its answer is made, or waited for */
	PHASE_SEND,
	PHASE_LISTEN /* to events */
};

struct server_counts {
	uint64_t requests, refused, timeouts, crowded_out;
	unsigned connections;
};

/* A request, from its first line to the end of its answer. */
struct call {
	struct work_item item; /* first: a call is found by its item */
	struct call *next;     /* of those that wait */
	struct conn *conn;
	const struct route *route;
	struct http_request request;
	struct http_reply reply;
	char *uri;
	const char *cors;            /* the origin to tell that it may read */
	uint64_t due_ns;             /* when its seconds are over */
	struct server_counts counts; /* when it was asked for */
	bool checked, ready;         /* ready: the reply is there */
	bool preflight;
	bool public; /* let in only because the path is for everybody */
};

struct conn {
	struct conn *prev, *next; /* in the order in which they came */
	struct server *server;
	struct MHD_Connection *mhd;
	struct call *call;
	struct stream_client *client;
	enum phase phase;
	uint64_t deadline_ns; /* 0: none */
	int fd;
	bool suspended;
	enum guard_client who;
	uid_t uid;  /* of a stranger */
	bool guest; /* has not shown that it may ask anything */
};

/* For the network, and for this machine. */
enum { SERVER_NET, SERVER_LOCAL, SERVER_DAEMONS };

struct server {
	struct mhd mhd;
	struct server_options options;
	struct guard guard;
	struct peer_lookup peers;
	uid_t owners[SERVER_OWNERS_MAX];
	char *token;
	struct MHD_Daemon *daemons[SERVER_DAEMONS]; /* NULL: not there */
	struct stream *stream;
	struct work *work;
	struct conn *first, *last;
	struct call *waiting;
	unsigned waiting_len;
	struct server_counts counts;
	int listen_fds[SERVER_DAEMONS], epoll_fds[SERVER_DAEMONS]; /* -1 */
	int wake_fd;
	char *socket; /* to be removed at the end */
	uint16_t port;
	bool loopback;
	bool stopping;
};

static inline uint64_t server_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* What libmicrohttpd calls: connections come and go, requests begin, come in pieces, and end. */
void conns_notify(void *context, struct MHD_Connection *mhd, void **slot, enum MHD_ConnectionNotificationCode code);
void *serving_begin(void *context, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result serving_request(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
				const char *version, const char *data, size_t *data_len, void **slot);
void serving_end(void *context, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode code);

/* Until when it has to be done with this phase; 0: it has as long as it likes. */
void conns_set_deadline(struct conn *conn, enum phase phase, unsigned ms);
/* Ends it; the loop sees the end. */
void conns_shut(struct conn *conn);
/* Whether as many answers are made for those without a name as may be at a time. */
bool conns_public_busy(const struct server *server);

/* Lets it go on. */
void serving_resume(struct conn *conn);
/* Hands a call to the threads; one that does not fit is answered with an error. */
void serving_work(struct server *server, struct call *call);

#endif
