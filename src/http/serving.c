/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and their answers. In: what libmicrohttpd has read of a connection. Out: a response, queued. A request is
 * judged by its headers before any of its body is taken; what takes time is done by a thread while the connection is
 * set aside. All of this runs in the server's one thread, but run_call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "http/metrics.h"
#include "http/server_parts.h"
#include "http/source.h"
#include "http/stream.h"

#define STREAM_BLOCK 4096

static struct conn *conn_of(struct server *server, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = server->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void suspend(struct conn *conn)
{
	conn->suspended = true;
	conn->server->mhd.suspend_connection(conn->mhd);
}

void serving_resume(struct conn *conn)
{
	conn->suspended = false;
	conn->server->mhd.resume_connection(conn->mhd);
}

/* ---- A request begins: its first line as it came, before anything is decoded ---- */

void *serving_begin(void *context, const char *uri, struct MHD_Connection *mhd)
{
	struct server *server = context;
	struct conn *conn = conn_of(server, mhd);
	struct call *call = conn ? calloc(1, sizeof(*call)) : NULL;

	if (!call)
		return NULL;
	call->uri = strdup(uri);
	call->conn = conn;
	conn->call = call;
	server->counts.requests++;
	return call;
}

void serving_end(void *context, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode code)
{
	struct server *server = context;
	struct call *call = *slot;

	(void)mhd;
	(void)code;
	if (!call)
		return;
	call->conn->call = NULL;
	conns_set_deadline(call->conn, PHASE_READ, server->options.idle_ms);
	query_free(&call->request.query);
	buf_free(&call->request.body);
	reply_free(&call->reply);
	free(call->uri);
	free(call);
	*slot = NULL;
}

/* ---- Judging it ---- */

static const char *header_of(struct call *call, const char *name)
{
	return call->conn->server->mhd.lookup_connection_value(call->conn->mhd, MHD_HEADER_KIND, name);
}

/* The address by which it came in; not asked for on loopback, whose names are all known. */
static const char *local_address(const struct conn *conn, char *text, size_t size)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	const void *bytes = &((struct sockaddr_in *)&address)->sin_addr;

	if (conn->server->loopback || conn->who == GUARD_SOCKET || conn->fd < 0 ||
	    getsockname(conn->fd, (struct sockaddr *)&address, &len))
		return NULL;
	if (address.ss_family == AF_INET6)
		bytes = &((struct sockaddr_in6 *)&address)->sin6_addr;
	return inet_ntop(address.ss_family, bytes, text, (socklen_t)size);
}

static void refuse(struct call *call, enum guard_verdict verdict)
{
	const char *hint = call->route && call->route->flags & ROUTE_METRICS
				   ? "; --public-metrics opens this path to everybody"
				   : "";
	struct http_reply *reply = &call->reply;

	call->conn->server->counts.refused++;
	switch (verdict) {
	case GUARD_NO_HOST:
		reply_error(reply, 400, "the request has no Host");
		break;
	case GUARD_BAD_HOST:
		reply_error(reply, 403, "this server does not go by that name: --allow-host gives it another one");
		break;
	case GUARD_BAD_ORIGIN:
		reply_error(reply, 403,
			    "pages from elsewhere may not ask this server: --allow-origin names those that may");
		break;
	case GUARD_NOT_ALLOWED:
		reply_error(reply, 403,
			    "this server answers root, the user who started it and those named with --allow-users: ask "
			    "its administrator to name you, or for a token (--token-file)%s",
			    hint);
		break;
	case GUARD_NOT_KNOWN:
		reply_error(reply, 403,
			    "which user this connection comes from cannot be told, as through a proxy or from another "
			    "network name space: start the server with --token-file, and send the token%s",
			    hint);
		break;
	default:
		reply_error(reply, 401, "a token is needed: Authorization: Bearer TOKEN, or the form at /login");
		if (call->request.wants_page) {
			reply->status = 303;
			reply->location = "/login";
		}
	}
}

/* Sets the reply if it is refused. */
static void guard_call(struct call *call, const char *method)
{
	struct server *server = call->conn->server;
	char local[INET6_ADDRSTRLEN];
	unsigned flags = call->route ? call->route->flags : 0;
	struct guard_request request = { .client = call->conn->who,
					 .host = header_of(call, "Host"),
					 .origin = header_of(call, "Origin"),
					 .authorization = header_of(call, "Authorization"),
					 .cookie = header_of(call, "Cookie"),
					 .fetch_site = header_of(call, "Sec-Fetch-Site"),
					 .fetch_mode = header_of(call, "Sec-Fetch-Mode"),
					 .local = local_address(call->conn, local, sizeof(local)),
					 .open = flags & ROUTE_OPEN,
					 .login = flags & ROUTE_LOGIN,
					 .metrics = flags & ROUTE_METRICS };
	const char *accept = header_of(call, "Accept");
	enum guard_verdict verdict;
	bool cors;

	request.preflight =
		!strcmp(method, "OPTIONS") && request.origin && header_of(call, "Access-Control-Request-Method");
	call->request.wants_page =
		call->route && !strcmp(call->route->path, "/") && accept && strstr(accept, "text/html");
	verdict = guard_check(&server->guard, &request, &cors);
	call->cors = cors ? request.origin : NULL;
	call->preflight = request.preflight && cors && verdict == GUARD_OK;
	call->public = verdict == GUARD_PUBLIC;
	if (verdict != GUARD_OK && verdict != GUARD_PUBLIC)
		refuse(call, verdict);
	else if (server->guard.token && guard_has_token(&server->guard, request.authorization, request.cookie))
		call->conn->guest = false;
}

/* By its headers alone. Who may not ask is told nothing of what there is: that comes before the path. */
static void check_call(struct call *call, const char *method)
{
	struct http_reply found = { 0 };
	char *raw = call->uri ? strchr(call->uri, '?') : NULL;

	if (!call->uri) {
		reply_error(&call->reply, 503, "there is not enough memory for this answer");
		return;
	}
	if (raw)
		*raw++ = '\0';
	call->route = route_find(method, call->uri, &found);
	guard_call(call, method);
	if (call->reply.status) {
		reply_free(&found);
		return;
	}
	if (call->preflight) {
		reply_free(&found);
		call->reply.status = 204;
		return;
	}
	call->reply = found;
	if (!call->route)
		return;
	call->request.asked_ns = clock_ns(CLOCK_REALTIME);
	if (query_parse(&call->request.query, raw, call->route->takes, call->request.asked_ns))
		reply_error(&call->reply, 400, "%s", fail_text());
}

/* Whether more than its headers will come. */
static bool has_body(struct call *call)
{
	const char *length = header_of(call, "Content-Length");

	return (length && strcmp(length, "0")) || header_of(call, "Transfer-Encoding");
}

static void take_body(struct call *call, const char *data, size_t len)
{
	if (call->reply.status)
		return;
	if (!(call->route->flags & ROUTE_BODY))
		reply_error(&call->reply, 413, "this path takes no body");
	else if (len > ROUTE_BODY_MAX - call->request.body.len)
		reply_error(&call->reply, 413, "the body is longer than %d bytes", ROUTE_BODY_MAX);
	else
		buf_add(&call->request.body, data, len);
}

/* ---- Answering ---- */

static void add_headers(struct call *call, struct MHD_Response *response)
{
	const struct mhd *mhd = &call->conn->server->mhd;
	const struct http_reply *reply = &call->reply;
	char file[64];

	for (const struct guard_header *header = guard_headers; header->name; header++)
		mhd->add_response_header(response, header->name, header->value);
	if (reply->type)
		mhd->add_response_header(response, "Content-Type", reply->type);
	if (reply->location)
		mhd->add_response_header(response, "Location", reply->location);
	if (reply->allow)
		mhd->add_response_header(response, "Allow", reply->allow);
	if (reply->cookie.data)
		mhd->add_response_header(response, "Set-Cookie", reply->cookie.data);
	if (reply->status == 401)
		mhd->add_response_header(response, "WWW-Authenticate", "Bearer");
	if (call->conn->guest) /* who may ask nothing more holds nothing more */
		mhd->add_response_header(response, "Connection", "close");
	if (reply->status == 503)
		mhd->add_response_header(response, "Retry-After", "1");
	if (reply->name) {
		snprintf(file, sizeof(file), "attachment; filename=\"%s%s\"", reply->name, reply->suffix);
		mhd->add_response_header(response, "Content-Disposition", file);
	}
	if (call->cors) {
		mhd->add_response_header(response, "Access-Control-Allow-Origin", call->cors);
		mhd->add_response_header(response, "Vary", "Origin");
	}
	if (call->preflight) {
		mhd->add_response_header(response, "Access-Control-Allow-Methods", "GET");
		mhd->add_response_header(response, "Access-Control-Allow-Headers", "Authorization");
		mhd->add_response_header(response, "Access-Control-Max-Age", "600");
	}
}

static enum MHD_Result queue(struct call *call, struct MHD_Response *response)
{
	const struct mhd *mhd = &call->conn->server->mhd;
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_headers(call, response);
	result = mhd->queue_response(call->conn->mhd, call->reply.status, response);
	mhd->destroy_response(response);
	return result;
}

/* The bytes become the response's, which frees them. */
static enum MHD_Result send_reply(struct call *call)
{
	struct server *server = call->conn->server;
	struct buf *body = &call->reply.body;
	struct MHD_Response *response;

	if (buf_error(body) || buf_error(&call->reply.cookie))
		return MHD_NO;
	response = server->mhd.create_response_from_buffer(body->len, body->data ? body->data : (void *)"",
							   body->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (response)
		*body = (struct buf){ 0 };
	conns_set_deadline(call->conn, PHASE_SEND,
			   call->conn->guest ? server->options.request_ms : server->options.send_ms);
	return queue(call, response);
}

/* In a thread. */
static void run_call(struct work_item *item)
{
	struct call *call = (struct call *)item;

	call->route->handle(&call->request, &call->reply);
}

void serving_work(struct server *server, struct call *call)
{
	call->item.run = run_call;
	if (work_put(server->work, &call->item)) {
		reply_error(&call->reply, 503, "the server is busy: ask again");
		call->ready = true;
		serving_resume(call->conn);
	}
}

static void set_aside(struct server *server, struct call *call)
{
	bool wait = call->route->flags & ROUTE_WAIT && server->options.source->live;

	conns_set_deadline(call->conn, PHASE_WORK, 0);
	suspend(call->conn);
	if (!wait) {
		serving_work(server, call);
	} else if (server->waiting_len == SERVER_WAITING_MAX) {
		reply_error(&call->reply, 503, "as many are waiting as may: ask again");
		call->ready = true;
		serving_resume(call->conn);
	} else {
		call->due_ns = server_now() + call->request.query.seconds * NS_PER_SEC;
		call->next = server->waiting;
		server->waiting = call;
		server->waiting_len++;
	}
}

/* ---- Events ---- */

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t max)
{
	struct conn *conn = context;
	ssize_t len = stream_read(conn->client, out, max);

	(void)position;
	if (len < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!len)
		suspend(conn);
	return len;
}

static void end_stream(void *context)
{
	struct conn *conn = context;

	stream_leave(conn->client);
	conn->client = NULL;
}

static enum MHD_Result start_stream(struct server *server, struct call *call)
{
	const struct http_source *source = server->options.source;
	autobuf struct buf greeting = { 0 };
	struct MHD_Response *response;
	struct conn *conn = call->conn;

	if (!source->greeting) {
		reply_error(&call->reply, 404, "this is not kept here");
		return send_reply(call);
	}
	if (stream_join(server->stream, &conn->client)) {
		reply_error(&call->reply, 503, "%s", fail_text());
		return send_reply(call);
	}
	if (source->greeting(source->context, &greeting) || buf_error(&greeting) ||
	    stream_greet(conn->client, "all", greeting.data, greeting.len)) {
		end_stream(conn);
		reply_error(&call->reply, 503, "not ready yet");
		return send_reply(call);
	}
	call->reply.status = 200;
	call->reply.type = STREAM_TYPE;
	response = server->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, conn,
							     end_stream);
	if (!response)
		end_stream(conn);
	conns_set_deadline(conn, PHASE_LISTEN, 0);
	return queue(call, response);
}

static void own_metrics(void *context, struct metrics *metrics)
{
	const struct call *call = context;
	const struct server_counts *counts = &call->counts;
	struct stream_stats events = stream_stats(call->conn->server->stream);

	metrics_one(metrics, "wick_http_connections", "gauge", "Connections that are open.", counts->connections);
	metrics_one(metrics, "wick_http_requests_total", "counter", "Requests that were begun.",
		    (double)counts->requests);
	metrics_one(metrics, "wick_http_refused_total", "counter", "Requests with a wrong host, origin, user or token.",
		    (double)counts->refused);
	metrics_one(metrics, "wick_http_timeouts_total", "counter", "Connections that were ended for being slow.",
		    (double)counts->timeouts);
	metrics_one(metrics, "wick_http_crowded_out_total", "counter", "Idle connections that made room for others.",
		    (double)counts->crowded_out);
	metrics_one(metrics, "wick_http_listeners", "gauge", "Clients of the event stream.", events.clients);
	metrics_one(metrics, "wick_http_listeners_dropped_total", "counter", "Clients that did not keep up.",
		    (double)events.dropped);
}

static enum MHD_Result dispatch(struct server *server, struct call *call)
{
	call->request.guard = &server->guard;
	call->request.source = server->options.source;
	call->request.own_metrics = own_metrics;
	call->request.context = call;
	call->counts = server->counts;
	if (call->reply.status)
		return send_reply(call);
	if (call->route->flags & ROUTE_STREAM)
		return start_stream(server, call);
	if (call->public && conns_public_busy(server)) {
		reply_error(&call->reply, 503, "the server is busy: ask again");
		return send_reply(call);
	}
	if (call->route->flags & ROUTE_WORK) {
		set_aside(server, call);
		return MHD_YES;
	}
	call->route->handle(&call->request, &call->reply);
	return send_reply(call);
}

enum MHD_Result serving_request(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
				const char *version, const char *data, size_t *data_len, void **slot)
{
	struct call *call = *slot;

	(void)mhd;
	(void)url;
	(void)version;
	if (!call)
		return MHD_NO;
	if (call->ready)
		return send_reply(call);
	if (!call->checked) {
		call->checked = true;
		check_call(call, method);
		/* Answered at once, what would follow is not read, and the connection ends with the answer. */
		return call->reply.status && has_body(call) ? send_reply(call) : MHD_YES;
	}
	if (*data_len) {
		take_body(call, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	return dispatch(context, call);
}
