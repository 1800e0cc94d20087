/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to listen on. In: what a person wrote. Out: a socket. An address that is not loopback's is refused unless
 * there is a token and TLS, or the person has said that neither is wanted. Names are not looked up: what they would
 * mean tomorrow is not known.
 */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/outpath.h"
#include "base/span.h"

#define LISTEN_BACKLOG 1024
#define LISTEN_WAYS "write ADDRESS:PORT, such as 127.0.0.1:7777 or [::1]:7777"

static bool read_four(struct span host, uint16_t port, struct listen_address *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->address;
	char text[INET_ADDRSTRLEN] = { 0 };

	if (host.len >= sizeof(text))
		return false;
	memcpy(text, host.data, host.len);
	if (inet_pton(AF_INET, span_is(host, "localhost") ? "127.0.0.1" : text, &in->sin_addr) != 1)
		return false;
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	ret->len = sizeof(*in);
	ret->loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool read_six(struct span host, uint16_t port, struct listen_address *ret)
{
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&ret->address;
	char text[INET6_ADDRSTRLEN] = { 0 };

	if (host.len < 2 || host.len - 2 >= sizeof(text) || !span_begins(host, "[") || !span_ends(host, "]"))
		return false;
	memcpy(text, host.data + 1, host.len - 2);
	if (inet_pton(AF_INET6, text, &in->sin6_addr) != 1)
		return false;
	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	ret->len = sizeof(*in);
	ret->loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
	return true;
}

int listen_parse(const char *text, struct listen_address *ret)
{
	struct listen_address address = { 0 };
	const char *colon = strrchr(text, ':');
	struct span host = { text, colon ? (size_t)(colon - text) : 0 };
	uint64_t port;

	if (!colon || !span_u64((struct span){ colon + 1, strlen(colon + 1) }, &port) || port > UINT16_MAX ||
	    (!read_four(host, (uint16_t)port, &address) && !read_six(host, (uint16_t)port, &address)))
		return fail_plain(-EINVAL, "listening on '%s': this is no address: " LISTEN_WAYS, text);
	*ret = address;
	return 0;
}

int listen_check(const struct listen_address *address, const char *text, const struct listen_policy *policy)
{
	if (address->loopback || policy->insecure || (policy->token && policy->tls))
		return 0;
	return fail_plain(
		-EPERM,
		"listening on '%s': whoever reaches it could read this machine's profiles: give --token-file, "
		"--tls-cert and --tls-key, or --insecure if that is meant",
		text);
}

int listen_open(const struct listen_address *address, const char *text, int *ret_fd, uint16_t *ret_port)
{
	int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	struct sockaddr_storage got = { 0 };
	socklen_t len = sizeof(got);
	int err;

	if (fd < 0)
		return fail(-errno, "listening on '%s'", text);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&address->address, address->len) || listen(fd, LISTEN_BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&got, &len)) {
		err = fail(-errno, "listening on '%s'", text);
		close(fd);
		return err;
	}
	*ret_fd = fd;
	*ret_port = ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
						    : ((struct sockaddr_in *)&got)->sin_port);
	return 0;
}

/* A socket's file that nobody answers at is what a crash left behind. */
static int clear_path(const struct sockaddr_un *address)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat info;

	if (lstat(address->sun_path, &info))
		return 0;
	if (!S_ISSOCK(info.st_mode))
		return fail_plain(-EEXIST, "listening on '%s': something else is there: --socket gives another path",
				  address->sun_path);
	if (fd >= 0 && (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN))
		return fail_plain(
			-EADDRINUSE,
			"listening on '%s': another wick serve does: stop that one, or give another path with --socket",
			address->sun_path);
	unlink(address->sun_path);
	return 0;
}

/* Makes the socket's folder, or refuses one in which others could lead us elsewhere. */
static int make_folder(const char *path)
{
	autofree char *folder = strdup(path), *real = NULL;
	char *slash = folder ? strrchr(folder, '/') : NULL;
	int err;

	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	err = outpath_folder(&real, folder, 0755, "listening in");
	return err == -EPERM ? err : 0; /* of anything else, binding says why */
}

int listen_local(const char *path, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, err;

	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return fail_plain(-EINVAL, "listening on '%s': the path of a socket has from 1 to %zu bytes", path,
				  sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	err = make_folder(path);
	err = err ? err : clear_path(&address);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(-errno, "listening on '%s'", path);
	mask = umask(0177);
	err = bind(fd, (const struct sockaddr *)&address, sizeof(address)) || listen(fd, LISTEN_BACKLOG) ? -errno : 0;
	umask(mask);
	if (err) {
		close(fd);
		return fail(err, "listening on '%s'", path);
	}
	*ret_fd = fd;
	return 0;
}
