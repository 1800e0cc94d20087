/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one list of what can be asked: method, path, parameters, handler. A handler sees a request that was let in and
 * whose parameters are good, and fills a reply; it knows nothing of connections.
 */
#ifndef WICK_HTTP_ROUTE_H
#define WICK_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/query.h"

#define ROUTE_BODY_MAX 4096
#define ROUTE_EVENTS "/api/events"

struct guard;
struct http_source;
struct metrics;

enum route_flags {
	ROUTE_OPEN = 1,    /* needs no token */
	ROUTE_WORK = 2,    /* takes time: not for the thread that serves connections */
	ROUTE_BODY = 4,    /* takes one */
	ROUTE_WAIT = 8,    /* of a live source: answered after so many seconds */
	ROUTE_STREAM = 16, /* answered for as long as somebody listens */
	ROUTE_LOGIN = 32,  /* the way to show a token */
	ROUTE_METRICS = 64 /* numbers, no stacks: can be opened to everybody */
};

struct http_request {
	const struct guard *guard;
	const struct http_source *source;
	struct query query;
	struct buf body;
	uint64_t asked_ns;                                           /* since 1970 */
	bool wants_page;                                             /* by a person with a browser */
	void (*own_metrics)(void *context, struct metrics *metrics); /* of the server; NULL: none */
	void *context;
};

/* {0} is no reply yet. */
struct http_reply {
	unsigned status;
	const char *type; /* of the body */
	const char *name; /* of the file to save, without suffix, and its suffix; NULL: to be shown */
	const char *suffix;
	const char *location; /* to go to */
	const char *allow;    /* methods, of a 405 */
	struct buf cookie;    /* to be set */
	struct buf body;
};

typedef void route_handler(const struct http_request *request, struct http_reply *reply);

struct route {
	const char *method;
	const char *path;
	unsigned flags; /* enum route_flags */
	unsigned takes; /* parameters, QUERY_TAKES */
	route_handler *handle;
};

extern const struct route routes[]; /* ends with a NULL method */

/* HEAD finds what GET does. NULL, with a reply of 404 or 405, if there is none. */
const struct route *route_find(const char *method, const char *path, struct http_reply *reply);

/* JSON with one sentence. Replaces what is in the reply. */
void reply_error(struct http_reply *reply, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void reply_free(struct http_reply *reply);

route_handler api_page, api_style, api_script, api_login_form, api_login, api_health, api_ready, api_metrics,
	api_profile, api_pprof, api_diff, api_processes, api_series, api_heat, api_gaps;

#endif
