/* SPDX-License-Identifier: Apache-2.0 */
/* Whose socket is at the other end: what the kernel says of one is believed only while somebody holds it. */
#include "http/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/span.h"

#define SOMEBODY 65534
#define AN_INODE 4711

static struct in6_addr six(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static struct peer_ends ends_of(const char *local, unsigned local_port, const char *remote, unsigned remote_port)
{
	return (struct peer_ends){ six(local), six(remote), (uint16_t)local_port, (uint16_t)remote_port };
}

/* ---- What is believed ---- */

static void test_states(void **state)
{
	/* Not SYN_SENT (2), SYN_RECV (3), TIME_WAIT (6), CLOSE (7), LAST_ACK, LISTEN, CLOSING, nor what is new */
	static const bool connected[] = { [1] = true, [4] = true, [5] = true, [8] = true, [12] = false };
	struct peer_ends ends = ends_of("::1", 50000, "::1", 7777);

	(void)state;
	for (unsigned i = 0; i < sizeof(connected); i++) {
		struct peer_socket held = { ends, i, 0, AN_INODE }, left = { ends, i, 0, 0 };

		assert_int_equal(peer_holds(&held, &ends), connected[i]);
		assert_false(peer_holds(&left, &ends));
	}
}

static void test_another_pair(void **state)
{
	struct peer_ends asked = ends_of("::ffff:127.0.0.1", 50000, "::ffff:127.0.0.1", 7777);
	struct peer_socket socket = { asked, 1, 0, AN_INODE };

	(void)state;
	assert_true(peer_holds(&socket, &asked));
	socket.ends = ends_of("::ffff:127.0.0.2", 50000, "::ffff:127.0.0.1", 7777);
	assert_false(peer_holds(&socket, &asked));
	socket.ends = ends_of("::ffff:127.0.0.1", 50001, "::ffff:127.0.0.1", 7777);
	assert_false(peer_holds(&socket, &asked));
	socket.ends = ends_of("::ffff:127.0.0.1", 50000, "::ffff:127.0.0.1", 0); /* one that listens there */
	assert_false(peer_holds(&socket, &asked));
	socket.ends = ends_of("::ffff:127.0.0.1", 7777, "::ffff:127.0.0.1", 50000); /* our own */
	assert_false(peer_holds(&socket, &asked));
}

/* ---- What the kernel writes ---- */

struct answer {
	struct nlmsghdr head;
	struct inet_diag_msg said;
};

static struct answer diag_answer(void)
{
	struct answer answer = {
		.head = { .nlmsg_len = sizeof(answer), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_seq = 7 },
		.said = { .idiag_family = AF_INET, .idiag_state = 1, .idiag_uid = 1000, .idiag_inode = AN_INODE }
	};

	answer.said.id.idiag_sport = htons(50000);
	answer.said.id.idiag_dport = htons(7777);
	answer.said.id.idiag_src[0] = answer.said.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
	return answer;
}

static void test_diag_answers(void **state)
{
	struct peer_ends four = ends_of("::ffff:127.0.0.1", 50000, "::ffff:127.0.0.1", 7777);
	struct answer answer = diag_answer();
	struct peer_socket socket;

	(void)state;
	assert_true(peer_read_diag(&answer, sizeof(answer), 7, &socket));
	assert_true(peer_holds(&socket, &four));
	assert_int_equal(socket.uid, 1000);
	assert_false(peer_read_diag(&answer, sizeof(answer), 8, &socket)); /* to another question */
	for (size_t len = 0; len < sizeof(answer); len++)
		assert_false(peer_read_diag(&answer, len, 7, &socket));
	answer.head.nlmsg_type = NLMSG_ERROR;
	assert_false(peer_read_diag(&answer, sizeof(answer), 7, &socket));
	answer = diag_answer();
	answer.head.nlmsg_len = sizeof(struct nlmsghdr);
	assert_false(peer_read_diag(&answer, sizeof(answer), 7, &socket));
	answer = diag_answer();
	answer.said.idiag_family = AF_UNIX;
	assert_false(peer_read_diag(&answer, sizeof(answer), 7, &socket));
	answer = diag_answer();
	answer.said.idiag_family = AF_INET6; /* that talks to IPv4 */
	memcpy(answer.said.id.idiag_src, &four.local, 16);
	memcpy(answer.said.id.idiag_dst, &four.remote, 16);
	assert_true(peer_read_diag(&answer, sizeof(answer), 7, &socket));
	assert_true(peer_holds(&socket, &four));
}

static bool read_line(const char *text, struct peer_socket *ret)
{
	return peer_read_line((struct span){ text, strlen(text) }, ret);
}

/* As a machine with the least byte first prints it. */
static void test_proc_lines(void **state)
{
	static const char *const bad[] = {
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
		"",
		"   0: 0100007F:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0",
		"   0: 0100007F:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  -1        0 4711",
		"   0: 0100007F:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  4294967296        0 4711",
		"   0: 0100007F1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4711",
		"   0: 010000XF:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4711",
		"   0: 0100007F:1E6 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4711",
	};
	struct peer_ends four = ends_of("::ffff:127.0.0.1", 7777, "::ffff:127.0.0.1", 50000);
	struct peer_ends loop = ends_of("::1", 7777, "::1", 50000);
	struct peer_socket socket;

	(void)state;
	assert_true(
		read_line("   0: 0100007F:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        "
			  "0 4711 1 0000000000000000 20 4 30 10 -1",
			  &socket));
	assert_true(peer_holds(&socket, &four));
	assert_int_equal(socket.uid, 1000);
	assert_int_equal(socket.inode, AN_INODE);
	assert_true(read_line("   1: 00000000000000000000000001000000:1E61 00000000000000000000000001000000:C350 04 "
			      "00000000:00000000 00:00000000 00000000     0        0 4711",
			      &socket));
	assert_true(peer_holds(&socket, &loop));
	assert_true(read_line("   1: 0000000000000000FFFF00000100007F:1E61 0000000000000000FFFF00000100007F:C350 01 "
			      "00000000:00000000 00:00000000 00000000     0        0 4711",
			      &socket));
	assert_true(peer_holds(&socket, &four));
	assert_true(
		read_line("   2: 0100007F:1E61 0100007F:C350 06 00000000:00000000 03:00000177 00000000     0        "
			  "0 0 3 0000000000000000",
			  &socket));
	assert_false(peer_holds(&socket, &four));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(read_line(bad[i], &socket));
}

static bool maps_all(const char *text)
{
	return peer_maps_all((struct span){ text, strlen(text) });
}

static void test_name_spaces_of_users(void **state)
{
	(void)state;
	assert_true(maps_all("         0          0 4294967295\n"));
	assert_false(maps_all("         0       1000          1\n"));
	assert_false(maps_all("         0          0      65536\n"));
	assert_false(maps_all("         0     100000 4294967295\n"));
	assert_false(maps_all("         0       1000          1\n         1     100000      65536\n"));
	assert_false(maps_all(""));
	assert_false(maps_all("nonsense\n"));
}

/* ---- Real connections ---- */

struct pair {
	struct peer_lookup lookup;
	int listener, client, accepted;
	struct sockaddr_in6 address;
};

/* Listens on ADDRESS of IPv6, or on 127.0.0.1; asks in one of the two ways. */
static void begin(struct pair *pair, bool six_too, bool by_proc)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 loop = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	socklen_t len = sizeof(pair->address);

	*pair = (struct pair){ .client = -1, .accepted = -1 };
	pair->listener = socket(six_too ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	assert_int_equal(
		bind(pair->listener, six_too ? (void *)&loop : (void *)&four, six_too ? sizeof(loop) : sizeof(four)),
		0);
	assert_int_equal(listen(pair->listener, 8), 0);
	assert_int_equal(getsockname(pair->listener, (struct sockaddr *)&pair->address, &len), 0);
	peer_open(&pair->lookup, pair->listener);
	if (by_proc)
		peer_close(&pair->lookup);
	else
		assert_true(pair->lookup.fd >= 0);
}

static void take(struct pair *pair)
{
	pair->accepted = accept(pair->listener, NULL, NULL);
	assert_true(pair->accepted >= 0);
}

static void dial(struct pair *pair)
{
	pair->client = socket(pair->address.sin6_family, SOCK_STREAM, 0);
	assert_int_equal(connect(pair->client, (struct sockaddr *)&pair->address, sizeof(pair->address)), 0);
	take(pair);
}

static void hang_up(struct pair *pair)
{
	if (pair->client >= 0)
		close(pair->client);
	close(pair->accepted);
	pair->client = pair->accepted = -1;
}

static void end(struct pair *pair)
{
	hang_up(pair);
	close(pair->listener);
	peer_close(&pair->lookup);
}

/* -1: not known */
static long user_of(struct pair *pair)
{
	uid_t uid;

	return peer_user(&pair->lookup, pair->accepted, &uid) ? (long)uid : -1;
}

static void each_way(void (*test)(struct pair *pair))
{
	for (int way = 0; way < 4; way++) {
		struct pair pair;

		begin(&pair, way & 1, way & 2);
		test(&pair);
		end(&pair);
	}
}

static void a_client_holds_its_socket(struct pair *pair)
{
	dial(pair);
	assert_int_equal(user_of(pair), getuid());
	assert_int_equal(write(pair->client, "x", 1), 1);
	assert_int_equal(shutdown(pair->client, SHUT_WR), 0); /* it has said all, and waits for the answer */
	assert_int_equal(user_of(pair), getuid());
}

static void test_connected(void **state)
{
	(void)state;
	each_way(a_client_holds_its_socket);
}

static void a_client_is_gone(struct pair *pair)
{
	const struct linger reset = { .l_onoff = 1 };

	dial(pair);
	assert_int_equal(write(pair->client, "x", 1), 1);
	close(pair->client);
	pair->client = -1;
	assert_int_equal(user_of(pair), -1);
	hang_up(pair);
	dial(pair);
	assert_int_equal(setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(pair->client);
	pair->client = -1;
	assert_int_equal(user_of(pair), -1);
}

/* The kernel shows what is left of such a socket as user 0. */
static void test_gone(void **state)
{
	(void)state;
	each_way(a_client_is_gone);
}

/* Reset, and the same addresses taken by another connection: ours is not that one's. */
static void an_address_is_used_again(struct pair *pair)
{
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in6 from;
	socklen_t len = sizeof(from);
	int old, one = 1;

	dial(pair);
	assert_int_equal(getsockname(pair->client, (struct sockaddr *)&from, &len), 0);
	setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(pair->client);
	old = pair->accepted;
	pair->client = socket(pair->address.sin6_family, SOCK_STREAM, 0);
	setsockopt(pair->client, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(pair->client, (struct sockaddr *)&from, len), 0);
	assert_int_equal(connect(pair->client, (struct sockaddr *)&pair->address, sizeof(pair->address)), 0);
	take(pair);
	assert_int_equal(user_of(pair), getuid());
	close(pair->accepted);
	pair->accepted = old;
	assert_int_equal(user_of(pair), -1);
}

static void test_used_again(void **state)
{
	(void)state;
	each_way(an_address_is_used_again);
}

/* A client of IPv6 that dials an address of IPv4, and one that is bound to the device. */
static void test_other_sockets(void **state)
{
	(void)state;
	for (int by_proc = 0; by_proc < 2; by_proc++) {
		struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_addr = six("::ffff:127.0.0.1") };
		struct pair pair;

		begin(&pair, false, by_proc);
		mapped.sin6_port = pair.address.sin6_port;
		pair.client = socket(AF_INET6, SOCK_STREAM, 0);
		assert_int_equal(connect(pair.client, (struct sockaddr *)&mapped, sizeof(mapped)), 0);
		take(&pair);
		assert_int_equal(user_of(&pair), getuid());
		hang_up(&pair);
		pair.client = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(setsockopt(pair.client, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3), 0);
		assert_int_equal(connect(pair.client, (struct sockaddr *)&pair.address, sizeof(pair.address)), 0);
		take(&pair);
		assert_int_equal(user_of(&pair), getuid());
		end(&pair);
	}
}

static void another_user(struct pair *pair)
{
	pid_t pid = fork();

	if (!pid) {
		int fd = setresuid(SOMEBODY, SOMEBODY, SOMEBODY) ? -1
								 : socket(pair->address.sin6_family, SOCK_STREAM, 0);
		char end;

		if (connect(fd, (struct sockaddr *)&pair->address, sizeof(pair->address)))
			_exit(1);
		_exit(read(fd, &end, 1) != 0); /* until we are done */
	}
	take(pair);
	assert_int_equal(user_of(pair), SOMEBODY);
	pair->lookup.all_uids = false; /* then this number stands for everybody who is not here */
	assert_int_equal(user_of(pair), -1);
	shutdown(pair->accepted, SHUT_RDWR);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Only root can be somebody else. */
static void test_another_user(void **state)
{
	(void)state;
	if (!getuid())
		each_way(another_user);
}

static void test_not_a_connection(void **state)
{
	struct pair pair;
	int fds[2];

	(void)state;
	begin(&pair, false, false);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair.accepted = fds[0];
	assert_int_equal(user_of(&pair), -1);
	pair.accepted = pair.listener;
	assert_int_equal(user_of(&pair), -1);
	pair.accepted = -1;
	close(fds[0]);
	close(fds[1]);
	end(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_another_pair),
		cmocka_unit_test(test_diag_answers),
		cmocka_unit_test(test_proc_lines),
		cmocka_unit_test(test_name_spaces_of_users),
		cmocka_unit_test(test_connected),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_other_sockets),
		cmocka_unit_test(test_another_user),
		cmocka_unit_test(test_not_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
