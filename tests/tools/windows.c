/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records without end, for tests and measurements: windows FOLDER WINDOW_MS ERA_S [OPTION of wick record]... SECONDS
 *
 * Each window becomes FOLDER/N.wick, from 1 on. Lines on standard output, fields separated by blanks:
 *   window N from_ms to_ms fired taken counted lost left_out missed expected samples events unnamed seconds from_us
 *     to_us held_ms
 *     times are since 1970, those in us of the monotonic clock; samples and events: those in the profile; unnamed:
 *     frames that should have a name; seconds: samples handed out second by second since the window before; held: for
 *     how long this process waited for a CPU, or its machine for its host, since the window before was handed out
 *   late N                     frames that got their names late
 *   log TEXT                   what the library says
 *   used cpu_us max_rss_kb worker_rss_kb seconds
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "cmd/record.h"
#include "collect/windows.h"
#include "out/out.h"
#include "profile/profile.h"

struct state {
	const char *folder;
	unsigned int count;
	uint64_t seconds; /* samples in those since the last window */
	uint64_t held_ms; /* until the last window */
};

/* A number of a file of /proc, in ms: the field of that number of its first line. 0 if there is none. */
static uint64_t proc_ms(const char *path, unsigned int number, uint64_t per_ms)
{
	FILE *file = fopen(path, "r");
	char word[64] = "";

	for (unsigned int i = 0; file && i <= number; i++)
		if (fscanf(file, "%63s", word) != 1)
			word[0] = '\0';
	if (file)
		fclose(file);
	return per_ms ? strtoull(word, NULL, 10) / per_ms
		      : strtoull(word, NULL, 10) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t held_ms(void)
{
	return proc_ms("/proc/self/schedstat", 1, NS_PER_MS) + proc_ms("/proc/stat", 8, 0);
}

static uint64_t group_sum(const struct profile *profile, const char *group)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (!strcmp(profile_text(profile, counter->group, NULL), group))
			sum += counter->value;
	}
	return sum;
}

static uint64_t samples_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static unsigned int unnamed_in(const struct profile *profile)
{
	unsigned int sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_FRAMES); i++) {
		const struct profile_frame *frame = profile_frame(profile, i);

		sum += !frame->name && (frame->kind == FRAME_USER || frame->kind == FRAME_KERNEL);
	}
	return sum;
}

static int second(void *arg, const struct profile *delta)
{
	((struct state *)arg)->seconds += samples_of(delta);
	return 0;
}

static int late(void *arg, const struct profile *named)
{
	(void)arg;
	printf("late %u\n", profile_count(named, PROFILE_FRAMES) - 1);
	return 0;
}

static void say(void *arg, const char *line)
{
	(void)arg;
	printf("log %s\n", line);
}

static int write_window(const struct state *state, const struct profile *window)
{
	autobuf struct buf out = { 0 };
	char path[4096];
	FILE *file;
	int err = out_wick(window, &out);

	snprintf(path, sizeof(path), "%s/%u.wick", state->folder, state->count);
	file = err || buf_error(&out) ? NULL : fopen(path, "w");
	if (!file)
		return -EIO;
	err = fwrite(out.data, 1, out.len, file) == out.len ? 0 : -EIO;
	return fclose(file) ? -EIO : err;
}

static int sealed(void *arg, struct profile *window)
{
	struct state *state = arg;
	const struct profile_meta *meta = profile_meta(window);
	uint64_t from = meta->wall_ns / NS_PER_MS, to = (meta->wall_ns + meta->duration_ns) / NS_PER_MS;
	int err;

	state->count++;
	err = write_window(state, window);
	printf("window %u %" PRIu64 " %" PRIu64, state->count, from, to);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, profile_counter_value(window, "total", "fired"),
	       profile_counter_value(window, "total", "taken"), profile_counter_value(window, "total", "counted"));
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, group_sum(window, "lost"),
	       group_sum(window, "left_out"), profile_counter_value(window, "note", "missed"), meta->expected);
	printf(" %" PRIu64 " %u %u %" PRIu64, samples_of(window), profile_count(window, PROFILE_EVENTS) - 1,
	       unnamed_in(window), state->seconds);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", meta->start_us,
	       meta->start_us + (uint64_t)(meta->duration_ns / NS_PER_US), held_ms() - state->held_ms);
	fflush(stdout);
	state->held_ms = held_ms();
	state->seconds = 0;
	profile_free(window);
	return err;
}

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	stopped = signal;
}

static int run(struct windows *windows, uint64_t seconds_ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds_ns;
	int err = windows_start(windows);

	while (!err && !stopped && clock_ns(CLOCK_MONOTONIC) < end) {
		err = windows_poll(windows, windows_timeout(windows));
		err = err == -EINTR ? 0 : err;
	}
	return err ? err : windows_stop(windows);
}

static long cpu_us(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 + usage->ru_utime.tv_usec +
	       usage->ru_stime.tv_usec;
}

static void print_used(uint64_t seconds_ns)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("used %ld %ld %ld %.1f\n", cpu_us(&self) + cpu_us(&children), self.ru_maxrss, children.ru_maxrss,
	       (double)seconds_ns / (double)NS_PER_SEC);
}

int main(int argc, char **argv)
{
	struct record_options options = { 0 };
	struct collect_options collect;
	struct record_lists lists = { 0 };
	struct state state = { 0 };
	struct windows *windows = NULL;
	int err;

	if (argc < 5) {
		fprintf(stderr, "usage: windows FOLDER WINDOW_MS ERA_S [OPTION]... SECONDS\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	state.folder = argv[1];
	state.held_ms = held_ms();
	err = record_parse(&options, argc - 3, argv + 3);
	err = err ? err : record_to_collect(&options, &collect, &lists);
	collect.max_stacks = options.max_stacks ? collect.max_stacks : 0;
	collect.events = true;
	err = err ? err
		  : windows_open(&windows, &(struct windows_options){
						   .collect = &collect,
						   .window_ns = strtoull(argv[2], NULL, 10) * NS_PER_MS,
						   .era_ns = strtoull(argv[3], NULL, 10) * NS_PER_SEC,
						   .second = second,
						   .sealed = sealed,
						   .late = late,
						   .log = say,
						   .arg = &state,
					   });
	err = err ? err : run(windows, options.seconds_ns);
	if (err)
		fprintf(stderr, "windows: %s\n", fail_text());
	windows_free(windows);
	print_used(options.seconds_ns);
	record_lists_free(&lists);
	record_options_free(&options);
	return err != 0;
}
