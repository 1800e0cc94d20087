/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's set-up and its loop. In: options, a source. Out: a socket that answers. The loop waits for connections,
 * for answers that threads have made, for events that were published, and for the next deadline; nothing in it blocks.
 */
#include "http/server.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "http/listen.h"
#include "http/server_parts.h"
#include "http/source.h"
#include "http/stream.h"

#define CONNECTIONS 2048
#define LISTENERS 64
#define REQUEST_MS 10000
#define IDLE_MS 30000
#define SEND_MS 120000
#define LOCAL_CONNECTIONS 64
#define CONNECTION_MEMORY (16 * 1024) /* of which a request's line and headers take their part */
#define OTHER_FILES 64                /* descriptors besides connections */
#define WORK_THREADS 2
#define WORK_MAX 64
#define EVENT_QUEUE 32
#define EVENT_BYTES (4 << 20)
#define HEARTBEAT_NS (10 * NS_PER_SEC) /* an unused connection is seen to be dead */
#define STOP_NS (NS_PER_SEC / 2)       /* for those that listen to be told the end */
#define LATE_NS (3 * NS_PER_SEC)       /* that is waited for a second to come in */
#define POLL_MAX_MS 1000
#define PEM_MAX (256 * 1024)

static void set_defaults(struct server_options *options)
{
	options->connections = options->connections ? options->connections : CONNECTIONS;
	options->listeners = options->listeners ? options->listeners : LISTENERS;
	options->request_ms = options->request_ms ? options->request_ms : REQUEST_MS;
	options->idle_ms = options->idle_ms ? options->idle_ms : IDLE_MS;
	options->send_ms = options->send_ms ? options->send_ms : SEND_MS;
}

/* As many connections as there may be descriptors for. */
static void fit_descriptors(struct server_options *options)
{
	struct rlimit limit;
	rlim_t wanted = options->connections + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < wanted)
		options->connections =
			limit.rlim_cur > 2 * OTHER_FILES ? (unsigned)limit.rlim_cur - OTHER_FILES : OTHER_FILES;
}

static void wake(void *context)
{
	const struct server *server = context;

	(void)!write(server->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

static int open_parts(struct server *server)
{
	const struct stream_options events = { .clients = server->options.listeners,
					       .queue = EVENT_QUEUE,
					       .queue_bytes = EVENT_BYTES,
					       .wake = wake,
					       .context = server };

	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake_fd < 0)
		return fail(-errno, "eventfd");
	return stream_new(&server->stream, &events);
}

/* Names are left as they came; see serving_begin. */
static size_t leave_alone(void *context, struct MHD_Connection *mhd, char *text)
{
	(void)context;
	(void)mhd;
	return strlen(text);
}

static int start_daemon(struct server *server, int which, struct buf *cert, struct buf *key)
{
	struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, cert ? cert->data : NULL },
					{ MHD_OPTION_HTTPS_MEM_KEY, 0, key ? key->data : NULL },
					{ MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	bool secret = which == SERVER_NET && server->guard.tls;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (secret ? MHD_USE_TLS : 0);
	struct MHD_Daemon *daemon;
	const union MHD_DaemonInfo *info;

	daemon = server->mhd.start_daemon(
		flags, 0, NULL, NULL, serving_request, server, MHD_OPTION_LISTEN_SOCKET, server->listen_fds[which],
		MHD_OPTION_CONNECTION_LIMIT, which == SERVER_NET ? server->options.connections : LOCAL_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (server->options.idle_ms + 999) / 1000,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
		conns_notify, server, MHD_OPTION_URI_LOG_CALLBACK, serving_begin, server, MHD_OPTION_NOTIFY_COMPLETED,
		serving_end, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_alone, server, MHD_OPTION_ARRAY,
		secret ? tls : none, MHD_OPTION_END);
	if (!daemon && secret)
		return fail_plain(-EINVAL, "TLS: certificate '%s' and key '%s' do not work together: give both as PEM",
				  server->options.tls_cert, server->options.tls_key);
	if (!daemon)
		return fail_plain(-EIO, "listening on '%s': the server did not start",
				  which == SERVER_NET ? server->options.listen : server->options.socket);
	server->daemons[which] = daemon;
	server->listen_fds[which] = -1; /* is the daemon's */
	info = server->mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	server->epoll_fds[which] = info ? info->epoll_fd : -1;
	return server->epoll_fds[which] < 0 ? fail_plain(-EIO, "listening: epoll is not there") : 0;
}

static int read_pem(const char *path, const char *what, struct buf *ret)
{
	int err = file_read(path, PEM_MAX, ret);

	return err ? fail(err, "%s '%s'", what, path) : 0;
}

/* Everything that files are needed for. */
static int open_files(struct server *server)
{
	autobuf struct buf cert = { 0 }, key = { 0 };
	const struct server_options *options = &server->options;
	int err = 0;

	if (!options->tls_cert != !options->tls_key)
		return fail_plain(-EINVAL, "--tls-cert and --tls-key go together: give both or none");
	server->guard.tls = options->tls_cert;
	if (options->token_file)
		err = guard_token_read(options->token_file, &server->token);
	server->guard.token = server->token;
	if (!err && server->guard.tls) {
		err = read_pem(options->tls_cert, "TLS certificate", &cert);
		err = err ? err : read_pem(options->tls_key, "TLS key", &key);
	}
	err = err ? err : start_daemon(server, SERVER_NET, &cert, &key);
	if (!err && options->socket)
		err = start_daemon(server, SERVER_LOCAL, NULL, NULL);
	if (key.data)
		explicit_bzero(key.data, key.len);
	return err;
}

static int open_socket(struct server *server)
{
	int err = listen_local(server->options.socket, &server->listen_fds[SERVER_LOCAL]);

	if (err)
		return err;
	server->socket = strdup(server->options.socket);
	return server->socket ? 0 : fail(-ENOMEM, "server");
}

/* But for what files say. */
static void set_guard(struct server *server)
{
	const struct server_options *options = &server->options;
	size_t owners = 0;

	server->owners[owners++] = 0;
	server->owners[owners++] = getuid();
	if (options->sudo_user)
		server->owners[owners++] = *options->sudo_user;
	server->guard.owners = (struct guard_users){ server->owners, owners };
	server->guard.allowed = (struct guard_users){ options->users, options->users_len };
	server->guard.public_metrics = options->public_metrics;
	server->guard.hosts = options->hosts;
	server->guard.origins = options->origins;
}

int server_open(struct server **ret, const struct server_options *options)
{
	const struct listen_policy policy = { options->token_file, options->tls_cert && options->tls_key,
					      options->insecure };
	struct listen_address address;
	struct server *server;
	int err = listen_parse(options->listen, &address);

	err = err ? err : listen_check(&address, options->listen, &policy);
	if (err)
		return err;
	server = calloc(1, sizeof(*server));
	if (!server)
		return fail(-ENOMEM, "server");
	server->wake_fd = server->peers.fd = -1;
	for (int i = 0; i < SERVER_DAEMONS; i++)
		server->listen_fds[i] = server->epoll_fds[i] = -1;
	server->options = *options;
	server->loopback = address.loopback;
	set_guard(server);
	set_defaults(&server->options);
	fit_descriptors(&server->options);
	err = mhd_load(&server->mhd);
	err = err ? err : open_parts(server);
	err = err ? err : listen_open(&address, options->listen, &server->listen_fds[SERVER_NET], &server->port);
	if (!err && options->socket)
		err = open_socket(server);
	if (!err && server->loopback)
		peer_open(&server->peers, server->listen_fds[SERVER_NET]);
	err = err ? err : open_files(server);
	if (err)
		server_free(server);
	else
		*ret = server;
	return err;
}

uint16_t server_port(const struct server *server)
{
	return server->port;
}

struct stream *server_stream(const struct server *server)
{
	return server->stream;
}

int server_drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	for (int capability = 0; capability <= 63; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* fails for what does not exist, and without the right */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, none))
		return fail(-errno, "giving up capabilities");
	return 0;
}

/* ---- The loop ---- */

static void take_answers(struct server *server)
{
	struct work_item *item;

	while ((item = work_done(server->work))) { /* at most WORK_MAX */
		struct call *call = (struct call *)item;

		call->ready = true;
		serving_resume(call->conn);
	}
}

/* Events for those that have read all there was; an end for those that did not keep up. */
static void wake_listeners(struct server *server)
{
	for (struct conn *conn = server->first; conn; conn = conn->next) {
		if (!conn->client || conn->phase != PHASE_LISTEN)
			continue;
		if (stream_dropped(conn->client) && conn->fd >= 0)
			conns_shut(conn);
		if (conn->suspended && stream_ready(conn->client))
			serving_resume(conn);
	}
}

/* Its seconds are over, but the last of them has not come in. */
static bool is_early(const struct server *server, const struct call *call)
{
	const struct http_source *source = server->options.source;

	return source->latest &&
	       source->latest(source->context) < call->request.asked_ns + call->request.query.seconds * NS_PER_SEC;
}

static void end_waiting(struct server *server, uint64_t now)
{
	for (struct call **at = &server->waiting; *at;) {
		struct call *call = *at;

		if (call->due_ns > now || (is_early(server, call) && call->due_ns + LATE_NS > now)) {
			at = &call->next;
			continue;
		}
		*at = call->next;
		server->waiting_len--;
		serving_work(server, call);
	}
}

static void end_slow(struct server *server, uint64_t now)
{
	for (struct conn *conn = server->first; conn; conn = conn->next)
		if (conn->deadline_ns && conn->deadline_ns <= now && conn->fd >= 0) {
			conns_shut(conn);
			server->counts.timeouts++;
		}
}

/* How long nothing is to be done but by others. */
static int next_ms(struct server *server, uint64_t now)
{
	uint64_t next = now + POLL_MAX_MS * NS_PER_MS;
	MHD_UNSIGNED_LONG_LONG ms;

	for (const struct conn *conn = server->first; conn; conn = conn->next)
		if (conn->deadline_ns && conn->deadline_ns < next && conn->fd >= 0)
			next = conn->deadline_ns;
	for (const struct call *call = server->waiting; call; call = call->next) {
		uint64_t due = call->due_ns > now ? call->due_ns : call->due_ns + LATE_NS;

		next = due < next ? due : next;
	}
	for (int i = 0; i < SERVER_DAEMONS; i++)
		if (server->daemons[i] && server->mhd.get_timeout(server->daemons[i], &ms) == MHD_YES &&
		    now + ms * NS_PER_MS < next)
			next = now + ms * NS_PER_MS;
	return next > now ? (int)((next - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* One turn. False when it is to stop. */
static bool turn(struct server *server, int stop_fd, uint64_t *heartbeat_ns)
{
	bool has_input = server->options.input && !server->stopping;
	struct pollfd fds[] = { { server->epoll_fds[SERVER_NET], POLLIN, 0 },
				{ server->epoll_fds[SERVER_LOCAL], POLLIN, 0 },
				{ server->wake_fd, POLLIN, 0 },
				{ stop_fd, POLLIN, 0 },
				{ has_input ? server->options.input_fd : -1, POLLIN, 0 } };
	uint64_t now = server_now(), count;

	if (poll(fds, sizeof(fds) / sizeof(*fds), next_ms(server, now)) < 0 && errno != EINTR)
		return false;
	now = server_now();
	if (fds[2].revents)
		(void)!read(server->wake_fd, &count, sizeof(count));
	if (now >= *heartbeat_ns) {
		stream_publish(server->stream, NULL, "", 0);
		*heartbeat_ns = now + HEARTBEAT_NS;
	}
	if (fds[4].revents && !server->options.input(server->options.input_context))
		server->stopping = true;
	take_answers(server);
	wake_listeners(server);
	end_waiting(server, now);
	end_slow(server, now);
	for (int i = 0; i < SERVER_DAEMONS; i++)
		if (server->daemons[i])
			server->mhd.run(server->daemons[i]);
	return !fds[3].revents && !server->stopping;
}

static bool has_listeners(const struct server *server)
{
	for (const struct conn *conn = server->first; conn; conn = conn->next)
		if (conn->client)
			return true;
	return false;
}

/* Those that listen are told the end; all others are let go. */
static void wind_up(struct server *server)
{
	uint64_t end_ns = server_now() + STOP_NS, never = UINT64_MAX;

	server->stopping = true;
	stream_end(server->stream);
	while (has_listeners(server) && server_now() < end_ns)
		turn(server, -1, &never);
	work_free(server->work);
	server->work = NULL;
	for (struct conn *conn = server->first; conn; conn = conn->next)
		if (conn->suspended)
			serving_resume(conn);
}

int server_run(struct server *server, int stop_fd)
{
	uint64_t heartbeat_ns = server_now() + HEARTBEAT_NS;
	int err = work_new(&server->work, WORK_THREADS, WORK_MAX, server->wake_fd);

	if (err)
		return err;
	while (turn(server, stop_fd, &heartbeat_ns))
		;
	wind_up(server);
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	for (int i = 0; i < SERVER_DAEMONS; i++) {
		if (server->daemons[i])
			server->mhd.stop_daemon(server->daemons[i]);
		if (server->listen_fds[i] >= 0)
			close(server->listen_fds[i]);
	}
	if (server->socket)
		unlink(server->socket);
	free(server->socket);
	stream_free(server->stream);
	if (server->token)
		explicit_bzero(server->token, strlen(server->token));
	free(server->token);
	if (server->wake_fd >= 0)
		close(server->wake_fd);
	peer_close(&server->peers);
	free(server);
}
