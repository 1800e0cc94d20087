/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work whose time is known by the wall clock.
 *
 *   tempo switch SECONDS   as "switcher": in alpha for ten seconds since 1970, then in beta for ten, and so on
 *   tempo beat SECONDS     as "metronome": in tick_work for the first 100 ms of every 200 ms, else asleep
 *   tempo spin SECONDS     under its own name: in spin, for 20 ms of every second
 */
#include "prog.h"
#include <string.h>
#include <sys/prctl.h>

#define NS 1000000000ULL
#define MS 1000000ULL

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static NOINLINE void alpha(uint64_t until)
{
	while (now_ns() < until)
		PROG_WORK(10UL * PROG_UNIT);
}

static NOINLINE void beta(uint64_t until)
{
	while (now_ns() < until)
		PROG_WORK(10UL * PROG_UNIT);
}

static NOINLINE void tick_work(uint64_t until)
{
	while (now_ns() < until)
		PROG_WORK(10UL * PROG_UNIT);
}

static NOINLINE void spin(uint64_t until)
{
	while (now_ns() < until)
		PROG_WORK(10UL * PROG_UNIT);
}

static void sleep_until(uint64_t at)
{
	const struct timespec moment = { .tv_sec = (time_t)(at / NS), .tv_nsec = (long)(at % NS) };

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &moment, NULL);
}

/* For the first part of every period. */
static void beat(uint64_t end, uint64_t period, uint64_t part, void (*work)(uint64_t until))
{
	for (uint64_t start = now_ns() / period * period; start < end; start += period) {
		sleep_until(start);
		work(start + part);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";
	uint64_t start = now_ns(), end = start + strtoull(argc == 3 ? argv[2] : "0", NULL, 10) * NS;

	if (!strcmp(mode, "switch")) {
		prctl(PR_SET_NAME, "switcher");
		for (uint64_t at = start / (10 * NS) * 10 * NS; at < end; at += 10 * NS)
			(at / (10 * NS) % 2 ? beta : alpha)(at + 10 * NS < end ? at + 10 * NS : end);
	} else if (!strcmp(mode, "beat")) {
		prctl(PR_SET_NAME, "metronome");
		beat(end, 200 * MS, 100 * MS, tick_work);
	} else if (!strcmp(mode, "spin")) {
		beat(end, NS, 20 * MS, spin);
	} else {
		return 2;
	}
	return 0;
}
