/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds one profile to another. In: two profiles, of one machine or of many. Out: the first, with all samples, events
 * and counters of both; sums of values and of counters are the sums of those that went in. The same profiles in the
 * same order give the same result.
 *
 * Values of further types are added where both have the same ones; otherwise those that are shown are all that is left.
 *
 * Event times are relative to a start. It becomes the earlier one; where both wall clocks are known, events keep their
 * distance.
 */
#include "profile/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "profile/copy.h"
#include "profile/profile.h"

#define NODES_AT_ONCE 64
#define NS_PER_US 1000

static int check_units(const struct profile *into, const struct profile *from)
{
	uint32_t left = profile_meta(into)->unit, right = profile_meta(from)->unit;

	if (!left || !right || types_same_text(into, left, from, right))
		return 0;
	return fail_plain(-EINVAL, "values in '%s' cannot be added to values in '%s'", profile_text(from, right, NULL),
			  profile_text(into, left, NULL));
}

/*
 * Which of these nodes of the other profile are there already, and as what; 0: it is not. Those whose parents are known
 * are looked for together, those on them in the next turn.
 */
static void find_nodes(const struct copy *copy, uint32_t first, uint32_t end, uint32_t *nodes)
{
	const struct profile_node *from = profile_node(copy->from, 0);
	uint32_t waiting[NODES_AT_ONCE], asking[NODES_AT_ONCE], answers[NODES_AT_ONCE], len = 0;
	struct profile_node asked[NODES_AT_ONCE];

	for (uint32_t i = first; i < end; i++) {
		waiting[len++] = i;
		nodes[i] = PROFILE_FULL; /* not known yet */
	}
	while (len) { /* the first that waits has a parent that does not */
		uint32_t left = 0, some = 0;

		for (uint32_t i = 0; i < len; i++) {
			const struct profile_node *node = &from[waiting[i]];
			uint32_t parent = nodes[node->parent];

			if (parent == PROFILE_FULL) {
				waiting[left++] = waiting[i];
			} else if (node->parent && !parent) {
				nodes[waiting[i]] = PROFILE_NONE;
			} else {
				asked[some] = (struct profile_node){ parent, copy->frames[node->frame] };
				asking[some++] = waiting[i];
			}
		}
		profile_find_nodes(copy->to, asked, some, answers);
		for (uint32_t i = 0; i < some; i++)
			nodes[asking[i]] = answers[i];
		len = left;
	}
}

/* Whether no two frames of the other profile have become one: then no two of its nodes do. */
static int frames_apart(const struct copy *copy, bool *ret)
{
	autofree bool *met = calloc(profile_count(copy->to, PROFILE_FRAMES), sizeof(*met));

	*ret = true;
	for (uint32_t i = 1; met && i < profile_count(copy->from, PROFILE_FRAMES); i++) {
		*ret &= !met[copy->frames[i]];
		met[copy->frames[i]] = true;
	}
	return met ? 0 : -ENOMEM;
}

/* First what is there is found, then what is not is added, so that nothing that was just added is looked through. */
static int merge_nodes(const struct copy *copy, uint32_t *nodes)
{
	const struct profile_node *from = profile_node(copy->from, 0);
	uint32_t count = profile_count(copy->from, PROFILE_NODES);
	bool apart;
	int err = frames_apart(copy, &apart);

	for (uint32_t first = 1, end; first < count && !err; first = end) {
		end = count - first < NODES_AT_ONCE ? count : first + NODES_AT_ONCE;
		find_nodes(copy, first, end, nodes);
	}
	for (uint32_t i = 1; i < count && !err; i++) {
		uint32_t parent = nodes[from[i].parent], frame = copy->frames[from[i].frame];

		if (!nodes[i])
			nodes[i] = apart ? profile_append_node(copy->to, parent, frame)
					 : profile_add_node(copy->to, parent, frame);
		err = nodes[i] == PROFILE_FULL ? -ENOMEM : 0;
	}
	return err;
}

static int merge_samples(const struct copy *copy, const uint32_t *nodes, uint32_t *samples)
{
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_SAMPLES); i++) {
		struct profile_sample sample = copy_sample(copy, i, nodes[profile_sample(copy->from, i)->stack]);

		samples[i] = profile_add_sample(copy->to, &sample);
		if (samples[i] == PROFILE_FULL || copy_values(copy, i, samples[i]))
			return -ENOMEM;
	}
	return 0;
}

/* How much later the second began, in microseconds; 0 if that is not known. */
static int64_t distance(const struct profile_meta *into, const struct profile_meta *from)
{
	if (!into->wall_ns || !from->wall_ns)
		return 0;
	if (from->wall_ns >= into->wall_ns)
		return (int64_t)((from->wall_ns - into->wall_ns) / NS_PER_US);
	return -(int64_t)((into->wall_ns - from->wall_ns) / NS_PER_US);
}

static int merge_events(const struct copy *copy, const uint32_t *samples)
{
	int64_t later = distance(profile_meta(copy->to), profile_meta(copy->from));
	uint64_t shift = later > 0 ? (uint64_t)later : 0;

	if (later < 0)
		profile_shift_events(copy->to, (uint64_t)-later);
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_EVENTS); i++) {
		struct profile_event event = *profile_event(copy->from, i);

		event.sample = samples[event.sample];
		event.time_us += shift;
		if (profile_add_event(copy->to, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t same_or_0(uint64_t a, uint64_t b)
{
	return a == b ? a : 0;
}

/* The remarks of both, those of the second behind the first, unless they are the same. */
static uint32_t merge_remarks(const struct copy *copy, uint32_t into, uint32_t from)
{
	autobuf struct buf both = { 0 };
	const char *text;
	size_t len;

	if (!into || !from || into == from)
		return into ? into : from;
	text = profile_text(copy->to, into, &len);
	buf_add(&both, text, len);
	text = profile_text(copy->to, from, &len);
	if (len < both.len && both.data[both.len - len - 1] == '\n' && !memcmp(both.data + both.len - len, text, len))
		return into; /* of a third one like it */
	buf_adds(&both, "\n");
	buf_add(&both, text, len);
	return buf_error(&both) || both.len > PROFILE_REMARKS_MAX ? into : profile_bytes(copy->to, both.data, both.len);
}

static void merge_meta(const struct copy *copy)
{
	struct profile_meta *into = profile_meta(copy->to);
	const struct profile_meta *from = profile_meta(copy->from);

	if (from->wall_ns && (!into->wall_ns || from->wall_ns < into->wall_ns)) {
		into->wall_ns = from->wall_ns;
		into->start_us = from->start_us;
	}
	into->hz = same_or_0(into->hz, from->hz);
	into->period = same_or_0(into->period, from->period);
	into->kernel_base = same_or_0(into->kernel_base, from->kernel_base);
	into->cpus = into->cpus > from->cpus ? into->cpus : from->cpus;
	into->duration_ns += from->duration_ns;
	into->expected += from->expected;
	into->busy_user_us += from->busy_user_us;
	into->busy_kernel_us += from->busy_kernel_us;
	into->idle_us += from->idle_us;
	into->unit = into->unit ? into->unit : copy->strings[from->unit];
	into->event = (uint32_t)same_or_0(into->event, copy->strings[from->event]);
	into->host = (uint32_t)same_or_0(into->host, copy->strings[from->host]);
	into->kernel = (uint32_t)same_or_0(into->kernel, copy->strings[from->kernel]);
	into->kernel_build_id = (uint32_t)same_or_0(into->kernel_build_id, copy->strings[from->kernel_build_id]);
	into->arch = (uint32_t)same_or_0(into->arch, copy->strings[from->arch]);
	into->version = (uint32_t)same_or_0(into->version, copy->strings[from->version]);
	into->command = (uint32_t)same_or_0(into->command, copy->strings[from->command]);
	into->drop_frames = (uint32_t)same_or_0(into->drop_frames, copy->strings[from->drop_frames]);
	into->keep_frames = (uint32_t)same_or_0(into->keep_frames, copy->strings[from->keep_frames]);
	into->default_type = (uint32_t)same_or_0(into->default_type, copy->strings[from->default_type]);
	into->period_type = (uint32_t)same_or_0(into->period_type, copy->strings[from->period_type]);
	into->period_unit = (uint32_t)same_or_0(into->period_unit, copy->strings[from->period_unit]);
	into->doc_url = (uint32_t)same_or_0(into->doc_url, copy->strings[from->doc_url]);
	into->remarks = merge_remarks(copy, into->remarks, copy->strings[from->remarks]);
}

/* What a recording needed at most, or first, is no sum. */
static bool is_extreme(const char *group, const char *name)
{
	return !strcmp(group, "self") && strcmp(name, "cpu_us") != 0;
}

static int merge_counters(const struct copy *copy)
{
	int err = 0;

	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_COUNTERS) && !err; i++) {
		const struct profile_counter *counter = profile_counter(copy->from, i);
		const char *group = profile_text(copy->from, counter->group, NULL);
		const char *name = profile_text(copy->from, counter->name, NULL);
		uint64_t more = counter->value;

		if (is_extreme(group, name)) {
			uint64_t there = profile_counter_value(copy->to, group, name);

			more = more > there ? more - there : 0;
		}
		err = profile_add_counter(copy->to, group, name, more);
	}
	return err;
}

int merge_into(struct profile *into, const struct profile *from)
{
	autofree uint32_t *nodes = calloc(profile_count(from, PROFILE_NODES), sizeof(*nodes));
	autofree uint32_t *samples = calloc(profile_count(from, PROFILE_SAMPLES), sizeof(*samples));
	struct copy copy = { 0 };
	int err = check_units(into, from);

	if (err)
		return err;
	if (!types_equal(into, from))
		types_drop(into);
	err = nodes && samples ? copy_begin(&copy, from, into) : -ENOMEM;
	err = err ? err : merge_nodes(&copy, nodes);
	err = err ? err : merge_samples(&copy, nodes, samples);
	err = err ? err : merge_events(&copy, samples);
	err = err ? err : merge_counters(&copy);
	if (!err)
		merge_meta(&copy);
	copy_free(&copy);
	return err ? fail(err, "merging profiles") : 0;
}
