/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are added through profile.h again, and two that differ only in what was filled in later may become one:
 * numbers are therefore translated, table by table, what is referred to first.
 *
 * A process is its pid and when it started. Where the start is not known, its name tells it apart: one that is known by
 * its name alone (pid 0, as in folded stacks) has the number of that name, plus one, for a start, in either profile.
 */
#include "profile/copy.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/profile.h"

void copy_free(struct copy *copy)
{
	free(copy->strings);
	free(copy->files);
	free(copy->processes);
	free(copy->frames);
	free(copy->labels);
	*copy = (struct copy){ 0 };
}

static uint32_t *numbers_for(const struct copy *copy, enum profile_table table)
{
	return calloc(profile_count(copy->from, table), sizeof(uint32_t));
}

static int copy_strings_and_files(struct copy *copy)
{
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_STRINGS); i++) {
		size_t len;
		const char *text = profile_text(copy->from, i, &len);

		copy->strings[i] = profile_bytes(copy->to, text, len);
		if (copy->strings[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_FILES); i++) {
		struct profile_file file = *profile_file(copy->from, i);

		file.path = copy->strings[file.path];
		file.build_id = copy->strings[file.build_id];
		file.reason = copy->strings[file.reason];
		copy->files[i] = profile_add_file(copy->to, &file);
		if (copy->files[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_labels(struct copy *copy)
{
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_LABELS); i++) {
		uint32_t rest, key, value;
		int64_t number;
		size_t unit;

		profile_label(copy->from, i, &rest, &key, &value);
		copy->labels[i] =
			(profile_label_number(copy->from, i, &number, &unit) ? profile_add_number : profile_add_label)(
				copy->to, copy->labels[rest], copy->strings[key], copy->strings[value]);
		if (copy->labels[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t copy_process(struct copy *copy, const struct profile_process *process, uint32_t before)
{
	uint32_t comm = copy->strings[process->comm], number;
	uint64_t start = process->start;

	if (!process->pid && start == (uint64_t)process->comm + 1)
		start = (uint64_t)comm + 1;
	number = profile_add_process(copy->to, process->pid, start);
	/* Without a start, the same pid under another name is another process. */
	if (!start && process->pid && number < before && profile_process(copy->to, number)->comm != comm)
		number = profile_add_process(copy->to, process->pid, (uint64_t)comm + 1);
	return number;
}

static int copy_processes(struct copy *copy)
{
	uint32_t count = profile_count(copy->from, PROFILE_PROCESSES);
	uint32_t before = profile_count(copy->to, PROFILE_PROCESSES);

	for (uint32_t i = 1; i < count; i++) {
		copy->processes[i] = copy_process(copy, profile_process(copy->from, i), before);
		if (copy->processes[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < count; i++) { /* a parent may come after its child */
		const struct profile_process *process = profile_process(copy->from, i);
		struct profile_process *other = profile_process(copy->to, copy->processes[i]);

		/* One that was there stays below its parent: two that disagree could make a circle. */
		if (copy->processes[i] >= before)
			other->parent = copy->processes[process->parent];
		other->ways.row += process->ways.row;
		other->ways.fp += process->ways.fp;
		other->ways.user += process->ways.user;
		other->comm = process->comm ? copy->strings[process->comm] : other->comm;
		other->exe = process->exe ? copy->strings[process->exe] : other->exe;
		other->cgroup = process->cgroup ? copy->strings[process->cgroup] : other->cgroup;
		other->labels = process->labels ? copy->labels[process->labels] : other->labels;
	}
	return 0;
}

static int copy_frames(struct copy *copy)
{
	for (uint32_t i = 1; i < profile_count(copy->from, PROFILE_FRAMES); i++) {
		struct profile_frame frame = *profile_frame(copy->from, i);

		frame.file = copy->files[frame.file];
		frame.process = copy->processes[frame.process];
		frame.name = copy->strings[frame.name];
		frame.source.file = copy->strings[frame.source.file];
		frame.source.linkage = copy->strings[frame.source.linkage];
		copy->frames[i] = profile_add_frame(copy->to, &frame);
		if (copy->frames[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

int copy_begin(struct copy *copy, const struct profile *from, struct profile *to)
{
	int err;

	*copy = (struct copy){ .from = from, .to = to };
	copy->strings = numbers_for(copy, PROFILE_STRINGS);
	copy->files = numbers_for(copy, PROFILE_FILES);
	copy->processes = numbers_for(copy, PROFILE_PROCESSES);
	copy->frames = numbers_for(copy, PROFILE_FRAMES);
	copy->labels = numbers_for(copy, PROFILE_LABELS);
	if (!copy->strings || !copy->files || !copy->processes || !copy->frames || !copy->labels)
		return -ENOMEM;
	err = copy_strings_and_files(copy);
	err = err ? err : copy_labels(copy);
	err = err ? err : copy_processes(copy);
	return err ? err : copy_frames(copy);
}

int copy_types(const struct copy *copy)
{
	const struct types *types = profile_types(copy->from);
	struct type list[TYPES_MAX];

	for (uint32_t i = 0; i < types->len; i++)
		list[i] = (struct type){ copy->strings[types->list[i].name], copy->strings[types->list[i].unit] };
	return types_set(copy->to, list, types->len, types->shown);
}

int copy_values(const struct copy *copy, uint32_t number, uint32_t to)
{
	uint32_t len = profile_types(copy->to)->len;
	uint64_t values[TYPES_MAX];

	for (uint32_t i = 0; i < len; i++)
		values[i] = types_value(copy->from, number, i);
	return types_add(copy->to, to, values);
}

struct profile_sample copy_sample(const struct copy *copy, uint32_t number, uint32_t stack)
{
	struct profile_sample sample = *profile_sample(copy->from, number);

	sample.stack = stack;
	sample.process = copy->processes[sample.process];
	sample.comm = copy->strings[sample.comm];
	sample.labels = copy->labels[sample.labels];
	return sample;
}
