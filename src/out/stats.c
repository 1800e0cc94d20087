/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The --stats JSON (docs/stats.md). In: a profile with its counters. Out: one object. Names of reasons come from the
 * counters in the profile, so a new one shows up here by itself; a counter that is not there is 0.
 */
#include "out/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "profile/profile.h"

#define SCHEMA 1

/* One process in the list; its figures are sums over its samples. */
struct row {
	uint32_t process;
	uint32_t median_depth;
	uint64_t samples, user_samples, complete;
};

/* What a stack is, from its root up to this node. */
struct stack {
	uint32_t depth; /* user frames */
	bool user;      /* has a user part, be it only a note why there is no more of it */
	bool cut;
};

struct depth {
	uint32_t process, depth;
	uint64_t weight;
};

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
	json_double(json, "first_sample_ms", (double)profile_counter_value(profile, "self", "first_sample_us") / 1e3);
	json_end(json, '}');
}

/* A node's parent comes before it, so one pass knows every stack. */
static struct stack *describe_stacks(const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_NODES);
	struct stack *stacks = calloc(count, sizeof(*stacks));

	for (uint32_t i = 1; stacks && i < count; i++) {
		const struct profile_node *node = profile_node(profile, i);
		uint32_t kind = profile_frame(profile, node->frame)->kind;
		bool frame = kind == FRAME_USER || kind == FRAME_JIT || kind == FRAME_VDSO;

		stacks[i] = stacks[node->parent];
		stacks[i].depth += frame;
		stacks[i].cut |= kind == FRAME_CUT;
		stacks[i].user |= frame || kind == FRAME_CUT;
	}
	return stacks;
}

static int compare_depths(const void *a, const void *b)
{
	const struct depth *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->depth > right->depth) - (left->depth < right->depth);
}

/* The least depth that half of the process's user samples do not exceed. `depths` are those with a user part. */
static void find_medians(struct row *rows, struct depth *depths, size_t count)
{
	qsort(depths, count, sizeof(*depths), compare_depths);
	for (size_t i = 0; i < count;) {
		uint32_t process = depths[i].process;
		uint64_t half = rows[process].user_samples - rows[process].user_samples / 2;
		uint64_t below = 0;
		bool found = false;

		for (; i < count && depths[i].process == process; i++) {
			below += depths[i].weight;
			if (!found && below >= half) {
				rows[process].median_depth = depths[i].depth;
				found = true;
			}
		}
	}
}

static int sum_processes(const struct profile *profile, struct row *rows)
{
	uint32_t samples = profile_count(profile, PROFILE_SAMPLES);
	autofree struct depth *depths = calloc(samples, sizeof(*depths));
	autofree struct stack *stacks = describe_stacks(profile);
	size_t count = 0;

	if (!depths || !stacks)
		return -ENOMEM;
	for (uint32_t i = 1; i < samples; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		const struct stack *stack = &stacks[sample->stack];
		struct row *row = &rows[sample->process];

		row->samples += sample->value;
		if (!stack->user)
			continue;
		row->user_samples += sample->value;
		if (!stack->cut)
			row->complete += sample->value;
		depths[count++] = (struct depth){ sample->process, stack->depth, sample->value };
	}
	find_medians(rows, depths, count);
	return 0;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct row *left = a, *right = b;
	const struct profile_process *x = profile_process(context, left->process);
	const struct profile_process *y = profile_process(context, right->process);

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int add_processes(struct json *json, const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_PROCESSES);
	autofree struct row *rows = calloc(count, sizeof(*rows));
	int err = rows ? sum_processes(profile, rows) : -ENOMEM;

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		rows[i].process = i;
	qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)profile);
	json_array(json, "processes");
	for (uint32_t i = 0; i < count && rows[i].samples; i++) {
		const struct profile_process *process = profile_process(profile, rows[i].process);

		json_object(json, NULL);
		json_u64(json, "pid", process->pid);
		add_string(json, profile, "comm", process->comm);
		add_string(json, profile, "exe", process->exe);
		json_u64(json, "samples", rows[i].samples);
		json_u64(json, "user_samples", rows[i].user_samples);
		json_u64(json, "complete", rows[i].complete);
		json_u64(json, "median_depth", rows[i].median_depth);
		json_end(json, '}');
	}
	json_end(json, ']');
	return 0;
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
	json_end(&json, '}');
	buf_addc(out, '\n');
	return err ? err : buf_error(out);
}
