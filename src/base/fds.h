/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes over a socket, and descriptors with the first of them.
 */
#ifndef WICK_BASE_FDS_H
#define WICK_BASE_FDS_H

#include <stddef.h>
#include <sys/types.h>

#define FDS_MAX 4 /* with one message */

/* As sendmsg: without SIGPIPE. At most FDS_MAX descriptors. */
ssize_t fds_send(int socket, const void *from, size_t len, const int *fds, size_t fds_len);

/* As recvmsg: descriptors are closed on exec. What came beyond `fds_max` of them is closed by the kernel. */
ssize_t fds_receive(int socket, void *into, size_t len, int *fds, size_t fds_max, size_t *fds_len);

#endif
