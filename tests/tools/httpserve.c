/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves saved profiles until SIGTERM, as `wick serve --replay` does, with bounds and events for tests:
 * httpserve [NAME=VALUE]... FILE...
 *
 * Names: listen, token, cert, key, host, origin (once each), insecure, connections, listeners, request_ms, idle_ms,
 * send_ms; live=MS publishes an event every so many ms and makes the source a live one; bytes= how long each event is.
 * Prints its port when it serves. An error is one line and status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "http/replay.h"
#include "http/server.h"
#include "http/stream.h"
#include "in/in.h"

struct setting {
	struct server_options options;
	const char *hosts[2], *origins[2];
	unsigned live_ms, bytes;
};

struct publisher {
	struct stream *stream;
	const struct setting *setting;
	atomic_bool over;
};

static int greet(void *context, struct buf *out)
{
	(void)context;
	buf_adds(out, "{\"hello\":true}");
	return buf_error(out);
}

static void *publish(void *context)
{
	struct publisher *publisher = context;
	char *text = malloc(publisher->setting->bytes + 1);

	if (!text)
		return NULL;
	memset(text, 'x', publisher->setting->bytes);
	while (!publisher->over) {
		usleep(publisher->setting->live_ms * 1000);
		stream_publish(publisher->stream, "add", text, publisher->setting->bytes);
	}
	free(text);
	return NULL;
}

static int set(struct setting *setting, const char *name, const char *value)
{
	struct server_options *options = &setting->options;
	const struct {
		const char *name;
		const char **text;
		unsigned *number;
	} names[] = {
		{ "listen", &options->listen, NULL },
		{ "token", &options->token_file, NULL },
		{ "cert", &options->tls_cert, NULL },
		{ "key", &options->tls_key, NULL },
		{ "host", &setting->hosts[0], NULL },
		{ "origin", &setting->origins[0], NULL },
		{ "connections", NULL, &options->connections },
		{ "listeners", NULL, &options->listeners },
		{ "request_ms", NULL, &options->request_ms },
		{ "idle_ms", NULL, &options->idle_ms },
		{ "send_ms", NULL, &options->send_ms },
		{ "live", NULL, &setting->live_ms },
		{ "bytes", NULL, &setting->bytes },
	};

	if (!strcmp(name, "insecure")) {
		options->insecure = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i].name, name))
			continue;
		if (names[i].text)
			*names[i].text = value;
		else
			*names[i].number = (unsigned)strtoul(value, NULL, 10);
		return 0;
	}
	return fail_plain(-EINVAL, "no setting '%s'", name);
}

static int add_file(struct replay *replay, const char *path)
{
	struct in_request request = { 0 };
	struct profile *profile = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return fail(-errno, "'%s'", path);
	err = in_read_fd(&profile, fd, &request);
	close(fd);
	buf_free(&request.notes);
	return err ? err : replay_add(replay, profile);
}

static int read_arguments(struct setting *setting, struct replay *replay, int argc, char **argv)
{
	int err = 0;

	for (int i = 1; !err && i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		err = value ? set(setting, argv[i], value) : add_file(replay, argv[i]);
	}
	return err;
}

static int serve(struct setting *setting, struct http_source *source, int stop_fd)
{
	struct server *server = NULL;
	struct publisher publisher = { .setting = setting };
	pthread_t thread;
	int err;

	source->live = setting->live_ms;
	source->greeting = setting->live_ms ? greet : NULL;
	setting->options.source = source;
	err = server_open(&server, &setting->options);
	err = err ? err : server_drop_capabilities();
	if (err)
		return err;
	publisher.stream = server_stream(server);
	if (setting->live_ms && pthread_create(&thread, NULL, publish, &publisher))
		return -EAGAIN;
	printf("%u\n", server_port(server));
	fflush(stdout);
	err = server_run(server, stop_fd);
	if (setting->live_ms) {
		publisher.over = true;
		pthread_join(thread, NULL);
	}
	server_free(server);
	return err;
}

int main(int argc, char **argv)
{
	struct setting setting = { .options.listen = "127.0.0.1:0", .bytes = 10 };
	struct replay *replay = NULL;
	struct http_source source;
	sigset_t stop;
	int stop_fd, err;

	setting.options.hosts = setting.hosts;
	setting.options.origins = setting.origins;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	stop_fd = signalfd(-1, &stop, SFD_CLOEXEC);
	err = replay_new(&replay);
	err = err ? err : read_arguments(&setting, replay, argc, argv);
	if (!err) {
		source = replay_source(replay);
		err = serve(&setting, &source, stop_fd);
	}
	replay_free(replay);
	if (err)
		fprintf(stderr, "httpserve: %s\n", fail_text());
	return err ? 1 : 0;
}
