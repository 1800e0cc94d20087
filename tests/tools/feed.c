/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with a store, as `wick serve` is one, without sampling: seconds are made up from a saved profile and sealed
 * to a store every so many. feed [NAME=VALUE]... FILE
 *
 * Names: data (folder of the store, needed), listen, socket, ms (real time between seconds), window (seconds that are
 * sealed together), past (windows that are there from the beginning), era (bytes of a dictionary of the live stream).
 * Prints its port when it serves; ends by SIGTERM.
 *
 * Each second has the same counts, so a range has as many as it has seconds; within it, samples are taken from 200 ms
 * to 400 ms only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "http/kept.h"
#include "http/server.h"
#include "in/in.h"
#include "out/out.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "store/store.h"

#define EACH 10 /* of how many counts one is in each second */

struct feed {
	const char *path, *data;
	unsigned ms, window, past, era;
	struct server_options options;
	struct http_source source;
	struct kept *kept;
	struct server *server;
	struct store *store;
	struct profile *model, *sum; /* sum: the window that is not sealed */
	uint64_t next_ns;            /* when the next second begins */
	uint64_t mono_us;
	unsigned in_window;
	int timer;
};

static int fill(struct feed *feed, struct profile *second)
{
	struct profile_stacks stacks = { 0 };
	int err = profile_take_stacks(second, &stacks);
	uint64_t at = 0;

	for (uint32_t i = 1; !err && i < stacks.nodes_len; i++)
		err = profile_add_node(second, stacks.nodes[i].parent, stacks.nodes[i].frame) == i ? 0 : -EIO;
	for (uint32_t i = 1; !err && i < stacks.samples_len; i++) {
		uint32_t number;

		stacks.samples[i].value = (stacks.samples[i].value + EACH - 1) / EACH;
		number = profile_add_sample(second, &stacks.samples[i]);
		for (uint64_t n = 0; n < stacks.samples[i].value; n++, at++)
			profile_add_event(second, &(struct profile_event){ .time_us = 200000 + at * 997 % 200000,
									   .sample = number });
	}
	profile_stacks_free(&stacks);
	profile_meta(second)->hz = 100;
	profile_meta(second)->wall_ns = feed->next_ns;
	profile_meta(second)->start_us = feed->mono_us;
	profile_meta(second)->duration_ns = NS_PER_SEC;
	return err;
}

static int make_second(struct feed *feed, struct profile **ret)
{
	static const struct filter_options everything = { 0 };
	struct filter *filter = NULL;
	int err = filter_new(&filter, &everything, &out_texts);

	err = err ? err : filter_apply(filter, feed->model, ret);
	filter_free(filter);
	return err ? err : fill(feed, *ret);
}

static int seal(struct feed *feed)
{
	const struct profile_meta *meta = profile_meta(feed->sum);
	struct kept_sealed sealed = { meta->wall_ns, feed->next_ns, feed->in_window, "" };
	int err = store_seal(feed->store, feed->sum, "boot", NULL);

	if (!err && feed->server)
		kept_seal(feed->kept, &sealed, server_stream(feed->server));
	profile_free(feed->sum);
	feed->sum = NULL;
	feed->in_window = 0;
	return err;
}

/* One second, to the window and to whoever listens. */
static int step(struct feed *feed)
{
	struct profile *second = NULL, *copy = NULL;
	int err = make_second(feed, &second);

	err = err ? err : make_second(feed, &copy);
	if (err)
		return err;
	feed->next_ns += NS_PER_SEC;
	feed->mono_us += 1000000;
	if (feed->server)
		kept_second(feed->kept, second, server_stream(feed->server));
	else
		profile_free(second);
	if (feed->sum) {
		err = merge_into(feed->sum, copy);
		profile_free(copy);
	} else {
		feed->sum = copy;
	}
	return err ? err : ++feed->in_window == feed->window ? seal(feed) : 0;
}

static bool tick(void *context)
{
	struct feed *feed = context;
	uint64_t times;

	if (read(feed->timer, &times, sizeof(times)) != (ssize_t)sizeof(times))
		return true;
	return !step(feed);
}

static int set(struct feed *feed, const char *name, const char *value)
{
	if (!strcmp(name, "data"))
		feed->data = value;
	else if (!strcmp(name, "listen"))
		feed->options.listen = value;
	else if (!strcmp(name, "socket"))
		feed->options.socket = value;
	else if (!strcmp(name, "ms"))
		feed->ms = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "window"))
		feed->window = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "past"))
		feed->past = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "era"))
		feed->era = (unsigned)strtoul(value, NULL, 10);
	else
		return fail_plain(-EINVAL, "no setting '%s'", name);
	return 0;
}

static int open_feed(struct feed *feed)
{
	struct in_request request = { 0 };
	struct store_options options = { .folder = feed->data, .event_bytes = 64 << 20 };
	struct live_options live = {
		.host = "feed", .hz = 100, .cpus = 2, .window_ms = feed->window * 1000, .era_bytes = feed->era
	};
	struct kept_status status = { .sampling = true, .health = { .whole_percent = 100 } };
	static const char metrics[] = "# HELP wick_made_up Made up.\n# TYPE wick_made_up gauge\nwick_made_up 1\n";
	int fd = open(feed->path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 ? fail(-errno, "'%s'", feed->path) : in_read_fd(&feed->model, fd, &request);
	buf_free(&request.notes);
	err = err ? err : store_open(&feed->store, &options);
	feed->next_ns = clock_ns(CLOCK_REALTIME) / NS_PER_SEC * NS_PER_SEC;
	feed->next_ns -= feed->past * feed->window * NS_PER_SEC;
	feed->mono_us = clock_ns(CLOCK_MONOTONIC) / 1000;
	for (unsigned i = 0; !err && i < feed->past * feed->window; i++)
		err = step(feed);
	err = err ? err : kept_new(&feed->kept, feed->data, &live);
	if (err)
		return err;
	feed->source = kept_source(feed->kept);
	feed->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(feed->timer, 0,
			&(struct itimerspec){ { feed->ms / 1000, feed->ms % 1000 * 1000000 },
					      { feed->ms / 1000, feed->ms % 1000 * 1000000 } },
			NULL);
	feed->options.source = &feed->source;
	feed->options.input = tick;
	feed->options.input_context = feed;
	feed->options.input_fd = feed->timer;
	err = server_open(&feed->server, &feed->options);
	status.series = 1;
	return err ? err : kept_set_status(feed->kept, &status, metrics, strlen(metrics), server_stream(feed->server));
}

int main(int argc, char **argv)
{
	struct feed feed = { .ms = 1000, .window = 10, .options.listen = "127.0.0.1:0" };
	sigset_t stop;
	int stop_fd, err = 0;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	stop_fd = signalfd(-1, &stop, SFD_CLOEXEC);
	for (int i = 1; !err && i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (value)
			err = set(&feed, argv[i], value);
		else
			feed.path = argv[i];
	}
	if (!err && (!feed.data || !feed.path || !feed.window || !feed.ms))
		err = fail_plain(-EINVAL, "a folder and a file are needed: data=FOLDER FILE");
	err = err ? err : open_feed(&feed);
	if (!err) {
		printf("%u\n", server_port(feed.server));
		fflush(stdout);
		err = server_run(feed.server, stop_fd);
	}
	server_free(feed.server);
	kept_free(feed.kept);
	store_free(feed.store);
	profile_free(feed.model);
	profile_free(feed.sum);
	if (err)
		fprintf(stderr, "feed: %s\n", fail_text());
	return err ? 1 : 0;
}
