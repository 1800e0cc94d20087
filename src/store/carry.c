/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records on demand, from one profile to another. Each is carried once; its number is remembered. Chains (a stack's
 * callers, a process's parents) are walked up to what is there already and then added downwards, without recursion:
 * they may be long, and parents that were read from a file may go in circles.
 *
 * A process without a start is told apart by its name: one that is known by its name alone has the number of that
 * name, plus one, for a start, in either profile (as in profile/copy.c).
 */
#include "store/carry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "profile/profile.h"
#include "store/dict.h"

#define FIRST_CAP 256u

static uint32_t *numbers_for(const struct profile *from, enum profile_table table)
{
	return calloc(profile_count(from, table), sizeof(uint32_t));
}

int carry_begin(struct carry *carry, const struct profile *from, struct profile *to, struct dict *dict)
{
	*carry = (struct carry){ .from = from, .to = to, .dict = dict };
	carry->strings = numbers_for(from, PROFILE_STRINGS);
	carry->files = numbers_for(from, PROFILE_FILES);
	carry->processes = numbers_for(from, PROFILE_PROCESSES);
	carry->frames = numbers_for(from, PROFILE_FRAMES);
	carry->labels = numbers_for(from, PROFILE_LABELS);
	carry->nodes = numbers_for(from, PROFILE_NODES);
	if (!carry->strings || !carry->files || !carry->processes || !carry->frames || !carry->labels || !carry->nodes)
		return fail(-ENOMEM, "store: numbers of a profile");
	return 0;
}

void carry_end(struct carry *carry)
{
	free(carry->strings);
	free(carry->files);
	free(carry->processes);
	free(carry->frames);
	free(carry->labels);
	free(carry->nodes);
	free(carry->path);
	*carry = (struct carry){ 0 };
}

/* The number that is remembered in `numbers`; 0: none yet; PROFILE_FULL: there is no such record. */
static uint32_t known(const struct carry *carry, enum profile_table table, const uint32_t *numbers, uint32_t number)
{
	return number < profile_count(carry->from, table) ? numbers[number] : PROFILE_FULL;
}

/* What could not be added is not remembered. */
static uint32_t remember(uint32_t *slot, uint32_t number)
{
	*slot = number == PROFILE_FULL ? 0 : number;
	return number;
}

static bool push(struct carry *carry, uint32_t len, uint32_t number)
{
	uint32_t cap = carry->path_cap ? carry->path_cap * 2 : FIRST_CAP;
	uint32_t *path;

	if (len == carry->path_cap) {
		path = reallocarray(carry->path, cap, sizeof(*path));
		if (!path)
			return false;
		carry->path = path;
		carry->path_cap = cap;
	}
	carry->path[len] = number;
	return true;
}

uint32_t carry_string(struct carry *carry, uint32_t string)
{
	uint32_t number = string ? known(carry, PROFILE_STRINGS, carry->strings, string) : PROFILE_NONE;
	const char *text;
	size_t len;

	if (number || !string)
		return number;
	text = profile_text(carry->from, string, &len);
	return remember(&carry->strings[string], profile_bytes(carry->to, text, len));
}

/* A set has PROFILE_LABELS_MAX pairs at most, so this ends. */
uint32_t carry_labels(struct carry *carry, uint32_t set)
{
	uint32_t number = set ? known(carry, PROFILE_LABELS, carry->labels, set) : PROFILE_NONE;
	uint32_t rest, key, value;

	if (number || !set)
		return number;
	profile_label(carry->from, set, &rest, &key, &value);
	rest = carry_labels(carry, rest);
	number = profile_add_label(carry->to, rest, carry_string(carry, key), carry_string(carry, value));
	return remember(&carry->labels[set], number);
}

static uint32_t carry_file(struct carry *carry, uint32_t file)
{
	uint32_t number = file ? known(carry, PROFILE_FILES, carry->files, file) : PROFILE_NONE;
	struct profile_file copy;

	if (number || !file)
		return number;
	copy = *profile_file(carry->from, file);
	copy.path = carry_string(carry, copy.path);
	copy.build_id = carry_string(carry, copy.build_id);
	copy.reason = carry_string(carry, copy.reason);
	number = carry->dict ? dict_add_file(carry->dict, &copy) : profile_add_file(carry->to, &copy);
	return remember(&carry->files[file], number);
}

static void fill(uint32_t *field, uint32_t value)
{
	if (value)
		*field = value;
}

static uint32_t add_process(struct carry *carry, const struct profile_process *process)
{
	struct profile_process *there;
	uint32_t number;

	if (carry->dict)
		return dict_add_process(carry->dict, process);
	if (process->comm == PROFILE_FULL || process->exe == PROFILE_FULL || process->cgroup == PROFILE_FULL ||
	    process->labels == PROFILE_FULL)
		return PROFILE_FULL;
	number = profile_add_process(carry->to, process->pid, process->start);
	if (number == PROFILE_FULL)
		return number;
	there = profile_process(carry->to, number);
	fill(&there->comm, process->comm);
	fill(&there->exe, process->exe);
	fill(&there->cgroup, process->cgroup);
	fill(&there->labels, process->labels);
	return number;
}

/* Without a start, the same pid under another name is another process. */
static bool is_another(const struct carry *carry, const struct profile_process *process)
{
	uint32_t number = process->pid && !process->start ? profile_add_process(carry->to, process->pid, 0) : 0;
	uint32_t comm = number && number != PROFILE_FULL ? profile_process(carry->to, number)->comm : PROFILE_NONE;

	return comm && comm != process->comm;
}

static uint32_t carry_one_process(struct carry *carry, uint32_t number, uint32_t parent)
{
	struct profile_process process = *profile_process(carry->from, number);
	bool by_name = process.start == (uint64_t)process.comm + 1;
	uint32_t before = profile_count(carry->to, PROFILE_PROCESSES);

	process.comm = carry_string(carry, process.comm);
	process.exe = carry_string(carry, process.exe);
	process.cgroup = carry_string(carry, process.cgroup);
	process.labels = carry_labels(carry, process.labels);
	if (by_name || is_another(carry, &process))
		process.start = (uint64_t)process.comm + 1;
	else if (carry->dict)
		process.start = dict_start(process.start);
	number = add_process(carry, &process);
	/* One that was there stays below its parent: two that disagree could make a circle. */
	if (number >= before && number != PROFILE_FULL)
		profile_process(carry->to, number)->parent = parent;
	return number;
}

uint32_t carry_process(struct carry *carry, uint32_t process)
{
	uint32_t count = profile_count(carry->from, PROFILE_PROCESSES), len = 0, parent = PROFILE_NONE;
	uint32_t at = process;

	if (process >= count)
		return PROFILE_FULL;
	for (; at && at < count && !carry->processes[at]; at = profile_process(carry->from, at)->parent) {
		if (!push(carry, len, at))
			return PROFILE_FULL;
		len++;
		carry->processes[at] = PROFILE_FULL; /* on the way: whoever meets it has gone in a circle */
	}
	if (at && at < count && carry->processes[at] != PROFILE_FULL)
		parent = carry->processes[at];
	while (len-- > 0) {
		uint32_t *slot = &carry->processes[carry->path[len]];

		parent = parent == PROFILE_FULL ? PROFILE_NONE : parent;
		*slot = 0;
		parent = remember(slot, carry_one_process(carry, carry->path[len], parent));
	}
	return process && !carry->processes[process] ? PROFILE_FULL : carry->processes[process];
}

uint32_t carry_frame(struct carry *carry, uint32_t frame)
{
	uint32_t number = frame ? known(carry, PROFILE_FRAMES, carry->frames, frame) : PROFILE_NONE;
	struct profile_frame copy;

	if (number || !frame)
		return number;
	copy = *profile_frame(carry->from, frame);
	copy.file = carry_file(carry, copy.file);
	copy.process = carry_process(carry, copy.process);
	copy.name = carry_string(carry, copy.name);
	copy.source.file = carry_string(carry, copy.source.file);
	copy.source.linkage = carry_string(carry, copy.source.linkage);
	number = carry->dict ? dict_add_frame(carry->dict, &copy) : profile_add_frame(carry->to, &copy);
	return remember(&carry->frames[frame], number);
}

uint32_t carry_stack(struct carry *carry, uint32_t node)
{
	uint32_t count = profile_count(carry->from, PROFILE_NODES), len = 0, number;
	uint32_t at = node;

	if (node >= count)
		return PROFILE_FULL;
	/* Parents have smaller numbers. Frames come first: carrying one may need the path for its process. */
	for (; at && !carry->nodes[at]; at = profile_node(carry->from, at)->parent)
		if (carry_frame(carry, profile_node(carry->from, at)->frame) == PROFILE_FULL)
			return PROFILE_FULL;
	number = at ? carry->nodes[at] : PROFILE_NONE;
	for (at = node; at && !carry->nodes[at]; at = profile_node(carry->from, at)->parent)
		if (!push(carry, len++, at))
			return PROFILE_FULL;
	while (len-- > 0) {
		at = carry->path[len];
		number = profile_add_node(carry->to, number, carry->frames[profile_node(carry->from, at)->frame]);
		if (remember(&carry->nodes[at], number) == PROFILE_FULL)
			return number;
	}
	return number;
}
