/* SPDX-License-Identifier: Apache-2.0 */
/* The table of paths: what is found, by which method, and how a refusal is said. */
#include "http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void finds(const char *method, const char *path)
{
	struct http_reply reply = { 0 };
	const struct route *route = route_find(method, path, &reply);

	assert_non_null(route);
	assert_string_equal(route->path, path);
	assert_int_equal(reply.status, 0);
}

static void refuses(const char *method, const char *path, unsigned status, const char *allow)
{
	struct http_reply reply = { 0 };

	assert_null(route_find(method, path, &reply));
	assert_int_equal(reply.status, status);
	assert_string_equal(reply.type, "application/json");
	if (allow)
		assert_string_equal(reply.allow, allow);
	else
		assert_null(reply.allow);
	reply_free(&reply);
}

static void test_every_path_is_found(void **state)
{
	(void)state;
	for (const struct route *route = routes; route->method; route++)
		finds(route->method, route->path);
	finds("HEAD", "/api/profile");
}

static void test_what_is_not_there(void **state)
{
	(void)state;
	refuses("GET", "/nothing", 404, NULL);
	refuses("GET", "", 404, NULL);
	refuses("GET", "/../etc/passwd", 404, NULL);
	refuses("GET", "/healthz/", 404, NULL);
	refuses("POST", "/healthz", 405, "GET, HEAD");
	refuses("DELETE", "/login", 405, "GET, HEAD, POST");
	refuses("get", "/healthz", 405, "GET, HEAD");
}

/* What takes no token must not show anything of the machine. */
static void test_what_is_open(void **state)
{
	(void)state;
	for (const struct route *route = routes; route->method; route++)
		if (route->flags & ROUTE_OPEN)
			assert_true(!strncmp(route->path, "/page.", 6) || !strcmp(route->path, "/login") ||
				    !strcmp(route->path, "/healthz") || !strcmp(route->path, "/readyz"));
}

/* Nor what strangers can get, without a token and with one to show. */
static void test_what_strangers_get(void **state)
{
	(void)state;
	for (const struct route *route = routes; route->method; route++) {
		if (route->flags & ROUTE_METRICS)
			assert_true(!strcmp(route->path, "/metrics") || !strcmp(route->path, "/healthz") ||
				    !strcmp(route->path, "/readyz"));
		if (route->flags & ROUTE_LOGIN)
			assert_true(!strcmp(route->path, "/page.css") || !strcmp(route->path, "/login"));
	}
}

static void test_an_error_replaces_what_was_there(void **state)
{
	struct http_reply reply = { .status = 200, .type = "text/html", .name = "wick", .suffix = ".svg" };

	(void)state;
	buf_adds(&reply.body, "half of an answer");
	buf_adds(&reply.cookie, "a=b");
	reply_error(&reply, 500, "a \"%s\"\n", "name");
	assert_int_equal(reply.status, 500);
	assert_string_equal(reply.body.data, "{\"error\":\"a \\\"name\\\"\\n\"}\n");
	assert_null(reply.name);
	assert_null(reply.cookie.data);
	reply_free(&reply);
	reply_free(&reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_path_is_found),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_what_is_open),
		cmocka_unit_test(test_what_strangers_get),
		cmocka_unit_test(test_an_error_replaces_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
