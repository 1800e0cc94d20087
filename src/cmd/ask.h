/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a running server over its socket on this machine: one GET, one answer, within bounds. */
#ifndef WICK_CMD_ASK_H
#define WICK_CMD_ASK_H

struct buf;

/*
 * The answer's body, whatever its status. -ENOENT or -ECONNREFUSED if nobody listens there, -EACCES if this user may
 * not ask, -ETIMEDOUT, -EFBIG, -EPROTO; all with fail() set.
 */
int ask_server(const char *path, const char *target, struct buf *ret_body, unsigned *ret_status);

/* The same for bytes that were answered: takes the head off. -EPROTO with fail() set if they are none. */
int ask_parse(const char *path, struct buf *answer, unsigned *ret_status);

#endif
