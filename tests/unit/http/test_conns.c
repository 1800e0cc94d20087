/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes room for whom. Here a socket of this machine is somebody who may ask, and what is no socket is a guest. */
#include "http/server_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 200
#define OF_USER 32
#define OF_ALL (CONNECTIONS / 4)
#define MARGIN 16

static union MHD_ConnectionInfo info;

static const union MHD_ConnectionInfo *get_info(struct MHD_Connection *mhd, enum MHD_ConnectionInfoType type, ...)
{
	(void)mhd;
	(void)type;
	return &info;
}

static struct server server_of(void)
{
	return (struct server){ .mhd.get_connection_info = get_info,
				.options.connections = CONNECTIONS,
				.options.request_ms = 1000,
				.peers.fd = -1,
				.loopback = true };
}

static struct conn *come(struct server *server, int fd)
{
	void *slot = NULL;

	info.connect_fd = fd;
	conns_notify(server, NULL, &slot, MHD_CONNECTION_NOTIFY_STARTED);
	assert_non_null(slot);
	return slot;
}

static struct conn *guest(struct server *server)
{
	struct conn *conn = come(server, eventfd(0, EFD_CLOEXEC));

	assert_int_equal(conn->who, GUARD_UNKNOWN);
	assert_true(conn->guest);
	return conn;
}

static struct conn *stranger(struct server *server, uid_t uid)
{
	struct conn *conn = guest(server);

	conn->who = GUARD_STRANGER;
	conn->uid = uid;
	return conn;
}

static struct conn *member(struct server *server)
{
	struct conn *conn = come(server, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

	assert_int_equal(conn->who, GUARD_SOCKET);
	assert_false(conn->guest);
	return conn;
}

/* Those that were not told to go. */
static unsigned staying(const struct server *server, bool guests)
{
	unsigned count = 0;

	for (const struct conn *conn = server->first; conn; conn = conn->next)
		count += conn->fd >= 0 && conn->guest == guests;
	return count;
}

static void end(struct server *server)
{
	while (server->first) {
		void *slot = server->first;

		if (server->first->fd >= 0)
			close(server->first->fd);
		conns_notify(server, NULL, &slot, MHD_CONNECTION_NOTIFY_CLOSED);
	}
	assert_null(server->last);
	assert_int_equal(server->counts.connections, 0);
}

static void test_one_user_has_few_places(void **state)
{
	struct server server = server_of();
	struct conn *first = guest(&server), *second = guest(&server), *last = NULL;

	(void)state;
	first->phase = PHASE_WORK; /* not to be ended in the middle */
	for (int i = 0; i < OF_USER; i++)
		last = guest(&server);
	assert_int_equal(staying(&server, true), OF_USER);
	assert_true(first->fd >= 0);
	assert_int_equal(second->fd, -1);
	assert_true(last->fd >= 0);
	assert_int_equal(server.counts.crowded_out, 2);
	end(&server);
}

static void test_if_none_can_go_the_newcomer_does(void **state)
{
	struct server server = server_of();

	(void)state;
	for (int i = 0; i < OF_USER; i++)
		guest(&server)->phase = PHASE_WORK;
	assert_int_equal(guest(&server)->fd, -1);
	assert_int_equal(staying(&server, true), OF_USER);
	end(&server);
}

/* Somebody with many users, as subordinate ones, has no more of the rest for that. */
static void test_all_guests_have_a_quarter(void **state)
{
	struct server server = server_of();

	(void)state;
	for (uid_t uid = 1000; uid < 1000 + 2 * OF_ALL; uid++)
		stranger(&server, uid);
	assert_int_equal(staying(&server, true), OF_ALL);
	end(&server);
}

static void test_a_token_makes_a_member(void **state)
{
	struct server server = server_of();

	(void)state;
	for (int i = 0; i < 2 * OF_USER; i++)
		guest(&server)->guest = false; /* as when it has shown one */
	assert_int_equal(staying(&server, false), 2 * OF_USER);
	assert_int_equal(server.counts.crowded_out, 0);
	end(&server);
}

static void test_guests_go_first(void **state)
{
	struct server server = server_of();
	struct conn *oldest = member(&server), *one;

	(void)state;
	one = guest(&server);
	one->phase = PHASE_SEND;
	while (server.counts.connections < CONNECTIONS - MARGIN)
		member(&server);
	assert_true(one->fd >= 0);
	member(&server);
	assert_int_equal(one->fd, -1);
	assert_true(oldest->fd >= 0);
	member(&server);
	assert_int_equal(oldest->fd, -1); /* there is no guest left */
	end(&server);
}

static void test_no_member_goes_for_a_guest(void **state)
{
	struct server server = server_of();

	(void)state;
	while (server.counts.connections < CONNECTIONS - MARGIN)
		member(&server);
	assert_int_equal(guest(&server)->fd, -1);
	assert_int_equal(staying(&server, false), CONNECTIONS - MARGIN);
	end(&server);
}

static void test_answers_for_everybody(void **state)
{
	struct server server = server_of();
	struct call call = { .public = true }, other = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct conn *conn = member(&server);

		conn->phase = PHASE_WORK;
		conn->call = &other;
	}
	for (int i = 0; i < 4; i++) {
		struct conn *conn = guest(&server);

		assert_false(conns_public_busy(&server));
		conn->phase = PHASE_WORK;
		conn->call = &call;
	}
	assert_true(conns_public_busy(&server));
	server.last->phase = PHASE_SEND;
	assert_false(conns_public_busy(&server));
	end(&server);
}

static void test_beyond_this_machine_nobody_is_a_guest(void **state)
{
	struct server server = server_of();
	struct conn *conn;

	(void)state;
	server.loopback = false;
	conn = come(&server, eventfd(0, EFD_CLOEXEC));
	assert_int_equal(conn->who, GUARD_NETWORK);
	assert_false(conn->guest);
	end(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_user_has_few_places),
		cmocka_unit_test(test_if_none_can_go_the_newcomer_does),
		cmocka_unit_test(test_all_guests_have_a_quarter),
		cmocka_unit_test(test_a_token_makes_a_member),
		cmocka_unit_test(test_guests_go_first),
		cmocka_unit_test(test_no_member_goes_for_a_guest),
		cmocka_unit_test(test_answers_for_everybody),
		cmocka_unit_test(test_beyond_this_machine_nobody_is_a_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
