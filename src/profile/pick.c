/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of one table becomes one of the other when it is first needed, and is then remembered. The memory for that
 * is as large as the tables of the profile that is picked from, but it is touched only where something is: a window
 * costs what is in it.
 *
 * Invariant: what is remembered for a number is 0 until its record is there.
 */
#include "profile/pick.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "profile/expand.h"
#include "profile/profile.h"

struct pick {
	const struct profile *from;
	const struct expand *expand;
	struct profile *into;
	uint32_t *strings, *files, *processes, *frames, *labels, *nodes; /* numbers in `into` */
	uint32_t *path;                                                  /* nodes on the way to one that is known */
	size_t path_cap;
};

static uint32_t *numbers_for(const struct pick *pick, enum profile_table table)
{
	return calloc(profile_count(pick->from, table), sizeof(uint32_t));
}

int pick_new(struct pick **ret, const struct profile *from, const struct expand *expand, struct profile *into)
{
	struct pick *pick = calloc(1, sizeof(*pick));

	if (!pick)
		return -ENOMEM;
	*pick = (struct pick){ .from = from, .expand = expand, .into = into };
	pick->strings = numbers_for(pick, PROFILE_STRINGS);
	pick->files = numbers_for(pick, PROFILE_FILES);
	pick->processes = numbers_for(pick, PROFILE_PROCESSES);
	pick->frames = numbers_for(pick, PROFILE_FRAMES);
	pick->labels = numbers_for(pick, PROFILE_LABELS);
	pick->nodes = numbers_for(pick, PROFILE_NODES);
	if (!pick->strings || !pick->files || !pick->processes || !pick->frames || !pick->labels || !pick->nodes) {
		pick_free(pick);
		return -ENOMEM;
	}
	*ret = pick;
	return 0;
}

void pick_free(struct pick *pick)
{
	if (!pick)
		return;
	free(pick->strings);
	free(pick->files);
	free(pick->processes);
	free(pick->frames);
	free(pick->labels);
	free(pick->nodes);
	free(pick->path);
	free(pick);
}

static uint32_t pick_string(struct pick *pick, uint32_t number)
{
	size_t len;
	const char *text;

	if (!number || pick->strings[number])
		return pick->strings[number];
	text = profile_text(pick->from, number, &len);
	return pick->strings[number] = profile_bytes(pick->into, text, len);
}

static uint32_t pick_file(struct pick *pick, uint32_t number)
{
	struct profile_file file;

	if (!number || pick->files[number])
		return pick->files[number];
	file = *profile_file(pick->from, number);
	file.path = pick_string(pick, file.path);
	file.build_id = pick_string(pick, file.build_id);
	file.reason = pick_string(pick, file.reason);
	return pick->files[number] = profile_add_file(pick->into, &file);
}

/* Sets are made of others with one pair less, of which there are not many. */
static uint32_t pick_labels(struct pick *pick, uint32_t number)
{
	uint32_t list[PROFILE_LABELS_MAX], len = 0, set = PROFILE_NONE;

	for (uint32_t at = number, rest, key, value; at && len < PROFILE_LABELS_MAX; at = rest) {
		if (pick->labels[at]) {
			set = pick->labels[at];
			break;
		}
		list[len++] = at;
		profile_label(pick->from, at, &rest, &key, &value);
	}
	while (len--) {
		uint32_t rest, key, value;

		profile_label(pick->from, list[len], &rest, &key, &value);
		set = profile_add_label(pick->into, set, pick_string(pick, key), pick_string(pick, value));
		pick->labels[list[len]] = set;
	}
	return set;
}

uint32_t pick_process(struct pick *pick, uint32_t number)
{
	struct profile_process process, *copy;
	uint32_t added;

	if (!number || pick->processes[number])
		return pick->processes[number];
	process = *profile_process(pick->from, number);
	process.ways = (struct profile_ways){ 0 };
	process.parent = PROFILE_NONE; /* it may not be among those that are wanted */
	process.comm = pick_string(pick, process.comm);
	process.exe = pick_string(pick, process.exe);
	process.cgroup = pick_string(pick, process.cgroup);
	process.labels = pick_labels(pick, process.labels);
	added = profile_add_process(pick->into, process.pid, process.start);
	if (added == PROFILE_FULL || process.comm == PROFILE_FULL || process.exe == PROFILE_FULL ||
	    process.cgroup == PROFILE_FULL || process.labels == PROFILE_FULL)
		return PROFILE_FULL;
	copy = profile_process(pick->into, added);
	process.ways = copy->ways; /* another profile may have brought it */
	*copy = process;
	return pick->processes[number] = added;
}

uint32_t pick_frame(struct pick *pick, uint32_t number)
{
	struct profile_frame frame;

	if (!number || pick->frames[number])
		return pick->frames[number];
	frame = *profile_frame(pick->from, number);
	frame.file = pick_file(pick, frame.file);
	frame.process = pick_process(pick, frame.process);
	frame.name = pick_string(pick, frame.name);
	frame.source.file = pick_string(pick, frame.source.file);
	frame.source.linkage = pick_string(pick, frame.source.linkage);
	return pick->frames[number] = profile_add_frame(pick->into, &frame);
}

/* A frame on a node, with those that were inlined into it. */
static uint32_t add_frames(struct pick *pick, uint32_t parent, uint32_t frame)
{
	size_t len = 0;
	const uint32_t *list = pick->expand ? expand_list(pick->expand, frame, &len) : NULL;

	if (!list)
		return profile_add_node(pick->into, parent, pick_frame(pick, frame));
	while (len-- && parent != PROFILE_FULL) /* outermost first */
		parent = profile_add_node(pick->into, parent, pick_frame(pick, list[len]));
	return parent;
}

static bool path_reserve(struct pick *pick, size_t len)
{
	size_t cap = pick->path_cap ? pick->path_cap : 128;
	uint32_t *grown;

	while (cap < len)
		cap *= 2;
	if (cap == pick->path_cap)
		return true;
	grown = reallocarray(pick->path, cap, sizeof(*grown));
	if (!grown)
		return false;
	pick->path = grown;
	pick->path_cap = cap;
	return true;
}

static uint32_t pick_node(struct pick *pick, uint32_t number)
{
	size_t len = 0;
	uint32_t node;

	for (; number && !pick->nodes[number]; number = profile_node(pick->from, number)->parent) {
		if (!path_reserve(pick, len + 1))
			return PROFILE_FULL;
		pick->path[len++] = number;
	}
	node = pick->nodes[number];
	while (len-- && node != PROFILE_FULL) {
		number = pick->path[len];
		node = add_frames(pick, node, profile_node(pick->from, number)->frame);
		pick->nodes[number] = node == PROFILE_FULL ? PROFILE_NONE : node;
	}
	return node;
}

static int pick_events(struct pick *pick, const struct profile_stacks *stacks, const uint32_t *numbers)
{
	uint64_t from = profile_meta(pick->from)->start_us, start = profile_meta(pick->into)->start_us;
	uint64_t last = profile_meta(pick->into)->duration_ns / NS_PER_US;

	for (uint32_t i = 1; i < stacks->events_len; i++) {
		struct profile_event event = stacks->events[i];
		uint64_t at = from + event.time_us;

		event.sample = numbers[event.sample];
		event.time_us = at < start ? 0 : at - start > last ? last : at - start;
		if (profile_add_event(pick->into, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

int pick_samples(struct pick *pick, const struct profile_stacks *stacks, uint32_t *ret_numbers)
{
	uint32_t *numbers = ret_numbers ? ret_numbers : calloc(stacks->samples_len, sizeof(*numbers));
	int err = numbers ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < stacks->samples_len && !err; i++) {
		struct profile_sample sample = stacks->samples[i];

		sample.stack = pick_node(pick, sample.stack);
		sample.process = pick_process(pick, sample.process);
		sample.comm = pick_string(pick, sample.comm);
		sample.labels = pick_labels(pick, sample.labels);
		numbers[i] = profile_add_sample(pick->into, &sample);
		err = numbers[i] == PROFILE_FULL ? -ENOMEM : 0;
	}
	err = err ? err : pick_events(pick, stacks, numbers);
	if (!ret_numbers)
		free(numbers);
	return err;
}

int pick_meta(struct pick *pick)
{
	const struct profile_meta *from = profile_meta(pick->from);
	struct profile_meta *into = profile_meta(pick->into);
	const uint32_t strings[] = { from->event,           from->unit, from->host,   from->kernel,
				     from->kernel_build_id, from->arch, from->version };
	uint32_t *const places[] = { &into->event,           &into->unit, &into->host,   &into->kernel,
				     &into->kernel_build_id, &into->arch, &into->version };

	into->hz = from->hz;
	into->period = from->period;
	into->kernel_base = from->kernel_base;
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		*places[i] = pick_string(pick, strings[i]);
		if (*places[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}
