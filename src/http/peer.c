/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel for the socket at the other end of a connection. In: a connection that was accepted. Out: a user, or
 * none. The answer is believed only if it is about exactly that pair of addresses, the socket is connected, somebody
 * holds it, and our own end was still connected afterwards: for so long no other socket can have had these addresses.
 * What TIME_WAIT, a close or a reset leave behind is shown by the kernel as user 0, and is nobody here.
 */
#include "http/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/span.h"

#define OVERFLOW_UID 65534
#define UIDS_ALL 4294967295u /* the last one is no user */
#define LOOPBACK_INDEX 1     /* of the device lo, in every network name space */
#define ANSWER_MAX 4096
#define STALE_MAX 8 /* answers to earlier questions, which came late */
#define TABLE_MAX (8u << 20)

/* The kernel's numbers, as both of its interfaces have them. */
enum { STATE_ESTABLISHED = 1, STATE_FIN_WAIT1 = 4, STATE_FIN_WAIT2 = 5, STATE_CLOSE_WAIT = 8, STATE_LISTEN = 10 };

static struct in6_addr map_four(const void *address)
{
	struct in6_addr six = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&six.s6_addr[12], address, 4);
	return six;
}

static bool same_ends(const struct peer_ends *a, const struct peer_ends *b)
{
	return !memcmp(&a->local, &b->local, sizeof(a->local)) && !memcmp(&a->remote, &b->remote, sizeof(a->remote)) &&
	       a->local_port == b->local_port && a->remote_port == b->remote_port;
}

bool peer_holds(const struct peer_socket *socket, const struct peer_ends *wanted)
{
	bool connected = socket->state == STATE_ESTABLISHED || socket->state == STATE_FIN_WAIT1 ||
			 socket->state == STATE_FIN_WAIT2 || socket->state == STATE_CLOSE_WAIT;

	return connected && socket->inode && same_ends(&socket->ends, wanted);
}

/* ---- By sock_diag ---- */

bool peer_read_diag(const void *answer, size_t len, uint32_t number, struct peer_socket *ret)
{
	struct inet_diag_msg said;
	struct nlmsghdr head;
	bool six;

	if (len < NLMSG_LENGTH(sizeof(said)))
		return false;
	memcpy(&head, answer, sizeof(head));
	memcpy(&said, (const char *)answer + NLMSG_HDRLEN, sizeof(said));
	if (head.nlmsg_seq != number || head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > len ||
	    head.nlmsg_len < NLMSG_LENGTH(sizeof(said)))
		return false;
	six = said.idiag_family == AF_INET6;
	if (!six && said.idiag_family != AF_INET)
		return false;
	*ret = (struct peer_socket){ .ends = { .local = map_four(said.id.idiag_src),
					       .remote = map_four(said.id.idiag_dst),
					       .local_port = ntohs(said.id.idiag_sport),
					       .remote_port = ntohs(said.id.idiag_dport) },
				     .state = said.idiag_state,
				     .uid = said.idiag_uid,
				     .inode = said.idiag_inode };
	if (six) {
		memcpy(&ret->ends.local, said.id.idiag_src, sizeof(ret->ends.local));
		memcpy(&ret->ends.remote, said.id.idiag_dst, sizeof(ret->ends.remote));
	}
	return true;
}

/* By way of the device lo, so that a socket that is bound to it is found too. */
static bool send_question(const struct peer_lookup *lookup, const struct peer_ends *ends)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 request;
	} question = { .head = { .nlmsg_len = sizeof(question),
				 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				 .nlmsg_flags = NLM_F_REQUEST,
				 .nlmsg_seq = lookup->asked },
		       .request = { .sdiag_family = AF_INET6,
				    .sdiag_protocol = IPPROTO_TCP,
				    .idiag_states = UINT32_MAX,
				    .id = { .idiag_sport = htons(ends->local_port),
					    .idiag_dport = htons(ends->remote_port),
					    .idiag_if = LOOPBACK_INDEX,
					    .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } } };
	struct inet_diag_sockid *id = &question.request.id;

	if (IN6_IS_ADDR_V4MAPPED(&ends->local)) {
		question.request.sdiag_family = AF_INET; /* finds sockets of IPv6 with such addresses too */
		memcpy(id->idiag_src, &ends->local.s6_addr[12], 4);
		memcpy(id->idiag_dst, &ends->remote.s6_addr[12], 4);
	} else {
		memcpy(id->idiag_src, &ends->local, sizeof(ends->local));
		memcpy(id->idiag_dst, &ends->remote, sizeof(ends->remote));
	}
	return send(lookup->fd, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(question);
}

/* The kernel answers before sending returns: what is not there by then does not come. */
static bool ask_diag(struct peer_lookup *lookup, const struct peer_ends *ends, struct peer_socket *ret)
{
	lookup->asked++;
	if (!send_question(lookup, ends))
		return false;
	for (unsigned i = 0; i < STALE_MAX; i++) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_len = sizeof(from);
		_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
		ssize_t len =
			recvfrom(lookup->fd, answer, sizeof(answer), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
		struct nlmsghdr head;

		if (len < (ssize_t)sizeof(head) || from.nl_pid)
			return false;
		memcpy(&head, answer, sizeof(head));
		if (head.nlmsg_seq == lookup->asked)
			return peer_read_diag(answer, (size_t)len, lookup->asked, ret);
	}
	return false;
}

/* ---- By /proc/net/tcp ---- */

/* An address as the kernel prints it: words of 32 bits in the machine's own order, in hexadecimal, and the port. */
static bool read_end(struct span word, struct in6_addr *ret, uint16_t *ret_port)
{
	size_t digits = word.len > 5 ? word.len - 5 : 0;
	uint32_t words[4] = { 0 };
	uint64_t value;

	if ((digits != 8 && digits != 32) || word.data[digits] != ':' || !span_hex(span_from(word, digits + 1), &value))
		return false;
	*ret_port = (uint16_t)value;
	for (size_t i = 0; i < digits / 8; i++) {
		if (!span_hex((struct span){ word.data + 8 * i, 8 }, &value))
			return false;
		words[i] = (uint32_t)value;
	}
	if (digits == 8)
		*ret = map_four(words);
	else
		memcpy(ret, words, sizeof(*ret));
	return true;
}

/* "NUMBER: LOCAL REMOTE STATE QUEUES TIMER RETRANSMITTED USER TIMEOUT INODE ..." */
bool peer_read_line(struct span line, struct peer_socket *ret)
{
	struct peer_socket socket = { 0 };
	struct span words[10];
	uint64_t state, uid;

	line = span_trim(line);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = span_word(&line);
	if (!read_end(words[1], &socket.ends.local, &socket.ends.local_port) ||
	    !read_end(words[2], &socket.ends.remote, &socket.ends.remote_port) || !span_hex(words[3], &state) ||
	    !span_u64(words[7], &uid) || uid > UINT32_MAX || !span_u64(words[9], &socket.inode))
		return false;
	socket.state = (unsigned)state;
	socket.uid = (uid_t)uid;
	*ret = socket;
	return true;
}

static bool find_line(const char *path, const struct peer_ends *ends, struct peer_socket *ret)
{
	autobuf struct buf text = { 0 };
	struct span rest;

	if (file_read(path, TABLE_MAX, &text) || !text.data)
		return false;
	rest = (struct span){ text.data, text.len };
	while (rest.len) { /* shorter with each line */
		struct peer_socket socket;

		if (peer_read_line(span_line(&rest), &socket) && peer_holds(&socket, ends)) {
			*ret = socket;
			return true;
		}
	}
	return false;
}

static bool ask_proc(const struct peer_ends *ends, struct peer_socket *ret)
{
	return (IN6_IS_ADDR_V4MAPPED(&ends->local) && find_line("/proc/net/tcp", ends, ret)) ||
	       find_line("/proc/net/tcp6", ends, ret);
}

/* ---- Both ---- */

static bool read_address(const struct sockaddr_storage *from, struct in6_addr *ret, uint16_t *ret_port)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;

	*ret = from->ss_family == AF_INET6 ? six->sin6_addr : map_four(&four->sin_addr);
	*ret_port = ntohs(from->ss_family == AF_INET6 ? six->sin6_port : four->sin_port);
	return from->ss_family == AF_INET6 || from->ss_family == AF_INET;
}

/* The other end's addresses: ours, the other way round. */
static bool other_ends(int fd, struct peer_ends *ret)
{
	struct sockaddr_storage ours = { 0 }, theirs = { 0 };
	socklen_t ours_len = sizeof(ours), theirs_len = sizeof(theirs);

	return !getsockname(fd, (struct sockaddr *)&ours, &ours_len) &&
	       !getpeername(fd, (struct sockaddr *)&theirs, &theirs_len) &&
	       read_address(&ours, &ret->remote, &ret->remote_port) &&
	       read_address(&theirs, &ret->local, &ret->local_port);
}

/* A connection that was reset can still be read from, while its addresses are free for somebody else. */
static bool is_connected(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       (info.tcpi_state == STATE_ESTABLISHED || info.tcpi_state == STATE_CLOSE_WAIT);
}

bool peer_user(struct peer_lookup *lookup, int fd, uid_t *ret)
{
	struct peer_socket socket = { 0 };
	struct peer_ends ends = { 0 };

	if (!other_ends(fd, &ends) ||
	    !(lookup->fd >= 0 ? ask_diag(lookup, &ends, &socket) : ask_proc(&ends, &socket)) ||
	    !peer_holds(&socket, &ends) || !is_connected(fd))
		return false;
	if (!lookup->all_uids && socket.uid == lookup->overflow)
		return false;
	*ret = socket.uid;
	return true;
}

/* ---- Setting up ---- */

bool peer_maps_all(struct span text)
{
	struct span line = span_trim(span_line(&text));
	uint64_t numbers[3];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!span_u64(span_word(&line), &numbers[i]))
			return false;
	return !numbers[0] && !numbers[1] && numbers[2] >= UIDS_ALL;
}

static void read_users(struct peer_lookup *lookup)
{
	autobuf struct buf map = { 0 }, overflow = { 0 };
	uint64_t uid;

	if (!file_read("/proc/self/uid_map", ANSWER_MAX, &map) && map.data)
		lookup->all_uids = peer_maps_all((struct span){ map.data, map.len });
	if (!file_read("/proc/sys/kernel/overflowuid", ANSWER_MAX, &overflow) && overflow.data &&
	    span_u64((struct span){ overflow.data, strcspn(overflow.data, "\n") }, &uid))
		lookup->overflow = (uid_t)uid;
}

static bool finds_itself(struct peer_lookup *lookup, int listen_fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	struct peer_ends ends = { 0 };
	struct peer_socket found;

	if (getsockname(listen_fd, (struct sockaddr *)&address, &len) ||
	    !read_address(&address, &ends.local, &ends.local_port))
		return false;
	return ask_diag(lookup, &ends, &found) && found.state == STATE_LISTEN;
}

void peer_open(struct peer_lookup *ret, int listen_fd)
{
	*ret = (struct peer_lookup){ .overflow = OVERFLOW_UID };
	read_users(ret);
	ret->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	if (ret->fd >= 0 && !finds_itself(ret, listen_fd))
		peer_close(ret);
}

void peer_close(struct peer_lookup *lookup)
{
	if (lookup->fd >= 0)
		close(lookup->fd);
	lookup->fd = -1;
}
