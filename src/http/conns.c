/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections, from when they come until they go. In: a socket that was accepted. Out: who is behind it, and a place
 * among the others. A guest, who has not shown that it may ask anything, never takes the place of anybody else: each
 * user has a few such places, all of them together a quarter, and when these are taken guests make room for guests.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "http/server_parts.h"

#define CROWD_MARGIN 16   /* connections that are kept free for those who come */
#define GUESTS_OF_USER 32 /* connections of one user who is a guest, or of all who are not known */
#define GUESTS_SHARE 4    /* of all connections, one in so many may be a guest's */
#define PUBLIC_WORK_MAX 4 /* answers made at a time for those who need be nobody */

void conns_set_deadline(struct conn *conn, enum phase phase, unsigned ms)
{
	conn->phase = phase;
	conn->deadline_ns = ms ? server_now() + ms * NS_PER_MS : 0;
}

void conns_shut(struct conn *conn)
{
	shutdown(conn->fd, SHUT_RDWR);
	conn->fd = -1;
}

bool conns_public_busy(const struct server *server)
{
	unsigned busy = 0;

	for (const struct conn *conn = server->first; conn; conn = conn->next)
		busy += conn->phase == PHASE_WORK && conn->call && conn->call->public;
	return busy >= PUBLIC_WORK_MAX;
}

/* ---- Room ---- */

static void crowd_out(struct conn *conn)
{
	conn->server->counts.crowded_out++;
	conns_shut(conn);
}

static bool same_user(const struct conn *a, const struct conn *b)
{
	return a->who == b->who && a->uid == b->uid;
}

/* Guests that are there: of this one's user, or all. The one that came first and can go is in *ret. */
static unsigned count_guests(const struct conn *newcomer, bool all, struct conn **ret)
{
	unsigned count = 0;

	*ret = NULL;
	for (struct conn *conn = newcomer->server->first; conn; conn = conn->next) {
		if (!conn->guest || conn->fd < 0 || (!all && !same_user(conn, newcomer)))
			continue;
		count++;
		if (!*ret && (conn->phase == PHASE_READ || conn->phase == PHASE_SEND))
			*ret = conn;
	}
	return count;
}

/* Who has been idle for the longest. */
static struct conn *find_idle(const struct server *server)
{
	for (struct conn *conn = server->first; conn; conn = conn->next)
		if (conn->phase == PHASE_READ && conn->fd >= 0)
			return conn;
	return NULL;
}

/* Somebody makes room, if that is needed: a guest for a guest, or the newcomer itself goes; for others anybody. */
static void make_room(struct server *server, struct conn *newcomer)
{
	bool full = server->counts.connections + CROWD_MARGIN >= server->options.connections;
	struct conn *of_user, *guest;
	unsigned all = count_guests(newcomer, true, &guest);
	bool many = newcomer->guest && count_guests(newcomer, false, &of_user) >= GUESTS_OF_USER;

	if (newcomer->guest && (many || full || all >= server->options.connections / GUESTS_SHARE)) {
		guest = many ? of_user : guest;
		crowd_out(guest ? guest : newcomer);
	} else if (full) {
		guest = guest ? guest : find_idle(server);
		if (guest)
			crowd_out(guest);
	}
}

/* ---- Who is behind it ---- */

static bool is_local(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);

	return fd >= 0 && !getsockname(fd, (struct sockaddr *)&address, &len) && address.ss_family == AF_UNIX;
}

/* Once for each connection: it does not change hands without its socket. */
static void identify(struct server *server, struct conn *conn)
{
	bool known;

	if (is_local(conn->fd)) {
		conn->who = GUARD_SOCKET;
	} else if (server->loopback) {
		known = peer_user(&server->peers, conn->fd, &conn->uid);
		conn->who = guard_client(&server->guard, known, conn->uid);
	} else {
		conn->who = GUARD_NETWORK;
	}
	conn->guest = guard_is_guest(conn->who);
}

/* ---- Coming and going ---- */

static void add_connection(struct server *server, struct MHD_Connection *mhd, void **slot)
{
	const union MHD_ConnectionInfo *info = server->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return;
	conn->server = server;
	conn->mhd = mhd;
	conn->fd = info ? info->connect_fd : -1;
	identify(server, conn);
	make_room(server, conn);
	conn->prev = server->last;
	*(server->last ? &server->last->next : &server->first) = conn;
	server->last = conn;
	server->counts.connections++;
	conns_set_deadline(conn, PHASE_READ, server->options.request_ms);
	*slot = conn;
}

static void remove_connection(struct server *server, struct conn *conn)
{
	*(conn->prev ? &conn->prev->next : &server->first) = conn->next;
	*(conn->next ? &conn->next->prev : &server->last) = conn->prev;
	server->counts.connections--;
	free(conn);
}

void conns_notify(void *context, struct MHD_Connection *mhd, void **slot, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add_connection(context, mhd, slot);
	else if (*slot)
		remove_connection(context, *slot);
}
