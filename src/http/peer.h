/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which user is at the other end of a TCP connection within this machine. The kernel knows the other end's socket by
 * the connection's two addresses, and each socket has the user who opened it.
 *
 * A user is told only of a socket that somebody still holds: what is left of a closed one is shown as user 0.
 */
#ifndef WICK_HTTP_PEER_H
#define WICK_HTTP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct span;

/* How to ask: by sock_diag, or where the kernel has that in a module that cannot be loaded, by /proc/net/tcp. */
struct peer_lookup {
	int fd;         /* of sock_diag; -1: by /proc */
	uint32_t asked; /* so many times */
	bool all_uids;  /* this user name space has every user; else `overflow` stands for those that it lacks */
	uid_t overflow;
};

/* Takes a socket that listens, to see whether sock_diag finds it. Never fails: then users are not known. */
void peer_open(struct peer_lookup *ret, int listen_fd);
/* The user at the other end of a connection that was accepted; false: it cannot be told. Never waits. */
bool peer_user(struct peer_lookup *lookup, int fd, uid_t *ret);
void peer_close(struct peer_lookup *lookup);

/* ---- Its parts ---- */

/* A socket's two addresses; those of IPv4 as ::ffff:a.b.c.d. Ports in host order. */
struct peer_ends {
	struct in6_addr local, remote;
	uint16_t local_port, remote_port;
};

/* What the kernel says of a socket. */
struct peer_socket {
	struct peer_ends ends;
	unsigned state; /* of TCP */
	uid_t uid;
	uint64_t inode; /* 0: nobody holds it any more */
};

/* Whether this is the socket with these ends, and the user that is said is its user. */
bool peer_holds(const struct peer_socket *socket, const struct peer_ends *wanted);
/* sock_diag's answer with this number; false if it is another one, an error, or cut short. */
bool peer_read_diag(const void *answer, size_t len, uint32_t number, struct peer_socket *ret);
/* A line of /proc/net/tcp, or tcp6. */
bool peer_read_line(struct span line, struct peer_socket *ret);
/* The text of /proc/PID/uid_map: does that name space have every user? */
bool peer_maps_all(struct span text);

#endif
