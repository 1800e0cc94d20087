/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask. Pure decisions on what a request says of itself; docs/api.md says them to people.
 *
 * A page of somebody else's can make a browser on this machine send requests to 127.0.0.1, and by a name whose address
 * changes (DNS rebinding) even read the answers. So the Host has to be a name of this server, and whoever says an
 * Origin has to be this server's own page or one that was named.
 */
#ifndef WICK_HTTP_GUARD_H
#define WICK_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define GUARD_COOKIE "wick_session"
#define GUARD_COOKIE_LEN 64 /* of its value */
#define GUARD_TOKEN_MIN 16
#define GUARD_TOKEN_MAX 512

struct buf;

struct guard {
	const char *token;          /* NULL: none is asked for */
	const char *const *hosts;   /* allowed besides loopback's, NAME or NAME:PORT; end with NULL; NULL: none */
	const char *const *origins; /* allowed to read from elsewhere; the same */
	bool tls;
};

/* What of a request is looked at. NULL: it does not have that header. */
struct guard_request {
	const char *host, *origin, *authorization, *cookie;
	const char *fetch_site, *fetch_mode; /* what browsers say of where a request comes from */
	const char *local;                   /* the address by which it came in, in digits; NULL: not known */
	bool preflight;                      /* a browser asks whether it may */
	bool open;                           /* a route that needs no token */
};

enum guard_verdict {
	GUARD_OK,
	GUARD_NO_HOST,    /* 400 */
	GUARD_BAD_HOST,   /* 403 */
	GUARD_BAD_ORIGIN, /* 403 */
	GUARD_NO_TOKEN,   /* 401 */
};

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
