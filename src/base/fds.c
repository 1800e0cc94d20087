/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	struct cmsghdr align;
};

ssize_t fds_send(int socket, const void *from, size_t len, const int *fds, size_t fds_len)
{
	union control control = { { 0 } };
	struct iovec part = { (void *)from, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (fds_len > FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (fds_len) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fds_len);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * fds_len);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * fds_len);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t fds_receive(int socket, void *into, size_t len, int *fds, size_t fds_max, size_t *fds_len)
{
	union control control;
	struct iovec part = { into, len };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = CMSG_LEN(sizeof(int) * (fds_max < FDS_MAX ? fds_max : FDS_MAX)) };
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*fds_len = 0;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
		*fds_len = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(head), *fds_len * sizeof(int));
	}
	return got;
}
