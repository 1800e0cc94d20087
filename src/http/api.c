/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers. In: a request that was let in, its parameters read, and the source. Out: a reply. What a source says when it
 * fails may name files of this machine: who asks gets a sentence by the kind of error instead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json.h"
#include "http/guard.h"
#include "http/metrics.h"
#include "http/route.h"
#include "http/source.h"
#include "out/diff.h"
#include "out/out.h"
#include "out/page.h"
#include "profile/diff.h"
#include "profile/profile.h"

#define FILE_NAME "wick"

static void reply_failure(struct http_reply *reply, int err)
{
	switch (err) {
	case -ENODATA:
	case -ENOENT:
		reply_error(reply, 404, "nothing is kept of that range");
		break;
	case -ENOMEM:
		reply_error(reply, 503, "there is not enough memory for this answer");
		break;
	case -EAGAIN:
		reply_error(reply, 503, "not ready yet");
		break;
	default:
		reply_error(reply, 500, "the answer could not be made");
	}
}

static void reply_body(struct http_reply *reply, const char *type)
{
	if (buf_error(&reply->body)) {
		reply_failure(reply, -ENOMEM);
		return;
	}
	reply->status = 200;
	reply->type = type;
}

/* What the source has of a range, or of moments within it. */
static int ask_source(const struct http_request *request, uint64_t from_ns, uint64_t to_ns, struct profile **ret)
{
	const struct http_source *source = request->source;

	if (!request->query.offset_to)
		return source->profile(source->context, from_ns, to_ns, ret);
	return source->moments ? source->moments(source->context, &request->query, ret) : -ENODATA;
}

/* The profile of a range after the request's filters; on failure the reply says why. */
static int get_profile(const struct http_request *request, uint64_t from_ns, uint64_t to_ns, struct http_reply *reply,
		       struct profile **ret)
{
	struct profile *whole = NULL, *profile = NULL;
	struct filter *filter = NULL;
	int err = filter_new(&filter, &request->query.filter, &out_texts);

	if (err) {
		reply_error(reply, 400, "%s", fail_text());
		return err;
	}
	err = ask_source(request, from_ns, to_ns, &whole);
	if (!err && filter_asked(&request->query.filter)) {
		err = filter_apply(filter, whole, &profile);
		profile_free(whole);
	} else {
		profile = whole;
	}
	filter_free(filter);
	if (err)
		reply_failure(reply, err);
	else
		*ret = profile;
	return err;
}

static const char *type_of(const char *format)
{
	if (!strcmp(format, "svg"))
		return "image/svg+xml";
	if (!strcmp(format, "html"))
		return "text/html; charset=utf-8";
	if (!strcmp(format, "speedscope") || !strcmp(format, "firefox"))
		return "application/json";
	if (!strcmp(format, "pprof") || !strcmp(format, "wick") || !strcmp(format, "page"))
		return "application/octet-stream";
	return "text/plain; charset=utf-8";
}

/* To be saved, not shown: of what stands in a profile nothing may become a page of this server's. */
static void reply_file(struct http_reply *reply, int err, const char *format, const char *suffix)
{
	if (err) {
		reply_failure(reply, err);
		return;
	}
	reply_body(reply, type_of(format));
	if (reply->status == 200) {
		reply->name = FILE_NAME;
		reply->suffix = suffix;
	}
}

static int write_block(const struct profile *profile, struct buf *out)
{
	const struct page page = { .profile = profile };

	return page_data(&page, out);
}

/* What the page reads: no file that anybody saves. */
static const struct out_format page_block = { .name = "page", .suffix = ".page", .write = write_block };

static void send_profile(const struct http_request *request, uint64_t from_ns, uint64_t to_ns,
			 const struct out_format *format, struct http_reply *reply)
{
	struct profile *profile = NULL;
	int err;

	err = get_profile(request, from_ns, to_ns, reply, &profile);
	if (err == -ENODATA && format == &page_block) { /* an answer, not an error: browsers write those down */
		reply_free(reply);
		reply_body(reply, "application/octet-stream");
		reply->status = 204;
	}
	if (err)
		return;
	err = format->write(profile, &reply->body);
	profile_free(profile);
	reply_file(reply, err, format->name, format->suffix);
}

void api_profile(const struct http_request *request, struct http_reply *reply)
{
	const char *name = request->query.format ? request->query.format : "pprof";
	const struct out_format *format = strcmp(name, page_block.name) ? out_by_name(name) : &page_block;

	if (format)
		send_profile(request, request->query.from_ns, request->query.to_ns, format, reply);
	else
		reply_error(reply, 400, "that is no format: there are" OUT_NAMES);
}

void api_pprof(const struct http_request *request, struct http_reply *reply)
{
	uint64_t from_ns = request->source->live ? request->asked_ns : 0;
	uint64_t to_ns = request->asked_ns + (request->source->live ? request->query.seconds * NS_PER_SEC : 0);

	send_profile(request, from_ns, to_ns, out_by_name("pprof"), reply);
}

static int compare(const struct profile *before, const struct profile *after, const struct diff_format *format,
		   struct buf *out)
{
	static const struct diff_options options = { .top = DIFF_TOP };
	struct diff diff = { 0 };
	int err = out_diff(&diff, before, after);

	err = err ? err : format->write(&(struct diff_input){ before, after, &diff }, &options, out);
	diff_free(&diff);
	return err;
}

void api_diff(const struct http_request *request, struct http_reply *reply)
{
	const struct query *query = &request->query;
	const struct diff_format *format = diff_formats;
	struct profile *before = NULL, *after = NULL;
	uint64_t end_ns;
	int err;

	while (format->name && query->format && strcmp(format->name, query->format))
		format++;
	if (!format->name) {
		reply_error(reply, 400, "that is no format of a difference");
		return;
	}
	if (!query->from_ns || !query->against_ns) {
		reply_error(reply, 400, "a difference needs from and against, the beginnings of two ranges");
		return;
	}
	end_ns = query->against_ns + (query->to_ns - query->from_ns);
	err = get_profile(request, query->against_ns, end_ns, reply, &before);
	err = err ? err : get_profile(request, query->from_ns, query->to_ns, reply, &after);
	if (!err)
		reply_file(reply, compare(before, after, format, &reply->body), format->name, format->suffix);
	profile_free(before);
	profile_free(after);
}

static void send_json(const struct http_request *request,
		      int (*ask)(void *context, const struct query *query, struct buf *out), struct http_reply *reply)
{
	struct filter *filter = NULL;
	bool patterns = !filter_new(&filter, &request->query.filter, &out_texts);
	int err = ask && patterns ? ask(request->source->context, &request->query, &reply->body) : -ENOENT;

	filter_free(filter);
	if (!ask)
		reply_error(reply, 404, "this is not kept here");
	else if (!patterns)
		reply_error(reply, 400, "%s", fail_text());
	else if (err)
		reply_failure(reply, err);
	else
		reply_body(reply, "application/json");
}

void api_processes(const struct http_request *request, struct http_reply *reply)
{
	send_json(request, request->source->processes, reply);
}

void api_series(const struct http_request *request, struct http_reply *reply)
{
	send_json(request, request->source->series, reply);
}

void api_heat(const struct http_request *request, struct http_reply *reply)
{
	send_json(request, request->source->heat, reply);
}

void api_gaps(const struct http_request *request, struct http_reply *reply)
{
	send_json(request, request->source->gaps, reply);
}

void api_health(const struct http_request *request, struct http_reply *reply)
{
	(void)request;
	buf_adds(&reply->body, "{\"status\":\"ok\"}\n");
	reply_body(reply, "application/json");
}

void api_ready(const struct http_request *request, struct http_reply *reply)
{
	struct json json = { .out = &reply->body };
	autobuf struct buf note = { 0 };

	if (request->source->ready(request->source->context, &note)) {
		reply_failure(reply, -EAGAIN);
		return;
	}
	json_object(&json, NULL);
	json_text(&json, "status", "ready", strlen("ready"));
	if (note.len)
		json_text(&json, "note", note.data, note.len);
	json_end(&json, '}');
	buf_addc(&reply->body, '\n');
	reply_body(reply, "application/json");
}

void api_metrics(const struct http_request *request, struct http_reply *reply)
{
	struct metrics metrics = { .out = &reply->body };
	int err = request->source->metrics(request->source->context, &metrics);

	if (err) {
		reply_failure(reply, err);
		return;
	}
	if (request->own_metrics)
		request->own_metrics(request->context, &metrics);
	metrics_end(&metrics);
	reply_body(reply, METRICS_TYPE);
}

void api_page(const struct http_request *request, struct http_reply *reply)
{
	const struct http_source *source = request->source;
	char words[32];

	snprintf(words, sizeof(words), "%s%s%s", source->greeting ? "live " : "", source->untimed ? "" : "times ",
		 source->gaps ? "gaps" : "");
	page_shell("/page.css", "/page.js", words, &reply->body);
	reply_body(reply, "text/html; charset=utf-8");
}

void api_style(const struct http_request *request, struct http_reply *reply)
{
	(void)request;
	buf_adds(&reply->body, page_style());
	buf_adds(&reply->body, page_server_style());
	reply_body(reply, "text/css; charset=utf-8");
}

void api_script(const struct http_request *request, struct http_reply *reply)
{
	(void)request;
	buf_adds(&reply->body, page_script());
	buf_adds(&reply->body, page_server_script());
	reply_body(reply, "text/javascript; charset=utf-8");
}

static void send_form(struct http_reply *reply, unsigned status, const char *words)
{
	buf_addf(&reply->body,
		 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n"
		 "<title>wick</title>\n"
		 "</head>\n<body>\n<main>\n<form method=\"post\" action=\"/login\">\n<h1>wick</h1>\n<p>%s</p>\n"
		 "<label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required "
		 "autofocus></label>\n<button>Open</button>\n</form>\n</main>\n</body>\n</html>\n",
		 words);
	reply_body(reply, "text/html; charset=utf-8");
	if (reply->status == 200)
		reply->status = status;
}

void api_login_form(const struct http_request *request, struct http_reply *reply)
{
	if (request->guard->token)
		send_form(reply, 200, "This server asks for its token, which is in its token file.");
	else
		reply_error(reply, 404, "this server asks for no token");
}

void api_login(const struct http_request *request, struct http_reply *reply)
{
	const char *token = request->body.data ? query_form(request->body.data, "token") : NULL;

	if (!request->guard->token) {
		reply_error(reply, 404, "this server asks for no token");
	} else if (!token || !guard_equal(token, request->guard->token)) {
		send_form(reply, 403, "That is not the token.");
	} else {
		guard_cookie(request->guard, &reply->cookie);
		reply_body(reply, "text/plain; charset=utf-8");
		reply->status = 303;
		reply->location = "/";
	}
}
