/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager is told, and when the watchdog is answered: only while something is really done. */
#include "cmd/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

/* An abstract socket, and its name as it stands in the environment. */
static int listen_here(char *name, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int len = snprintf(name, size, "@wick-notify-%d", getpid());

	memcpy(address.sun_path, name, (size_t)len);
	address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)),
			 0);
	return fd;
}

static void check_told(int fd, const char *words)
{
	char text[128] = { 0 };
	ssize_t len = recv(fd, text, sizeof(text) - 1, 0);

	if (words) {
		assert_true(len > 0);
		assert_string_equal(text, words);
	} else {
		assert_true(len < 0);
	}
}

static void test_it_is_told(void **state)
{
	struct notify notify;
	char name[64];
	int fd = listen_here(name, sizeof(name));

	(void)state;
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", "20000000", 1);
	unsetenv("WATCHDOG_PID");
	notify_open(&notify);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_true(notify.watchdog_ns == 10 * NS_PER_SEC);
	notify_send(&notify, "READY=1");
	check_told(fd, "READY=1");
	notify_alive(&notify, 100 * NS_PER_SEC, 99 * NS_PER_SEC);
	check_told(fd, "WATCHDOG=1");
	notify_alive(&notify, 105 * NS_PER_SEC, 105 * NS_PER_SEC); /* not yet */
	check_told(fd, NULL);
	notify_alive(&notify, 115 * NS_PER_SEC, 104 * NS_PER_SEC); /* nothing was done for too long */
	check_told(fd, NULL);
	notify_alive(&notify, 115 * NS_PER_SEC, 106 * NS_PER_SEC);
	check_told(fd, "WATCHDOG=1");
	notify_close(&notify);
	close(fd);
}

static void test_nobody_is_there(void **state)
{
	struct notify notify;

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "nonsense", 1);
	notify_open(&notify);
	assert_int_equal(notify.fd, -1);
	assert_true(notify.watchdog_ns == 0);
	notify_send(&notify, "READY=1");
	notify_close(&notify);
	setenv("NOTIFY_SOCKET", "relative/path", 1);
	setenv("WATCHDOG_USEC", "1000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_open(&notify);
	assert_int_equal(notify.fd, -1);
	assert_true(notify.watchdog_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_told),
		cmocka_unit_test(test_nobody_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
