/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of what the windows say, and what /proc says of this program's processes. In: windows, results of writing them.
 * Out: the numbers of the page's health, and lines for Prometheus. Counters only grow for as long as the server runs,
 * whatever becomes of the process that answers.
 */
#include "cmd/serve_health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "cmd/serve_keep.h"
#include "http/metrics.h"
#include "http/summary.h"
#include "profile/profile.h"

#define STAT_MAX 4096
#define CHILDREN_MAX 16
#define SHARE_NS (5 * NS_PER_SEC) /* CPU time is told in hundredths of a second */

enum part { PART_SAMPLER, PART_WORKER, PART_HTTP, PARTS };
static const char *const part_names[PARTS] = { "sampler", "worker", "http" };

struct used {
	double cpu_s[PARTS];
	uint64_t rss[PARTS];
};

struct health {
	uint64_t hz, cpus, began_ns;
	struct profile *totals; /* its counters are the sums */
	struct metrics_tally processes, containers;
	uint64_t windows, not_stored, not_stored_now;
	uint64_t store_bytes, first_ns;
	char note[LIVE_NOTE_MAX];
	double whole_percent;
	struct health_share cpu;
};

int health_new(struct health **ret, uint64_t hz, uint64_t cpus)
{
	struct health *health = calloc(1, sizeof(*health));

	if (!health || profile_new(&health->totals)) {
		free(health);
		return fail(-ENOMEM, "health");
	}
	health->hz = hz;
	health->cpus = cpus;
	health->began_ns = clock_ns(CLOCK_REALTIME);
	*ret = health;
	return 0;
}

void health_free(struct health *health)
{
	if (!health)
		return;
	profile_free(health->totals);
	metrics_tally_free(&health->processes);
	metrics_tally_free(&health->containers);
	free(health);
}

int health_window(struct health *health, const struct profile *window)
{
	uint64_t user = profile_counter_value(window, "stack", "user");
	int err = summary_tally(window, &health->processes, &health->containers);

	for (uint32_t i = 1; !err && i < profile_count(window, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(window, i);

		err = profile_add_counter(health->totals, profile_text(window, counter->group, NULL),
					  profile_text(window, counter->name, NULL), counter->value);
	}
	if (user)
		health->whole_percent =
			100.0 * (double)profile_counter_value(window, "stack", "complete") / (double)user;
	return err;
}

void health_store(struct health *health, uint64_t bytes, uint64_t first_ns)
{
	health->store_bytes = bytes;
	health->first_ns = first_ns;
}

bool health_result(struct health *health, const struct keep_result *result)
{
	bool failed = result->sealed.gap[0], changed = failed != (health->not_stored_now > 0);

	health->windows += !failed;
	health->not_stored += failed;
	health->not_stored_now = failed ? health->not_stored_now + 1 : 0;
	health_store(health, result->store_bytes, result->first_ns);
	health->note[0] = '\0';
	if (failed)
		snprintf(health->note, sizeof(health->note), "%s: %" PRIu64 " window%s could not be kept",
			 result->sealed.gap, health->not_stored_now, health->not_stored_now == 1 ? "" : "s");
	return changed;
}

uint64_t health_not_stored(const struct health *health)
{
	return health->not_stored_now;
}

/* ---- What processes use ---- */

/* Adds CPU time and resident memory of a process; false if it is not there. */
static bool add_process(const char *pid, enum part part, struct used *used)
{
	autobuf struct buf text = { 0 };
	char path[64], state;
	const char *behind;
	unsigned long user, system;
	long pages;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	if (file_read(path, STAT_MAX, &text) || !text.len)
		return false;
	behind = strrchr(text.data, ')'); /* a name may have anything in it */
	if (!behind || sscanf(behind + 1,
			      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u "
			      "%*u %ld",
			      &state, &user, &system, &pages) != 4)
		return false;
	used->cpu_s[part] += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	used->rss[part] += (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

static void add_children(pid_t http, struct used *used)
{
	autobuf struct buf text = { 0 };
	char path[64], *rest, *pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (file_read(path, STAT_MAX, &text) || !text.len)
		return;
	rest = text.data;
	for (unsigned i = 0; i < CHILDREN_MAX && (pid = strsep(&rest, " \n")); i++)
		if (*pid && atoi(pid) != http)
			add_process(pid, PART_WORKER, used);
}

void health_look(struct health_share *share, uint64_t now_ns, double cpu_s)
{
	uint64_t passed = now_ns - share->seen_ns;

	if (share->seen_ns && passed < SHARE_NS)
		return;
	if (share->seen_ns && cpu_s >= share->seen_cpu_s)
		share->percent = 100 * (cpu_s - share->seen_cpu_s) / ((double)passed / (double)NS_PER_SEC);
	share->seen_ns = now_ns;
	share->seen_cpu_s = cpu_s;
}

static void measure(struct health *health, const struct link_stats *link, struct used *ret)
{
	char pid[16];
	double all = 0;

	*ret = (struct used){ .cpu_s[PART_HTTP] = (double)link->cpu_us / 1e6 };
	add_process("self", PART_SAMPLER, ret);
	snprintf(pid, sizeof(pid), "%d", link->pid);
	if (link->pid)
		add_process(pid, PART_HTTP, ret);
	add_children(link->pid, ret);
	for (int i = 0; i < PARTS; i++)
		all += ret->cpu_s[i];
	health_look(&health->cpu, clock_ns(CLOCK_MONOTONIC), all);
}

/* ---- What is told ---- */

static void write_own(const struct health *health, const struct link_stats *link, const struct used *used,
		      struct metrics *metrics)
{
	metrics_family(metrics, "wick_build_info", "gauge", "The version that runs.");
	metrics_add(metrics, "version", WICK_RELEASE, strlen(WICK_RELEASE), 1);
	metrics_one(metrics, "wick_start_time_seconds", "gauge", "When the server began, since 1970.",
		    (double)health->began_ns / (double)NS_PER_SEC);
	metrics_one(metrics, "wick_sampling_hertz", "gauge", "Samples a second on each CPU.", (double)health->hz);
	metrics_one(metrics, "wick_cpus", "gauge", "CPUs that are online.", (double)health->cpus);
	metrics_one(metrics, "wick_windows_stored_total", "counter", "Windows that were written to the store.",
		    (double)health->windows);
	metrics_one(metrics, "wick_windows_not_stored_total", "counter",
		    "Windows that could not be written to the store.", (double)health->not_stored);
	metrics_one(metrics, "wick_store_bytes", "gauge", "What the store takes on disk.", (double)health->store_bytes);
	metrics_one(metrics, "wick_store_oldest_seconds", "gauge", "The oldest that is kept, since 1970.",
		    (double)health->first_ns / (double)NS_PER_SEC);
	metrics_one(metrics, "wick_seconds_dropped_total", "counter",
		    "Seconds that the process that answers was too slow to take.", (double)link->dropped);
	metrics_one(metrics, "wick_http_restarts_total", "counter",
		    "How often the process that answers was started again.", (double)link->restarts);
	metrics_family(metrics, "wick_process_cpu_seconds_total", "counter", "CPU time that wick itself has used.");
	for (int i = 0; i < PARTS; i++)
		metrics_add(metrics, "part", part_names[i], strlen(part_names[i]), used->cpu_s[i]);
	metrics_family(metrics, "wick_process_resident_bytes", "gauge", "Memory that wick itself has.");
	for (int i = 0; i < PARTS; i++)
		metrics_add(metrics, "part", part_names[i], strlen(part_names[i]), (double)used->rss[i]);
}

static uint64_t sum_lost(const struct profile *totals)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(totals, PROFILE_COUNTERS); i++)
		if (!strcmp(profile_text(totals, profile_counter(totals, i)->group, NULL), "lost"))
			sum += profile_counter(totals, i)->value;
	return sum;
}

int health_status(struct health *health, const struct link_stats *link, struct kept_status *ret, struct buf *out)
{
	struct metrics metrics = { .out = out };
	struct used used;

	measure(health, link, &used);
	write_own(health, link, &used, &metrics);
	summary_seconds(&health->processes, &health->containers, &metrics);
	summary_counters(health->totals, &metrics);
	*ret = (struct kept_status){ .sampling = true, .series = metrics.series };
	ret->health = (struct live_health){ .lost = sum_lost(health->totals),
					    .missed = profile_counter_value(health->totals, "note", "missed"),
					    .whole_percent = health->whole_percent,
					    .cpu_percent = health->cpu.percent,
					    .store_bytes = health->store_bytes,
					    .first_ns = health->first_ns };
	for (int i = 0; i < PARTS; i++)
		ret->health.rss_bytes += used.rss[i];
	memcpy(ret->health.note, health->note, sizeof(health->note));
	return buf_error(out);
}
