/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a profile: by process, by container, and its counters. In: a profile. Out: JSON, or numbers for Prometheus.
 * All add up to what is in the profile; names are those of targets, and are made harmless where they are written.
 */
#include "http/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "http/metrics.h"
#include "out/out.h"
#include "profile/profile.h"

#define PROCESSES_MAX 10000 /* of one answer */

/* Groups of counters, as counters.def has them, and the families they become. */
static const struct {
	const char *group, *family, *label, *help;
} families[] = {
	{ "total", "wick_samples_total", "kind", "Ticks and samples: fired, taken, counted." },
	{ "left_out", "wick_samples_left_out_total", "reason", "Ticks that were not wanted." },
	{ "lost", "wick_samples_lost_total", "reason", "Samples that were wanted and are not in the profile." },
	{ "stack", "wick_stacks_total", "kind", "User stacks, and those of them that reach their root." },
	{ "cut", "wick_stacks_cut_total", "reason", "User stacks that are not whole." },
	{ "note", "wick_notes_total", "what", "Other things worth knowing." },
};

static uint32_t label_of(const struct profile *profile, uint32_t set, const char *key)
{
	for (unsigned i = 0; set && i < PROFILE_LABELS_MAX; i++) {
		uint32_t name, value;

		profile_label(profile, set, &set, &name, &value);
		if (!strcmp(profile_text(profile, name, NULL), key))
			return value;
	}
	return PROFILE_NONE;
}

/* Of one count, in seconds; 0 where values are not of time. */
static double seconds_each(const struct profile *profile)
{
	const struct profile_meta *meta = profile_meta(profile);

	return meta->hz ? 1.0 / (double)meta->hz : 0;
}

/* Of the process, not of its thread, where that is known. */
static uint32_t process_name(const struct profile *profile, uint32_t sample)
{
	uint32_t name = profile_process(profile, profile_sample(profile, sample)->process)->comm;

	return name ? name : out_comm(profile, sample);
}

int summary_tally(const struct profile *profile, struct metrics_tally *processes, struct metrics_tally *containers)
{
	double each = seconds_each(profile);
	int err = 0;

	for (uint32_t i = 1; !err && each > 0 && i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		uint32_t container = label_of(profile, sample->labels, "container");
		double seconds = (double)sample->value * each;
		size_t len;
		const char *text = profile_text(profile, process_name(profile, i), &len);

		err = metrics_tally_add(processes, text, len, seconds);
		if (err || !container)
			continue;
		text = profile_text(profile, container, &len);
		err = metrics_tally_add(containers, text, len, seconds);
	}
	return err;
}

void summary_seconds(const struct metrics_tally *processes, const struct metrics_tally *containers,
		     struct metrics *metrics)
{
	metrics_family(metrics, "wick_cpu_seconds_total", "counter", "CPU time, by name of the process.");
	metrics_tally_write(processes, metrics, "process");
	metrics_family(metrics, "wick_container_cpu_seconds_total", "counter", "CPU time, by container.");
	metrics_tally_write(containers, metrics, "container");
}

void summary_counters(const struct profile *profile, struct metrics *metrics)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		metrics_family(metrics, families[f].family, "counter", families[f].help);
		for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
			const struct profile_counter *counter = profile_counter(profile, i);
			size_t len;
			const char *name = profile_text(profile, counter->name, &len);

			if (!strcmp(profile_text(profile, counter->group, NULL), families[f].group))
				metrics_add(metrics, families[f].label, name, len, (double)counter->value);
		}
	}
}

const char *summary_name(const struct profile *profile, uint32_t sample, const char *by, size_t *ret_len)
{
	if (!strcmp(by, "process"))
		return profile_text(profile, process_name(profile, sample), ret_len);
	return profile_text(profile, label_of(profile, profile_sample(profile, sample)->labels, by), ret_len);
}

struct row {
	uint64_t value;
	uint32_t process, sample; /* one of its samples */
};

static int by_value(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return left->process < right->process ? -1 : left->process > right->process;
}

static void put_text(struct json *json, const char *key, const struct profile *profile, uint32_t string)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	if (len)
		json_text(json, key, text, len);
}

static void put_row(struct json *json, const struct profile *profile, const struct row *row)
{
	const struct profile_process *process = profile_process(profile, row->process);
	uint32_t labels = profile_sample(profile, row->sample)->labels;
	double each = seconds_each(profile);

	json_object(json, NULL);
	json_u64(json, "pid", process->pid);
	put_text(json, "name", profile, process_name(profile, row->sample));
	put_text(json, "program", profile, process->exe);
	put_text(json, "container", profile, label_of(profile, labels, "container"));
	put_text(json, "unit", profile, label_of(profile, labels, "unit"));
	json_u64(json, "samples", row->value);
	if (each > 0)
		json_double(json, "cpu_seconds", (double)row->value * each);
	json_end(json, '}');
}

int summary_processes(const struct profile *profile, struct buf *out)
{
	uint32_t count = profile_count(profile, PROFILE_PROCESSES), len = 0;
	autofree struct row *rows = calloc(count, sizeof(*rows));
	struct json json = { .out = out };

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		struct row *row = &rows[sample->process < count ? sample->process : 0];

		row->process = sample->process;
		row->sample = i;
		row->value += sample->value;
	}
	qsort(rows, count, sizeof(*rows), by_value);
	json_object(&json, NULL);
	json_array(&json, "processes");
	for (; len < count && len < PROCESSES_MAX && rows[len].sample; len++)
		put_row(&json, profile, &rows[len]);
	json_end(&json, ']');
	json_bool(&json, "all", len == count || !rows[len].sample);
	json_end(&json, '}');
	buf_addc(out, '\n');
	return buf_error(out);
}
