/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask. Pure decisions on which user is at the other end, where that can be told, and on what a request says of
 * itself; docs/api.md says them to people.
 *
 * A page of somebody else's can make a browser on this machine send requests to 127.0.0.1, and by a name whose address
 * changes (DNS rebinding) even read the answers. So the Host has to be a name of this server, and whoever says an
 * Origin has to be this server's own page or one that was named.
 */
#ifndef WICK_HTTP_GUARD_H
#define WICK_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GUARD_COOKIE "wick_session"
#define GUARD_COOKIE_LEN 64 /* of its value */
#define GUARD_TOKEN_MIN 16
#define GUARD_TOKEN_MAX 512

struct buf;

struct guard_users {
	const uid_t *uids;
	size_t len;
};

struct guard {
	struct guard_users owners;  /* of the server, on loopback: root, and who started it */
	struct guard_users allowed; /* besides them, and without a token even if there is one */
	bool public_metrics;        /* those who ask for numbers alone need be nobody */
	const char *token;          /* NULL: none is asked for */
	const char *const *hosts;   /* allowed besides loopback's, NAME or NAME:PORT; end with NULL; NULL: none */
	const char *const *origins; /* allowed to read from elsewhere; the same */
	bool tls;
};

/* Who is at the other end of a connection. */
enum guard_client {
	GUARD_NETWORK,  /* anybody: the server listens beyond this machine */
	GUARD_SOCKET,   /* who can open the socket's file */
	GUARD_OWNER,    /* on loopback: one of the owners */
	GUARD_ALLOWED,  /* one of the allowed users */
	GUARD_STRANGER, /* another user */
	GUARD_UNKNOWN,  /* a user who cannot be told */
};

/* What of a request is looked at. NULL: it does not have that header. */
struct guard_request {
	enum guard_client client;
	const char *host, *origin, *authorization, *cookie;
	const char *fetch_site, *fetch_mode; /* what browsers say of where a request comes from */
	const char *local;                   /* the address by which it came in, in digits; NULL: not known */
	bool preflight;                      /* a browser asks whether it may */
	bool open;                           /* a route that needs no token */
	bool login;                          /* a route by which a token is shown */
	bool metrics;                        /* a route that `public_metrics` opens */
};

enum guard_verdict {
	GUARD_OK,
	GUARD_NO_HOST,     /* 400 */
	GUARD_BAD_HOST,    /* 403 */
	GUARD_BAD_ORIGIN,  /* 403 */
	GUARD_NOT_ALLOWED, /* 403: the user is not one of those */
	GUARD_NOT_KNOWN,   /* 403: nor is there a token by which somebody unknown could get in */
	GUARD_NO_TOKEN,    /* 401 */
	GUARD_PUBLIC,      /* let in, but only because the route is for everybody */
};

/* On loopback; `uid` counts if it is known. */
enum guard_client guard_client(const struct guard *guard, bool known, uid_t uid);
/* One who may ask nothing, unless by showing a token. */
bool guard_is_guest(enum guard_client client);

/* In that order; `ret_cors` says whether the origin is one of the named ones and gets told so. */
enum guard_verdict guard_check(const struct guard *guard, const struct guard_request *request, bool *ret_cors);

/* The parts of it. */
bool guard_host_allowed(const struct guard *guard, const char *host, const char *local);
bool guard_origin_is_own(const struct guard *guard, const char *origin, const char *host);
bool guard_origin_named(const struct guard *guard, const char *origin);
bool guard_has_token(const struct guard *guard, const char *authorization, const char *cookie);

/* Takes as long for any two texts of these lengths, whatever is in them. */
bool guard_equal(const char *a, const char *b);

/* The value of the cookie: made from the token, does not tell it. */
void guard_cookie_value(const char *token, char ret[GUARD_COOKIE_LEN + 1]);
/* The whole Set-Cookie header of somebody who has shown the token. */
void guard_cookie(const struct guard *guard, struct buf *out);

/* The first line of a file that only its owner and group can read. -errno with fail() set. */
int guard_token_read(const char *path, char **ret);

/* Of every answer. */
struct guard_header {
	const char *name, *value;
};
extern const struct guard_header guard_headers[]; /* ends with a NULL name */

#endif
