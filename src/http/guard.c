/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who may ask. In: a user, and headers as they came. Out: a verdict. Names are compared without regard to case,
 * secrets in constant time, and whoever is not known and whatever is not understood is refused.
 */
#include "http/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/span.h"

#define HOST_LEN_MAX 255
#define COOKIES_MAX 64

/*
 * Scripts and styles are files of the server's; whatever a name from a profile may look like, it runs nothing. The
 * referrer policy is not no-referrer, with which browsers hide the origin of our own form.
 */
const struct guard_header guard_headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
	  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
	{ NULL, NULL },
};

/* NAME[:PORT] or [ADDRESS][:PORT], taken apart; false if it is neither. */
static bool split_host(const char *text, struct span *ret_name, struct span *ret_port)
{
	size_t len = strnlen(text, HOST_LEN_MAX + 1);
	struct span all = { text, len };
	const char *end = text[0] == '[' ? memchr(text, ']', len) : NULL;
	size_t name;
	uint64_t port;

	if (!len || len > HOST_LEN_MAX || (text[0] == '[' && !end))
		return false;
	name = end ? (size_t)(end - text) + 1 : strcspn(text, ":");
	*ret_name = (struct span){ text, name };
	*ret_port = span_from(all, name);
	if (!name)
		return false;
	if (!ret_port->len)
		return true;
	*ret_port = span_from(*ret_port, 1);
	return text[name] == ':' && span_u64(*ret_port, &port) && port <= 65535;
}

static bool same_text(struct span a, struct span b)
{
	return a.len == b.len && !strncasecmp(a.data, b.data, a.len);
}

/* An address in digits, one form for both families. */
static bool read_digits(struct span text, bool six, struct in6_addr *ret)
{
	char mapped[INET6_ADDRSTRLEN + 8] = "::ffff:";
	size_t prefix = strlen(mapped);

	if (text.len >= INET6_ADDRSTRLEN)
		return false;
	memcpy(mapped + prefix, text.data, text.len);
	mapped[prefix + text.len] = '\0';
	return inet_pton(AF_INET6, six ? mapped + prefix : mapped, ret) == 1;
}

static bool read_address(struct span name, struct in6_addr *ret)
{
	if (name.len >= 2 && name.data[0] == '[')
		return read_digits((struct span){ name.data + 1, name.len - 2 }, true, ret);
	return read_digits(name, false, ret);
}

static bool is_loopback(struct span name)
{
	static const unsigned char four[12] = { [10] = 0xff, [11] = 0xff };
	struct in6_addr address;

	if (same_text(name, (struct span){ "localhost", 9 }))
		return true;
	if (!read_address(name, &address))
		return false;
	if (!memcmp(&address, &in6addr_loopback, sizeof(address)))
		return true;
	return !memcmp(address.s6_addr, four, sizeof(four)) && address.s6_addr[12] == 127;
}

/* It says the address by which it came: no name, so nothing that could be pointed elsewhere. */
static bool is_local(struct span name, const char *local)
{
	struct in6_addr said, is;

	if (!local || !read_address(name, &said))
		return false;
	return read_digits((struct span){ local, strlen(local) }, strchr(local, ':'), &is) &&
	       !memcmp(&said, &is, sizeof(is));
}

bool guard_host_allowed(const struct guard *guard, const char *host, const char *local)
{
	struct span name, port;

	if (!split_host(host, &name, &port))
		return false;
	if (is_loopback(name) || is_local(name, local))
		return true;
	for (size_t i = 0; guard->hosts && guard->hosts[i]; i++) {
		struct span allowed, allowed_port;

		if (split_host(guard->hosts[i], &allowed, &allowed_port) && same_text(name, allowed) &&
		    (!allowed_port.len || span_equal(port, allowed_port)))
			return true;
	}
	return false;
}

bool guard_origin_is_own(const struct guard *guard, const char *origin, const char *host)
{
	const char *scheme = guard->tls ? "https://" : "http://";
	size_t len = strlen(scheme);

	return !strncmp(origin, scheme, len) && !strcasecmp(origin + len, host);
}

bool guard_origin_named(const struct guard *guard, const char *origin)
{
	for (size_t i = 0; guard->origins && guard->origins[i]; i++)
		if (!strcasecmp(guard->origins[i], origin))
			return true;
	return false;
}

bool guard_equal(const char *a, const char *b)
{
	unsigned char hash_a[SHA256_LEN], hash_b[SHA256_LEN];
	volatile unsigned char differ = 0;

	/* Hashes first: how far the comparison comes tells nothing of the texts, nor does a length. */
	sha256(a, strlen(a), hash_a);
	sha256(b, strlen(b), hash_b);
	for (size_t i = 0; i < SHA256_LEN; i++)
		differ |= hash_a[i] ^ hash_b[i];
	return !differ;
}

void guard_cookie_value(const char *token, char ret[GUARD_COOKIE_LEN + 1])
{
	static const char digits[] = "0123456789abcdef", purpose[] = "wick cookie:";
	char text[sizeof(purpose) + GUARD_TOKEN_MAX];
	unsigned char hash[SHA256_LEN];
	size_t len = strnlen(token, GUARD_TOKEN_MAX);

	memcpy(text, purpose, sizeof(purpose) - 1);
	memcpy(text + sizeof(purpose) - 1, token, len);
	sha256(text, sizeof(purpose) - 1 + len, hash);
	for (size_t i = 0; i < SHA256_LEN; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[GUARD_COOKIE_LEN] = '\0';
}

void guard_cookie(const struct guard *guard, struct buf *out)
{
	char value[GUARD_COOKIE_LEN + 1];

	guard_cookie_value(guard->token, value);
	buf_addf(out, GUARD_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict%s", value, guard->tls ? "; Secure" : "");
}

/* One of `name=value; name=value`. */
static bool has_cookie(const char *header, const char *wanted)
{
	for (unsigned i = 0; i < COOKIES_MAX && *header; i++) {
		size_t len = strcspn(header, ";"), name = strlen(GUARD_COOKIE);
		char value[GUARD_COOKIE_LEN + 1] = { 0 };

		if (len == name + 1 + GUARD_COOKIE_LEN && !strncmp(header, GUARD_COOKIE "=", name + 1)) {
			memcpy(value, header + name + 1, GUARD_COOKIE_LEN);
			if (guard_equal(value, wanted))
				return true;
		}
		header += len;
		header += strspn(header, "; ");
	}
	return false;
}

bool guard_has_token(const struct guard *guard, const char *authorization, const char *cookie)
{
	char value[GUARD_COOKIE_LEN + 1];

	if (!guard->token)
		return true;
	if (authorization && !strncasecmp(authorization, "Bearer ", 7) && guard_equal(authorization + 7, guard->token))
		return true;
	guard_cookie_value(guard->token, value);
	return cookie && has_cookie(cookie, value);
}

/* Browsers say so where there is no Origin, of pictures and scripts. Following a link to here is anybody's right. */
static bool comes_from_elsewhere(const struct guard_request *request)
{
	if (!request->fetch_site || !strcmp(request->fetch_site, "same-origin") || !strcmp(request->fetch_site, "none"))
		return false;
	return !request->fetch_mode || strcmp(request->fetch_mode, "navigate");
}

static bool is_among(const struct guard_users *users, uid_t uid)
{
	for (size_t i = 0; i < users->len; i++)
		if (users->uids[i] == uid)
			return true;
	return false;
}

enum guard_client guard_client(const struct guard *guard, bool known, uid_t uid)
{
	if (!known)
		return GUARD_UNKNOWN;
	if (is_among(&guard->allowed, uid)) /* first: an owner who was named needs no token */
		return GUARD_ALLOWED;
	return is_among(&guard->owners, uid) ? GUARD_OWNER : GUARD_STRANGER;
}

bool guard_is_guest(enum guard_client client)
{
	return client == GUARD_STRANGER || client == GUARD_UNKNOWN;
}

/* By the user, then by the token. */
static enum guard_verdict check_client(const struct guard *guard, const struct guard_request *request, bool cors)
{
	bool guest = guard_is_guest(request->client);

	if (request->client == GUARD_SOCKET || request->client == GUARD_ALLOWED)
		return GUARD_OK;
	if (guest && !guard->token)
		return request->client == GUARD_STRANGER ? GUARD_NOT_ALLOWED : GUARD_NOT_KNOWN;
	if (request->preflight && cors) /* which cannot have a token */
		return GUARD_OK;
	if (guest ? request->login : request->open)
		return GUARD_OK;
	return guard_has_token(guard, request->authorization, request->cookie) ? GUARD_OK : GUARD_NO_TOKEN;
}

enum guard_verdict guard_check(const struct guard *guard, const struct guard_request *request, bool *ret_cors)
{
	enum guard_verdict verdict;

	*ret_cors = false;
	if (!request->host)
		return GUARD_NO_HOST;
	if (!guard_host_allowed(guard, request->host, request->local))
		return GUARD_BAD_HOST;
	*ret_cors = request->origin && guard_origin_named(guard, request->origin);
	if (request->origin ? !*ret_cors && !guard_origin_is_own(guard, request->origin, request->host)
			    : comes_from_elsewhere(request))
		return GUARD_BAD_ORIGIN;
	verdict = check_client(guard, request, *ret_cors);
	return verdict != GUARD_OK && guard->public_metrics && request->metrics ? GUARD_PUBLIC : verdict;
}

static int check_token(const char *text, size_t len)
{
	if (len < GUARD_TOKEN_MIN || len > GUARD_TOKEN_MAX)
		return fail_plain(-EINVAL, "has to have a line of %d to %d characters", GUARD_TOKEN_MIN,
				  GUARD_TOKEN_MAX);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return fail_plain(-EINVAL, "may have only ASCII characters without blanks");
	return 0;
}

int guard_token_read(const char *path, char **ret)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	autobuf struct buf text = { 0 };
	struct stat stat;
	size_t len;
	int err;

	if (fd < 0 || fstat(fd, &stat))
		return fail(-errno, "token file '%s'", path);
	if (stat.st_mode & (S_IRWXO | S_IWGRP))
		return fail_plain(-EPERM, "token file '%s': others can read or change it: chmod 600", path);
	err = file_read_fd(fd, GUARD_TOKEN_MAX + 2, &text);
	if (err)
		return fail(err, "token file '%s'", path);
	len = text.data ? strcspn(text.data, "\r\n") : 0;
	err = check_token(text.data, len);
	if (err) {
		autofree char *why = strdup(fail_text());

		return fail_plain(err, "token file '%s': %s", path, why ? why : "");
	}
	*ret = strndup(text.data, len);
	return *ret ? 0 : fail(-ENOMEM, "token");
}
