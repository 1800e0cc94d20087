/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the model. Each is an array of records beside an intern table of their keys, both numbered alike: the
 * number under which a key is interned is the number of its record, so finding compares whole keys and never confuses
 * two records. The key is what the record was when added: filling in a name later does not hide it from being found.
 *
 * Invariants: record 0 of each table is all zero; what a record refers to was there before it, hence a node's parent
 * has a smaller number than the node, and walking up ends.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

#define FIRST_CAP 16u

/* A label set as it is kept. */
struct label {
	uint32_t rest, key, value;
	uint32_t depth; /* pairs in the set */
};

struct table {
	struct intern *keys; /* none for events: each is its own */
	void *records;       /* none for strings: they are their keys */
	uint32_t len, cap;
};

struct profile {
	struct table tables[PROFILE_TABLES];
	struct profile_meta *meta;
};

static const size_t record_size[PROFILE_TABLES] = {
	[PROFILE_FILES] = sizeof(struct profile_file),     [PROFILE_FRAMES] = sizeof(struct profile_frame),
	[PROFILE_NODES] = sizeof(struct profile_node),     [PROFILE_PROCESSES] = sizeof(struct profile_process),
	[PROFILE_SAMPLES] = sizeof(struct profile_sample), [PROFILE_EVENTS] = sizeof(struct profile_event),
	[PROFILE_LABELS] = sizeof(struct label),           [PROFILE_COUNTERS] = sizeof(struct profile_counter),
};

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* Room for one more record, before its key is interned: the two must not come apart when memory is out. */
static bool table_reserve(struct table *table, size_t size)
{
	uint32_t cap;
	void *records;

	if (table->len < table->cap)
		return true;
	if (table->len == PROFILE_FULL)
		return false;
	if (table->cap > PROFILE_FULL / 2)
		cap = PROFILE_FULL;
	else
		cap = table->cap ? table->cap * 2 : FIRST_CAP;
	records = reallocarray(table->records, cap, size);
	if (!records)
		return false;
	table->records = records;
	table->cap = cap;
	return true;
}

static void *record_at(const struct profile *profile, enum profile_table which, uint32_t number)
{
	const struct table *table = &profile->tables[which];

	if (number >= table->len)
		number = 0;
	return (char *)table->records + (size_t)number * record_size[which];
}

/* The record's number; it is copied in if its key (NULL: it has none) is new. */
static uint32_t record_add(struct profile *profile, enum profile_table which, const uint64_t *key, size_t key_size,
			   const void *record)
{
	struct table *table = &profile->tables[which];
	uint32_t number = table->len;

	if (!table_reserve(table, record_size[which]))
		return PROFILE_FULL;
	if (key)
		number = intern_bytes(table->keys, key, key_size);
	if (number == PROFILE_FULL || number < table->len)
		return number;
	table->len++;
	memcpy(record_at(profile, which, number), record, record_size[which]);
	return number;
}

static bool known(const struct profile *profile, enum profile_table which, uint32_t number)
{
	return number < profile_count(profile, which);
}

static void table_free(struct table *table)
{
	intern_free(table->keys);
	free(table->records);
	*table = (struct table){ 0 };
}

/* With nothing in it but number 0. */
static int table_new(struct table *ret, enum profile_table which)
{
	*ret = (struct table){ 0 };
	if (which != PROFILE_EVENTS && intern_new(&ret->keys) < 0)
		return -ENOMEM;
	if (which == PROFILE_STRINGS)
		return 0;
	if (!table_reserve(ret, record_size[which]))
		return -ENOMEM;
	memset(ret->records, 0, record_size[which]);
	ret->len = 1;
	return 0;
}

int profile_new(struct profile **ret)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	int err = 0;

	if (!profile)
		return -ENOMEM;
	profile->meta = calloc(1, sizeof(*profile->meta));
	for (int i = 0; i < PROFILE_TABLES && !err; i++)
		err = table_new(&profile->tables[i], (enum profile_table)i);
	if (!profile->meta || err) {
		profile_free(profile);
		return -ENOMEM;
	}
	*ret = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (int i = 0; i < PROFILE_TABLES; i++)
		table_free(&profile->tables[i]);
	free(profile->meta);
	free(profile);
}

struct profile_meta *profile_meta(const struct profile *profile)
{
	return profile->meta;
}

uint32_t profile_string(struct profile *profile, const char *text)
{
	return profile_bytes(profile, text, strlen(text));
}

uint32_t profile_bytes(struct profile *profile, const void *data, size_t len)
{
	return intern_bytes(profile->tables[PROFILE_STRINGS].keys, data, len);
}

uint32_t profile_add_file(struct profile *profile, const struct profile_file *file)
{
	const uint64_t key[] = {
		file->device,     file->inode,    file->size,
		file->generation, file->mtime_ns, pair(file->path, file->build_id),
		file->reason,
	};

	if (!known(profile, PROFILE_STRINGS, file->path) || !known(profile, PROFILE_STRINGS, file->build_id) ||
	    !known(profile, PROFILE_STRINGS, file->reason))
		return PROFILE_FULL;
	return record_add(profile, PROFILE_FILES, key, sizeof(key), file);
}

uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame)
{
	const uint64_t key[] = { frame->address, pair(frame->file, frame->process), pair(frame->name, frame->kind) };

	if (!known(profile, PROFILE_FILES, frame->file) || !known(profile, PROFILE_PROCESSES, frame->process) ||
	    !known(profile, PROFILE_STRINGS, frame->name) || frame->kind >= FRAME_KINDS)
		return PROFILE_FULL;
	return record_add(profile, PROFILE_FRAMES, key, sizeof(key), frame);
}

uint32_t profile_add_node(struct profile *profile, uint32_t parent, uint32_t frame)
{
	const struct profile_node node = { .parent = parent, .frame = frame };
	const uint64_t key = pair(parent, frame);

	if (!known(profile, PROFILE_NODES, parent) || !known(profile, PROFILE_FRAMES, frame))
		return PROFILE_FULL;
	return record_add(profile, PROFILE_NODES, &key, sizeof(key), &node);
}

uint32_t profile_add_process(struct profile *profile, uint32_t pid, uint64_t start)
{
	const struct profile_process process = { .pid = pid, .start = start };
	const uint64_t key[] = { start, pid };

	return record_add(profile, PROFILE_PROCESSES, key, sizeof(key), &process);
}

uint32_t profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	const uint64_t key[] = { pair(sample->stack, sample->process), pair(sample->tid, sample->comm),
				 sample->labels };
	uint32_t count = profile->tables[PROFILE_SAMPLES].len;
	struct profile_sample *there;
	uint32_t number;

	if (!known(profile, PROFILE_NODES, sample->stack) || !known(profile, PROFILE_PROCESSES, sample->process) ||
	    !known(profile, PROFILE_STRINGS, sample->comm) || !known(profile, PROFILE_LABELS, sample->labels))
		return PROFILE_FULL;
	number = record_add(profile, PROFILE_SAMPLES, key, sizeof(key), sample);
	if (number >= count) /* new, or PROFILE_FULL */
		return number;
	there = record_at(profile, PROFILE_SAMPLES, number);
	there->value += sample->value;
	return number;
}

uint32_t profile_add_event(struct profile *profile, const struct profile_event *event)
{
	if (!known(profile, PROFILE_SAMPLES, event->sample))
		return PROFILE_FULL;
	return record_add(profile, PROFILE_EVENTS, NULL, 0, event);
}

static int compare_strings(const struct profile *profile, uint32_t a, uint32_t b)
{
	size_t a_len, b_len;
	const char *a_text = profile_text(profile, a, &a_len);
	const char *b_text = profile_text(profile, b, &b_len);
	int order = memcmp(a_text, b_text, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static uint32_t push_label(struct profile *profile, uint32_t rest, uint32_t key, uint32_t value)
{
	const struct label *below = record_at(profile, PROFILE_LABELS, rest);
	const struct label label = { .rest = rest, .key = key, .value = value, .depth = below->depth + 1 };
	const uint64_t id[] = { pair(rest, key), value };

	if (rest == PROFILE_FULL || label.depth > PROFILE_LABELS_MAX)
		return PROFILE_FULL;
	return record_add(profile, PROFILE_LABELS, id, sizeof(id), &label);
}

/* The greatest key is outermost: take off what is greater than the new one, put that on, and the others back. */
uint32_t profile_add_label(struct profile *profile, uint32_t set, uint32_t key, uint32_t value)
{
	struct label greater[PROFILE_LABELS_MAX];
	unsigned int count = 0;

	if (!known(profile, PROFILE_LABELS, set) || !known(profile, PROFILE_STRINGS, key) ||
	    !known(profile, PROFILE_STRINGS, value))
		return PROFILE_FULL;
	while (set && count < PROFILE_LABELS_MAX) {
		const struct label *top = record_at(profile, PROFILE_LABELS, set);
		int order = compare_strings(profile, top->key, key);

		if (order < 0)
			break;
		if (order > 0)
			greater[count++] = *top;
		set = top->rest;
	}
	set = push_label(profile, set, key, value);
	while (count--)
		set = push_label(profile, set, greater[count].key, greater[count].value);
	return set;
}

int profile_add_counter(struct profile *profile, const char *group, const char *name, uint64_t value)
{
	const struct profile_counter counter = { .group = profile_string(profile, group),
						 .name = profile_string(profile, name) };
	const uint64_t key = pair(counter.group, counter.name);
	uint32_t number;

	if (counter.group == PROFILE_FULL || counter.name == PROFILE_FULL)
		return -ENOMEM;
	number = record_add(profile, PROFILE_COUNTERS, &key, sizeof(key), &counter);
	if (number == PROFILE_FULL)
		return -ENOMEM;
	((struct profile_counter *)record_at(profile, PROFILE_COUNTERS, number))->value += value;
	return 0;
}

const char *profile_text(const struct profile *profile, uint32_t string, size_t *ret_len)
{
	return intern_get(profile->tables[PROFILE_STRINGS].keys, string, ret_len);
}

struct profile_file *profile_file(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_FILES, number);
}

struct profile_frame *profile_frame(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_FRAMES, number);
}

const struct profile_node *profile_node(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_NODES, number);
}

struct profile_process *profile_process(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_PROCESSES, number);
}

const struct profile_sample *profile_sample(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_SAMPLES, number);
}

const struct profile_event *profile_event(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_EVENTS, number);
}

const struct profile_counter *profile_counter(const struct profile *profile, uint32_t number)
{
	return record_at(profile, PROFILE_COUNTERS, number);
}

void profile_label(const struct profile *profile, uint32_t set, uint32_t *ret_rest, uint32_t *ret_key,
		   uint32_t *ret_value)
{
	const struct label *label = record_at(profile, PROFILE_LABELS, set);

	*ret_rest = label->rest;
	*ret_key = label->key;
	*ret_value = label->value;
}

uint64_t profile_counter_value(const struct profile *profile, const char *group, const char *name)
{
	for (uint32_t i = 1; i < profile->tables[PROFILE_COUNTERS].len; i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (strcmp(profile_text(profile, counter->group, NULL), group) == 0 &&
		    strcmp(profile_text(profile, counter->name, NULL), name) == 0)
			return counter->value;
	}
	return 0;
}

int profile_take_stacks(struct profile *profile, struct profile_stacks *ret)
{
	struct table *nodes = &profile->tables[PROFILE_NODES], *samples = &profile->tables[PROFILE_SAMPLES];
	struct table *events = &profile->tables[PROFILE_EVENTS], fresh[3] = { 0 };

	if (table_new(&fresh[0], PROFILE_NODES) || table_new(&fresh[1], PROFILE_SAMPLES) ||
	    table_new(&fresh[2], PROFILE_EVENTS)) {
		for (int i = 0; i < 3; i++)
			table_free(&fresh[i]);
		return -ENOMEM;
	}
	*ret = (struct profile_stacks){ nodes->records, samples->records, events->records,
					nodes->len,     samples->len,     events->len };
	intern_free(nodes->keys);
	intern_free(samples->keys);
	*nodes = fresh[0];
	*samples = fresh[1];
	*events = fresh[2];
	return 0;
}

void profile_stacks_free(struct profile_stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->samples);
	free(stacks->events);
	*stacks = (struct profile_stacks){ 0 };
}

uint32_t profile_count(const struct profile *profile, enum profile_table table)
{
	if (table == PROFILE_STRINGS)
		return intern_count(profile->tables[PROFILE_STRINGS].keys);
	return profile->tables[table].len;
}

size_t profile_memory(const struct profile *profile)
{
	size_t sum = sizeof(*profile) + sizeof(*profile->meta);

	for (int i = 0; i < PROFILE_TABLES; i++) {
		const struct table *table = &profile->tables[i];

		sum += (size_t)table->cap * record_size[i];
		if (table->keys)
			sum += intern_memory(table->keys);
	}
	return sum;
}
