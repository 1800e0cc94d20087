/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of HTTP that knows as much of it as is needed here. In: the path of a socket, and what to ask for. Out: the
 * answer's status and body. It asks by HTTP/1.0, so the answer comes in one piece and ends with the connection; one
 * that is shorter than it said is an error, not half an answer.
 */
#include "cmd/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/span.h"

#define ANSWER_MAX (1u << 30) /* bytes */
#define ANSWER_SECONDS 120    /* for all of it */
#define CHUNK (64u << 10)
#define HEAD_MAX (64u << 10)
#define LENGTH_NAME "content-length:"

static int connect_to(const char *path, int *ret_fd)
{
	const struct timeval patience = { .tv_sec = ANSWER_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	autoclose int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return fail(-ENAMETOOLONG, "asking the server at '%s'", path);
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(-errno, "asking the server at '%s'", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fail(-errno, "asking the server at '%s'", path);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int send_all(int fd, const struct buf *request)
{
	size_t sent = 0;

	while (sent < request->len) {
		ssize_t got = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);

		if (got < 0 && errno == EPIPE) /* which of an output would mean that nobody wants it */
			return -ECONNRESET;
		if (got < 0 && errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		sent += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int receive_all(int fd, struct buf *ret)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + ANSWER_SECONDS * NS_PER_SEC;

	while (clock_ns(CLOCK_MONOTONIC) < until) {
		char *space = buf_space(ret, CHUNK);
		ssize_t got;

		if (!space)
			return -ENOMEM;
		got = recv(fd, space, CHUNK, 0);
		ret->len -= CHUNK - (size_t)(got > 0 ? got : 0);
		if (!got)
			return 0;
		if (got < 0 && errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (ret->len > ANSWER_MAX)
			return -EFBIG;
	}
	return -ETIMEDOUT;
}

static bool read_status(struct span line, unsigned *ret)
{
	uint64_t status;

	if (!span_begins(line, "HTTP/1.") || line.len < 12 || line.data[8] != ' ')
		return false;
	if (!span_u64((struct span){ line.data + 9, 3 }, &status) || status < 100)
		return false;
	*ret = (unsigned)status;
	return true;
}

int ask_parse(const char *path, struct buf *answer, unsigned *ret_status)
{
	struct span rest = { answer->data ? answer->data : "", answer->len < HEAD_MAX ? answer->len : HEAD_MAX };
	uint64_t length = UINT64_MAX;
	bool ends = false;
	size_t body;

	if (!read_status(span_line(&rest), ret_status))
		return fail_plain(-EPROTO, "asking the server at '%s': what answers there does not speak HTTP", path);
	while (rest.len && !ends) {
		struct span line = span_line(&rest);

		ends = !line.len;
		if (line.len > strlen(LENGTH_NAME) && !strncasecmp(line.data, LENGTH_NAME, strlen(LENGTH_NAME)) &&
		    !span_u64(span_trim(span_from(line, strlen(LENGTH_NAME))), &length))
			return fail_plain(-EPROTO, "asking the server at '%s': its answer has no length", path);
	}
	body = (size_t)(rest.data - answer->data);
	if (!ends || (length != UINT64_MAX && answer->len - body != length))
		return fail_plain(-EPROTO, "asking the server at '%s': its answer was cut short", path);
	memmove(answer->data, answer->data + body, answer->len - body + 1);
	answer->len -= body;
	return 0;
}

int ask_server(const char *path, const char *target, struct buf *ret_body, unsigned *ret_status)
{
	autobuf struct buf request = { 0 };
	autoclose int fd = -1;
	int err = connect_to(path, &fd);

	if (err)
		return err;
	buf_addf(&request, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", target);
	err = buf_error(&request) ? -ENOMEM : send_all(fd, &request);
	err = err ? err : receive_all(fd, ret_body);
	return err ? fail(err, "asking the server at '%s'", path) : ask_parse(path, ret_body, ret_status);
}
