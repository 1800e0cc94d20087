/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask: hosts against rebinding, origins, users, tokens, and what every answer carries. */
#include "http/guard.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define TOKEN "correct-horse-battery-staple"

static const char *const hosts[] = { "wick.example", "proxy.example:8443", NULL };
static const char *const origins[] = { "https://www.speedscope.app", NULL };
static const struct guard plain = { 0 };
static const struct guard named = { .hosts = hosts, .origins = origins };
static const struct guard locked = { .token = TOKEN, .origins = origins };

static void test_loopback_by_any_port(void **state)
{
	static const char *const good[] = { "localhost",           "localhost:7777",      "LocalHost:1", "127.0.0.1",
					    "127.0.0.1:65535",     "127.8.9.10:80",       "[::1]",       "[::1]:7777",
					    "[0:0:0:0:0:0:0:1]:1", "[::ffff:127.0.0.1]:1" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(guard_host_allowed(&plain, good[i], NULL));
}

static void test_names_that_could_be_pointed_here(void **state)
{
	static const char *const bad[] = { "evil.example",
					   "evil.example:7777",
					   "localhost.evil.example",
					   "127.0.0.1.evil.example",
					   "localhost.",
					   "",
					   ":7777",
					   "localhost:",
					   "localhost:x",
					   "localhost:70000",
					   "10.0.0.1",
					   "0.0.0.0",
					   "[::]",
					   "[::1",
					   "::1",
					   "[::1]x",
					   "[localhost]",
					   "127.1",
					   "0x7f.0.0.1",
					   "localhost:1:2",
					   "wick.example",
					   "[::1]:",
					   "[]" };
	char long_one[400];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (guard_host_allowed(&plain, bad[i], NULL))
			fail_msg("'%s' was let in", bad[i]);
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	assert_false(guard_host_allowed(&plain, long_one, NULL));
}

static void test_hosts_that_were_named(void **state)
{
	(void)state;
	assert_true(guard_host_allowed(&named, "wick.example", NULL));
	assert_true(guard_host_allowed(&named, "WICK.example:99", NULL));
	assert_true(guard_host_allowed(&named, "proxy.example:8443", NULL));
	assert_false(guard_host_allowed(&named, "proxy.example", NULL));
	assert_false(guard_host_allowed(&named, "proxy.example:8444", NULL));
	assert_false(guard_host_allowed(&named, "xwick.example", NULL));
}

static void test_the_address_it_came_by(void **state)
{
	(void)state;
	assert_true(guard_host_allowed(&plain, "10.0.0.5:7777", "10.0.0.5"));
	assert_true(guard_host_allowed(&plain, "10.0.0.5:7777", "::ffff:10.0.0.5"));
	assert_true(guard_host_allowed(&plain, "[fe80::1]:7777", "fe80:0::1"));
	assert_false(guard_host_allowed(&plain, "10.0.0.6:7777", "10.0.0.5"));
	assert_false(guard_host_allowed(&plain, "evil.example", "10.0.0.5"));
	assert_false(guard_host_allowed(&plain, "[fe80::2]:7777", "fe80::1"));
}

static enum guard_verdict check(const struct guard *guard, const struct guard_request *request)
{
	bool cors;

	return guard_check(guard, request, &cors);
}

static void test_origins(void **state)
{
	bool cors = true;
	struct guard_request request = { .host = "localhost:7777", .origin = "http://localhost:7777" };

	(void)state;
	assert_int_equal(guard_check(&plain, &request, &cors), GUARD_OK);
	assert_false(cors);
	request.origin = "https://localhost:7777"; /* another scheme is another origin */
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.origin = "http://localhost:7778";
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.origin = "null";
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.origin = "";
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.origin = "https://www.speedscope.app";
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	assert_int_equal(guard_check(&named, &request, &cors), GUARD_OK);
	assert_true(cors);
	request.host = "evil.example";
	assert_int_equal(check(&named, &request), GUARD_BAD_HOST);
	request.host = NULL;
	assert_int_equal(check(&named, &request), GUARD_NO_HOST);
}

static void test_pictures_and_scripts_of_other_sites(void **state)
{
	struct guard_request request = { .host = "localhost:7777",
					 .fetch_site = "cross-site",
					 .fetch_mode = "no-cors" };

	(void)state;
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.fetch_site = "same-site"; /* another port of this machine */
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.fetch_mode = "navigate";
	assert_int_equal(check(&plain, &request), GUARD_OK);
	request.fetch_mode = NULL;
	assert_int_equal(check(&plain, &request), GUARD_BAD_ORIGIN);
	request.fetch_site = "same-origin";
	assert_int_equal(check(&plain, &request), GUARD_OK);
	request.fetch_site = "none"; /* typed by a person */
	assert_int_equal(check(&plain, &request), GUARD_OK);
}

static void test_tokens(void **state)
{
	char value[GUARD_COOKIE_LEN + 1], cookie[200];
	struct guard_request request = { .host = "localhost" };

	(void)state;
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	request.open = true;
	assert_int_equal(check(&locked, &request), GUARD_OK);
	request.open = false;
	request.authorization = "Bearer " TOKEN;
	assert_int_equal(check(&locked, &request), GUARD_OK);
	request.authorization = "bearer " TOKEN;
	assert_int_equal(check(&locked, &request), GUARD_OK);
	request.authorization = "Bearer " TOKEN "x";
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	request.authorization = "Bearer ";
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	request.authorization = "Basic " TOKEN;
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	request.authorization = NULL;
	guard_cookie_value(TOKEN, value);
	snprintf(cookie, sizeof(cookie), "a=b; %s=%s; c=d", GUARD_COOKIE, value);
	request.cookie = cookie;
	assert_int_equal(check(&locked, &request), GUARD_OK);
	*strstr(cookie, value) ^= 1;
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	snprintf(cookie, sizeof(cookie), "%s=%s", GUARD_COOKIE, TOKEN); /* the cookie is not the token */
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
}

static void test_preflight_has_no_token(void **state)
{
	struct guard_request request = { .host = "localhost",
					 .origin = "https://www.speedscope.app",
					 .preflight = true };

	(void)state;
	assert_int_equal(check(&locked, &request), GUARD_OK);
	request.origin = "http://localhost";
	assert_int_equal(check(&locked, &request), GUARD_NO_TOKEN);
	request.origin = "https://evil.example";
	assert_int_equal(check(&locked, &request), GUARD_BAD_ORIGIN);
}

/* ---- Users of this machine ---- */

static const uid_t owner_uids[] = { 0, 1000 }, allowed_uids[] = { 103, 1000 };

static void test_who_is_who(void **state)
{
	const struct guard guard = { .owners = { owner_uids, 2 } };
	const struct guard more = { .owners = { owner_uids, 2 }, .allowed = { allowed_uids, 2 } };

	(void)state;
	assert_int_equal(guard_client(&guard, true, 0), GUARD_OWNER);
	assert_int_equal(guard_client(&guard, true, 1000), GUARD_OWNER);
	assert_int_equal(guard_client(&guard, true, 103), GUARD_STRANGER);
	assert_int_equal(guard_client(&guard, true, 65534), GUARD_STRANGER);
	assert_int_equal(guard_client(&guard, false, 0), GUARD_UNKNOWN); /* whatever the number says */
	assert_int_equal(guard_client(&more, true, 103), GUARD_ALLOWED);
	assert_int_equal(guard_client(&more, true, 1000), GUARD_ALLOWED);
	assert_int_equal(guard_client(&more, true, 0), GUARD_OWNER);
	assert_int_equal(guard_client(&more, true, 104), GUARD_STRANGER);
	assert_int_equal(guard_client(&more, false, 103), GUARD_UNKNOWN);
	assert_int_equal(guard_client(&plain, true, 0), GUARD_STRANGER); /* nobody was said to be an owner */
}

/* For each kind of route, with no token configured, one that is not shown, and one that is. */
struct expected {
	enum guard_client client;
	enum guard_verdict data[3], open[3], login[3], metrics[3];
};

#define YES GUARD_OK
#define TOK GUARD_NO_TOKEN
#define NOT GUARD_NOT_ALLOWED
#define UNK GUARD_NOT_KNOWN

static const struct expected table[] = {
	{ GUARD_NETWORK, { YES, TOK, YES }, { YES, YES, YES }, { YES, YES, YES }, { YES, TOK, YES } },
	{ GUARD_SOCKET, { YES, YES, YES }, { YES, YES, YES }, { YES, YES, YES }, { YES, YES, YES } },
	{ GUARD_OWNER, { YES, TOK, YES }, { YES, YES, YES }, { YES, YES, YES }, { YES, TOK, YES } },
	{ GUARD_ALLOWED, { YES, YES, YES }, { YES, YES, YES }, { YES, YES, YES }, { YES, YES, YES } },
	{ GUARD_STRANGER, { NOT, TOK, YES }, { NOT, TOK, YES }, { NOT, YES, YES }, { NOT, TOK, YES } },
	{ GUARD_UNKNOWN, { UNK, TOK, YES }, { UNK, TOK, YES }, { UNK, YES, YES }, { UNK, TOK, YES } },
};

static void check_row(const struct expected *row, int token, bool public)
{
	const struct guard guard = { .token = token ? TOKEN : NULL, .public_metrics = public };
	struct guard_request request = { .client = row->client, .host = "localhost" };
	enum guard_verdict wanted = row->metrics[token];

	request.authorization = token == 2 ? "Bearer " TOKEN : token ? "Bearer nonsense" : NULL;
	assert_int_equal(check(&guard, &request), row->data[token]);
	request.metrics = true;
	assert_int_equal(check(&guard, &request), public && wanted != YES ? GUARD_PUBLIC : wanted);
	request.metrics = false;
	request.open = true;
	assert_int_equal(check(&guard, &request), row->open[token]);
	request.login = true;
	assert_int_equal(check(&guard, &request), row->login[token]);
}

static void test_users_and_tokens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		for (int token = 0; token < 3; token++) {
			check_row(&table[i], token, false);
			check_row(&table[i], token, true);
		}
}

/* A page of somebody else's is no better for being asked for by a user who may, nor is a path for being public. */
static void test_hosts_and_origins_come_first(void **state)
{
	const struct guard guard = { .origins = origins, .public_metrics = true };
	struct guard_request request = { .host = "evil.example", .metrics = true };

	(void)state;
	for (request.client = GUARD_NETWORK; request.client <= GUARD_UNKNOWN; request.client++) {
		request.host = "evil.example";
		request.origin = NULL;
		assert_int_equal(check(&guard, &request), GUARD_BAD_HOST);
		request.host = "localhost";
		request.origin = "https://evil.example";
		assert_int_equal(check(&guard, &request), GUARD_BAD_ORIGIN);
	}
}

static void test_preflight_of_strangers(void **state)
{
	struct guard_request request = {
		.client = GUARD_STRANGER, .host = "localhost", .origin = "https://www.speedscope.app", .preflight = true
	};

	(void)state;
	assert_int_equal(check(&named, &request), GUARD_NOT_ALLOWED);
	assert_int_equal(check(&locked, &request), GUARD_OK); /* what follows can have the token */
	request.client = GUARD_UNKNOWN;
	assert_int_equal(check(&named, &request), GUARD_NOT_KNOWN);
}

static void test_equal(void **state)
{
	(void)state;
	assert_true(guard_equal("", ""));
	assert_true(guard_equal("abc", "abc"));
	assert_false(guard_equal("abc", "abd"));
	assert_false(guard_equal("abc", "ab"));
	assert_false(guard_equal("", "a"));
}

static void test_cookie_flags(void **state)
{
	struct guard tls = { .token = TOKEN, .tls = true };
	autobuf struct buf out = { 0 };

	(void)state;
	guard_cookie(&locked, &out);
	assert_non_null(strstr(out.data, "; HttpOnly; SameSite=Strict"));
	assert_null(strstr(out.data, "Secure"));
	assert_null(strstr(out.data, TOKEN));
	buf_clear(&out);
	guard_cookie(&tls, &out);
	assert_non_null(strstr(out.data, "; Secure"));
}

static void test_headers(void **state)
{
	const char *policy = NULL;
	bool sniff = true;

	(void)state;
	for (const struct guard_header *header = guard_headers; header->name; header++) {
		if (!strcmp(header->name, "Content-Security-Policy"))
			policy = header->value;
		if (!strcmp(header->name, "X-Content-Type-Options"))
			sniff = strcmp(header->value, "nosniff");
	}
	assert_non_null(policy);
	assert_non_null(strstr(policy, "default-src 'none'"));
	assert_null(strstr(policy, "unsafe"));
	assert_false(sniff);
}

/* Writes a token file and reads it. */
static int read_token(const char *text, mode_t mode, char **ret)
{
	char path[] = "/tmp/wick-token.XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	err = guard_token_read(path, ret);
	unlink(path);
	return err;
}

static void test_token_files(void **state)
{
	char *token = NULL;

	(void)state;
	assert_int_equal(read_token(TOKEN "\n", 0600, &token), 0);
	assert_string_equal(token, TOKEN);
	free(token);
	token = NULL;
	assert_true(read_token(TOKEN, 0644, &token) < 0);
	assert_non_null(strstr(fail_text(), "chmod 600"));
	assert_true(read_token("short\n", 0600, &token) < 0);
	assert_true(read_token("", 0600, &token) < 0);
	assert_true(read_token("a token with blanks in it\n", 0600, &token) < 0);
	assert_non_null(strstr(fail_text(), "without blanks"));
	assert_true(guard_token_read("/nonexistent/token", &token) < 0);
	assert_null(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback_by_any_port),
		cmocka_unit_test(test_names_that_could_be_pointed_here),
		cmocka_unit_test(test_hosts_that_were_named),
		cmocka_unit_test(test_the_address_it_came_by),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_pictures_and_scripts_of_other_sites),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_preflight_has_no_token),
		cmocka_unit_test(test_who_is_who),
		cmocka_unit_test(test_users_and_tokens),
		cmocka_unit_test(test_hosts_and_origins_come_first),
		cmocka_unit_test(test_preflight_of_strangers),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_cookie_flags),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_token_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
