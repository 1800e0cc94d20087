/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a service manager how it goes. In: the environment that it gave. Out: datagrams. Nobody waits for them, and
 * what cannot be sent is not: whoever manages services notices that nothing came.
 */
#include "cmd/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define PATIENCE_NS (3 * NS_PER_SEC) /* what is done about once a second may take a little longer */

static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd;

	if (len < 2 || len >= sizeof(address.sun_path) || (name[0] != '/' && name[0] != '@'))
		return -1;
	memcpy(address.sun_path, name, len);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
	    connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Half of what it allows; meant for this process, or for whoever is the first. */
static uint64_t watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t value, whose;

	if (!usec || text_u64(usec, &value) || value > UINT64_MAX / NS_PER_US)
		return 0;
	if (pid && (text_u64(pid, &whose) || whose != (uint64_t)getpid()))
		return 0;
	return value * NS_PER_US / 2;
}

void notify_open(struct notify *ret)
{
	const char *name = getenv("NOTIFY_SOCKET");

	*ret = (struct notify){ .fd = name ? connect_to(name) : -1, .watchdog_ns = watchdog_ns() };
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}

void notify_send(struct notify *notify, const char *lines)
{
	if (notify->fd >= 0)
		(void)!send(notify->fd, lines, strlen(lines), MSG_NOSIGNAL);
}

void notify_alive(struct notify *notify, uint64_t now_ns, uint64_t alive_ns)
{
	uint64_t patience = notify->watchdog_ns > PATIENCE_NS ? notify->watchdog_ns : PATIENCE_NS;

	if (!notify->watchdog_ns || now_ns < notify->due_ns || alive_ns + patience < now_ns)
		return;
	notify_send(notify, "WATCHDOG=1");
	notify->due_ns = now_ns + notify->watchdog_ns;
}
