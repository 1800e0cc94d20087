/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf event per CPU. Four things are done beside opening them.
 *
 * The events tick from the moment they are opened, while the programs are still being loaded, and get theirs when that
 * is done. So the first sample comes somewhere in a period, not at its end, and as many come as periods have passed.
 *
 * CPUs that go offline lose their event: the list of online ones is read again every second, and those that came back
 * get a new one, as does a CPU whose ticks have stopped.
 *
 * A fixed period marches in lockstep with work that has the same period: such work is seen always or never. So the
 * period is changed a little every second or so, in pairs around its mean so that the mean rate is kept, and by as much
 * as takes the ticks over all of such work's period, a whole number of times, until the next change: with any smaller
 * drift, or none, such a second shows one part of that work alone. The kernel starts a new interval with each change;
 * the half interval that is lost on average is given back by periods that much shorter.
 *
 * What gaps between ticks say of missed ones is compared with how many were due and with how long the CPU was idle.
 */
#include "collect/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "collect/collect.h"
#include "collect/files.h"
#include "collect/missed.h"
#include "collect/refused.h"
#include "collect/sampler.h"
#include "proc/process.h"
#include "worker/opener.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define ONLINE_MAX 4096 /* the kernel gives no more than a page of it */
#define ONLINE_EVERY NS_PER_SEC
#define SILENT (2 * NS_PER_SEC)
#define SILENT_PERIODS 16
#define PHASE_EVERY NS_PER_SEC /* at least; and then up to as long again, by chance */
#define PHASE_PERIODS 75       /* at least so many periods between two changes: the least drift is within the spread */
#define PHASE_SPREAD 0.02      /* of the period, to either side */
#define PHASE_DRIFT 1.5  /* periods, at least, from one change to the next; with what a change costs, whole ones */
#define CHANGE_COSTS 0.5 /* of an interval: what has passed of it is lost */
#define LATE (100 * NS_PER_MS) /* what is due may be so late: many CPUs do not need as many wake-ups */

struct tick {
	int fd;
	bool wanted;
	bool online;
	uint64_t since_ns;   /* when it got its program; 0: not yet */
	uint64_t period;     /* as it is now */
	uint64_t phase_at;   /* when its period changes next */
	double last_drift;   /* the change before is answered by its opposite */
	uint64_t enabled_ns; /* of earlier times online */
	uint64_t paced_ns;   /* until when it is known how many ticks were due */
	double due;
	struct missed_idle idle;
	uint64_t idle_until_ns; /* of its enabled time, when its idle time was read */
};

struct ticks {
	struct sampler *sampler;
	struct opener *opener;
	struct tick *cpus;
	unsigned int cpus_len;
	uint64_t period;
	bool clock; /* period is in ns */
	bool frequency;
	bool fixed_phase;
	bool running;
	bool keep_idle;
	uint64_t *idle_us;     /* of each CPU, as it was read last */
	uint64_t gaps, missed; /* as they were last */
	int online_fd;         /* the list of CPUs that are online, kept open: it is read every second */
	uint64_t online_at;
	uint64_t random;
};

/* Marks the CPUs of a list such as 0-3,8. Anything else in it is passed over. */
static void mark_online(struct ticks *ticks, const char *list)
{
	while (*list) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (end == list)
			break;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = from; cpu <= to && cpu < ticks->cpus_len; cpu++)
			ticks->cpus[cpu].online = true;
		list = *end == ',' ? end + 1 : "";
	}
}

static void read_online(struct ticks *ticks)
{
	char text[ONLINE_MAX];
	ssize_t len = pread(ticks->online_fd, text, sizeof(text) - 1, 0);

	for (unsigned int i = 0; i < ticks->cpus_len; i++)
		ticks->cpus[i].online = false;
	if (len > 0) {
		text[len] = '\0';
		mark_online(ticks, text);
		return;
	}
	for (unsigned int i = 0; i < ticks->cpus_len && i < (unsigned int)sysconf(_SC_NPROCESSORS_ONLN); i++)
		ticks->cpus[i].online = true;
}

static int open_event(const struct ticks *ticks, unsigned int cpu)
{
	return opener_open(ticks->opener, &(struct event){ .period = ticks->cpus[cpu].period,
							   .cpu = cpu,
							   .clock = ticks->clock,
							   .frequency = ticks->frequency });
}

static uint64_t next_random(struct ticks *ticks)
{
	ticks->random = wire_mix(ticks->random, clock_ns(CLOCK_MONOTONIC));
	return ticks->random;
}

static double fraction(struct ticks *ticks)
{
	return (double)(next_random(ticks) >> 11) / (double)(1ULL << 53);
}

/* The kernel side compares with it; a change makes the gap since the last tick meaningless once. */
static void tell_period(struct ticks *ticks, unsigned int cpu)
{
	struct wire_cpu *shared = sampler_cpu(ticks->sampler, cpu);

	shared->period_ns = ticks->clock ? ticks->cpus[cpu].period : 0;
	__atomic_add_fetch(&shared->phase, 1, __ATOMIC_RELEASE);
}

/* How far the ticks of the next `periods` move against a fixed period, in periods. */
static double new_drift(struct ticks *ticks, double periods)
{
	double drift = PHASE_DRIFT + floor((PHASE_SPREAD * periods - PHASE_DRIFT + 1) * fraction(ticks));

	return next_random(ticks) & 1 ? drift : -drift;
}

/* `lost`: what the change costs of an interval, on average. */
static void set_phase(struct ticks *ticks, unsigned int cpu, uint64_t now, double lost)
{
	uint64_t every = PHASE_EVERY > ticks->period * PHASE_PERIODS ? PHASE_EVERY : ticks->period * PHASE_PERIODS;
	struct tick *tick = &ticks->cpus[cpu];
	uint64_t wait = every + (uint64_t)((double)every * fraction(ticks));
	double periods = (double)wait / (double)ticks->period;
	double drift = tick->last_drift != 0 ? -tick->last_drift : new_drift(ticks, periods);

	tick->period = (uint64_t)((double)ticks->period / (1 + drift / periods) * (1 - lost / periods));
	tick->last_drift = tick->last_drift != 0 ? 0 : drift;
	tick->phase_at = now + wait;
}

/* Ticks, without a program. */
static int open_tick(struct ticks *ticks, unsigned int cpu, uint64_t now)
{
	struct tick *tick = &ticks->cpus[cpu];
	int fd;

	tick->period = ticks->period;
	if (ticks->clock && !ticks->fixed_phase)
		set_phase(ticks, cpu, now, 0);
	fd = open_event(ticks, cpu);
	if (fd == -EMFILE && files_raise_limit())
		fd = open_event(ticks, cpu);
	if (fd < 0)
		return fd;
	tick->fd = fd;
	return 0;
}

static int start_tick(struct ticks *ticks, unsigned int cpu, uint64_t now)
{
	struct tick *tick = &ticks->cpus[cpu];

	tell_period(ticks, cpu);
	if (ioctl(tick->fd, PERF_EVENT_IOC_SET_BPF, sampler_tick_program(ticks->sampler)))
		return -errno;
	tick->since_ns = tick->paced_ns = now;
	return 0;
}

static uint64_t enabled_ns(const struct tick *tick, uint64_t now)
{
	return tick->enabled_ns + (tick->since_ns ? now - tick->since_ns : 0);
}

/* The ticks that were due until now, by the period as it was. */
static void pace(struct tick *tick, uint64_t now)
{
	if (tick->since_ns)
		tick->due += (double)(now - tick->paced_ns) / (double)tick->period;
	tick->paced_ns = now;
}

static void change_phase(struct ticks *ticks, unsigned int cpu, uint64_t now)
{
	pace(&ticks->cpus[cpu], now);
	ticks->cpus[cpu].due -= CHANGE_COSTS;
	set_phase(ticks, cpu, now, CHANGE_COSTS);
	tell_period(ticks, cpu);
	ioctl(ticks->cpus[cpu].fd, PERF_EVENT_IOC_PERIOD, &ticks->cpus[cpu].period);
}

static void stop_tick(struct tick *tick, uint64_t now)
{
	if (tick->fd < 0)
		return;
	ioctl(tick->fd, PERF_EVENT_IOC_DISABLE, 0);
	close(tick->fd);
	tick->fd = -1;
	pace(tick, now);
	tick->enabled_ns = enabled_ns(tick, now);
	tick->since_ns = 0;
}

static int want_cpus(struct ticks *ticks, const struct collect_options *options)
{
	for (unsigned int i = 0; i < ticks->cpus_len; i++) {
		ticks->cpus[i].fd = -1;
		ticks->cpus[i].wanted = !options->cpus_len;
	}
	for (size_t i = 0; i < options->cpus_len; i++) {
		if (options->cpus[i] >= ticks->cpus_len) {
			fail_plain(-ENODEV, "CPU %u: there is no such CPU", options->cpus[i]);
			return fail_hint(-ENODEV, "this machine has 0 to %u", ticks->cpus_len - 1);
		}
		ticks->cpus[options->cpus[i]].wanted = true;
	}
	return 0;
}

int ticks_open(struct ticks **ret, struct sampler *sampler, const struct collect_options *options)
{
	struct ticks *ticks = calloc(1, sizeof(*ticks));
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned int opened = 0;
	int err;

	if (!ticks)
		return -ENOMEM;
	*ret = ticks;
	ticks->sampler = sampler;
	ticks->opener = options->opener;
	ticks->online_fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	ticks->cpus_len = sampler_cpus(sampler);
	ticks->cpus = calloc(ticks->cpus_len, sizeof(*ticks->cpus));
	ticks->idle_us = calloc(ticks->cpus_len, sizeof(*ticks->idle_us));
	if (!ticks->cpus || !ticks->idle_us)
		return -ENOMEM;
	ticks->keep_idle = options->idle;
	ticks->clock = !options->cycles;
	ticks->frequency = options->cycles && options->hz;
	ticks->period = !options->hz ? options->period : ticks->clock ? NS_PER_SEC / options->hz : options->hz;
	ticks->fixed_phase = options->fixed_phase;
	ticks->random = sampler_seed(sampler);
	err = want_cpus(ticks, options);
	if (err)
		return err;
	read_online(ticks);
	for (unsigned int i = 0; i < ticks->cpus_len; i++) {
		if (!ticks->cpus[i].wanted || !ticks->cpus[i].online)
			continue;
		err = open_tick(ticks, i, now);
		if (err && err != -ENODEV) /* gone offline just now */
			return refused_event(err);
		opened += !err;
	}
	if (!opened)
		return options->cpus_len ? fail_plain(-ENODEV, "sampling: none of the CPUs asked for is online")
					 : refused_event(-ENODEV);
	return 0;
}

void ticks_free(struct ticks *ticks)
{
	if (!ticks)
		return;
	for (unsigned int i = 0; ticks->cpus && i < ticks->cpus_len; i++)
		if (ticks->cpus[i].fd >= 0)
			close(ticks->cpus[i].fd);
	if (ticks->online_fd >= 0)
		close(ticks->online_fd);
	free(ticks->cpus);
	free(ticks->idle_us);
	free(ticks);
}

/* The CPUs' idle time until now. */
static int read_idle(struct ticks *ticks, uint64_t now)
{
	int err = machine_idle(ticks->idle_us, ticks->cpus_len);

	for (unsigned int i = 0; i < ticks->cpus_len && !err; i++) {
		struct tick *tick = &ticks->cpus[i];
		uint64_t enabled = enabled_ns(tick, now);

		missed_idle_add(&tick->idle, ticks->idle_us[i], (enabled - tick->idle_until_ns) / NS_PER_US);
		tick->idle_until_ns = enabled;
	}
	return err;
}

/* Whether a gap may be idle time. Where that was asked for, a tick that did not come in it is missed. */
static bool may_be_idle(const struct ticks *ticks)
{
	return ticks->clock && !ticks->keep_idle;
}

int ticks_start(struct ticks *ticks)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	ticks->running = true;
	ticks->online_at = now + ONLINE_EVERY;
	for (unsigned int i = 0; i < ticks->cpus_len && !err; i++)
		if (ticks->cpus[i].fd >= 0)
			err = start_tick(ticks, i, now);
	if (!err && may_be_idle(ticks))
		read_idle(ticks, now);
	return err ? refused_event(err) : 0;
}

static uint64_t missed_of(const struct ticks *ticks, unsigned int cpu)
{
	const struct tick *tick = &ticks->cpus[cpu];

	return missed_ticks(&(struct missed){
		.gaps = sampler_counter_of(ticks->sampler, cpu, WIRE_note_missed),
		.due = tick->due > 0 ? (uint64_t)tick->due : 0,
		.fired = sampler_counter_of(ticks->sampler, cpu, WIRE_total_fired),
		.fired_idle = sampler_counter_of(ticks->sampler, cpu, WIRE_left_out_idle),
		.idle = tick->idle.sum_us * NS_PER_US / ticks->period,
	});
}

uint64_t ticks_missed(struct ticks *ticks)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), gaps = 0, missed = 0;

	for (unsigned int i = 0; i < ticks->cpus_len; i++)
		gaps += sampler_counter_of(ticks->sampler, i, WIRE_note_missed);
	if (gaps == ticks->gaps)
		return ticks->missed;
	ticks->gaps = gaps;
	if (!may_be_idle(ticks) || (ticks->running && read_idle(ticks, now)))
		return ticks->missed = gaps;
	for (unsigned int i = 0; i < ticks->cpus_len; i++) {
		pace(&ticks->cpus[i], now);
		missed += missed_of(ticks, i);
	}
	if (missed > ticks->missed) /* what was said once stays said */
		ticks->missed = missed;
	return ticks->missed;
}

void ticks_stop(struct ticks *ticks)
{
	uint64_t now;

	if (ticks->running)
		ticks_missed(ticks); /* idle time after the end is not of interest */
	now = clock_ns(CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < ticks->cpus_len; i++)
		stop_tick(&ticks->cpus[i], now);
	ticks->running = false;
}

/* A CPU that went and came back between two looks has an event that never fires again. A new one does no harm. */
static bool is_silent(const struct ticks *ticks, unsigned int cpu, uint64_t now)
{
	const struct tick *tick = &ticks->cpus[cpu];
	uint64_t last = __atomic_load_n(&sampler_cpu(ticks->sampler, cpu)->last_ns, __ATOMIC_RELAXED);
	uint64_t quiet = now - (last > tick->since_ns ? last : tick->since_ns);

	return ticks->clock && quiet > SILENT && quiet > SILENT_PERIODS * ticks->period;
}

static int follow_cpus(struct ticks *ticks, uint64_t now)
{
	read_online(ticks);
	for (unsigned int i = 0; i < ticks->cpus_len; i++) {
		struct tick *tick = &ticks->cpus[i];
		int err;

		if (tick->fd >= 0 && (!tick->online || is_silent(ticks, i, now)))
			stop_tick(tick, now);
		if (tick->fd >= 0 || !tick->online || !tick->wanted)
			continue;
		err = open_tick(ticks, i, now);
		err = err ? err : start_tick(ticks, i, now);
		if (err && err != -ENODEV)
			return refused_event(err);
	}
	return 0;
}

int ticks_tend(struct ticks *ticks)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	if (!ticks->running)
		return 0;
	if (now >= ticks->online_at) {
		ticks->online_at = now + ONLINE_EVERY;
		err = follow_cpus(ticks, now);
	}
	for (unsigned int i = 0; i < ticks->cpus_len && ticks->clock && !ticks->fixed_phase; i++)
		if (ticks->cpus[i].fd >= 0 && now >= ticks->cpus[i].phase_at)
			change_phase(ticks, i, now);
	return err;
}

uint64_t ticks_due(const struct ticks *ticks, uint64_t now)
{
	uint64_t due = ticks->online_at;

	for (unsigned int i = 0; i < ticks->cpus_len && ticks->clock && !ticks->fixed_phase; i++)
		if (ticks->cpus[i].fd >= 0 && ticks->cpus[i].phase_at < due)
			due = ticks->cpus[i].phase_at;
	return due < now + LATE ? now + LATE : due;
}

uint64_t ticks_expected(const struct ticks *ticks)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), enabled = 0;

	if (!ticks->clock || !ticks->period)
		return 0;
	for (unsigned int i = 0; i < ticks->cpus_len; i++)
		enabled += enabled_ns(&ticks->cpus[i], now);
	return enabled / ticks->period;
}

unsigned int ticks_cpus(const struct ticks *ticks)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ticks->cpus_len; i++)
		sum += ticks->cpus[i].fd >= 0;
	return sum;
}

uint64_t ticks_rate(const struct ticks *ticks)
{
	return ticks->clock ? (NS_PER_SEC / ticks->period + 1) * ticks_cpus(ticks) : 0;
}
