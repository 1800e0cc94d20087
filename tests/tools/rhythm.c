/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with a store and a live stream, as `wick serve` is one, of a machine whose work is known to the millisecond:
 * rhythm [NAME=VALUE]...
 *
 * Names: data (folder of the store), listen, past (seconds that are there from the beginning), gap (of which so many
 * windows of 10 s are missing in the middle), file (writes `past` seconds there as .wick instead of serving, from=
 * seconds since 1970). Prints its port when it serves; ends by SIGTERM.
 *
 * 100 samples a second of each of two CPUs. On the first, switcher runs: alpha in the first 20 s of every 40 s since
 * 1970, beta in the others. On the second, metronome beats in the first 100 ms of every 200 ms, and a process with a
 * hostile name runs for 40 ms at the end of every second. Each 30th second has lost 3 samples.
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
#include "out/out.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "store/store.h"

#define HZ 100
#define WINDOW 10 /* seconds */

struct rhythm {
	const char *data, *file;
	unsigned past, gap;
	uint64_t from;
	struct server_options options;
	struct http_source source;
	struct kept *kept;
	struct server *server;
	struct store *store;
	struct profile *window;
	uint64_t next_ns, mono_us;
	uint64_t gap_from_ns, gap_to_ns;
	int timer;
};

enum { ALPHA, BETA, BEAT, HOSTILE };

static const struct {
	uint32_t pid;
	const char *comm, *unit, *container, *stack;
} works[] = {
	[ALPHA] = { 100, "switcher", "shop.service", "shop-frontend", "_start main run_loop alpha hash_step" },
	[BETA] = { 100, "switcher", "shop.service", "shop-frontend", "_start main run_loop beta sort_step" },
	[BEAT] = { 200, "metronome", "metronome.service", "", "_start main wait_for_beat tick_work" },
	[HOSTILE] = { 300, "<img src=x onerror=window.hit=1>", "", "",
		      "_start <script>window.hit=1</script> \"onload=\"window.hit=1" },
};

static uint32_t add_stack(struct profile *profile, const char *stack, uint32_t file)
{
	char *text = strdup(stack), *rest = text, *word;
	uint32_t node = 0;

	while (text && (word = strsep(&rest, " "))) {
		struct profile_frame frame = { .kind = FRAME_USER,
					       .file = file,
					       .name = profile_string(profile, word) };

		for (const char *c = word; *c; c++)
			frame.address = frame.address * 31 % 1000003 + (unsigned char)*c;
		node = profile_add_node(profile, node, profile_add_frame(profile, &frame));
	}
	free(text);
	return node;
}

static void add_sample(struct profile *profile, int which, uint32_t cpu, uint64_t time_us)
{
	const struct profile_file file = { .device = 8,
					   .inode = works[which].pid,
					   .size = 1,
					   .path = profile_string(profile, which == BEAT ? "/usr/bin/metronome"
											 : "/usr/bin/shop") };
	struct profile_sample sample = { .value = 1, .process = profile_add_process(profile, works[which].pid, 1) };
	struct profile_event event = { .time_us = time_us, .cpu = cpu };

	sample.stack = add_stack(profile, works[which].stack, profile_add_file(profile, &file));
	sample.comm = profile_string(profile, works[which].comm);
	profile_process(profile, sample.process)->comm = sample.comm;
	if (*works[which].container)
		sample.labels = profile_add_label(profile, 0, profile_string(profile, "container"),
						  profile_string(profile, works[which].container));
	if (*works[which].unit)
		sample.labels = profile_add_label(profile, sample.labels, profile_string(profile, "unit"),
						  profile_string(profile, works[which].unit));
	event.sample = profile_add_sample(profile, &sample);
	profile_add_event(profile, &event);
}

static int make_second(const struct rhythm *rhythm, struct profile **ret)
{
	uint64_t second = rhythm->next_ns / NS_PER_SEC;
	struct profile_meta *meta;
	int err = profile_new(ret);

	if (err)
		return err;
	meta = profile_meta(*ret);
	meta->hz = HZ;
	meta->period = NS_PER_SEC / HZ;
	meta->wall_ns = rhythm->next_ns;
	meta->start_us = rhythm->mono_us;
	meta->duration_ns = NS_PER_SEC;
	meta->cpus = 2;
	meta->expected = 2 * HZ;
	meta->event = profile_string(*ret, "cpu-clock");
	meta->unit = profile_string(*ret, "samples");
	meta->host = profile_string(*ret, "shop1");
	for (uint64_t ms = 3; ms < 1000; ms += 1000 / HZ) {
		add_sample(*ret, second / 20 % 2 ? BETA : ALPHA, 0, ms * 1000);
		if (ms % 200 < 100)
			add_sample(*ret, BEAT, 1, ms * 1000);
		else if (ms >= 950 && ms < 990)
			add_sample(*ret, HOSTILE, 1, ms * 1000);
	}
	profile_add_counter(*ret, "stack", "user", 2 * HZ);
	profile_add_counter(*ret, "stack", "complete", 2 * HZ);
	return profile_add_counter(*ret, "lost", "ring", second % 30 ? 0 : 3);
}

/* The window that ends now, unless nothing was kept then. */
static int seal(struct rhythm *rhythm)
{
	struct profile *window = rhythm->window;
	const struct profile_meta *meta = profile_meta(window);
	struct kept_sealed sealed = { meta->wall_ns, rhythm->next_ns, profile_count(window, PROFILE_EVENTS) - 1, "" };
	int err = 0;

	if (meta->wall_ns < rhythm->gap_from_ns || meta->wall_ns >= rhythm->gap_to_ns)
		err = store_seal(rhythm->store, window, "boot", NULL);
	if (!err && rhythm->server)
		err = kept_seal(rhythm->kept, &sealed, server_stream(rhythm->server));
	profile_free(window);
	rhythm->window = NULL;
	return err;
}

static int step(struct rhythm *rhythm)
{
	struct profile *second = NULL, *copy = NULL;
	int err = make_second(rhythm, &copy);

	err = err || !rhythm->server ? err : make_second(rhythm, &second);
	err = err || !second ? err : kept_second(rhythm->kept, second, server_stream(rhythm->server));
	rhythm->next_ns += NS_PER_SEC;
	rhythm->mono_us += 1000000;
	if (err || !rhythm->window) {
		rhythm->window = err ? NULL : copy;
	} else {
		err = merge_into(rhythm->window, copy);
		profile_free(copy);
	}
	return !err && rhythm->store && rhythm->next_ns / NS_PER_SEC % WINDOW == 0 ? seal(rhythm) : err;
}

static bool tick(void *context)
{
	struct rhythm *rhythm = context;
	uint64_t times;

	if (read(rhythm->timer, &times, sizeof(times)) != (ssize_t)sizeof(times))
		return true;
	/* A second is told when it is over. */
	while (rhythm->next_ns + NS_PER_SEC <= clock_ns(CLOCK_REALTIME))
		if (step(rhythm))
			return false;
	return true;
}

static int set(struct rhythm *rhythm, const char *name, const char *value)
{
	if (!strcmp(name, "data"))
		rhythm->data = value;
	else if (!strcmp(name, "file"))
		rhythm->file = value;
	else if (!strcmp(name, "listen"))
		rhythm->options.listen = value;
	else if (!strcmp(name, "past"))
		rhythm->past = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "gap"))
		rhythm->gap = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "from"))
		rhythm->from = strtoull(value, NULL, 10);
	else
		return fail_plain(-EINVAL, "no setting '%s'", name);
	return 0;
}

static int write_file(struct rhythm *rhythm)
{
	struct buf out = { 0 };
	FILE *file = fopen(rhythm->file, "w");
	int err = file ? 0 : fail(-errno, "'%s'", rhythm->file);

	rhythm->next_ns = rhythm->from * NS_PER_SEC;
	for (unsigned i = 0; !err && i < rhythm->past; i++)
		err = step(rhythm);
	err = err ? err : out_wick(rhythm->window, &out);
	if (!err && fwrite(out.data, 1, out.len, file) != out.len)
		err = fail(-EIO, "'%s'", rhythm->file);
	if (file && fclose(file) && !err)
		err = fail(-errno, "'%s'", rhythm->file);
	buf_free(&out);
	return err;
}

/* The past is there when it begins to serve. */
static int open_server(struct rhythm *rhythm)
{
	const struct store_options options = { .folder = rhythm->data, .event_bytes = 64 << 20 };
	const struct live_options live = { .host = "shop1", .hz = HZ, .cpus = 2, .window_ms = WINDOW * 1000 };
	struct kept_status status = { .sampling = true };
	uint64_t now = clock_ns(CLOCK_REALTIME) / NS_PER_SEC, first = (now - rhythm->past) / WINDOW * WINDOW;
	const struct itimerspec every = { { 0, 50000000 }, { 0, 50000000 } };
	int err = store_open(&rhythm->store, &options);

	rhythm->next_ns = first * NS_PER_SEC;
	rhythm->gap_from_ns = (first + rhythm->past / 2 / WINDOW * WINDOW) * NS_PER_SEC;
	rhythm->gap_to_ns = rhythm->gap_from_ns + rhythm->gap * WINDOW * NS_PER_SEC;
	while (!err && rhythm->next_ns + WINDOW * NS_PER_SEC <= now * NS_PER_SEC)
		err = step(rhythm);
	err = err ? err : kept_new(&rhythm->kept, rhythm->data, &live);
	if (err)
		return err;
	rhythm->source = kept_source(rhythm->kept);
	rhythm->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(rhythm->timer, 0, &every, NULL);
	rhythm->options.source = &rhythm->source;
	rhythm->options.input = tick;
	rhythm->options.input_context = rhythm;
	rhythm->options.input_fd = rhythm->timer;
	status.health = (struct live_health){ .whole_percent = 99.7,
					      .cpu_percent = 0.08,
					      .rss_bytes = 21 << 20,
					      .store_bytes = 1200000,
					      .first_ns = first * NS_PER_SEC };
	err = server_open(&rhythm->server, &rhythm->options);
	return err ? err : kept_set_status(rhythm->kept, &status, "", 0, server_stream(rhythm->server));
}

int main(int argc, char **argv)
{
	struct rhythm rhythm = { .past = 60, .options.listen = "127.0.0.1:0" };
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
		err = value ? set(&rhythm, argv[i], value) : fail_plain(-EINVAL, "'%s' is no NAME=VALUE", argv[i]);
	}
	if (!err && !rhythm.file && !rhythm.data)
		err = fail_plain(-EINVAL, "data=FOLDER or file=FILE is needed");
	if (!err && rhythm.file) {
		err = write_file(&rhythm);
	} else if (!err) {
		err = open_server(&rhythm);
		if (!err) {
			printf("%u\n", server_port(rhythm.server));
			fflush(stdout);
			err = server_run(rhythm.server, stop_fd);
		}
	}
	server_free(rhythm.server);
	kept_free(rhythm.kept);
	store_free(rhythm.store);
	profile_free(rhythm.window);
	if (err)
		fprintf(stderr, "rhythm: %s\n", fail_text());
	return err ? 1 : 0;
}
