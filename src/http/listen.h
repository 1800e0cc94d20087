/* SPDX-License-Identifier: Apache-2.0 */
/* Where the server listens, and whether it may: loopback always, anything else only with a token and TLS. */
#ifndef WICK_HTTP_LISTEN_H
#define WICK_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct listen_address {
	struct sockaddr_storage address;
	socklen_t len;
	bool loopback;
};

struct listen_policy {
	bool token, tls; /* are there */
	bool insecure;   /* was spelled out */
};

/* ADDRESS:PORT, [ADDRESS]:PORT or localhost:PORT; port 0: any free one. No look-ups. -EINVAL with fail() set. */
int listen_parse(const char *text, struct listen_address *ret);
/* -EPERM with fail() set if everybody on the network could read this machine's profiles. */
int listen_check(const struct listen_address *address, const char *text, const struct listen_policy *policy);
/* A socket that listens, and the port that it got. -errno with fail() set. */
int listen_open(const struct listen_address *address, const char *text, int *ret_fd, uint16_t *ret_port);
/*
 * The same of a path, for its owner alone. What a server left behind there is taken away; -EADDRINUSE if one listens.
 * The last folder of the path is made if it is missing.
 */
int listen_local(const char *path, int *ret_fd);

#endif
