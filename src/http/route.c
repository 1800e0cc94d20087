/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the handler of a request. Paths are compared as they came, byte by byte: nothing in them is decoded, no file is
 * ever opened by one, so there is nothing to climb out of.
 */
#include "http/route.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define RANGE (QUERY_TAKES(FROM) | QUERY_TAKES(TO) | QUERY_TAKES(FILTER))
#define CURVES (RANGE | QUERY_TAKES(BY) | QUERY_TAKES(CELLS) | QUERY_TAKES(FN))
#define ERROR_MAX 400

const struct route routes[] = {
	{ "GET", "/", 0, 0, api_page },
	{ "GET", "/page.css", ROUTE_OPEN | ROUTE_LOGIN, 0, api_style },
	{ "GET", "/page.js", ROUTE_OPEN, 0, api_script },
	{ "GET", "/login", ROUTE_OPEN | ROUTE_LOGIN, 0, api_login_form },
	{ "POST", "/login", ROUTE_OPEN | ROUTE_LOGIN | ROUTE_BODY, 0, api_login },
	{ "GET", "/healthz", ROUTE_OPEN | ROUTE_METRICS, 0, api_health },
	{ "GET", "/readyz", ROUTE_OPEN | ROUTE_METRICS, 0, api_ready },
	{ "GET", "/metrics", ROUTE_WORK | ROUTE_METRICS, 0, api_metrics },
	{ "GET", "/api/profile", ROUTE_WORK, RANGE | QUERY_TAKES(FORMAT) | QUERY_TAKES(OFFSETS), api_profile },
	{ "GET", "/api/diff", ROUTE_WORK, RANGE | QUERY_TAKES(AGAINST) | QUERY_TAKES(FORMAT), api_diff },
	{ "GET", "/api/processes", ROUTE_WORK, RANGE, api_processes },
	{ "GET", "/api/series", ROUTE_WORK, CURVES, api_series },
	{ "GET", "/api/heat", ROUTE_WORK, RANGE | QUERY_TAKES(FN), api_heat },
	{ "GET", "/api/gaps", ROUTE_WORK, QUERY_TAKES(FROM) | QUERY_TAKES(TO), api_gaps },
	{ "GET", ROUTE_EVENTS, ROUTE_STREAM, 0, NULL },
	{ "GET", "/debug/pprof/profile", ROUTE_WORK | ROUTE_WAIT, QUERY_TAKES(SECONDS), api_pprof },
	{ 0 },
};

const struct route *route_find(const char *method, const char *path, struct http_reply *reply)
{
	const char *wanted = strcmp(method, "HEAD") ? method : "GET";
	bool get = false, post = false;

	for (const struct route *route = routes; route->method; route++) {
		if (strcmp(route->path, path))
			continue;
		if (!strcmp(route->method, wanted))
			return route;
		get |= !strcmp(route->method, "GET");
		post |= !strcmp(route->method, "POST");
	}
	if (!get && !post) {
		reply_error(reply, 404, "there is nothing at this path");
		return NULL;
	}
	reply_error(reply, 405, "this path does not take that method");
	reply->allow = get && post ? "GET, HEAD, POST" : "GET, HEAD";
	return NULL;
}

void reply_error(struct http_reply *reply, unsigned status, const char *format, ...)
{
	struct json json = { .out = &reply->body };
	char text[ERROR_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reply_free(reply);
	reply->status = status;
	reply->type = "application/json";
	json_object(&json, NULL);
	json_text(&json, "error", text, strlen(text));
	json_end(&json, '}');
	buf_addc(&reply->body, '\n');
}

void reply_free(struct http_reply *reply)
{
	buf_free(&reply->cookie);
	buf_free(&reply->body);
	*reply = (struct http_reply){ 0 };
}
