/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that listens. In: what was counted, over a socket from the process that samples; the store, read only.
 * Out: HTTP. It opens what it listens on and the files it was told of, gives up every capability, and only then
 * answers. It ends when the other one does.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/rights.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/serve.h"
#include "cmd/serve_link.h"
#include "http/kept.h"
#include "http/replay.h"
#include "http/server.h"
#include "in/in.h"
#include "profile/profile.h"

#define LISTEN_MAX 128
#define SPARE_BYTES (4u << 20)

struct http {
	char listen[LISTEN_MAX];
	int fd;
	struct buf in;
	struct kept *kept;
	struct server *server;
	struct http_source source;
};

static struct server_options server_options_of(const struct serve_options *options, const struct http_source *source)
{
	return (struct server_options){ .listen = options->listen,
					.socket = options->socket,
					.token_file = options->token_file,
					.tls_cert = options->tls_cert,
					.tls_key = options->tls_key,
					.insecure = options->insecure,
					.users = options->users,
					.users_len = options->users_len,
					.sudo_user = options->by_sudo ? &options->sudo_user : NULL,
					.public_metrics = options->public_metrics,
					.hosts = options->hosts.items,
					.origins = options->origins.items,
					.source = source };
}

/* ---- Beside a process that samples ---- */

static int take_second(struct http *http, const struct link_message *message)
{
	struct in_request request = { 0 };
	struct profile *second = NULL;
	int err = in_wick(&second, message->data, message->len, &request);

	buf_free(&request.notes);
	return err ? err : kept_second(http->kept, second, server_stream(http->server));
}

static int take_status(struct http *http, const struct link_message *message)
{
	struct kept_status status;

	memcpy(&status, message->data, sizeof(status));
	return kept_set_status(http->kept, &status, message->data + sizeof(status), message->len - sizeof(status),
			       server_stream(http->server));
}

/* A question about a day takes memory in many small pieces; they are not to stay when it is answered. */
static void give_back_memory(void)
{
	if (mallinfo2().fordblks > SPARE_BYTES)
		malloc_trim(0);
}

static int take_sealed(struct http *http, const struct link_message *message)
{
	struct kept_sealed sealed;

	give_back_memory();
	memcpy(&sealed, message->data, sizeof(sealed));
	return kept_seal(http->kept, &sealed, server_stream(http->server));
}

/* One that could not be taken is passed over: the next second is another chance. */
static void take_message(struct http *http, const struct link_message *message)
{
	if (message->kind == LINK_SECOND)
		take_second(http, message);
	else if (message->kind == LINK_SEALED && message->len == sizeof(struct kept_sealed))
		take_sealed(http, message);
	else if (message->kind == LINK_STATUS && message->len >= sizeof(struct kept_status))
		take_status(http, message);
}

static bool take_input(void *context)
{
	struct http *http = context;
	struct link_message message;
	size_t at = 0;
	int err = link_receive(http->fd, &http->in);

	while (link_next(&http->in, &at, &message))
		take_message(http, &message);
	if (at) {
		memmove(http->in.data, http->in.data + at, http->in.len - at);
		http->in.len -= at;
	}
	return !err || err == -EAGAIN;
}

static int read_hello(struct http *http, struct link_hello *ret)
{
	struct link_message message;
	size_t at = 0;

	while (!link_next(&http->in, &at, &message)) {
		struct pollfd ready = { .fd = http->fd, .events = POLLIN };
		int err = poll(&ready, 1, -1) < 0 ? -EAGAIN : link_receive(http->fd, &http->in);

		if (err && err != -EAGAIN)
			return err;
	}
	if (message.kind != LINK_HELLO || message.len != sizeof(*ret))
		return fail_plain(-EBADMSG, "the server was told nonsense");
	memcpy(ret, message.data, sizeof(*ret));
	ret->host[sizeof(ret->host) - 1] = '\0';
	memmove(http->in.data, http->in.data + at, http->in.len - at);
	http->in.len -= at;
	return 0;
}

/* Nothing of what it could do as the one that started it. */
static int give_up_rights(void)
{
	int err;

	tzset(); /* while files can still be opened everywhere */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	err = server_drop_capabilities();
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return err;
}

static int open_http(struct http *http, const struct serve_options *options)
{
	struct link_hello hello;
	struct live_options live;
	struct server_options server;
	int err = read_hello(http, &hello);

	if (err)
		return err;
	live = (struct live_options){
		.host = hello.host, .hz = hello.hz, .cpus = hello.cpus, .window_ms = hello.window_ms
	};
	err = kept_new(&http->kept, options->data, &live);
	if (err)
		return err;
	http->source = kept_source(http->kept);
	server = server_options_of(options, &http->source);
	if (hello.port) { /* where the one before it was, if it was any free port */
		snprintf(http->listen, sizeof(http->listen), "%.*s:%u",
			 (int)(strrchr(options->listen, ':') - options->listen), options->listen, hello.port);
		server.listen = http->listen;
	}
	server.input = take_input;
	server.input_context = http;
	server.input_fd = http->fd;
	err = server_open(&http->server, &server);
	return err ? err : give_up_rights();
}

int serve_http(const struct serve_options *options, int fd)
{
	struct http http = { .fd = fd };
	struct link_ready ready;
	struct rights before;
	int err;

	serve_spare_memory();
	prctl(PR_SET_NAME, "wick-http", 0, 0, 0);
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C, and a manager's end, are for the other one */
	signal(SIGTERM, SIG_IGN);
	/* For good: the folder, the token and the key are the user's to name, and all else is given up soon. */
	err = rights_lower(&before);
	err = err ? fail(err, "giving up capabilities") : open_http(&http, options);
	if (err) {
		link_reply(fd, LINK_FAILED, fail_text(), strlen(fail_text()));
	} else {
		ready.port = server_port(http.server);
		err = link_reply(fd, LINK_READY, &ready, sizeof(ready));
	}
	if (!err && http.in.len)
		take_input(&http); /* what came right behind the first message */
	err = err ? err : server_run(http.server, -1);
	server_free(http.server);
	kept_free(http.kept);
	buf_free(&http.in);
	return err ? EXIT_MACHINE : EXIT_DONE;
}

/* ---- Saved profiles ---- */

static int read_profiles(const struct serve_options *options, struct replay *replay)
{
	static const struct input_options plain = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < options->replay.len; i++) {
		struct profile *profile = NULL;

		err = input_read(&profile, options->replay.items[i], &plain);
		err = err ? err : replay_add(replay, profile);
	}
	return err;
}

static int run_replay(const struct serve_options *options, struct replay *replay, int stop_fd)
{
	struct http_source source = replay_source(replay);
	struct server_options server_options = server_options_of(options, &source);
	struct server *server = NULL;
	int err = server_open(&server, &server_options);

	err = err ? err : server_drop_capabilities();
	if (!err) {
		serve_log("%zu saved profile%s: listening on %s://%s (port %u)", options->replay.len,
			  options->replay.len == 1 ? "" : "s", options->tls_cert ? "https" : "http", options->listen,
			  server_port(server));
		err = server_run(server, stop_fd);
	}
	server_free(server);
	return err;
}

int serve_replay(const struct serve_options *options)
{
	autoclose int stop_fd = -1;
	struct replay *replay = NULL;
	sigset_t stop;
	int err;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	stop_fd = signalfd(-1, &stop, SFD_CLOEXEC);
	if (stop_fd < 0)
		return fail(-errno, "signalfd");
	err = replay_new(&replay);
	err = err ? err : read_profiles(options, replay);
	err = err ? err : run_replay(options, replay, stop_fd);
	replay_free(replay);
	return err;
}
