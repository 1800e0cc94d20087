/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager is told: a datagram to the socket in $NOTIFY_SOCKET, a path or (with @) an abstract name. All
 * of it does nothing where there is none.
 */
#ifndef WICK_CMD_NOTIFY_H
#define WICK_CMD_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd;               /* -1: nobody wants to be told */
	uint64_t watchdog_ns; /* how often it wants to hear that all is well; 0: not at all */
	uint64_t due_ns;      /* when next, monotonic */
};

/* Reads the environment, and takes it away for those that are started later. */
void notify_open(struct notify *ret);
void notify_close(struct notify *notify);

/* Lines of NAME=VALUE, as sd_notify(3) has them. */
void notify_send(struct notify *notify, const char *lines);
/* Says that all is well, if it is time to and something was done at `alive_ns`, not too long ago; both monotonic. */
void notify_alive(struct notify *notify, uint64_t now_ns, uint64_t alive_ns);

#endif
