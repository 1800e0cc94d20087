/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: which are loopback's, which are none, and that others need more than an address. */
#include "http/listen.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_loopback(const char *text)
{
	struct listen_address address;

	assert_int_equal(listen_parse(text, &address), 0);
	return address.loopback;
}

static void test_addresses(void **state)
{
	(void)state;
	assert_true(is_loopback("127.0.0.1:7777"));
	assert_true(is_loopback("127.9.9.9:0"));
	assert_true(is_loopback("localhost:7777"));
	assert_true(is_loopback("[::1]:7777"));
	assert_false(is_loopback("0.0.0.0:7777"));
	assert_false(is_loopback("[::]:7777"));
	assert_false(is_loopback("10.1.2.3:80"));
	assert_false(is_loopback("[::ffff:127.0.0.1]:80"));
}

static void test_what_is_none(void **state)
{
	static const char *const texts[] = { "",
					     "7777",
					     ":7777",
					     "127.0.0.1",
					     "127.0.0.1:",
					     "127.0.0.1:x",
					     "127.0.0.1:65536",
					     "::1:7777",
					     "[::1]",
					     "[::1:7777",
					     "example.org:80",
					     "127.0.0.1:-1",
					     "[]:1",
					     "1.2.3.4.5.6.7.8.9.10:1" };
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(listen_parse(texts[i], &address), -EINVAL);
		assert_non_null(strstr(fail_text(), "write ADDRESS:PORT"));
	}
}

static int check(const char *text, bool token, bool tls, bool insecure)
{
	struct listen_address address;

	assert_int_equal(listen_parse(text, &address), 0);
	return listen_check(&address, text, &(struct listen_policy){ token, tls, insecure });
}

static void test_others_need_token_and_tls(void **state)
{
	(void)state;
	assert_int_equal(check("127.0.0.1:1", false, false, false), 0);
	assert_int_equal(check("0.0.0.0:1", false, false, false), -EPERM);
	assert_non_null(strstr(fail_text(), "--token-file"));
	assert_null(strchr(fail_text(), '\n'));
	assert_int_equal(check("0.0.0.0:1", true, false, false), -EPERM);
	assert_int_equal(check("0.0.0.0:1", false, true, false), -EPERM);
	assert_int_equal(check("0.0.0.0:1", true, true, false), 0);
	assert_int_equal(check("0.0.0.0:1", false, false, true), 0);
}

static void test_opening(void **state)
{
	struct listen_address address;
	uint16_t port = 0, again = 0;
	char text[32];
	int fd = -1, second = -1;

	(void)state;
	assert_int_equal(listen_parse("127.0.0.1:0", &address), 0);
	assert_int_equal(listen_open(&address, "127.0.0.1:0", &fd, &port), 0);
	assert_true(port > 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	assert_int_equal(listen_parse(text, &address), 0);
	assert_int_equal(listen_open(&address, text, &second, &again), -EADDRINUSE);
	assert_non_null(strstr(fail_text(), text));
	assert_int_equal(second, -1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_others_need_token_and_tls),
		cmocka_unit_test(test_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
