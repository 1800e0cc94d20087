/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The --stats JSON (docs/stats.md). In: a profile with its counters. Out: one object. Names of reasons come from the
 * counters in the profile, so a new one shows up here by itself; a counter that is not there is 0.
 */
#include "out/stats.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "out/quality.h"
#include "profile/profile.h"

#define SCHEMA 1

static bool has_name(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* The counters of a group as members: those of `always` even if the profile lacks them, none of `never`. */
static void add_group(struct json *json, const struct profile *profile, const char *group, const char *const *always,
		      const char *const *never)
{
	for (const char *const *name = always; *name; name++)
		json_u64(json, *name, profile_counter_value(profile, group, *name));
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);
		const char *name = profile_text(profile, counter->name, NULL);

		if (strcmp(profile_text(profile, counter->group, NULL), group) == 0 && !has_name(always, name) &&
		    !has_name(never, name))
			json_u64(json, name, counter->value);
	}
}

static const char *const none[] = { NULL };

static void add_string(struct json *json, const struct profile *profile, const char *key, uint32_t string)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	json_text(json, key, text, len);
}

static void add_facts(struct json *json, const struct profile *profile)
{
	const struct profile_meta *meta = profile_meta(profile);

	json_u64(json, "schema", SCHEMA);
	add_string(json, profile, "version", meta->version);
	add_string(json, profile, "event", meta->event);
	json_u64(json, "hz", meta->hz);
	json_u64(json, "period", meta->period);
	json_double(json, "duration_s", (double)meta->duration_ns / 1e9);
	json_u64(json, "cpus", meta->cpus);
	json_u64(json, "expected", meta->expected);
}

static void add_accounting(struct json *json, const struct profile *profile)
{
	static const char *const left_out[] = { "idle", "filter", "self", NULL };
	static const char *const stacks[] = { "user", "complete", NULL };
	static const char *const frames[] = { "row", "fp", "user", NULL };
	static const char *const elsewhere[] = { "missed", "events_lost", NULL };

	json_u64(json, "fired", profile_counter_value(profile, "total", "fired"));
	json_object(json, "left_out");
	add_group(json, profile, "left_out", left_out, none);
	json_end(json, '}');
	json_u64(json, "missed", profile_counter_value(profile, "note", "missed"));
	json_object(json, "samples");
	json_u64(json, "taken", profile_counter_value(profile, "total", "taken"));
	json_u64(json, "counted", profile_counter_value(profile, "total", "counted"));
	json_u64(json, "early", profile_counter_value(profile, "total", "deferred"));
	json_object(json, "lost");
	add_group(json, profile, "lost", none, none);
	json_end(json, '}');
	json_end(json, '}');
	json_object(json, "stacks");
	add_group(json, profile, "stack", stacks, none);
	json_object(json, "incomplete");
	add_group(json, profile, "cut", none, none);
	json_end(json, '}');
	json_end(json, '}');
	json_object(json, "frames");
	add_group(json, profile, "frame", frames, none);
	json_end(json, '}');
	json_object(json, "events");
	json_u64(json, "sent", profile_count(profile, PROFILE_EVENTS) - 1);
	json_u64(json, "lost", profile_counter_value(profile, "note", "events_lost"));
	json_end(json, '}');
	json_object(json, "notes");
	add_group(json, profile, "note", none, elsewhere);
	json_end(json, '}');
}

static void add_self(struct json *json, const struct profile *profile)
{
	uint64_t runs = profile_counter_value(profile, "self", "bpf_runs");
	uint64_t run_ns = profile_counter_value(profile, "self", "bpf_run_ns");

	json_object(json, "self");
	json_double(json, "cpu_seconds", (double)profile_counter_value(profile, "self", "cpu_us") / 1e6);
	json_u64(json, "max_rss_bytes", profile_counter_value(profile, "self", "max_rss_bytes"));
	json_u64(json, "bpf_map_bytes", profile_counter_value(profile, "self", "bpf_map_bytes"));
	if (runs)
		json_double(json, "bpf_ns_per_sample", (double)run_ns / (double)runs);
	else
		json_null(json, "bpf_ns_per_sample");
	json_object(json, "unwind");
	json_u64(json, "files", profile_counter_value(profile, "self", "unwind_files"));
	json_u64(json, "ahead", profile_counter_value(profile, "self", "unwind_ahead"));
	json_u64(json, "rows", profile_counter_value(profile, "self", "unwind_rows"));
	json_u64(json, "bytes", profile_counter_value(profile, "self", "unwind_bytes"));
	json_end(json, '}');
	json_double(json, "first_sample_ms", (double)profile_counter_value(profile, "self", "first_sample_us") / 1e3);
	json_end(json, '}');
}

/* By reason: only those that occurred. */
static void add_reasons(struct json *json, const struct profile *profile, const struct quality *quality,
			uint32_t process)
{
	size_t len;
	const struct quality_reason *reasons = quality_reasons(quality, process, &len);

	json_object(json, "incomplete");
	for (size_t i = 0; i < len; i++)
		json_u64(json, profile_text(profile, reasons[i].name, NULL), reasons[i].count);
	json_end(json, '}');
}

static int add_processes(struct json *json, const struct profile *profile)
{
	struct quality quality = { 0 };
	int err = quality_init(&quality, profile);

	json_array(json, "processes");
	for (uint32_t i = 0; i < quality.rows_len && !err; i++) {
		const struct quality_row *row = &quality.rows[i];
		const struct profile_process *process = profile_process(profile, row->process);

		json_object(json, NULL);
		json_u64(json, "pid", process->pid);
		add_string(json, profile, "comm", process->comm);
		add_string(json, profile, "exe", process->exe);
		json_u64(json, "samples", row->samples);
		json_u64(json, "user_samples", row->user);
		json_u64(json, "complete", row->whole);
		add_reasons(json, profile, &quality, row->process);
		json_object(json, "frames");
		json_u64(json, "row", process->ways.row);
		json_u64(json, "fp", process->ways.fp);
		json_u64(json, "user", process->ways.user);
		json_end(json, '}');
		json_u64(json, "median_depth", row->median_depth);
		json_end(json, '}');
	}
	json_end(json, ']');
	quality_free(&quality);
	return err;
}

/* Files that could not be read as they should, and why. */
static void add_files(struct json *json, const struct profile *profile)
{
	json_array(json, "files");
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_FILES); i++) {
		const struct profile_file *file = profile_file(profile, i);

		if (!file->reason)
			continue;
		json_object(json, NULL);
		add_string(json, profile, "path", file->path);
		add_string(json, profile, "reason", file->reason);
		json_end(json, '}');
	}
	json_end(json, ']');
}

int stats_write(const struct profile *profile, struct buf *out)
{
	struct json json = { .out = out };
	int err;

	json_object(&json, NULL);
	add_facts(&json, profile);
	add_accounting(&json, profile);
	add_self(&json, profile);
	err = add_processes(&json, profile);
	add_files(&json, profile);
	json_end(&json, '}');
	buf_addc(out, '\n');
	return err ? err : buf_error(out);
}
