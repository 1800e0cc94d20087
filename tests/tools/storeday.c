/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day of a machine in a minute: storeday RECORDING FOLDER WINDOWS
 *
 * Cuts a recording with events (wick record --events) into windows of ten seconds and seals them in a new store again
 * and again, each ten seconds after the one before, until there are so many. What was met once while it was recorded
 * would not be the same an hour later: processes that lived for less than half of the recording come back as others,
 * what a sample met is what any sample of its process within half a minute may have met, by chance, and of the stacks
 * that were met once, one of sqrt(n) in the n-th round ends at another place of its last function, called from where
 * another of these was. So no window is like one before, and the dictionary grows as that of a real machine does, ever
 * more slowly.
 *
 * Prints names and numbers, one a line, for bench/store. An error is one line and status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "in/in.h"
#include "profile/profile.h"
#include "store/carry.h"
#include "store/store.h"

#define WINDOW_US 10000000ULL
#define START_NS (1772323200 * NS_PER_SEC) /* a midnight */
#define QUARTERS 4
#define NEAR_US 30000000ULL
#define TRIES 16

struct replay {
	struct profile *recording;
	uint64_t windows;       /* of the recording */
	unsigned char *once;    /* by sample: its stack was met once */
	unsigned char *passing; /* by process: it lived shortly */
	uint32_t *events;       /* of the recording, by process and time */
	uint32_t *first;        /* by process: where its events begin in that list; one more at the end */
	uint64_t samples;       /* sealed */
};

static int read_recording(struct replay *replay, const char *path)
{
	struct in_request request = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return fail(-errno, "'%s'", path);
	err = in_read_fd(&replay->recording, fd, &request);
	close(fd);
	buf_free(&request.notes);
	return err;
}

static int study(struct replay *replay)
{
	const struct profile *recording = replay->recording;
	uint32_t events = profile_count(recording, PROFILE_EVENTS);
	uint32_t samples = profile_count(recording, PROFILE_SAMPLES);
	uint32_t processes = profile_count(recording, PROFILE_PROCESSES);
	uint64_t *first = calloc(processes, sizeof(*first)), *last = calloc(processes, sizeof(*last));

	replay->once = calloc(samples, 1);
	replay->passing = calloc(processes, 1);
	replay->windows = profile_meta(recording)->duration_ns / NS_PER_US / WINDOW_US;
	if (!first || !last || !replay->once || !replay->passing)
		return fail(-ENOMEM, "storeday");
	if (events < 2 || !replay->windows)
		return fail_plain(-EINVAL, "a recording of ten seconds or more, with the times of its samples");
	for (uint32_t i = 1; i < samples; i++)
		replay->once[i] = profile_sample(recording, i)->value == 1;
	for (uint32_t i = 1; i < events; i++) {
		const struct profile_event *event = profile_event(recording, i);
		uint32_t process = profile_sample(recording, event->sample)->process;

		first[process] = first[process] ? first[process] : event->time_us + 1;
		last[process] = event->time_us;
	}
	for (uint32_t i = 1; i < processes; i++)
		replay->passing[i] = last[i] - first[i] + 1 < replay->windows * WINDOW_US / 2;
	free(first);
	free(last);
	return 0;
}

/* Events by process; those of a process stay in their order, which is that of time. */
static int list_events(struct replay *replay)
{
	const struct profile *recording = replay->recording;
	uint32_t events = profile_count(recording, PROFILE_EVENTS);
	uint32_t processes = profile_count(recording, PROFILE_PROCESSES);
	uint32_t *next = calloc(processes + 1, sizeof(*next));

	replay->events = calloc(events, sizeof(*replay->events));
	replay->first = calloc(processes + 1, sizeof(*replay->first));
	if (!next || !replay->events || !replay->first) {
		free(next);
		return fail(-ENOMEM, "storeday");
	}
	for (uint32_t i = 1; i < events; i++)
		replay->first[profile_sample(recording, profile_event(recording, i)->sample)->process + 1]++;
	for (uint32_t i = 0; i < processes; i++)
		replay->first[i + 1] += replay->first[i];
	memcpy(next, replay->first, (processes + 1) * sizeof(*next));
	for (uint32_t i = 1; i < events; i++)
		replay->events[next[profile_sample(recording, profile_event(recording, i)->sample)->process]++] = i;
	free(next);
	return 0;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* What this event might have met as well: the sample of another of the same process, at about the same time. */
static uint32_t by_chance(const struct replay *replay, const struct profile_event *event, uint64_t seed)
{
	uint32_t process = profile_sample(replay->recording, event->sample)->process;
	uint32_t first = replay->first[process], count = replay->first[process + 1] - first;

	for (int i = 0; i < TRIES; i++) {
		uint32_t other = replay->events[first + mix(seed + (uint64_t)i * 0x9e3779b97f4a7c15) % count];
		const struct profile_event *there = profile_event(replay->recording, other);
		uint64_t apart = there->time_us > event->time_us ? there->time_us - event->time_us
								 : event->time_us - there->time_us;

		if (apart <= NEAR_US)
			return there->sample;
	}
	return event->sample;
}

/* Another process of the same name, each round. */
static void pass_on(const struct replay *replay, uint64_t round)
{
	for (uint32_t i = 1; i < profile_count(replay->recording, PROFILE_PROCESSES); i++) {
		struct profile_process *process = profile_process(replay->recording, i);

		if (!replay->passing[i])
			continue;
		process->start += NS_PER_SEC + mix(round << 32 | i) % NS_PER_SEC;
		process->pid = process->pid % 4000000 + 1000;
	}
}

static bool is_elsewhere(const struct replay *replay, uint32_t sample, uint64_t round)
{
	return round && replay->once[sample] &&
	       (double)(mix(sample + round * 0x9e3779b97f4a7c15) >> 11) / (double)(1ULL << 53) <
		       1 / sqrt((double)round + 1);
}

/* The last function of one stack, called from another of the same process that was met once. */
static uint32_t carry_elsewhere(const struct replay *replay, struct carry *carry, uint32_t sample, uint64_t round)
{
	const struct profile_sample *one = profile_sample(carry->from, sample), *other;
	uint32_t samples = profile_count(carry->from, PROFILE_SAMPLES),
		 at = (uint32_t)((sample + round * 97) % samples);
	const struct profile_node *node = profile_node(carry->from, one->stack);
	uint32_t parent, number = carry_frame(carry, node->frame);
	struct profile_frame frame = *profile_frame(carry->to, number == PROFILE_FULL ? 0 : number);

	for (uint32_t i = 0; i < samples; i++, at = at + 1 < samples ? at + 1 : 1) {
		other = profile_sample(carry->from, at);
		if (replay->once[at] && other->process == one->process && other->stack)
			break;
	}
	parent = carry_stack(carry, profile_node(carry->from, profile_sample(carry->from, at)->stack)->parent);
	frame.address += 16 * round + 1;
	return profile_add_node(carry->to, parent, profile_add_frame(carry->to, &frame));
}

static int cut(const struct replay *replay, uint64_t n, struct profile *to)
{
	uint64_t round = n / replay->windows, from_us = n % replay->windows * WINDOW_US;
	const struct profile *recording = replay->recording;
	struct carry carry;
	int err = carry_begin(&carry, recording, to, NULL);

	for (uint32_t i = 1; !err && i < profile_count(recording, PROFILE_EVENTS); i++) {
		const struct profile_event *event = profile_event(recording, i);
		uint32_t met = round ? by_chance(replay, event, n << 32 | i) : event->sample;
		struct profile_sample sample = *profile_sample(recording, met);
		struct profile_event copy = { event->time_us - from_us, 0, event->cpu };

		if (event->time_us < from_us || event->time_us >= from_us + WINDOW_US)
			continue;
		sample.stack = is_elsewhere(replay, met, round) ? carry_elsewhere(replay, &carry, met, round)
								: carry_stack(&carry, sample.stack);
		sample.process = carry_process(&carry, sample.process);
		sample.comm = carry_string(&carry, sample.comm);
		sample.labels = carry_labels(&carry, sample.labels);
		sample.value = 1;
		sample.next = 0;
		copy.sample = profile_add_sample(to, &sample);
		if (copy.sample == PROFILE_FULL || profile_add_event(to, &copy) == PROFILE_FULL)
			err = fail(-ENOMEM, "storeday");
	}
	carry_end(&carry);
	return err;
}

static int fill(const struct replay *replay, uint64_t n, struct profile *to)
{
	const struct profile_meta *from = profile_meta(replay->recording);
	struct profile_meta *meta = profile_meta(to);
	int err = cut(replay, n, to);

	meta->hz = from->hz;
	meta->cpus = from->cpus;
	meta->wall_ns = START_NS + n * WINDOW_US * NS_PER_US;
	meta->start_us = 1 + n * WINDOW_US;
	meta->duration_ns = WINDOW_US * NS_PER_US;
	meta->busy_user_us = from->busy_user_us / replay->windows;
	meta->busy_kernel_us = from->busy_kernel_us / replay->windows;
	for (uint32_t i = 1; !err && i < profile_count(replay->recording, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(replay->recording, i);

		err = profile_add_counter(to, profile_text(replay->recording, counter->group, NULL),
					  profile_text(replay->recording, counter->name, NULL),
					  counter->value / replay->windows + n * counter->value % 7);
	}
	return err;
}

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static int seal(struct replay *replay, struct store *store, uint64_t n)
{
	struct profile *window = NULL;
	int err = profile_new(&window);

	if (n && n % replay->windows == 0)
		pass_on(replay, n / replay->windows);
	err = err ? err : fill(replay, n, window);
	err = err ? err : store_seal(store, window, "boot", NULL);
	replay->samples += sum_of(window);
	profile_free(window);
	while (!err && (err = store_tend(store)) > 0)
		err = 0;
	return err;
}

static int fill_store(struct replay *replay, const char *folder, uint64_t windows)
{
	/* Without single events: these have bytes of their own, which do not grow with the days that are kept. */
	const struct store_options options = { .folder = folder };
	struct store *store = NULL;
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID), bytes = 0;
	int err = store_open(&store, &options);

	for (uint64_t n = 0; n < windows && !err; n++) {
		err = seal(replay, store, n);
		if (!err && (n + 1) % (windows / QUARTERS) == 0) {
			err = store_bytes(store, &bytes);
			printf("bytes_after_%llu %llu\n", (unsigned long long)(n + 1), (unsigned long long)bytes);
		}
	}
	store_free(store);
	printf("window_cpu_us %llu\n",
	       (unsigned long long)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began) / NS_PER_US / windows));
	return err;
}

/* As a server's answer is: of a handle that was used before, and the third of it is a range that fits no hour. */
static int ask(struct store *store, const char *name, uint64_t seconds)
{
	struct store_range extent, range;
	struct store_answer answer = { 0 };
	int err = store_extent(store, &extent);

	for (int i = 0; i < 3 && !err; i++) {
		struct profile *profile = NULL;
		uint64_t began = clock_ns(CLOCK_MONOTONIC);

		range.to = extent.to - (uint64_t)i * 1234 * NS_PER_SEC;
		range.from = range.to - seconds * NS_PER_SEC;
		range.from = range.from < extent.from ? extent.from : range.from;
		err = store_query(store, &range, NULL, &profile, &answer);
		printf("%s_%d_ms %.1f\n", name, i, (double)(clock_ns(CLOCK_MONOTONIC) - began) / (double)NS_PER_MS);
		profile_free(profile);
	}
	return err;
}

static int draw(struct store *store)
{
	struct store_series_request request = { .buckets = 300, .by = STORE_BY_PROCESS, .curves = 20 };
	struct store_series series = { 0 };
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int err = store_extent(store, &request.range);

	err = err ? err : store_series(store, &request, &series);
	printf("curves_ms %.1f\n", (double)(clock_ns(CLOCK_MONOTONIC) - began) / (double)NS_PER_MS);
	store_series_free(&series);
	return err;
}

static int ask_store(const char *folder)
{
	const struct store_options options = { .folder = folder, .read_only = true };
	struct store *store = NULL;
	int err = store_open(&store, &options);

	err = err ? err : ask(store, "hour", 3600);
	err = err ? err : ask(store, "day", 86400);
	err = err ? err : draw(store);
	store_free(store);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t windows = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	struct replay replay = { 0 };
	struct rusage usage;
	int err = windows >= QUARTERS ? 0 : fail_plain(-EINVAL, "usage: storeday RECORDING FOLDER WINDOWS");

	err = err ? err : read_recording(&replay, argv[1]);
	err = err ? err : study(&replay);
	err = err ? err : list_events(&replay);
	err = err ? err : fill_store(&replay, argv[2], windows);
	if (!err) {
		const struct profile_meta *meta = profile_meta(replay.recording);

		printf("samples %llu\n", (unsigned long long)replay.samples);
		printf("busy_cores %.3f\n", (double)replay.samples * 1e6 / (double)(meta->hz ? meta->hz : 1) /
						    (double)(windows * WINDOW_US));
		err = ask_store(argv[2]);
	}
	if (!getrusage(RUSAGE_SELF, &usage))
		printf("resident_kb %ld\n", usage.ru_maxrss);
	profile_free(replay.recording);
	free(replay.once);
	free(replay.passing);
	free(replay.events);
	free(replay.first);
	if (err)
		fprintf(stderr, "storeday: %s\n", fail_text());
	return err ? 1 : 0;
}
