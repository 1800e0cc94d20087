/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick serve: samples always, keeps what it saw, and shows it. This process samples and writes; it does not listen.
 * Another one, started from it, does (serve_http.c), and a thread writes to the disk (serve_keep.c), so that neither
 * viewers nor a disk ever hold up sampling.
 */
#include "cmd/serve.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/rights.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/notify.h"
#include "cmd/serve_health.h"
#include "cmd/serve_keep.h"
#include "cmd/serve_link.h"
#include "collect/collect.h"
#include "collect/windows.h"
#include "http/listen.h"
#include "out/out.h"
#include "profile/profile.h"
#include "store/store.h"
#include "worker/opener.h"

#define KEEP_STOP_MS 700 /* for the last window to be written */
#define TURN_MS 1000     /* that nothing is looked at, at most */
#define LARGE_BYTES (1 << 17)

struct serve {
	const struct serve_options *options;
	struct collect_options collect;
	struct record_lists lists;
	struct windows *windows;
	struct keep *keep;
	struct link *link;
	struct health *health;
	struct notify notify;
	uint64_t second_ns; /* when the last second came, monotonic */
	bool sampling, due; /* due: the other process is to be told how it goes */
};

static volatile sig_atomic_t stopped;

static void on_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* Nothing is to be done, but waiting is over. */
static void on_child(int signal)
{
	(void)signal;
}

void serve_log(const char *format, ...)
{
	autobuf struct buf line = { 0 }, shown = { 0 };
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_escape(&shown, text, strlen(text), NULL);
	buf_adds(&line, "wick: ");
	buf_add(&line, shown.data, shown.len);
	buf_addc(&line, '\n');
	if (!buf_error(&line) && !buf_error(&shown))
		(void)!write(STDERR_FILENO, line.data, line.len); /* in one piece */
}

/* ---- What comes from sampling ---- */

static int on_second(void *arg, const struct profile *delta)
{
	const struct profile_meta *meta = profile_meta(delta);
	struct serve *serve = arg;
	autobuf struct buf bytes = { 0 };

	serve->second_ns = clock_ns(CLOCK_MONOTONIC);
	if (!out_wick_plain(delta, &bytes)) /* without memory nobody sees this second: that is no reason to end */
		link_second(serve->link, &bytes, meta->wall_ns + meta->duration_ns / 2);
	return 0;
}

static int on_sealed(void *arg, struct profile *window)
{
	struct serve *serve = arg;

	health_window(serve->health, window);
	keep_put(serve->keep, window);
	return 0;
}

static int on_late(void *arg, const struct profile *named)
{
	keep_names(((struct serve *)arg)->keep, named);
	return 0;
}

static void on_log(void *arg, const char *line)
{
	(void)arg;
	serve_log("%s", line);
}

/* ---- Between ---- */

static void take_results(struct serve *serve)
{
	struct keep_result result;

	while (keep_take(serve->keep, &result)) {
		uint64_t missed = health_not_stored(serve->health);

		link_sealed(serve->link, &result.sealed);
		serve->due = true;
		if (!health_result(serve->health, &result))
			continue;
		if (result.sealed.gap[0])
			serve_log("windows cannot be kept: %s: sampling and the live page go on", result.words);
		else
			serve_log("windows are kept again; %llu could not be, which is recorded as a gap",
				  (unsigned long long)missed);
	}
}

static void tell_status(struct serve *serve)
{
	autobuf struct buf metrics = { 0 };
	struct link_stats link = link_stats(serve->link);
	struct kept_status status;

	if (!serve->due && !link.fresh)
		return;
	if (health_status(serve->health, &link, &status, &metrics))
		return;
	status.sampling = serve->sampling;
	serve->due = !link_send(serve->link, LINK_STATUS, &status, sizeof(status), metrics.data, metrics.len);
}

static int turn(struct serve *serve, const sigset_t *held, const sigset_t *before)
{
	int timeout = windows_timeout(serve->windows), err;

	timeout = timeout < 0 || timeout > TURN_MS ? TURN_MS : timeout;
	if (serve->notify.watchdog_ns && serve->notify.watchdog_ns < TURN_MS * NS_PER_MS)
		timeout = timeout > 100 ? 100 : timeout;
	err = windows_poll(serve->windows, timeout);
	sigprocmask(SIG_SETMASK, before, NULL); /* where there always is something to do, it does not wait */
	sigprocmask(SIG_BLOCK, held, NULL);
	take_results(serve);
	link_tend(serve->link);
	tell_status(serve);
	notify_alive(&serve->notify, clock_ns(CLOCK_MONOTONIC), serve->second_ns);
	return err == -EINTR ? 0 : err;
}

static void hold_signals(sigset_t *held, sigset_t *before)
{
	struct sigaction stop = { .sa_handler = on_stop }, child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(held);
	sigaddset(held, SIGINT);
	sigaddset(held, SIGTERM);
	sigaddset(held, SIGCHLD);
	sigprocmask(SIG_BLOCK, held, before);
}

/* ---- Begin and end ---- */

/* This program's arguments, and the one that makes it the other process. */
static char **child_arguments(int argc, char **argv)
{
	static char program[] = "wick", fd[] = "--http-fd=3";
	char **list = calloc((size_t)argc + 3, sizeof(*list));

	if (!list)
		return NULL;
	list[0] = program;
	list[1] = argv[0];
	list[2] = fd;
	memcpy(list + 3, argv + 1, (size_t)(argc - 1) * sizeof(*list));
	return list;
}

/* The folder is the user's to name, so it is opened with the user's rights. */
static int open_store(struct serve *serve, const struct store_options *options, int nice)
{
	struct rights before;
	int err = rights_lower(&before);

	if (err)
		return fail(err, "store '%s'", options->folder);
	err = keep_open(&serve->keep, options, nice);
	rights_restore(&before);
	return err;
}

static int open_all(struct serve *serve, char **child_argv)
{
	const struct serve_options *options = serve->options;
	const struct windows_options windows = { .collect = &serve->collect,
						 .window_ns = options->window_ns,
						 .second = on_second,
						 .sealed = on_sealed,
						 .late = on_late,
						 .log = on_log,
						 .arg = serve };
	const struct store_options store = { .folder = options->data,
					     .keep_ns = options->keep_ns,
					     .keep_bytes = options->keep_bytes,
					     .event_bytes = options->event_bytes };
	struct link_hello hello = { .hz = serve->collect.hz,
				    .cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
				    .window_ms = options->window_ns / NS_PER_MS };
	int nice = getpriority(PRIO_PROCESS, 0); /* before sampling makes haste, which is not for the others */
	uint64_t bytes, first_ns;
	int err = windows_open(&serve->windows, &windows);

	gethostname(hello.host, sizeof(hello.host) - 1);
	err = err ? err : open_store(serve, &store, nice);
	err = err ? err : health_new(&serve->health, hello.hz, hello.cpus);
	if (!err) {
		keep_size(serve->keep, &bytes, &first_ns);
		health_store(serve->health, bytes, first_ns);
	}
	return err ? err : link_start(&serve->link, child_argv, &hello, nice);
}

static void announce(struct serve *serve)
{
	const struct serve_options *options = serve->options;
	const char *colon = strrchr(options->listen, ':');

	serve_log("listening on %s://%.*s:%u/ and %s", options->tls_cert ? "https" : "http",
		  (int)(colon - options->listen), options->listen, link_stats(serve->link).port, options->socket);
	serve_log("sampling at %llu Hz, keeping windows of %g s in %s", (unsigned long long)serve->collect.hz,
		  (double)options->window_ns / (double)NS_PER_SEC, options->data);
	if (windows_warning(serve->windows))
		serve_log("warning: %s: mappings are read from /proc instead", windows_warning(serve->windows));
	notify_send(&serve->notify, "READY=1\nSTATUS=Sampling");
	serve->sampling = serve->due = true;
}

/* Seals what there is. */
static int stop_all(struct serve *serve)
{
	int err;

	notify_send(&serve->notify, "STOPPING=1\nSTATUS=Writing the last window");
	link_hang_up(serve->link); /* it ends while the last window is made */
	err = windows_stop(serve->windows);
	if (!keep_stop(serve->keep, KEEP_STOP_MS)) {
		serve_log("the disk does not answer: the last window is lost");
		_exit(EXIT_MACHINE); /* the thread still has the store, and the other process ends with this one */
	}
	take_results(serve);
	link_end(serve->link);
	if (!err)
		serve_log(health_not_stored(serve->health) ? "ended; the last windows could not be kept" : "ended");
	return err;
}

/*
 * What is large is given back when it is freed, instead of being kept for the next: the C library would raise these
 * limits by itself with each large piece, and this runs for weeks beside what it looks at.
 */
void serve_spare_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BYTES);
	mallopt(M_ARENA_MAX, 2); /* one for whoever must not wait, one for all others */
}

static int serve_run(struct serve *serve, char **child_argv)
{
	sigset_t held, before;
	int err;

	serve_spare_memory();
	notify_open(&serve->notify);
	hold_signals(&held, &before);
	err = opener_start(&serve->collect.opener);
	err = err ? err : open_all(serve, child_argv);
	err = err ? err : keep_start(serve->keep);
	err = err ? err : windows_start(serve->windows);
	if (err)
		return err;
	serve->second_ns = clock_ns(CLOCK_MONOTONIC);
	announce(serve);
	while (!stopped && !err)
		err = turn(serve, &held, &before);
	if (err) {
		serve_log("sampling: %s", fail_text());
		stop_all(serve);
		return err;
	}
	return stop_all(serve);
}

static void serve_free(struct serve *serve)
{
	link_free(serve->link);
	windows_free(serve->windows);
	opener_free(serve->collect.opener);
	if (serve->keep)
		keep_stop(serve->keep, KEEP_STOP_MS);
	keep_free(serve->keep);
	health_free(serve->health);
	notify_close(&serve->notify);
	record_lists_free(&serve->lists);
}

/* What can be said without doing anything. */
static int check_options(const struct serve_options *options, struct serve *serve)
{
	const struct listen_policy policy = { options->token_file, options->tls_cert && options->tls_key,
					      options->insecure };
	struct listen_address address;
	int err = listen_parse(options->listen, &address);

	err = err ? err : listen_check(&address, options->listen, &policy);
	if (!err && !options->tls_cert != !options->tls_key)
		err = fail_plain(-EINVAL, "--tls-cert and --tls-key go together: give both or none");
	err = err ? err : record_to_collect(&options->record, &serve->collect, &serve->lists);
	serve->collect.events = true;
	serve->collect.max_stacks = 0; /* as many as fit */
	return err;
}

static int start(const struct serve_options *options, int argc, char **argv)
{
	struct serve serve = { .options = options, .notify.fd = -1 };
	autofree char **child_argv = child_arguments(argc, argv);
	int err = child_argv ? check_options(options, &serve) : fail(-ENOMEM, "serve"), status = EXIT_USAGE;

	if (!err) {
		status = EXIT_MACHINE;
		err = options->replay.len ? serve_replay(options) : serve_run(&serve, child_argv);
	}
	serve_free(&serve);
	return err ? command_failed(status) : EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct serve_options options;
	int err = serve_parse(&options, argc, argv), status;

	if (err)
		status = command_usage(command, err);
	else if (options.replay.len && rights_drop())
		status = command_failed(EXIT_MACHINE);
	else if (options.http_fd)
		status = serve_http(&options, LINK_FD);
	else
		status = start(&options, argc, argv);
	serve_options_free(&options);
	return status;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "Samples always, keeps what happened, and shows it in a browser",
	.usage = "[OPTION]... [--replay FILE...]",
	.examples = "  wick serve                                 then open http://127.0.0.1:7777/\n"
		    "  wick serve --keep 30d --keep-bytes 8G      a month, or 8 GiB of it\n"
		    "  wick serve --allow-users prometheus        who may ask, besides root and you\n"
		    "  wick serve --replay cpu.wick x.folded      saved profiles, without root\n"
		    "  wick serve --listen 0.0.0.0:7777 --token-file TOKEN --tls-cert CERT --tls-key KEY\n",
	.options = serve_option_table,
	.samples = true, /* but for --replay */
	.run = run,
};
