/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the model. Each is an array of records beside what finds them again, by comparing whole keys, so two
 * records are never confused. Records of which all is key and some is filled in later (files, frames) have their keys
 * interned, both numbered alike: the key is what the record was when added, and filling in a name does not hide it from
 * being found. The others have in them what they are found by, under an index: there are millions of nodes and samples.
 *
 * Invariants: record 0 of each table is all zero; what a record refers to was there before it, hence a node's parent
 * has a smaller number than the node, and walking up ends.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/intern.h"

#define FIRST_CAP 16u
#define FETCH_MAX 64 /* more than a processor fetches at a time */
#define CHAIN_MAX 4  /* samples of a stack that are found one by one; the others by hash */

/* A label set as it is kept. */
struct label {
	uint32_t rest, key, value;
	uint16_t depth;  /* pairs in the set */
	uint16_t number; /* whether the value is one */
};

struct table {
	struct intern *keys; /* of what is filled in later */
	struct index index;  /* of what is not; events have neither: each is its own */
	void *records;       /* none for strings: they are their keys */
	uint32_t len, cap;
};

struct profile {
	struct table tables[PROFILE_TABLES];
	struct profile_meta *meta;
	struct types *types;
	uint64_t seed[2];
	uint32_t indexed; /* the last node that is in their index, or need not be */
	uint32_t *firsts; /* node -> its first sample, or 0 */
	size_t firsts_len, firsts_cap;
};

static const size_t record_size[PROFILE_TABLES] = {
	[PROFILE_FILES] = sizeof(struct profile_file),     [PROFILE_FRAMES] = sizeof(struct profile_frame),
	[PROFILE_NODES] = sizeof(struct profile_node),     [PROFILE_PROCESSES] = sizeof(struct profile_process),
	[PROFILE_SAMPLES] = sizeof(struct profile_sample), [PROFILE_EVENTS] = sizeof(struct profile_event),
	[PROFILE_LABELS] = sizeof(struct label),           [PROFILE_COUNTERS] = sizeof(struct profile_counter),
};

static bool has_keys(enum profile_table which)
{
	return which == PROFILE_STRINGS || which == PROFILE_FILES || which == PROFILE_FRAMES;
}

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

/* The record's number; it is copied in if its key is new. */
static uint32_t record_add(struct profile *profile, enum profile_table which, const uint64_t *key, size_t key_size,
			   const void *record)
{
	struct table *table = &profile->tables[which];
	uint32_t number;

	if (!table_reserve(table, record_size[which]))
		return PROFILE_FULL;
	number = intern_bytes(table->keys, key, key_size);
	if (number == PROFILE_FULL || number < table->len)
		return number;
	table->len++;
	memcpy(record_at(profile, which, number), record, record_size[which]);
	return number;
}

static uint32_t hash_words(const struct profile *profile, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t mixed = index_mix(a ^ profile->seed[0], b ^ profile->seed[1]);

	return index_hash(index_mix(mixed ^ c, profile->seed[0] | 1));
}

/* A record that is known to be new, found again under this hash. Inline: its size is then known where it is copied. */
static inline __attribute__((always_inline)) uint32_t record_append(struct profile *profile, enum profile_table which,
								    uint32_t hash, const void *record)
{
	struct table *table = &profile->tables[which];

	if (!table_reserve(table, record_size[which]) || index_add(&table->index, hash, table->len))
		return PROFILE_FULL;
	memcpy((char *)table->records + (size_t)table->len * record_size[which], record, record_size[which]);
	return table->len++;
}

static bool known(const struct profile *profile, enum profile_table which, uint32_t number)
{
	return number < profile_count(profile, which);
}

static void table_free(struct table *table)
{
	intern_free(table->keys);
	index_free(&table->index);
	free(table->records);
	*table = (struct table){ 0 };
}

/* With nothing in it but number 0. */
static int table_new(struct table *ret, enum profile_table which)
{
	*ret = (struct table){ 0 };
	if (has_keys(which) && intern_new(&ret->keys) < 0)
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
	index_seed(profile->seed);
	profile->meta = calloc(1, sizeof(*profile->meta));
	profile->types = calloc(1, sizeof(*profile->types));
	for (int i = 0; i < PROFILE_TABLES && !err; i++)
		err = table_new(&profile->tables[i], (enum profile_table)i);
	if (!profile->meta || !profile->types || err) {
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
	if (profile->types)
		types_free(profile->types);
	free(profile->types);
	free(profile->firsts);
	free(profile->meta);
	free(profile);
}

struct profile_meta *profile_meta(const struct profile *profile)
{
	return profile->meta;
}

struct types *profile_types(const struct profile *profile)
{
	return profile->types;
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
	const struct profile_source *source = &frame->source;
	const uint64_t key[] = { frame->address,
				 pair(frame->file, frame->process),
				 pair(frame->name, frame->kind),
				 pair(source->file, source->line),
				 pair(source->column, source->first_line),
				 source->linkage };
	size_t len = profile_has_source(source) ? sizeof(key) : 3 * sizeof(*key);

	if (!known(profile, PROFILE_FILES, frame->file) || !known(profile, PROFILE_PROCESSES, frame->process) ||
	    !known(profile, PROFILE_STRINGS, frame->name) || !known(profile, PROFILE_STRINGS, source->file) ||
	    !known(profile, PROFILE_STRINGS, source->linkage) || frame->kind >= FRAME_KINDS)
		return PROFILE_FULL;
	return record_add(profile, PROFILE_FRAMES, key, len, frame);
}

static uint32_t hash_node(const struct profile *profile, const struct profile_node *node)
{
	return hash_words(profile, pair(node->parent, node->frame), 0, 0);
}

/*
 * A node that was added right after its parent is found there: most stacks end in a chain of such nodes, and they need
 * no place in the index.
 */
static bool follows(const struct profile_node *node, uint32_t number)
{
	return node->parent + 1 == number;
}

static bool same_node(const struct profile_node *a, const struct profile_node *b)
{
	return a->parent == b->parent && a->frame == b->frame;
}

static bool is_next(const struct table *table, const struct profile_node *node)
{
	const struct profile_node *nodes = table->records;

	return node->parent < table->len - 1 && same_node(&nodes[node->parent + 1], node);
}

/* One that does not follow its parent. */
static uint32_t find_indexed(const struct profile *profile, const struct profile_node *node, uint32_t hash)
{
	const struct table *table = &profile->tables[PROFILE_NODES];
	const struct profile_node *nodes = table->records;
	size_t at = index_start(&table->index, hash);
	uint32_t number;

	while ((number = index_next(&table->index, hash, &at)))
		if (same_node(&nodes[number], node))
			break;
	return number;
}

uint32_t profile_append_node(struct profile *profile, uint32_t parent, uint32_t frame)
{
	struct table *table = &profile->tables[PROFILE_NODES];

	if (parent >= table->len || !known(profile, PROFILE_FRAMES, frame) ||
	    !table_reserve(table, sizeof(struct profile_node)))
		return PROFILE_FULL;
	((struct profile_node *)table->records)[table->len] = (struct profile_node){ parent, frame };
	return table->len++;
}

/* The nodes that were added since the last search are put into the index. */
static bool index_nodes(struct profile *profile)
{
	struct table *table = &profile->tables[PROFILE_NODES];
	const struct profile_node *nodes = table->records;

	for (uint32_t i = profile->indexed + 1; i < table->len; profile->indexed = i++)
		if (!follows(&nodes[i], i) && index_add(&table->index, hash_node(profile, &nodes[i]), i))
			return false;
	return true;
}

uint32_t profile_add_node(struct profile *profile, uint32_t parent, uint32_t frame)
{
	const struct table *table = &profile->tables[PROFILE_NODES];
	const struct profile_node node = { .parent = parent, .frame = frame };
	uint32_t number = PROFILE_NONE;

	if (is_next(table, &node))
		return parent + 1;
	if (!follows(&node, table->len)) { /* else nothing is on its parent yet */
		if (!index_nodes(profile))
			return PROFILE_FULL;
		number = find_indexed(profile, &node, hash_node(profile, &node));
	}
	return number ? number : profile_append_node(profile, parent, frame);
}

/* What looking for them will read is fetched for all before it is waited for: the slots, then the records. */
static void find_some(const struct profile *profile, const struct profile_node *nodes, size_t len, uint32_t *ret)
{
	const struct table *table = &profile->tables[PROFILE_NODES];
	const struct profile_node *records = table->records;
	uint32_t hashes[FETCH_MAX];
	size_t at[FETCH_MAX];

	for (size_t i = 0; i < len; i++) {
		ret[i] = is_next(table, &nodes[i]) ? nodes[i].parent + 1 : PROFILE_NONE;
		hashes[i] = hash_node(profile, &nodes[i]);
		at[i] = index_start(&table->index, hashes[i]);
		if (!ret[i])
			index_fetch(&table->index, hashes[i]);
	}
	for (size_t i = 0; i < len; i++) {
		if (!ret[i])
			ret[i] = index_next(&table->index, hashes[i], &at[i]);
		__builtin_prefetch(&records[ret[i]]);
	}
	for (size_t i = 0; i < len; i++)
		while (ret[i] && !same_node(&records[ret[i]], &nodes[i]))
			ret[i] = index_next(&table->index, hashes[i], &at[i]);
}

void profile_find_nodes(struct profile *profile, const struct profile_node *nodes, size_t len, uint32_t *ret)
{
	if (!index_nodes(profile)) {
		memset(ret, 0, len * sizeof(*ret));
		return;
	}
	for (size_t from = 0; from < len; from += FETCH_MAX)
		find_some(profile, nodes + from, len - from < FETCH_MAX ? len - from : FETCH_MAX, ret + from);
}

void profile_add_chain(struct profile *profile, uint32_t parent, const uint32_t *frames, size_t len, uint32_t *ret)
{
	for (size_t i = 0; i < len; i++)
		ret[i] = parent = profile_add_node(profile, parent, frames[i]);
}

uint32_t profile_add_process(struct profile *profile, uint32_t pid, uint64_t start)
{
	const struct profile_process process = { .pid = pid, .start = start };
	const struct table *table = &profile->tables[PROFILE_PROCESSES];
	const struct profile_process *processes = table->records;
	uint32_t hash = hash_words(profile, start, pid, 0), number;
	size_t at = index_start(&table->index, hash);

	while ((number = index_next(&table->index, hash, &at)))
		if (processes[number].pid == pid && processes[number].start == start)
			return number;
	return record_append(profile, PROFILE_PROCESSES, hash, &process);
}

static bool same_sample(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->stack == b->stack && a->process == b->process && a->tid == b->tid && a->comm == b->comm &&
	       a->labels == b->labels;
}

static uint32_t hash_sample(const struct profile *profile, const struct profile_sample *sample)
{
	return hash_words(profile, pair(sample->stack, sample->process), pair(sample->tid, sample->comm),
			  sample->labels);
}

/* The place that holds the first sample of a node; NULL if memory is out. */
static uint32_t *first_sample(struct profile *profile, uint32_t node)
{
	if (node >= profile->firsts_cap) {
		size_t cap = (size_t)node < profile->tables[PROFILE_NODES].cap ? profile->tables[PROFILE_NODES].cap
									       : (size_t)node + 1;
		uint32_t *grown = reallocarray(profile->firsts, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		profile->firsts = grown;
		profile->firsts_cap = cap;
	}
	while (profile->firsts_len <= node)
		profile->firsts[profile->firsts_len++] = 0;
	return &profile->firsts[node];
}

/* One that is not among the first of its stack. */
static uint32_t add_hashed(struct profile *profile, const struct profile_sample *sample)
{
	const struct table *table = &profile->tables[PROFILE_SAMPLES];
	struct profile_sample *samples = table->records;
	uint32_t hash = hash_sample(profile, sample), number;
	size_t at = index_start(&table->index, hash);

	while ((number = index_next(&table->index, hash, &at)))
		if (same_sample(&samples[number], sample)) {
			samples[number].value += sample->value;
			return number;
		}
	return record_append(profile, PROFILE_SAMPLES, hash, sample);
}

/* After profile_settle: the first of each stack hang on its node again. */
static bool firsts_again(struct profile *profile)
{
	const struct table *table = &profile->tables[PROFILE_SAMPLES];
	struct profile_sample *samples = table->records;

	if (profile->firsts_len || table->len == 1)
		return true;
	for (uint32_t i = 1; i < table->len; i++) {
		uint32_t *link = first_sample(profile, samples[i].stack), count = 0;

		if (!link)
			return false;
		for (; *link && count < CHAIN_MAX; count++)
			link = &samples[*link].next;
		if (count < CHAIN_MAX) {
			samples[i].next = 0;
			*link = i;
		}
	}
	return true;
}

/* Most stacks have one sample or a few: these hang on the stack's node. */
uint32_t profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	struct table *table = &profile->tables[PROFILE_SAMPLES];
	struct profile_sample *samples;
	uint32_t *link, count = 0;

	if (!known(profile, PROFILE_NODES, sample->stack) || !known(profile, PROFILE_PROCESSES, sample->process) ||
	    !known(profile, PROFILE_STRINGS, sample->comm) || !known(profile, PROFILE_LABELS, sample->labels) ||
	    !table_reserve(table, sizeof(*samples)) || !firsts_again(profile))
		return PROFILE_FULL;
	samples = table->records;
	link = first_sample(profile, sample->stack);
	if (!link)
		return PROFILE_FULL;
	for (; *link; link = &samples[*link].next, count++)
		if (same_sample(&samples[*link], sample)) {
			samples[*link].value += sample->value;
			return *link;
		}
	if (count >= CHAIN_MAX)
		return add_hashed(profile, sample);
	samples[table->len] = *sample;
	samples[table->len].next = 0;
	*link = table->len;
	return table->len++;
}

int profile_add_samples(struct profile *profile, const struct profile_sample *samples, size_t len, uint32_t *ret)
{
	int err = 0;

	for (size_t i = 0; i < len; i++)
		if (samples[i].stack < profile->firsts_len)
			__builtin_prefetch(&profile->firsts[samples[i].stack]);
	for (size_t i = 0; i < len; i++) {
		ret[i] = profile_add_sample(profile, &samples[i]);
		err = ret[i] == PROFILE_FULL ? -ENOMEM : err;
	}
	return err;
}

uint32_t profile_add_event(struct profile *profile, const struct profile_event *event)
{
	struct table *table = &profile->tables[PROFILE_EVENTS];

	if (!known(profile, PROFILE_SAMPLES, event->sample) || !table_reserve(table, sizeof(*event)))
		return PROFILE_FULL;
	((struct profile_event *)table->records)[table->len] = *event;
	return table->len++;
}

static int compare_strings(const struct profile *profile, uint32_t a, uint32_t b)
{
	size_t a_len, b_len;
	const char *a_text = profile_text(profile, a, &a_len);
	const char *b_text = profile_text(profile, b, &b_len);
	int order = memcmp(a_text, b_text, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* On top of another set. */
static uint32_t push_label(struct profile *profile, uint32_t rest, struct label label)
{
	const struct table *table = &profile->tables[PROFILE_LABELS];
	const struct label *labels = table->records, *below = record_at(profile, PROFILE_LABELS, rest);
	uint32_t hash, number;
	size_t at;

	label.rest = rest;
	label.depth = (uint16_t)(below->depth + 1);
	if (rest == PROFILE_FULL || label.depth > PROFILE_LABELS_MAX)
		return PROFILE_FULL;
	hash = hash_words(profile, pair(rest, label.key), label.value, label.number);
	at = index_start(&table->index, hash);
	while ((number = index_next(&table->index, hash, &at)))
		if (!memcmp(&labels[number], &label, sizeof(label)))
			return number;
	return record_append(profile, PROFILE_LABELS, hash, &label);
}

/* "4096 bytes", "-1": digits up to the end, or up to a blank and a unit. */
static bool read_number(const struct profile *profile, uint32_t string, int64_t *ret_number, size_t *ret_unit)
{
	size_t len, at, from;
	const char *text = profile_text(profile, string, &len);
	bool below = len && text[0] == '-';
	uint64_t size = 0;

	for (at = from = below; at < len && text[at] >= '0' && text[at] <= '9'; at++)
		if (__builtin_mul_overflow(size, 10, &size) ||
		    __builtin_add_overflow(size, (uint64_t)(text[at] - '0'), &size))
			return false;
	if (at == from || size > (uint64_t)INT64_MAX + below || (at < len && (text[at] != ' ' || at + 1 == len)))
		return false;
	*ret_number = (int64_t)(below ? -size : size);
	*ret_unit = at < len ? at + 1 : len;
	return true;
}

/* The greatest key is outermost: take off what is greater than the new one, put that on, and the others back. */
static uint32_t add_label(struct profile *profile, uint32_t set, struct label label)
{
	struct label greater[PROFILE_LABELS_MAX];
	unsigned int count = 0;

	if (!known(profile, PROFILE_LABELS, set) || !known(profile, PROFILE_STRINGS, label.key) ||
	    !known(profile, PROFILE_STRINGS, label.value))
		return PROFILE_FULL;
	while (set && count < PROFILE_LABELS_MAX) {
		const struct label *top = record_at(profile, PROFILE_LABELS, set);
		int order = compare_strings(profile, top->key, label.key);

		if (order < 0)
			break;
		if (order > 0)
			greater[count++] = *top;
		set = top->rest;
	}
	set = push_label(profile, set, label);
	while (count--)
		set = push_label(profile, set, greater[count]);
	return set;
}

uint32_t profile_add_label(struct profile *profile, uint32_t set, uint32_t key, uint32_t value)
{
	return add_label(profile, set, (struct label){ .key = key, .value = value });
}

uint32_t profile_add_number(struct profile *profile, uint32_t set, uint32_t key, uint32_t text)
{
	int64_t number;
	size_t unit;

	if (!read_number(profile, text, &number, &unit))
		return PROFILE_FULL;
	return add_label(profile, set, (struct label){ .key = key, .value = text, .number = 1 });
}

int profile_add_counter(struct profile *profile, const char *group, const char *name, uint64_t value)
{
	const struct profile_counter counter = { .group = profile_string(profile, group),
						 .name = profile_string(profile, name),
						 .value = value };
	const struct table *table = &profile->tables[PROFILE_COUNTERS];
	struct profile_counter *counters = table->records;
	uint32_t hash, number;
	size_t at;

	if (counter.group == PROFILE_FULL || counter.name == PROFILE_FULL)
		return -ENOMEM;
	hash = hash_words(profile, pair(counter.group, counter.name), 0, 0);
	at = index_start(&table->index, hash);
	while ((number = index_next(&table->index, hash, &at)))
		if (counters[number].group == counter.group && counters[number].name == counter.name) {
			counters[number].value += value;
			return 0;
		}
	return record_append(profile, PROFILE_COUNTERS, hash, &counter) == PROFILE_FULL ? -ENOMEM : 0;
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

bool profile_label_number(const struct profile *profile, uint32_t set, int64_t *ret_number, size_t *ret_unit)
{
	const struct label *label = record_at(profile, PROFILE_LABELS, set);

	return label->number && read_number(profile, label->value, ret_number, ret_unit);
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

void profile_set_value(struct profile *profile, uint32_t sample, uint64_t value)
{
	if (known(profile, PROFILE_SAMPLES, sample))
		((struct profile_sample *)record_at(profile, PROFILE_SAMPLES, sample))->value = value;
}

void profile_shift_events(struct profile *profile, uint64_t us)
{
	struct profile_event *events = profile->tables[PROFILE_EVENTS].records;

	for (uint32_t i = 1; i < profile->tables[PROFILE_EVENTS].len; i++)
		events[i].time_us += us;
}

int profile_take_samples(struct profile *profile, struct profile_stacks *ret)
{
	struct table *samples = &profile->tables[PROFILE_SAMPLES], *events = &profile->tables[PROFILE_EVENTS];
	struct table fresh[2] = { 0 };

	if (table_new(&fresh[0], PROFILE_SAMPLES) || table_new(&fresh[1], PROFILE_EVENTS)) {
		table_free(&fresh[0]);
		table_free(&fresh[1]);
		return -ENOMEM;
	}
	*ret = (struct profile_stacks){
		.samples = samples->records,
		.events = events->records,
		.samples_len = samples->len,
		.events_len = events->len,
		.types = *profile->types,
	};
	*profile->types = (struct types){ 0 };
	for (uint32_t i = 1; i < ret->samples_len; i++) /* the many nodes that have none are not touched */
		if (ret->samples[i].stack < profile->firsts_len)
			profile->firsts[ret->samples[i].stack] = 0;
	index_free(&samples->index);
	*samples = fresh[0];
	*events = fresh[1];
	return 0;
}

int profile_take_stacks(struct profile *profile, struct profile_stacks *ret)
{
	struct table *nodes = &profile->tables[PROFILE_NODES], fresh;
	int err = table_new(&fresh, PROFILE_NODES);

	err = err ? err : profile_take_samples(profile, ret);
	if (err) {
		table_free(&fresh);
		return err;
	}
	ret->nodes = nodes->records;
	ret->nodes_len = nodes->len;
	index_free(&nodes->index);
	profile->indexed = 0;
	profile->firsts_len = 0;
	*nodes = fresh;
	return 0;
}

void profile_stacks_free(struct profile_stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->samples);
	free(stacks->events);
	types_free(&stacks->types);
	*stacks = (struct profile_stacks){ 0 };
}

uint32_t profile_count(const struct profile *profile, enum profile_table table)
{
	if (table == PROFILE_STRINGS)
		return intern_count(profile->tables[PROFILE_STRINGS].keys);
	return profile->tables[table].len;
}

void profile_expect_nodes(struct profile *profile, uint32_t count)
{
	struct table *table = &profile->tables[PROFILE_NODES];
	struct profile_node *records;

	if (count <= table->cap || count == PROFILE_FULL)
		return;
	records = reallocarray(table->records, count, sizeof(*records));
	if (!records)
		return;
	index_large_pages(records, count * sizeof(*records));
	table->records = records;
	table->cap = count;
	index_reserve(&table->index, (size_t)((double)count * (double)table->index.len / table->len));
}

void profile_settle(struct profile *profile)
{
	index_free(&profile->tables[PROFILE_NODES].index);
	profile->indexed = 0;
	free(profile->firsts);
	profile->firsts = NULL;
	profile->firsts_len = profile->firsts_cap = 0;
}

size_t profile_memory(const struct profile *profile)
{
	size_t sum = sizeof(*profile) + sizeof(*profile->meta) + sizeof(*profile->types) +
		     profile->firsts_cap * sizeof(*profile->firsts) +
		     profile->types->values_cap * sizeof(*profile->types->values);

	for (int i = 0; i < PROFILE_TABLES; i++) {
		const struct table *table = &profile->tables[i];

		sum += (size_t)table->cap * record_size[i];
		if (table->keys)
			sum += intern_memory(table->keys);
		sum += index_bytes(&table->index);
	}
	return sum;
}
