/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a profile as a .wick file: everything that is in the model, nothing that is not. The layout is in
 * docs/format-wick.md, the shared numbers in profile/wick_format.h.
 *
 * Invariant: what is written, in/wick.c reads, and writing that again gives the same bytes. So numbers are written as
 * they stand in the model, and the reader's limits are kept here.
 */
#include "out/out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

#define ZSTD_LEVEL 3

typedef void put_record(const struct profile *profile, uint32_t number, struct buf *out);

/* Records that are filled in place may hold what adding returned when memory was out: that is written as none. */
static void put_index(const struct profile *profile, enum profile_table table, uint32_t index, struct buf *out)
{
	buf_varint(out, index < profile_count(profile, table) ? index : PROFILE_NONE);
}

static void put_text(const struct profile *profile, uint32_t string, struct buf *out)
{
	put_index(profile, PROFILE_STRINGS, string, out);
}

static void put_string(const struct profile *profile, uint32_t number, struct buf *out)
{
	size_t len;
	const char *text = profile_text(profile, number, &len);

	buf_varint(out, len);
	buf_add(out, text, len);
}

static void put_file(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_file *file = profile_file(profile, number);

	buf_varint(out, file->device);
	buf_varint(out, file->inode);
	buf_varint(out, file->size);
	buf_varint(out, file->generation);
	buf_varint(out, file->mtime_ns);
	put_text(profile, file->path, out);
	put_text(profile, file->build_id, out);
	put_text(profile, file->reason, out);
}

static void put_process(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_process *process = profile_process(profile, number);

	buf_varint(out, process->pid);
	buf_varint(out, process->start);
	put_index(profile, PROFILE_PROCESSES, process->parent, out);
	put_text(profile, process->comm, out);
	put_text(profile, process->exe, out);
	put_text(profile, process->cgroup, out);
}

static void put_frame(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	buf_varint(out, frame->kind);
	buf_varint(out, wick_zigzag(frame->address, profile_frame(profile, number - 1)->address));
	put_index(profile, PROFILE_FILES, frame->file, out);
	put_index(profile, PROFILE_PROCESSES, frame->process, out);
	put_text(profile, frame->name, out);
}

static void put_node(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_node *node = profile_node(profile, number);

	buf_varint(out, number - node->parent);
	buf_varint(out, wick_zigzag(node->frame, profile_node(profile, number - 1)->frame));
}

static void put_label(const struct profile *profile, uint32_t number, struct buf *out)
{
	uint32_t rest, key, value;

	profile_label(profile, number, &rest, &key, &value);
	buf_varint(out, rest);
	buf_varint(out, key);
	buf_varint(out, value);
}

static void put_sample(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_sample *sample = profile_sample(profile, number);

	buf_varint(out, sample->value);
	buf_varint(out, wick_zigzag(sample->stack, profile_sample(profile, number - 1)->stack));
	buf_varint(out, sample->process);
	buf_varint(out, sample->tid);
	buf_varint(out, sample->comm);
	buf_varint(out, sample->labels);
}

static void put_event(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_event *event = profile_event(profile, number);

	buf_varint(out, wick_zigzag(event->time_us, profile_event(profile, number - 1)->time_us));
	buf_varint(out, event->sample);
	buf_varint(out, event->cpu);
}

static void put_counter(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_counter *counter = profile_counter(profile, number);

	buf_varint(out, counter->group);
	buf_varint(out, counter->name);
	buf_varint(out, counter->value);
}

static void put_meta(const struct profile *profile, struct buf *out)
{
	const struct profile_meta *meta = profile_meta(profile);
#define FIELD(name) meta->name,
	const uint64_t numbers[] = { WICK_META_NUMBERS(FIELD) };
	const uint32_t strings[] = { WICK_META_STRINGS(FIELD) };
#undef FIELD
	size_t strings_len = sizeof(strings) / sizeof(strings[0]);

	while (strings_len > WICK_META_STRINGS_LEAST && !strings[strings_len - 1])
		strings_len--;
	buf_varint(out, sizeof(numbers) / sizeof(numbers[0]));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf_varint(out, numbers[i]);
	buf_varint(out, strings_len);
	for (size_t i = 0; i < strings_len; i++)
		put_text(profile, strings[i], out);
}

static bool has_ways(const struct profile *profile, uint32_t process)
{
	const struct profile_ways *ways = &profile_process(profile, process)->ways;

	return ways->row || ways->fp || ways->user;
}

/* How the frames of processes were found, of those where something is known; nothing if there are none. */
static void put_ways(const struct profile *profile, struct buf *out)
{
	uint32_t count = profile_count(profile, PROFILE_PROCESSES), known = 0;

	for (uint32_t i = 1; i < count; i++)
		known += has_ways(profile, i);
	if (!known)
		return;
	buf_varint(out, known);
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_ways *ways = &profile_process(profile, i)->ways;

		if (!has_ways(profile, i))
			continue;
		buf_varint(out, i);
		buf_varint(out, ways->row);
		buf_varint(out, ways->fp);
		buf_varint(out, ways->user);
	}
}

/* Where frames are in the source, of those where something is known; nothing if there are none. */
static void put_sources(const struct profile *profile, struct buf *out)
{
	uint32_t count = profile_count(profile, PROFILE_FRAMES), known = 0, last = 0;

	for (uint32_t i = 1; i < count; i++)
		known += profile_has_source(&profile_frame(profile, i)->source);
	if (!known)
		return;
	buf_varint(out, known);
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_source *source = &profile_frame(profile, i)->source;

		if (!profile_has_source(source))
			continue;
		buf_varint(out, i - last);
		put_text(profile, source->file, out);
		buf_varint(out, source->line);
		buf_varint(out, source->column);
		buf_varint(out, source->first_line);
		put_text(profile, source->linkage, out);
		last = i;
	}
}

/* Which pairs of label sets are numbers; nothing if there are none. */
static void put_numbers(const struct profile *profile, struct buf *out)
{
	uint32_t count = profile_count(profile, PROFILE_LABELS), known = 0, last = 0;
	int64_t number;
	size_t unit;

	for (uint32_t i = 1; i < count; i++)
		known += profile_label_number(profile, i, &number, &unit);
	if (!known)
		return;
	buf_varint(out, known);
	for (uint32_t i = 1; i < count; i++) {
		if (!profile_label_number(profile, i, &number, &unit))
			continue;
		buf_varint(out, i - last);
		last = i;
	}
}

/* The types of values, and those values that are not in the samples themselves. */
static void put_types(const struct profile *profile, struct buf *out)
{
	const struct types *types = profile_types(profile);
	uint32_t count = profile_count(profile, PROFILE_SAMPLES);

	if (!types->len)
		return;
	buf_varint(out, types->len);
	for (uint32_t i = 0; i < types->len; i++) {
		put_text(profile, types->list[i].name, out);
		put_text(profile, types->list[i].unit, out);
	}
	buf_varint(out, types->shown);
	for (uint32_t sample = 1; sample < count; sample++)
		for (uint32_t i = 0; i < types->len; i++)
			if (i != types->shown)
				buf_varint(out, types_value(profile, sample, i));
}

/* A file that is being written. */
struct file {
	struct buf *out;
	uint64_t total; /* bytes of its sections, unpacked */
	bool plain;     /* nothing is compressed */
};

/* The compressed bytes of raw, or none if that does not help or is more than a reader would unpack. */
static int compress(const struct buf *raw, char **ret, size_t *ret_len)
{
	size_t bound = ZSTD_compressBound(raw->len);
	autofree char *packed = malloc(bound);
	size_t len;

	if (!packed)
		return -ENOMEM;
	len = ZSTD_compress(packed, bound, raw->data, raw->len, ZSTD_LEVEL);
	if (ZSTD_isError(len))
		return fail_plain(-EIO, "compressing the profile: %s", ZSTD_getErrorName(len));
	if (len >= raw->len || raw->len > len * WICK_RATIO_MAX + WICK_RATIO_FREE)
		return 0;
	*ret = packed;
	*ret_len = len;
	packed = NULL;
	return 0;
}

static int add_section(struct file *file, const char *tag, uint32_t flags, const struct buf *raw)
{
	autofree char *packed = NULL;
	autobuf struct buf header = { 0 };
	const char *stored = raw->data;
	size_t len = raw->len;
	int err = buf_error(raw);

	file->total += raw->len;
	if (!err && raw->len && !file->plain)
		err = compress(raw, &packed, &len);
	if (err)
		return err;
	if (packed)
		stored = packed;
	buf_add(&header, tag, WICK_TAG_LEN);
	buf_u32(&header, flags);
	buf_u32(&header, packed ? WICK_ZSTD : WICK_PLAIN);
	buf_u32(&header, 0);
	buf_u64(&header, len);
	buf_u64(&header, raw->len);
	if (buf_error(&header))
		return buf_error(&header);
	buf_u64(&header, WICK_SUM(header.data, stored, len));
	buf_add(file->out, header.data, header.len);
	if (len)
		buf_add(file->out, stored, len);
	return buf_error(&header);
}

static const struct table_section {
	const char *tag;
	enum profile_table table;
	put_record *put;
} table_sections[] = {
#define TABLE(tag, table, name, least) { tag, table, put_##name },
	WICK_TABLES(TABLE)
#undef TABLE
};

/* A section that is there only if something is in it. */
static int add_optional(const struct profile *profile, const char *tag,
			void (*put)(const struct profile *profile, struct buf *out), struct file *file)
{
	autobuf struct buf raw = { 0 };

	put(profile, &raw);
	return raw.len ? add_section(file, tag, 0, &raw) : buf_error(&raw);
}

static int add_table(const struct profile *profile, const struct table_section *section, struct buf *raw,
		     struct file *file)
{
	uint32_t count = profile_count(profile, section->table);
	int err = 0;

	if (section->table == PROFILE_FRAMES)
		err = add_optional(profile, WICK_SOURCES, put_sources, file);
	else if (section->table == PROFILE_LABELS)
		err = add_optional(profile, WICK_NUMBERS, put_numbers, file);
	if (err)
		return err;
	buf_clear(raw);
	buf_varint(raw, count - 1);
	for (uint32_t number = 1; number < count; number++)
		section->put(profile, number, raw);
	return add_section(file, section->tag, WICK_CRITICAL, raw);
}

static int write_file(const struct profile *profile, struct file *file)
{
	autobuf struct buf raw = { 0 };
	int err = 0;

	buf_add(file->out, WICK_MAGIC, WICK_MAGIC_LEN);
	buf_u32(file->out, WICK_FORMAT);
	for (size_t i = 0; !err && i < sizeof(table_sections) / sizeof(table_sections[0]); i++)
		err = add_table(profile, &table_sections[i], &raw, file);
	if (err)
		return err;
	buf_clear(&raw);
	put_meta(profile, &raw);
	err = add_section(file, WICK_META, WICK_CRITICAL, &raw);
	err = err ? err : add_optional(profile, WICK_TYPES, put_types, file);
	err = err ? err : add_optional(profile, WICK_WAYS, put_ways, file);
	if (file->total > WICK_RAW_MAX)
		return fail_plain(-EFBIG, "the profile is larger than a .wick file may be (1 GiB)");
	buf_clear(&raw);
	if (!err)
		err = add_section(file, WICK_END, WICK_CRITICAL, &raw);
	return err ? err : buf_error(file->out);
}

int out_wick(const struct profile *profile, struct buf *out)
{
	return write_file(profile, &(struct file){ .out = out });
}

int out_wick_plain(const struct profile *profile, struct buf *out)
{
	return write_file(profile, &(struct file){ .out = out, .plain = true });
}
