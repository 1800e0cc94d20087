/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: open, drop what it does not need, run. One thread serves all connections and never waits for any of
 * them; a few others make answers. Every connection has a deadline in each of its phases, so that nobody holds one for
 * ever; when there are as many as may be, the one that has been idle for the longest makes room.
 */
#ifndef WICK_HTTP_SERVER_H
#define WICK_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct http_source;
struct server;
struct stream;

struct server_options {
	/*
	 * ADDRESS:PORT. On loopback root, the user whose process this is and those named here are answered; others, and
	 * those of whom the kernel does not say who they are, have to show a token.
	 */
	const char *listen;
	const char *socket;     /* path of a socket for this machine alone, without token and TLS; NULL: none */
	const char *token_file; /* NULL: no token is asked for */
	const char *tls_cert;   /* paths of PEM files; NULL: no TLS */
	const char *tls_key;
	bool insecure;      /* listen anywhere without these */
	const uid_t *users; /* that are answered on loopback too, without a token even if there is one */
	size_t users_len;
	const uid_t *sudo_user;   /* who had sudo start this: answered as well; NULL: nobody */
	bool public_metrics;      /* /metrics, /healthz and /readyz answer everybody */
	const char *const *hosts; /* see guard.h */
	const char *const *origins;
	const struct http_source *source;
	/* Called by the server's own thread when `input_fd` can be read; false: it is to stop. NULL: there is none. */
	bool (*input)(void *context);
	void *input_context;
	int input_fd;
	/* Bounds; 0: as by default */
	unsigned connections; /* at once (2048) */
	unsigned listeners;   /* to events (64) */
	unsigned request_ms;  /* from a connection, or a first byte, to the end of a request (10 s) */
	unsigned idle_ms;     /* between requests (30 s) */
	unsigned send_ms;     /* for an answer to be taken (120 s) */
};

/* Listens when it returns. -errno with fail() set. All texts, and the source, must outlive the server. */
int server_open(struct server **ret, const struct server_options *options);
uint16_t server_port(const struct server *server);
/* To publish events to. */
struct stream *server_stream(const struct server *server);

/*
 * Gives up every capability, for good and for all that this process starts. Call it once the server is open, before
 * there are other threads. -errno with fail() set.
 */
int server_drop_capabilities(void);

/* Serves until `stop_fd` becomes readable (-1: there is none), or the input says so. */
int server_run(struct server *server, int stop_fd);
void server_free(struct server *server);

#endif
