/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary. Each table says how a record becomes a few numbers and back; writing and reading blocks of them is
 * then the same for all but strings.
 *
 * Invariant: reading the blocks that were written, in the order of tables, gives every record the number it had.
 */
#include "store/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

#define FIRST_WHOS 64
#define FIELDS_MAX 10
#define NEAR_FIELD 9 /* of frames, after what tells whose it is: their address */
#define NEAR_SLOTS 1024
#define WHOSE_BITS 29 /* of a number of a file or a process */

typedef void get_fields(const struct dict *dict, uint32_t number, uint64_t *ret);
/* The number that the record has then, or PROFILE_FULL. */
typedef uint32_t put_fields(struct dict *dict, uint32_t number, const uint64_t *fields);

static void get_label(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	uint32_t rest, key, value;

	profile_label(dict->model, number, &rest, &key, &value);
	ret[0] = rest;
	ret[1] = key;
	ret[2] = value;
}

static uint32_t put_label(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	(void)number;
	return profile_add_label(dict->model, (uint32_t)fields[0], (uint32_t)fields[1], (uint32_t)fields[2]);
}

static void get_file(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	const struct profile_file *file = profile_file(dict->model, number);
	const uint64_t fields[] = { file->device,   file->inode, file->size,     file->generation,
				    file->mtime_ns, file->path,  file->build_id, file->reason };

	memcpy(ret, fields, sizeof(fields));
}

static uint32_t put_file(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	const struct profile_file file = {
		.device = fields[0],
		.inode = fields[1],
		.size = fields[2],
		.generation = fields[3],
		.mtime_ns = fields[4],
		.path = (uint32_t)fields[5],
		.build_id = (uint32_t)fields[6],
		.reason = (uint32_t)fields[7],
	};

	(void)number;
	return dict_add_file(dict, &file);
}

uint64_t dict_start(uint64_t start)
{
	start &= INT64_MAX;
	return start < NS_PER_MS ? start : start - start % NS_PER_MS;
}

/* Milliseconds, or else ns, and which in the lowest bit. */
static uint64_t pack_start(uint64_t start)
{
	return start % NS_PER_MS ? start << 1 | 1 : start / NS_PER_MS << 1;
}

static void get_process(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	const struct profile_process *process = profile_process(dict->model, number);
	const uint64_t fields[] = { process->pid,    pack_start(process->start),
				    process->parent, process->comm,
				    process->exe,    process->cgroup,
				    process->labels };

	memcpy(ret, fields, sizeof(fields));
}

/* A parent may come later; who reads follows it within bounds (carry.c). */
static uint32_t put_process(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	const struct profile_process process = {
		.pid = (uint32_t)fields[0],
		.start = fields[1] & 1 ? fields[1] >> 1 : (fields[1] >> 1) * NS_PER_MS,
		.parent = (uint32_t)fields[2],
		.comm = (uint32_t)fields[3],
		.exe = (uint32_t)fields[4],
		.cgroup = (uint32_t)fields[5],
		.labels = (uint32_t)fields[6],
	};
	uint32_t got;

	if (pack_start(process.start) != fields[1])
		return PROFILE_FULL;
	got = dict_add_process(dict, &process);
	if (got == number)
		profile_process(dict->model, number)->parent = process.parent;
	return got;
}

static void get_frame(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	const struct profile_frame *frame = profile_frame(dict->model, number);
	const struct profile_source *source = &frame->source;
	const uint64_t fields[] = { frame->kind,  frame->file,    frame->process,     frame->name,     source->file,
				    source->line, source->column, source->first_line, source->linkage, frame->address };

	memcpy(ret, fields, sizeof(fields));
}

static uint32_t put_frame(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	const struct profile_frame frame = {
		.kind = (uint32_t)fields[0],
		.file = (uint32_t)fields[1],
		.process = (uint32_t)fields[2],
		.name = (uint32_t)fields[3],
		.source = { (uint32_t)fields[4], (uint32_t)fields[5], (uint32_t)fields[6], (uint32_t)fields[7],
			    (uint32_t)fields[8] },
		.address = fields[9],
	};

	(void)number;
	return dict_add_frame(dict, &frame);
}

/* Most nodes hang on the one before. */
static void get_stack(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	const struct profile_node *node = profile_node(dict->model, number);

	ret[0] = number - node->parent;
	ret[1] = node->frame;
}

static uint32_t put_stack(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	return profile_add_node(dict->model, number - (uint32_t)fields[0], (uint32_t)fields[1]);
}

static void get_who(const struct dict *dict, uint32_t number, uint64_t *ret)
{
	struct dict_who who = dict_who(dict, number);

	ret[0] = who.process;
	ret[1] = who.tid;
	ret[2] = who.comm;
	ret[3] = who.labels;
}

static uint32_t put_who(struct dict *dict, uint32_t number, const uint64_t *fields)
{
	const struct dict_who who = { (uint32_t)fields[0], (uint32_t)fields[1], (uint32_t)fields[2],
				      (uint32_t)fields[3] };

	(void)number;
	return dict_add_who(dict, &who);
}

/* `wide` has a bit for each field that is not a number of 32 bits. */
static const struct dict_kind {
	get_fields *get;
	put_fields *put;
	enum profile_table table;
	unsigned int fields, wide;
	uint32_t block; /* records in one */
} kinds[DICT_TABLES] = {
	[DICT_STRINGS] = { NULL, NULL, PROFILE_STRINGS, 0, 0, 512 },
	[DICT_LABELS] = { get_label, put_label, PROFILE_LABELS, 3, 0, 512 },
	[DICT_FILES] = { get_file, put_file, PROFILE_FILES, 8, 0x1f, 128 },
	[DICT_PROCESSES] = { get_process, put_process, PROFILE_PROCESSES, 7, 0x2, 2048 },
	[DICT_FRAMES] = { get_frame, put_frame, PROFILE_FRAMES, 10, 0x200, 4096 },
	[DICT_STACKS] = { get_stack, put_stack, PROFILE_NODES, 2, 0, 8192 },
	[DICT_WHOS] = { get_who, put_who, PROFILE_TABLES, 4, 0, 2048 },
};

static bool reserve_who(struct dict *dict)
{
	uint32_t cap = dict->whos_cap ? dict->whos_cap * 2 : FIRST_WHOS;
	struct dict_who *grown;

	if (dict->whos_len < dict->whos_cap)
		return true;
	if (dict->whos_cap > PROFILE_FULL / 2)
		return false;
	grown = reallocarray(dict->whos, cap, sizeof(*grown));
	if (!grown)
		return false;
	dict->whos = grown;
	dict->whos_cap = cap;
	return true;
}

int dict_new(struct dict **ret)
{
	struct dict *dict = calloc(1, sizeof(*dict));

	if (!dict)
		return fail(-ENOMEM, "store: dictionary");
	index_seed(dict->seed);
	if (profile_new(&dict->model) || !reserve_who(dict)) {
		dict_free(dict);
		return fail(-ENOMEM, "store: dictionary");
	}
	dict->whos[dict->whos_len++] = (struct dict_who){ 0 };
	for (int i = 0; i < DICT_TABLES; i++)
		dict->changes[i].stored = 1;
	*ret = dict;
	return 0;
}

void dict_free(struct dict *dict)
{
	if (!dict)
		return;
	for (int i = 0; i < DICT_TABLES; i++)
		free(dict->changes[i].changed);
	profile_free(dict->model);
	free(dict->whos);
	index_free(&dict->who_index);
	map_free(&dict->functions);
	free(dict);
}

uint32_t dict_count(const struct dict *dict, enum dict_table table)
{
	return table == DICT_WHOS ? dict->whos_len : profile_count(dict->model, kinds[table].table);
}

size_t dict_memory(const struct dict *dict)
{
	return profile_memory(dict->model) + dict->whos_cap * sizeof(*dict->whos) + index_bytes(&dict->who_index) +
	       map_bytes(&dict->functions);
}

/* This record is not what is stored. Without memory to remember that, all blocks of the table count as changed. */
static void touch(struct dict *dict, enum dict_table table, uint32_t number)
{
	struct dict_changes *changes = &dict->changes[table];
	uint32_t block = number / kinds[table].block;

	if (number >= changes->stored)
		return;
	if (block >= changes->len) {
		uint32_t len = dict_blocks(dict, table);
		unsigned char *changed = realloc(changes->changed, len);

		if (!changed) {
			changes->stored = 1;
			return;
		}
		memset(changed + changes->len, 0, len - changes->len);
		changes->changed = changed;
		changes->len = len;
	}
	changes->changed[block] = 1;
}

static bool fill(uint32_t *field, uint32_t value)
{
	if (!value || *field == value)
		return false;
	*field = value;
	return true;
}

uint32_t dict_add_file(struct dict *dict, const struct profile_file *file)
{
	struct profile_file key = *file;
	struct profile_file *there;
	uint32_t number;
	bool changed;

	if (file->inode)
		key.path = key.build_id = key.reason = PROFILE_NONE;
	if (file->path >= dict_count(dict, DICT_STRINGS) || file->build_id >= dict_count(dict, DICT_STRINGS) ||
	    file->reason >= dict_count(dict, DICT_STRINGS))
		return PROFILE_FULL;
	number = profile_add_file(dict->model, &key);
	if (number == PROFILE_FULL)
		return number;
	there = profile_file(dict->model, number);
	changed = !there->path && fill(&there->path, file->path);
	changed = fill(&there->build_id, file->build_id) || changed;
	if (there->reason != file->reason) {
		there->reason = file->reason;
		changed = true;
	}
	if (changed)
		touch(dict, DICT_FILES, number);
	return number;
}

/* Whether its place alone says which frame it is. Code that a program makes may be another one at the same address. */
static bool is_placed(const struct profile_frame *frame)
{
	if (!frame->address || profile_has_source(&frame->source))
		return false;
	return frame->kind == FRAME_KERNEL || frame->kind == FRAME_VDSO || (frame->kind == FRAME_USER && frame->file);
}

/* What a function is told apart by; 0 if this frame stands for itself. */
static uint64_t function_of(const struct profile_frame *frame)
{
	uint64_t whose = frame->kind == FRAME_JIT ? frame->process : frame->file;

	if (!frame->name || whose >> WHOSE_BITS || (!is_placed(frame) && frame->kind != FRAME_JIT))
		return 0;
	return profile_has_source(&frame->source) ? 0 : whose << 35 | (uint64_t)frame->kind << 32 | frame->name;
}

uint32_t dict_add_frame(struct dict *dict, const struct profile_frame *frame)
{
	uint64_t function = function_of(frame), *first;
	struct profile_frame key = *frame;
	uint32_t number;

	key.start = 0;
	if (is_placed(frame))
		key.name = PROFILE_NONE;
	if (frame->name >= dict_count(dict, DICT_STRINGS))
		return PROFILE_FULL;
	number = profile_add_frame(dict->model, &key);
	if (number == PROFILE_FULL || !number)
		return number;
	if (fill(&profile_frame(dict->model, number)->name, frame->name))
		touch(dict, DICT_FRAMES, number);
	first = function ? map_put(&dict->functions, function) : NULL;
	if (function && !first)
		return PROFILE_FULL;
	if (first && !*first)
		*first = number;
	return number;
}

uint32_t dict_function(const struct dict *dict, uint32_t frame)
{
	uint64_t function = function_of(profile_frame(dict->model, frame));
	const uint64_t *first = function ? map_get(&dict->functions, function) : NULL;

	return first ? (uint32_t)*first : frame;
}

uint32_t dict_add_process(struct dict *dict, const struct profile_process *process)
{
	uint32_t strings = dict_count(dict, DICT_STRINGS), number;
	struct profile_process *there;
	bool changed;

	if (process->comm >= strings || process->exe >= strings || process->cgroup >= strings ||
	    process->labels >= dict_count(dict, DICT_LABELS))
		return PROFILE_FULL;
	number = profile_add_process(dict->model, process->pid, process->start);
	if (number == PROFILE_FULL)
		return number;
	there = profile_process(dict->model, number);
	changed = fill(&there->comm, process->comm);
	changed = fill(&there->exe, process->exe) || changed;
	changed = fill(&there->cgroup, process->cgroup) || changed;
	changed = fill(&there->labels, process->labels) || changed;
	if (changed)
		touch(dict, DICT_PROCESSES, number);
	return number;
}

static bool same_who(const struct dict_who *a, const struct dict_who *b)
{
	return a->process == b->process && a->tid == b->tid && a->comm == b->comm && a->labels == b->labels;
}

uint32_t dict_add_who(struct dict *dict, const struct dict_who *who)
{
	uint32_t hash = index_hash_bytes(dict->seed, who, sizeof(*who)), number;
	size_t at = index_start(&dict->who_index, hash);

	if (who->process >= dict_count(dict, DICT_PROCESSES) || who->comm >= dict_count(dict, DICT_STRINGS) ||
	    who->labels >= dict_count(dict, DICT_LABELS))
		return PROFILE_FULL;
	while ((number = index_next(&dict->who_index, hash, &at)))
		if (same_who(&dict->whos[number], who))
			return number;
	if (!reserve_who(dict) || index_add(&dict->who_index, hash, dict->whos_len))
		return PROFILE_FULL;
	dict->whos[dict->whos_len] = *who;
	return dict->whos_len++;
}

struct dict_who dict_who(const struct dict *dict, uint32_t number)
{
	return dict->whos[number < dict->whos_len ? number : 0];
}

/* Record n is in block n / size: number 0, which nothing is stored of, has its place in the first. */
uint32_t dict_blocks(const struct dict *dict, enum dict_table table)
{
	return (dict_count(dict, table) - 1) / kinds[table].block + 1;
}

static void block_bounds(enum dict_table table, uint32_t block, uint32_t *ret_first, uint64_t *ret_end)
{
	uint32_t size = kinds[table].block;

	*ret_first = block ? block * size : 1;
	*ret_end = (uint64_t)block * size + size;
}

bool dict_is_changed(const struct dict *dict, enum dict_table table, uint32_t block)
{
	const struct dict_changes *changes = &dict->changes[table];
	uint32_t first, count = dict_count(dict, table);
	uint64_t end;

	block_bounds(table, block, &first, &end);
	if (first >= count)
		return false;
	if (changes->stored < (end < count ? end : count))
		return true;
	return block < changes->len && changes->changed[block];
}

bool dict_is_full(const struct dict *dict, enum dict_table table, uint32_t block)
{
	uint32_t first;
	uint64_t end;

	block_bounds(table, block, &first, &end);
	return end <= dict_count(dict, table);
}

void dict_stored(struct dict *dict)
{
	for (int i = 0; i < DICT_TABLES; i++) {
		struct dict_changes *changes = &dict->changes[i];

		changes->stored = dict_count(dict, (enum dict_table)i);
		if (changes->len)
			memset(changes->changed, 0, changes->len);
	}
}

static void write_strings(const struct dict *dict, uint32_t first, uint32_t len, struct buf *ret)
{
	size_t bytes;

	for (uint32_t i = 0; i < len; i++) {
		profile_text(dict->model, first + i, &bytes);
		buf_varint(ret, bytes);
	}
	for (uint32_t i = 0; i < len; i++) {
		const char *text = profile_text(dict->model, first + i, &bytes);

		buf_add(ret, text, bytes);
	}
}

/*
 * What a field is written as the difference to: that of the record before. For addresses it is the one before of the
 * same function, or else of the same file; that two may share a slot does no harm, for who reads has the same slots.
 */
struct before {
	uint64_t last;
	uint64_t of_function[NEAR_SLOTS], of_file[NEAR_SLOTS];
};

static uint64_t *slot_of(uint64_t *slots, uint64_t a, uint64_t b, uint64_t c)
{
	return &slots[((a << 40 ^ b << 20 ^ c) * 0x9e3779b97f4a7c15) >> 54];
}

static uint64_t before_of(struct before *before, bool near, const uint64_t *fields)
{
	uint64_t address = near ? *slot_of(before->of_function, fields[0], fields[1], fields[3]) : before->last;

	return near && !address ? *slot_of(before->of_file, fields[0], fields[1], 0) : address;
}

static void remember(struct before *before, bool near, const uint64_t *fields, uint64_t value)
{
	before->last = value;
	if (near)
		*slot_of(before->of_function, fields[0], fields[1], fields[3]) =
			*slot_of(before->of_file, fields[0], fields[1], 0) = value;
}

void dict_write_block(const struct dict *dict, enum dict_table table, uint32_t block, struct buf *ret)
{
	const struct dict_kind *kind = &kinds[table];
	uint32_t first, len;
	uint64_t end;

	block_bounds(table, block, &first, &end);
	len = (uint32_t)((end < dict_count(dict, table) ? end : dict_count(dict, table)) - first);
	buf_varint(ret, len);
	if (table == DICT_STRINGS) {
		write_strings(dict, first, len, ret);
		return;
	}
	for (unsigned int f = 0; f < kind->fields; f++) {
		bool near = table == DICT_FRAMES && f == NEAR_FIELD;
		uint64_t fields[FIELDS_MAX] = { 0 };
		struct before before = { 0 };

		for (uint32_t i = 0; i < len; i++) {
			kind->get(dict, first + i, fields);
			buf_varint(ret, wick_zigzag(fields[f], before_of(&before, near, fields)));
			remember(&before, near, fields, fields[f]);
		}
	}
}

static int damaged(void)
{
	return fail_plain(-EBADMSG, "store: a dictionary is damaged");
}

static int read_strings(struct dict *dict, uint32_t first, uint32_t len, struct cursor *lengths)
{
	struct cursor bytes = *lengths;

	for (uint32_t i = 0; i < len; i++)
		cursor_varint(&bytes);
	for (uint32_t i = 0; i < len; i++) {
		size_t size = cursor_varint(lengths);
		const char *text = cursor_bytes(&bytes, size);

		if (!text || profile_bytes(dict->model, text, size) != first + i)
			return damaged();
	}
	return cursor_left(&bytes) ? damaged() : 0;
}

/* The columns of a block, field after field. */
static int read_columns(const struct dict_kind *kind, struct cursor *cursor, uint32_t len, uint64_t *ret)
{
	for (unsigned int f = 0; f < kind->fields; f++) {
		bool near = kind == &kinds[DICT_FRAMES] && f == NEAR_FIELD;
		struct before before = { 0 };

		for (uint32_t i = 0; i < len; i++) {
			uint64_t *fields = ret + (size_t)i * FIELDS_MAX;
			uint64_t value = wick_unzigzag(cursor_varint(cursor), before_of(&before, near, fields));

			if (value > UINT32_MAX && !(kind->wide & 1u << f))
				return damaged();
			remember(&before, near, fields, value);
			fields[f] = value;
		}
	}
	return cursor->bad || cursor_left(cursor) ? damaged() : 0;
}

int dict_read_block(struct dict *dict, enum dict_table table, uint32_t block, const void *data, size_t len)
{
	const struct dict_kind *kind = &kinds[table];
	struct cursor cursor = cursor_of(data, len);
	uint64_t count = cursor_varint(&cursor), end;
	autofree uint64_t *fields = NULL;
	uint32_t first;
	int err;

	if (block > UINT32_MAX / kind->block - 1)
		return damaged();
	block_bounds(table, block, &first, &end);
	/* Blocks come in their order: there is none between it and what is known. */
	if (cursor.bad || first > dict_count(dict, table) || count > end - first)
		return damaged();
	if (table == DICT_STRINGS)
		return read_strings(dict, first, (uint32_t)count, &cursor);
	fields = calloc(count + 1, FIELDS_MAX * sizeof(*fields));
	if (!fields)
		return fail(-ENOMEM, "store: dictionary");
	err = read_columns(kind, &cursor, (uint32_t)count, fields);
	for (uint32_t i = 0; i < count && !err; i++)
		if (kind->put(dict, first + i, fields + (size_t)i * FIELDS_MAX) != first + i)
			err = damaged();
	return err;
}
