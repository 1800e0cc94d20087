/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a .wick file (docs/format-wick.md), which may come from anybody. Sizes are checked before anything is
 * allocated for them, sums before anything is believed, and every number against the table it points into.
 *
 * A table of the file is added record by record through profile.h, so what comes out keeps the model's invariants
 * whatever went in. Numbers of the file are translated to those of the profile: a file that holds a record twice is
 * read like any other.
 */
#include "in/in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "in/stack.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

/* Where a frame of the file is in the source. */
struct source {
	uint64_t frame;
	struct profile_source source;
};

struct reader {
	struct profile *profile;
	struct cursor in;                  /* what is left of the section being read, unpacked */
	uint64_t previous;                 /* the value that the next difference is to */
	uint64_t unpacked;                 /* bytes of all sections so far */
	uint32_t *numbers[PROFILE_TABLES]; /* the profile's number of each number of the file */
	uint32_t counts[PROFILE_TABLES];   /* how many of them are known yet */
	uint32_t *parents;                 /* of the processes, as the file numbers them: they may be forward */
	uint32_t processes;                /* how many there will be */
	struct source *sources;            /* of frames, by their numbers in the file */
	size_t sources_len, sources_taken;
	uint32_t *label_numbers; /* label sets of the file whose own pair is a number */
	size_t label_numbers_len, label_numbers_taken;
	bool salvage; /* of a section that is cut off, read what is there */
};

struct section {
	char tag[WICK_TAG_LEN + 1];
	uint32_t flags;
	uint32_t compression;
	uint64_t stored_len;
	uint64_t raw_len;
	const void *stored;
	bool cut; /* less is there than stored_len once said */
};

/* Reads one record and adds it. The profile's number, or PROFILE_FULL; what is wrong with the bytes sets in.bad. */
typedef uint32_t get_record(struct reader *reader);

static uint32_t get_index(struct reader *reader, enum profile_table table)
{
	uint64_t index = cursor_varint(&reader->in);

	if (index < reader->counts[table])
		return reader->numbers[table][index];
	reader->in.bad = 1;
	return PROFILE_NONE;
}

static uint32_t get_text(struct reader *reader)
{
	return get_index(reader, PROFILE_STRINGS);
}

static uint32_t get_u32(struct reader *reader)
{
	uint64_t value = cursor_varint(&reader->in);

	if (value > UINT32_MAX)
		reader->in.bad = 1;
	return (uint32_t)value;
}

static uint64_t get_delta(struct reader *reader)
{
	reader->previous = wick_unzigzag(cursor_varint(&reader->in), reader->previous);
	return reader->previous;
}

static uint32_t get_delta_index(struct reader *reader, enum profile_table table)
{
	uint64_t index = get_delta(reader);

	if (index < reader->counts[table])
		return reader->numbers[table][index];
	reader->in.bad = 1;
	return PROFILE_NONE;
}

static uint32_t get_string(struct reader *reader)
{
	uint64_t len = cursor_varint(&reader->in);
	const void *text = NULL;

	if (len <= cursor_left(&reader->in))
		text = cursor_bytes(&reader->in, (size_t)len);
	if (!text) {
		reader->in.bad = 1;
		return PROFILE_NONE;
	}
	return profile_bytes(reader->profile, text, (size_t)len);
}

static uint32_t get_file(struct reader *reader)
{
	struct profile_file file = { 0 };

	file.device = cursor_varint(&reader->in);
	file.inode = cursor_varint(&reader->in);
	file.size = cursor_varint(&reader->in);
	file.generation = cursor_varint(&reader->in);
	file.mtime_ns = cursor_varint(&reader->in);
	file.path = get_text(reader);
	file.build_id = get_text(reader);
	file.reason = get_text(reader);
	return profile_add_file(reader->profile, &file);
}

static uint32_t get_process(struct reader *reader)
{
	uint32_t pid = get_u32(reader);
	uint64_t start = cursor_varint(&reader->in);
	uint32_t parent = get_u32(reader);
	uint32_t number = profile_add_process(reader->profile, pid, start);
	struct profile_process *process;

	if (number == PROFILE_FULL)
		return number;
	if (parent >= reader->processes)
		reader->in.bad = 1;
	reader->parents[reader->counts[PROFILE_PROCESSES]] = parent;
	process = profile_process(reader->profile, number);
	process->comm = get_text(reader);
	process->exe = get_text(reader);
	process->cgroup = get_text(reader);
	return number;
}

static uint32_t get_frame(struct reader *reader)
{
	struct profile_frame frame = { 0 };

	frame.kind = get_u32(reader);
	frame.address = get_delta(reader);
	frame.file = get_index(reader, PROFILE_FILES);
	frame.process = get_index(reader, PROFILE_PROCESSES);
	frame.name = get_text(reader);
	if (reader->sources_taken < reader->sources_len &&
	    reader->sources[reader->sources_taken].frame == reader->counts[PROFILE_FRAMES])
		frame.source = reader->sources[reader->sources_taken++].source;
	if (frame.kind >= FRAME_KINDS)
		reader->in.bad = 1;
	return profile_add_frame(reader->profile, &frame);
}

static uint32_t get_node(struct reader *reader)
{
	uint32_t self = reader->counts[PROFILE_NODES];
	uint64_t up = cursor_varint(&reader->in);
	uint32_t frame = get_delta_index(reader, PROFILE_FRAMES);

	if (up == 0 || up > self) {
		reader->in.bad = 1;
		return PROFILE_NONE;
	}
	return profile_add_node(reader->profile, reader->numbers[PROFILE_NODES][self - up], frame);
}

static uint32_t get_label(struct reader *reader)
{
	uint32_t rest = get_index(reader, PROFILE_LABELS);
	uint32_t key = get_text(reader);
	uint32_t value = get_text(reader);
	bool is_number = reader->label_numbers_taken < reader->label_numbers_len &&
			 reader->label_numbers[reader->label_numbers_taken] == reader->counts[PROFILE_LABELS];
	uint32_t number = (is_number ? profile_add_number : profile_add_label)(reader->profile, rest, key, value);
	uint32_t depth = 1;
	uint32_t got_rest, got_key, got_value;

	reader->label_numbers_taken += is_number;
	reader->in.bad |= is_number && number == PROFILE_FULL; /* it is called one and is none */
	for (uint32_t at = rest; at && depth <= PROFILE_LABELS_MAX; depth++)
		profile_label(reader->profile, at, &at, &got_key, &got_value);
	profile_label(reader->profile, number, &got_rest, &got_key, &got_value);
	if (depth > PROFILE_LABELS_MAX || (number != PROFILE_FULL && (got_rest != rest || got_key != key)))
		reader->in.bad = 1; /* too many, or not sorted */
	return number;
}

static uint32_t get_sample(struct reader *reader)
{
	struct profile_sample sample = { 0 };

	sample.value = cursor_varint(&reader->in);
	sample.stack = get_delta_index(reader, PROFILE_NODES);
	sample.process = get_index(reader, PROFILE_PROCESSES);
	sample.tid = get_u32(reader);
	sample.comm = get_text(reader);
	sample.labels = get_index(reader, PROFILE_LABELS);
	return profile_add_sample(reader->profile, &sample);
}

static uint32_t get_event(struct reader *reader)
{
	struct profile_event event = { 0 };

	event.time_us = get_delta(reader);
	event.sample = get_index(reader, PROFILE_SAMPLES);
	event.cpu = get_u32(reader);
	return profile_add_event(reader->profile, &event);
}

static uint32_t get_counter(struct reader *reader)
{
	const char *group = profile_text(reader->profile, get_text(reader), NULL);
	const char *name = profile_text(reader->profile, get_text(reader), NULL);

	if (profile_add_counter(reader->profile, group, name, cursor_varint(&reader->in)) < 0)
		return PROFILE_FULL;
	return PROFILE_NONE; /* nothing refers to counters */
}

/* Every process leads up to one without a parent, so that whoever walks up ends. */
static int check_ancestry(const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_PROCESSES);
	autofree uint32_t *walk = calloc(count, sizeof(*walk));

	if (!walk)
		return fail(-ENOMEM, "reading a profile");
	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = i;

		while (at && !walk[at]) {
			walk[at] = i;
			at = profile_process(profile, at)->parent;
		}
		if (at && walk[at] == i)
			return fail_plain(-EINVAL, "damaged: a process is its own ancestor");
	}
	return 0;
}

static int link_processes(struct reader *reader)
{
	const uint32_t *numbers = reader->numbers[PROFILE_PROCESSES];

	for (uint32_t i = 1; i < reader->counts[PROFILE_PROCESSES]; i++)
		profile_process(reader->profile, numbers[i])->parent = numbers[reader->parents[i]];
	return check_ancestry(reader->profile);
}

static int damaged(const struct section *section)
{
	if (section->cut)
		return fail_plain(-EINVAL, "cut short in section %s: the end of the file is missing", section->tag);
	return fail_plain(-EINVAL, "damaged: section %s does not make sense", section->tag);
}

/* The table in reader->in: how many records, then each of them. */
static int read_table(struct reader *reader, const struct section *section, enum profile_table table, size_t least,
		      get_record *get)
{
	uint64_t count = cursor_varint(&reader->in);
	uint32_t *numbers;

	if (section->cut && count > cursor_left(&reader->in) / least)
		count = cursor_left(&reader->in) / least;
	if (reader->in.bad || count > cursor_left(&reader->in) / least || count >= PROFILE_FULL)
		return damaged(section);
	reader->numbers[table] = numbers = calloc(count + 1, sizeof(*numbers));
	if (table == PROFILE_PROCESSES) {
		reader->processes = (uint32_t)count + 1;
		reader->parents = calloc(count + 1, sizeof(*reader->parents));
	}
	if (!numbers || (table == PROFILE_PROCESSES && !reader->parents))
		return fail(-ENOMEM, "reading a profile");
	reader->previous = 0;
	for (reader->counts[table] = 1; reader->counts[table] <= count; reader->counts[table]++) {
		uint32_t number = get(reader);

		if (reader->in.bad)
			return damaged(section);
		if (number == PROFILE_FULL)
			return fail(-ENOMEM, "reading a profile");
		numbers[reader->counts[table]] = number;
	}
	return table == PROFILE_PROCESSES ? link_processes(reader) : 0;
}

/* Numbers, then strings, as many of each as the writer knew; those beyond what is known here are passed over. */
static int read_meta(struct reader *reader, const struct section *section)
{
	struct profile_meta *meta = profile_meta(reader->profile);
#define FIELD(name) &meta->name,
	uint64_t *const numbers[] = { WICK_META_NUMBERS(FIELD) };
	uint32_t *const strings[] = { WICK_META_STRINGS(FIELD) };
#undef FIELD
	uint64_t count = cursor_varint(&reader->in);

	for (uint64_t i = 0; i < count && !reader->in.bad; i++) {
		uint64_t value = cursor_varint(&reader->in);

		if (i < sizeof(numbers) / sizeof(numbers[0]))
			*numbers[i] = value;
	}
	count = cursor_varint(&reader->in);
	for (uint64_t i = 0; i < count && !reader->in.bad; i++) {
		uint32_t string = get_text(reader);

		if (i < sizeof(strings) / sizeof(strings[0]))
			*strings[i] = string;
	}
	return reader->in.bad ? damaged(section) : 0;
}

/* How the frames of processes were found. */
static int read_ways(struct reader *reader, const struct section *section)
{
	uint64_t count = cursor_varint(&reader->in);

	if (reader->in.bad || count > cursor_left(&reader->in) / WICK_WAYS_LEAST)
		return damaged(section);
	for (uint64_t i = 0; i < count && !reader->in.bad; i++) {
		uint32_t process = get_index(reader, PROFILE_PROCESSES);
		struct profile_ways ways = { 0 };

		ways.row = cursor_varint(&reader->in);
		ways.fp = cursor_varint(&reader->in);
		ways.user = cursor_varint(&reader->in);
		if (!process)
			return damaged(section);
		profile_process(reader->profile, process)->ways = ways;
	}
	return reader->in.bad ? damaged(section) : 0;
}

/* Where frames are in the source: kept until the frames themselves are read. */
static int read_sources(struct reader *reader, const struct section *section)
{
	uint64_t count = cursor_varint(&reader->in), frame = 0;

	if (reader->in.bad || count > cursor_left(&reader->in) / WICK_SOURCES_LEAST)
		return damaged(section);
	reader->sources = calloc(count + 1, sizeof(*reader->sources));
	if (!reader->sources)
		return fail(-ENOMEM, "reading a profile");
	for (; reader->sources_len < count && !reader->in.bad; reader->sources_len++) {
		struct source *one = &reader->sources[reader->sources_len];
		uint32_t further = get_u32(reader);

		one->frame = frame += further;
		one->source.file = get_text(reader);
		one->source.line = get_u32(reader);
		one->source.column = get_u32(reader);
		one->source.first_line = get_u32(reader);
		one->source.linkage = get_text(reader);
		reader->in.bad |= !further;
	}
	return reader->in.bad ? damaged(section) : 0;
}

/* Which pairs are numbers: kept until the label sets themselves are read. */
static int read_numbers(struct reader *reader, const struct section *section)
{
	uint64_t count = cursor_varint(&reader->in), set = 0;

	if (reader->in.bad || count > cursor_left(&reader->in))
		return damaged(section);
	reader->label_numbers = calloc(count + 1, sizeof(*reader->label_numbers));
	if (!reader->label_numbers)
		return fail(-ENOMEM, "reading a profile");
	for (; reader->label_numbers_len < count && !reader->in.bad; reader->label_numbers_len++) {
		uint32_t further = get_u32(reader);

		set += further;
		reader->label_numbers[reader->label_numbers_len] = (uint32_t)set;
		reader->in.bad |= !further || set > UINT32_MAX;
	}
	return reader->in.bad ? damaged(section) : 0;
}

static int read_values(struct reader *reader, const struct types *types)
{
	for (uint32_t sample = 1; sample < reader->counts[PROFILE_SAMPLES] && !reader->in.bad; sample++) {
		uint64_t values[TYPES_MAX] = { 0 };

		for (uint32_t i = 0; i < types->len; i++)
			if (i != types->shown)
				values[i] = cursor_varint(&reader->in);
		if (types_add(reader->profile, reader->numbers[PROFILE_SAMPLES][sample], values))
			return fail(-ENOMEM, "reading a profile");
	}
	return 0;
}

/* What is counted, and of each sample the values of all types but the one that is shown. */
static int read_types(struct reader *reader, const struct section *section)
{
	uint64_t len = cursor_varint(&reader->in), left = reader->counts[PROFILE_SAMPLES] - 1;
	struct type list[TYPES_MAX];
	uint32_t shown;
	int err;

	if (!len || len > TYPES_MAX)
		return damaged(section);
	for (uint64_t i = 0; i < len; i++) {
		list[i].name = get_text(reader);
		list[i].unit = get_text(reader);
	}
	shown = get_u32(reader);
	if (reader->in.bad || left * (len - 1) > cursor_left(&reader->in) ||
	    types_set(reader->profile, list, (uint32_t)len, shown))
		return damaged(section);
	err = read_values(reader, profile_types(reader->profile));
	if (!err && reader->in.bad)
		err = damaged(section);
	if (err)
		types_drop(reader->profile); /* what is kept of a damaged file has whole rows, or none */
	return err;
}

static const struct table_section {
	const char *tag;
	enum profile_table table;
	size_t least;
	get_record *get;
} table_sections[] = {
#define TABLE(tag, table, name, least) { tag, table, least, get_##name },
	WICK_TABLES(TABLE)
#undef TABLE
};

#define TABLE_SECTIONS (sizeof(table_sections) / sizeof(table_sections[0]))

enum { PLACE_META = TABLE_SECTIONS, PLACE_TYPES, PLACE_WAYS, PLACE_END, PLACE_SOURCES, PLACE_NUMBERS };

/* The tag of a section by its place in the file; behind END, those that may stand between tables. */
static const char *tag_of(size_t place)
{
	static const char *const others[] = { WICK_META, WICK_TYPES, WICK_WAYS, WICK_END, WICK_SOURCES, WICK_NUMBERS };

	return place < TABLE_SECTIONS ? table_sections[place].tag : others[place - TABLE_SECTIONS];
}

/* The place of what adds to the next table, which files that wick recorded do not have; else the place itself. */
static size_t before_table(const struct reader *reader, const struct section *section, size_t place)
{
	if (place >= TABLE_SECTIONS)
		return place;
	if (!strcmp(section->tag, WICK_SOURCES) && table_sections[place].table == PROFILE_FRAMES && !reader->sources)
		return PLACE_SOURCES;
	if (!strcmp(section->tag, WICK_NUMBERS) && table_sections[place].table == PROFILE_LABELS &&
	    !reader->label_numbers)
		return PLACE_NUMBERS;
	return place;
}

static bool is_known(const struct section *section)
{
	for (size_t place = 0; place <= PLACE_NUMBERS; place++)
		if (strcmp(section->tag, tag_of(place)) == 0)
			return true;
	return false;
}

static int read_header(const struct reader *reader, struct cursor *file, struct section *ret)
{
	const unsigned char *header = file->at;
	struct section section = { .tag = "" };
	uint64_t sum;

	if (cursor_left(file) < WICK_HEADER_LEN)
		return fail_plain(-EINVAL, "cut short: the end of the file is missing");
	memcpy(section.tag, cursor_bytes(file, WICK_TAG_LEN), WICK_TAG_LEN);
	section.flags = cursor_u32(file);
	section.compression = cursor_u32(file);
	cursor_u32(file);
	section.stored_len = cursor_u64(file);
	section.raw_len = cursor_u64(file);
	sum = cursor_u64(file);
	section.cut = section.stored_len > cursor_left(file);
	if (section.cut && !reader->salvage)
		return damaged(&section);
	if (section.cut)
		section.stored_len = cursor_left(file);
	section.stored = cursor_bytes(file, (size_t)section.stored_len);
	if (!section.cut && WICK_SUM(header, section.stored, (size_t)section.stored_len) != sum)
		return fail_plain(-EINVAL, "damaged: the check sum of section %s is wrong", section.tag);
	*ret = section;
	return 0;
}

/* As much as there is of a section that is cut off. */
static size_t unpack_part(const struct section *section, char *raw)
{
	ZSTD_inBuffer in = { section->stored, (size_t)section->stored_len, 0 };
	ZSTD_outBuffer out = { raw, (size_t)section->raw_len, 0 };
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t left = stream ? 1 : 0, before;

	while (left && !ZSTD_isError(left) && out.pos < out.size) {
		before = in.pos + out.pos;
		left = ZSTD_decompressStream(stream, &out, &in);
		if (in.pos + out.pos == before)
			break;
	}
	ZSTD_freeDStream(stream);
	return out.pos;
}

/* Points reader->in at the section's bytes; *ret is what was allocated for them, if anything. */
static int unpack(struct reader *reader, const struct section *section, char **ret)
{
	autofree char *raw = NULL;
	size_t len;

	if (section->compression != WICK_PLAIN && section->compression != WICK_ZSTD)
		return fail_plain(-EINVAL, "section %s is packed in a way that this wick does not know", section->tag);
	if (section->raw_len > WICK_RAW_MAX - reader->unpacked ||
	    section->raw_len > section->stored_len * WICK_RATIO_MAX + WICK_RATIO_FREE)
		return fail_plain(-EFBIG, "section %s would unpack to %llu bytes, more than is allowed", section->tag,
				  (unsigned long long)section->raw_len);
	reader->unpacked += section->raw_len;
	if (section->compression == WICK_PLAIN) {
		reader->in = cursor_of(section->stored, (size_t)section->stored_len);
		return section->raw_len == section->stored_len || section->cut ? 0 : damaged(section);
	}
	raw = malloc((size_t)section->raw_len + 1);
	if (!raw)
		return fail(-ENOMEM, "reading a profile");
	len = section->cut
		      ? unpack_part(section, raw)
		      : ZSTD_decompress(raw, (size_t)section->raw_len, section->stored, (size_t)section->stored_len);
	if (ZSTD_isError(len) || (len != section->raw_len && !section->cut))
		return damaged(section);
	reader->in = cursor_of(raw, len);
	*ret = raw;
	raw = NULL;
	return 0;
}

static int read_section(struct reader *reader, const struct section *section, size_t place)
{
	autofree char *raw = NULL;
	int err = unpack(reader, section, &raw);

	if (err)
		return err;
	if (place < TABLE_SECTIONS) {
		const struct table_section *table = &table_sections[place];

		err = read_table(reader, section, table->table, table->least, table->get);
	} else if (place == PLACE_META) {
		err = read_meta(reader, section);
	} else if (place == PLACE_WAYS) {
		err = read_ways(reader, section);
	} else if (place == PLACE_TYPES) {
		err = read_types(reader, section);
	} else if (place == PLACE_SOURCES) {
		err = read_sources(reader, section);
	} else if (place == PLACE_NUMBERS) {
		err = read_numbers(reader, section);
	}
	if (!err && (cursor_left(&reader->in) || section->cut))
		err = damaged(section);
	return err;
}

/* The known sections come once each and in order; others may stand anywhere between them. */
static int read_sections(struct reader *reader, struct cursor *file)
{
	for (size_t place = 0; place <= PLACE_END;) {
		struct section section;
		size_t before;
		int err = read_header(reader, file, &section);

		if (err)
			return err;
		if (!is_known(&section)) {
			if (section.flags & WICK_CRITICAL)
				return fail_plain(-EINVAL, "made by a newer wick: section %s is not known to this one",
						  section.tag);
			continue;
		}
		before = before_table(reader, &section, place);
		if (before != place) {
			err = read_section(reader, &section, before);
			if (err)
				return err;
			continue;
		}
		while ((place == PLACE_TYPES || place == PLACE_WAYS) && strcmp(section.tag, tag_of(place)))
			place++; /* they may be missing */
		if (strcmp(section.tag, tag_of(place)) != 0)
			return fail_plain(-EINVAL, "damaged: section %s where %s belongs", section.tag, tag_of(place));
		err = read_section(reader, &section, place++);
		if (err)
			return err;
	}
	if (cursor_left(file))
		return fail_plain(-EINVAL, "damaged: %zu bytes after the end", cursor_left(file));
	return 0;
}

static int read_start(struct cursor *file)
{
	const char *magic = cursor_bytes(file, WICK_MAGIC_LEN);
	uint32_t version = cursor_u32(file);

	if (!magic || memcmp(magic, WICK_MAGIC, 5) != 0)
		return fail_plain(-EINVAL, "not a wick file");
	if (memcmp(magic, WICK_MAGIC, WICK_MAGIC_LEN) != 0)
		return fail_plain(-EINVAL, "damaged: it was transferred as text, line ends were changed");
	if (file->bad)
		return fail_plain(-EINVAL, "cut short: the end of the file is missing");
	if (version > WICK_FORMAT)
		return fail_plain(-EINVAL, "made by a newer wick: version %u, this one reads up to %u", version,
				  WICK_FORMAT);
	if (version == 0)
		return fail_plain(-EINVAL, "damaged: version 0");
	return 0;
}

/* What stands before the damage: a profile, if there are samples among it. */
static int salvage(struct reader *reader, struct in_request *request, int err)
{
	uint32_t samples = profile_count(reader->profile, PROFILE_SAMPLES);
	uint64_t sum = 0;

	err = in_salvage(request, err, samples - 1);
	if (err || profile_count(reader->profile, PROFILE_COUNTERS) > 1)
		return err;
	for (uint32_t i = 1; i < samples; i++)
		sum += profile_sample(reader->profile, i)->value;
	return profile_add_counter(reader->profile, "total", "counted", sum);
}

/* Where there are several, what --type names is shown. */
static int choose_type(struct reader *reader, struct in_request *request)
{
	const struct types *types = profile_types(reader->profile);
	struct stack_types choice = { .wanted = request->type, .len = types->len };
	uint32_t shown = request->type ? types_find(reader->profile, request->type) : types->shown;
	const char *unit = profile_text(reader->profile, profile_meta(reader->profile)->unit, NULL);
	int err;

	if (!types->len || (!request->type && !strcmp(unit, "samples"))) /* those are what everybody expects */
		return 0;
	for (uint32_t i = 0; i < types->len; i++)
		choice.names[i] = types->list[i].name;
	choice.chosen = shown < types->len ? types->list[shown].name : PROFILE_NONE;
	err = stack_types_end(&choice, reader->profile, request);
	if (err)
		return err;
	err = types_show(reader->profile, shown);
	if (err == -ERANGE)
		return fail_plain(-EINVAL, "--type: '%s' has values below zero, or too large: a difference of profiles",
				  request->type);
	if (!err && request->type)
		profile_meta(reader->profile)->default_type = types->list[shown].name;
	return err ? fail(err, "reading a profile") : 0;
}

int in_wick(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct cursor file = cursor_of(data, len);
	struct reader reader = { .salvage = request->salvage };
	int err = read_start(&file);

	if (err)
		return err;
	err = profile_new(&reader.profile);
	if (err)
		return fail(err, "reading a profile");
	err = read_sections(&reader, &file);
	if (err)
		err = salvage(&reader, request, err);
	err = err ? err : choose_type(&reader, request);
	for (int i = 0; i < PROFILE_TABLES; i++)
		free(reader.numbers[i]);
	free(reader.parents);
	free(reader.sources);
	free(reader.label_numbers);
	if (err)
		profile_free(reader.profile);
	else
		*ret = reader.profile;
	return err;
}
