/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's format: a protocol buffer, packed with gzip; docs/formats.md says what goes where. In: any profile. Out: one
 * that is valid by pprof's own rules: numbers count from 1 without gaps, what refers to something finds it, every
 * sample has a value for each type. The same profile gives the same bytes.
 *
 * A frame of the model is an offset in a file. Each file becomes one mapping that covers what was seen of it, at an
 * address that no process uses: address - memory_start + file_offset is the offset again, so that whoever symbolizes
 * by the file finds the right place.
 */
#include "out/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "out/advice.h"
#include "out/gzip.h"
#include "profile/profile.h"

#define PAGE 4096u
#define FIRST_START (1ULL << 48) /* above what processes use, below the kernel */
#define LAST_START (1ULL << 62)
#define BETWEEN (1ULL << 20) /* mappings that touch may be taken for one */
#define PACK_BYTES (1u << 18)

/* A value of the profile's is times `factor` in this type; with 0 it has values of its own. */
struct value_type {
	uint32_t type, unit; /* strings */
	uint64_t factor;
};

struct mapping {
	uint64_t low, last; /* what was seen, in whole pages */
	uint64_t start;     /* where `low` is in memory */
	uint32_t id;        /* 0: nothing in it was seen */
	uint32_t frame;     /* one that is in it */
	bool functions, lines, inlines;
};

/* An address, and what was inlined there: the list goes on, outwards, with `outer`. */
struct location {
	uint32_t frame;
	uint32_t outer;
	uint32_t id; /* 0: not used */
};

struct pprof {
	const struct profile *profile;
	struct buf *out; /* what is not packed yet */
	struct gzip *gzip;
	struct intern *strings, *functions;
	struct value_type types[TYPES_MAX];
	uint32_t types_len;
	struct mapping *mappings; /* see slot_of */
	size_t slots;
	struct location *locations; /* number 0: none */
	uint32_t locations_len;
	uint32_t *places; /* node → location that begins there */
	bool raw;         /* no frame of a program has a name: whoever reads it may find them */
	struct buf message, part, text;
	int err;
};

/* ---- The wire ---- */

static void put_number(struct buf *out, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	buf_varint(out, field << 3);
	buf_varint(out, value);
}

/* A string, a message, or a list of numbers. */
static void put_bytes(struct buf *out, unsigned int field, const void *data, size_t len)
{
	buf_varint(out, field << 3 | 2);
	buf_varint(out, len);
	buf_add(out, data, len);
}

/* The message that was made, as a field of another; it is empty again. */
static void put_message(struct pprof *pprof, struct buf *out, unsigned int field, struct buf *message)
{
	if (buf_error(message))
		pprof->err = buf_error(message);
	put_bytes(out, field, message->data, message->len);
	buf_clear(message);
}

static uint32_t string_of(struct pprof *pprof, const char *data, size_t len)
{
	uint32_t number = intern_bytes(pprof->strings, data, len);

	if (number != UINT32_MAX)
		return number;
	pprof->err = -ENOMEM;
	return 0;
}

static uint32_t text_of(struct pprof *pprof, const char *text)
{
	return string_of(pprof, text, strlen(text));
}

/* What is in pprof->text, which is empty again. */
static uint32_t take_text(struct pprof *pprof)
{
	uint32_t number = string_of(pprof, pprof->text.data ? pprof->text.data : "", pprof->text.len);

	if (buf_error(&pprof->text))
		pprof->err = buf_error(&pprof->text);
	buf_clear(&pprof->text);
	return number;
}

static uint32_t profile_string_of(struct pprof *pprof, uint32_t string)
{
	out_string(pprof->profile, string, &pprof->text);
	return take_text(pprof);
}

/* ---- Types ---- */

static void add_type(struct pprof *pprof, const char *type, const char *unit, uint64_t factor)
{
	pprof->types[pprof->types_len++] = (struct value_type){ text_of(pprof, type), text_of(pprof, unit), factor };
}

/* Those of another tool's profile, as they were. */
static void take_types(struct pprof *pprof, const struct types *types)
{
	for (; pprof->types_len < types->len; pprof->types_len++) {
		const struct type *type = &types->list[pprof->types_len];

		pprof->types[pprof->types_len] = (struct value_type){ .type = profile_string_of(pprof, type->name),
								      .unit = profile_string_of(pprof, type->unit) };
	}
}

static void choose_types(struct pprof *pprof)
{
	const struct profile_meta *meta = profile_meta(pprof->profile);
	const char *unit = profile_text(pprof->profile, meta->unit, NULL);
	const char *event = profile_text(pprof->profile, meta->event, NULL);

	take_types(pprof, profile_types(pprof->profile));
	if (pprof->types_len)
		return;
	if (*unit && strcmp(unit, "samples")) {
		add_type(pprof, *event ? event : unit, unit, 1);
		return;
	}
	add_type(pprof, "samples", "count", 1);
	if (!meta->period)
		return;
	/* A period of cycles is one only if it was asked for; a frequency is of CPU time, whatever drives it. */
	if (!strcmp(event, "cycles") && !meta->hz)
		add_type(pprof, "cycles", "count", meta->period);
	else
		add_type(pprof, "cpu", "nanoseconds", meta->period);
}

static uint64_t scaled(uint64_t value, uint64_t factor)
{
	uint64_t product;

	if (__builtin_mul_overflow(value, factor, &product) || product > INT64_MAX)
		return INT64_MAX;
	return product;
}

static uint64_t value_of(const struct pprof *pprof, uint32_t sample, uint32_t type)
{
	if (pprof->types[type].factor)
		return scaled(profile_sample(pprof->profile, sample)->value, pprof->types[type].factor);
	if (type == profile_types(pprof->profile)->shown) /* it is not below zero, hence too large */
		return scaled(profile_sample(pprof->profile, sample)->value, 1);
	return types_value(pprof->profile, sample, type);
}

static void put_type(struct pprof *pprof, unsigned int field, uint32_t type, uint32_t unit)
{
	put_number(&pprof->message, 1, type);
	put_number(&pprof->message, 2, unit);
	put_message(pprof, pprof->out, field, &pprof->message);
}

/* ---- Locations: which addresses, and what was inlined there ---- */

/* Can there be something inlined in it? */
static bool is_code(const struct pprof *pprof, uint32_t location)
{
	return location && profile_frame(pprof->profile, pprof->locations[location].frame)->kind != FRAME_CUT;
}

static int find_locations(struct pprof *pprof)
{
	uint32_t count = profile_count(pprof->profile, PROFILE_NODES);
	struct map known = { 0 };
	int err = 0;

	pprof->places = calloc(count, sizeof(*pprof->places));
	pprof->locations = calloc(count, sizeof(*pprof->locations)); /* no more of them than nodes */
	pprof->locations_len = 1;
	if (!pprof->places || !pprof->locations)
		return -ENOMEM;
	for (uint32_t i = 1; i < count && !err; i++) {
		const struct profile_node *node = profile_node(pprof->profile, i);
		uint32_t outer = pprof->places[node->parent];
		uint64_t *number;

		if (profile_frame(pprof->profile, node->frame)->kind != FRAME_INLINE || !is_code(pprof, outer))
			outer = 0;
		number = map_put(&known, (uint64_t)outer << 32 | node->frame);
		err = number ? 0 : -ENOMEM;
		if (!err && !*number) {
			*number = pprof->locations_len++;
			pprof->locations[*number] = (struct location){ node->frame, outer, 0 };
		}
		pprof->places[i] = err ? 0 : (uint32_t)*number;
	}
	map_free(&known);
	return err;
}

/* The node of the caller. */
static uint32_t beyond(const struct pprof *pprof, uint32_t node)
{
	for (uint32_t i = pprof->places[node]; pprof->locations[i].outer; i = pprof->locations[i].outer)
		node = profile_node(pprof->profile, node)->parent;
	return profile_node(pprof->profile, node)->parent;
}

/* What another tool has written stays, if it counts nothing at all. */
static bool is_written(const struct pprof *pprof, uint32_t sample)
{
	return profile_sample(pprof->profile, sample)->value || profile_types(pprof->profile)->len;
}

static void number_locations(struct pprof *pprof)
{
	uint32_t id = 0;

	for (uint32_t i = 1; i < profile_count(pprof->profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(pprof->profile, i);

		for (uint32_t node = is_written(pprof, i) ? sample->stack : 0; node; node = beyond(pprof, node))
			pprof->locations[pprof->places[node]].id = 1;
	}
	for (uint32_t i = 1; i < pprof->locations_len; i++)
		if (pprof->locations[i].id)
			pprof->locations[i].id = ++id;
}

/* The frame whose address the location has: that into which the others were inlined. */
static uint32_t outermost(const struct pprof *pprof, uint32_t location)
{
	while (pprof->locations[location].outer)
		location = pprof->locations[location].outer;
	return pprof->locations[location].frame;
}

/* ---- Mappings ---- */

/* Files first, by their number; then the kernel and its modules, by theirs; then what is neither. 0: not known. */
static size_t slot_of(const struct pprof *pprof, uint32_t number)
{
	const struct profile_frame *frame = profile_frame(pprof->profile, number);
	size_t files = profile_count(pprof->profile, PROFILE_FILES);

	switch (frame->kind) {
	case FRAME_KERNEL:
		return files + frame->file;
	case FRAME_JIT:
		return 2 * files;
	case FRAME_VDSO:
		return 2 * files + 1;
	case FRAME_CUT:
		return 0;
	default:
		return profile_file(pprof->profile, frame->file)->path ? frame->file : 0;
	}
}

static bool is_in_file(const struct pprof *pprof, size_t slot)
{
	return slot && slot < profile_count(pprof->profile, PROFILE_FILES);
}

static void see(struct pprof *pprof, uint32_t location)
{
	uint32_t number = outermost(pprof, location);
	const struct profile_frame *frame = profile_frame(pprof->profile, number);
	size_t slot = slot_of(pprof, number);
	struct mapping *mapping = &pprof->mappings[slot];

	if (frame->name && (frame->kind == FRAME_USER || frame->kind == FRAME_INLINE))
		pprof->raw = false;
	if (!mapping->frame || frame->address < mapping->low)
		mapping->low = frame->address & ~(uint64_t)(PAGE - 1);
	if (!mapping->frame || frame->address > mapping->last)
		mapping->last = frame->address | (PAGE - 1);
	mapping->frame = mapping->frame ? mapping->frame : number;
	mapping->inlines |= pprof->locations[location].outer != 0;
}

/* Where files are, by the string of their path. */
static int slots_by_path(const struct pprof *pprof, struct map *ret)
{
	for (size_t i = 1; is_in_file(pprof, i); i++) {
		uint64_t *slot;

		if (!pprof->mappings[i].frame)
			continue;
		slot = map_put(ret, profile_file(pprof->profile, (uint32_t)i)->path);
		if (!slot)
			return -ENOMEM;
		*slot = *slot ? *slot : i;
	}
	return 0;
}

/* The program of the process that was sampled most is what the profile is of. 0: not known. */
static int find_main(const struct pprof *pprof, size_t *ret)
{
	uint32_t count = profile_count(pprof->profile, PROFILE_PROCESSES);
	autofree uint64_t *totals = calloc(count, sizeof(*totals));
	struct map slots = { 0 };
	uint64_t most = 0;
	int err = totals ? slots_by_path(pprof, &slots) : -ENOMEM;

	for (uint32_t i = 1; !err && i < profile_count(pprof->profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(pprof->profile, i);

		totals[sample->process] += sample->value;
	}
	for (uint32_t i = 1; !err && i < count; i++) {
		uint32_t exe = profile_process(pprof->profile, i)->exe;
		const uint64_t *slot = exe && totals[i] > most ? map_get(&slots, exe) : NULL;

		most = slot ? totals[i] : most;
		*ret = slot ? *slot : *ret;
	}
	map_free(&slots);
	return err;
}

/* Addresses in files are ours to choose; all others are what they are. */
static uint64_t place(struct mapping *mapping, uint64_t next, bool in_file)
{
	uint64_t size = mapping->last - mapping->low;

	mapping->start = mapping->low;
	if (!in_file || size > LAST_START - next)
		return next;
	mapping->start = next;
	return (next + size + 2 * BETWEEN) & ~(BETWEEN - 1);
}

static int find_mappings(struct pprof *pprof)
{
	uint64_t next = FIRST_START;
	uint32_t id = 0;
	size_t first = 0;

	pprof->slots = 2 * (size_t)profile_count(pprof->profile, PROFILE_FILES) + 2;
	pprof->mappings = calloc(pprof->slots, sizeof(*pprof->mappings));
	if (!pprof->mappings)
		return -ENOMEM;
	pprof->raw = true;
	for (uint32_t i = 1; i < pprof->locations_len; i++)
		if (pprof->locations[i].id)
			see(pprof, i);
	if (find_main(pprof, &first))
		return -ENOMEM;
	pprof->mappings[first].id = first ? ++id : 0;
	for (size_t i = 1; i <= pprof->slots; i++) {
		size_t slot = i % pprof->slots; /* what is not known comes last */
		struct mapping *mapping = &pprof->mappings[slot];

		if (!mapping->frame)
			continue;
		mapping->id = mapping->id ? mapping->id : ++id;
		next = place(mapping, next, is_in_file(pprof, slot));
		/* Who finds no functions looks for them in the file, and complains if it is not there. */
		mapping->functions = !(pprof->raw && is_in_file(pprof, slot));
	}
	return 0;
}

static void put_mapping(struct pprof *pprof, size_t slot)
{
	const struct mapping *mapping = &pprof->mappings[slot];
	const struct profile_frame *frame = profile_frame(pprof->profile, mapping->frame);
	uint64_t last = mapping->start + (mapping->last - mapping->low);
	uint32_t build_id = profile_file(pprof->profile, frame->file)->build_id;
	struct buf *out = &pprof->message;

	if (frame->kind == FRAME_KERNEL && !frame->file)
		build_id = profile_meta(pprof->profile)->kernel_build_id;
	put_number(out, 1, mapping->id);
	put_number(out, 2, mapping->start);
	put_number(out, 3, last == UINT64_MAX ? last : last + 1);
	put_number(out, 4, is_in_file(pprof, slot) ? mapping->low : 0);
	if (slot)
		out_module_path(pprof->profile, mapping->frame, &pprof->text);
	else
		buf_adds(&pprof->text, "[unknown]");
	put_number(out, 5, take_text(pprof));
	out_hex(pprof->profile, build_id, &pprof->text);
	put_number(out, 6, take_text(pprof));
	put_number(out, 7, mapping->functions);
	put_number(out, 8, mapping->lines);
	put_number(out, 9, mapping->lines);
	put_number(out, 10, mapping->inlines);
	put_message(pprof, pprof->out, 3, out);
}

/* The first mapping is the program's own: pprof takes it for what the profile is of. */
static void put_mappings(struct pprof *pprof)
{
	size_t first = 0;

	while (first < pprof->slots && pprof->mappings[first].id != 1)
		first++;
	if (first < pprof->slots)
		put_mapping(pprof, first);
	for (size_t i = 1; i <= pprof->slots; i++)
		if (pprof->mappings[i % pprof->slots].id > 1)
			put_mapping(pprof, i % pprof->slots);
}

/* ---- Functions and lines ---- */

struct function {
	uint32_t name, system_name, file, first_line;
};

/* `alone`: an inlined frame without what it is inlined in is known by its system name, as in folded stacks. */
static uint32_t function_of(struct pprof *pprof, uint32_t frame, bool alone, uint32_t *ret_line)
{
	struct function function = { 0 };
	struct out_source source;
	const struct profile_source *known = &profile_frame(pprof->profile, frame)->source;
	uint32_t number;

	out_name(pprof->profile, frame, &pprof->text);
	if (buf_error(&pprof->text)) {
		pprof->err = buf_error(&pprof->text);
		return 0;
	}
	buf_adds(&pprof->text, ""); /* of what nothing is known, an empty name */
	source = out_source(pprof->profile, frame, pprof->text.data, pprof->text.len);
	function.name = string_of(pprof, pprof->text.data, source.name_len);
	if (source.line)
		function.file = string_of(pprof, pprof->text.data + source.file, source.file_len);
	if (alone)
		buf_adds(&pprof->text, out_kind_suffix(FRAME_INLINE));
	function.system_name = take_text(pprof);
	*ret_line = source.line;
	if (known->linkage && !alone)
		function.system_name = profile_string_of(pprof, known->linkage);
	if (known->file)
		function.file = profile_string_of(pprof, known->file);
	if (known->line)
		*ret_line = known->line;
	function.first_line = known->first_line;
	number = intern_bytes(pprof->functions, &function, sizeof(function));
	if (number == UINT32_MAX)
		pprof->err = -ENOMEM;
	return number;
}

static void put_lines(struct pprof *pprof, uint32_t location, struct mapping *mapping)
{
	for (; location; location = pprof->locations[location].outer) {
		uint32_t frame = pprof->locations[location].frame, line = 0;
		bool alone =
			!pprof->locations[location].outer && profile_frame(pprof->profile, frame)->kind == FRAME_INLINE;
		uint32_t function = function_of(pprof, frame, alone, &line);

		put_number(&pprof->part, 1, function);
		put_number(&pprof->part, 2, line);
		put_number(&pprof->part, 3, profile_frame(pprof->profile, frame)->source.column);
		put_message(pprof, &pprof->message, 4, &pprof->part);
		mapping->lines |= line != 0;
	}
}

static void put_location(struct pprof *pprof, uint32_t location)
{
	uint32_t frame = outermost(pprof, location);
	struct mapping *mapping = &pprof->mappings[slot_of(pprof, frame)];

	put_number(&pprof->message, 1, pprof->locations[location].id);
	put_number(&pprof->message, 2, mapping->id);
	put_number(&pprof->message, 3, profile_frame(pprof->profile, frame)->address - mapping->low + mapping->start);
	if (mapping->functions)
		put_lines(pprof, location, mapping);
	put_message(pprof, pprof->out, 4, &pprof->message);
}

static void put_functions(struct pprof *pprof)
{
	for (uint32_t i = 1; i < intern_count(pprof->functions); i++) {
		struct function function;

		memcpy(&function, intern_get(pprof->functions, i, NULL), sizeof(function));
		put_number(&pprof->message, 1, i);
		put_number(&pprof->message, 2, function.name);
		put_number(&pprof->message, 3, function.system_name);
		put_number(&pprof->message, 4, function.file);
		put_number(&pprof->message, 5, function.first_line);
		put_message(pprof, pprof->out, 5, &pprof->message);
	}
}

/* ---- Samples ---- */

static void put_label(struct pprof *pprof, uint32_t key, uint32_t string, uint64_t number, uint32_t unit)
{
	put_number(&pprof->part, 1, key);
	put_number(&pprof->part, 2, string);
	put_number(&pprof->part, 3, number);
	put_number(&pprof->part, 4, unit);
	put_message(pprof, &pprof->message, 3, &pprof->part);
}

/* The pair of a set: a text, or a number with its unit. */
static void put_pair(struct pprof *pprof, uint32_t set, uint32_t key, uint32_t value)
{
	int64_t number;
	size_t from, len;
	const char *text = profile_text(pprof->profile, value, &len);

	if (!profile_label_number(pprof->profile, set, &number, &from)) {
		put_label(pprof, profile_string_of(pprof, key), profile_string_of(pprof, value), 0, 0);
		return;
	}
	text_escape(&pprof->text, text + from, len - from, NULL);
	put_label(pprof, profile_string_of(pprof, key), 0, (uint64_t)number, take_text(pprof));
}

static void put_labels(struct pprof *pprof, uint32_t number)
{
	const struct profile_sample *sample = profile_sample(pprof->profile, number);
	uint32_t pid = profile_process(pprof->profile, sample->process)->pid, comm = out_comm(pprof->profile, number);
	const char *const own[] = { pid ? "pid" : "", sample->tid ? "tid" : "", comm ? "comm" : "" };

	if (pid)
		put_label(pprof, text_of(pprof, "pid"), 0, pid, 0);
	if (sample->tid)
		put_label(pprof, text_of(pprof, "tid"), 0, sample->tid, 0);
	if (comm)
		put_label(pprof, text_of(pprof, "comm"), profile_string_of(pprof, comm), 0, 0);
	else if (!pid && out_has_comm(pprof->profile, number))
		put_label(pprof, text_of(pprof, "comm"), text_of(pprof, "[unnamed]"), 0, 0);
	for (uint32_t set = sample->labels, rest; set; set = rest) {
		uint32_t key, value;
		const char *text;

		profile_label(pprof->profile, set, &rest, &key, &value);
		text = profile_text(pprof->profile, key, NULL);
		/* A key has one value. */
		if (key && value && strcmp(text, own[0]) && strcmp(text, own[1]) && strcmp(text, own[2]))
			put_pair(pprof, set, key, value);
	}
}

static void put_sample(struct pprof *pprof, uint32_t number)
{
	const struct profile_sample *sample = profile_sample(pprof->profile, number);

	for (uint32_t node = sample->stack; node; node = beyond(pprof, node))
		buf_varint(&pprof->part, pprof->locations[pprof->places[node]].id);
	if (pprof->part.len)
		put_message(pprof, &pprof->message, 1, &pprof->part);
	for (uint32_t i = 0; i < pprof->types_len; i++)
		buf_varint(&pprof->part, value_of(pprof, number, i));
	put_message(pprof, &pprof->message, 2, &pprof->part);
	put_labels(pprof, number);
	put_message(pprof, pprof->out, 2, &pprof->message);
}

/* ---- The rest ---- */

static void put_remarks(struct pprof *pprof, uint32_t remarks)
{
	size_t left;
	const char *text = profile_text(pprof->profile, remarks, &left);

	while (left) {
		const char *end = memchr(text, '\n', left);
		size_t len = end ? (size_t)(end - text) : left;

		text_escape(&pprof->text, text, len, NULL);
		put_number(pprof->out, 13, take_text(pprof));
		text += len + !!end;
		left -= len + !!end;
	}
}

/* One that begins with # is for `pprof -comments` alone; the others stand above every table. */
static void put_comments(struct pprof *pprof)
{
	const struct profile_meta *meta = profile_meta(pprof->profile);
	const uint32_t facts[] = { meta->command, meta->host, meta->kernel, meta->arch };

	put_remarks(pprof, meta->remarks);
	for (uint32_t i = 1; i < profile_count(pprof->profile, PROFILE_COUNTERS); i++)
		if (advice_line(pprof->profile, i, true, &pprof->text))
			put_number(pprof->out, 13, take_text(pprof));
	if (!meta->version)
		return;
	buf_adds(&pprof->text, "# wick ");
	out_string(pprof->profile, meta->version, &pprof->text);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (facts[i])
			buf_adds(&pprof->text, ", ");
		out_string(pprof->profile, facts[i], &pprof->text);
	}
	put_number(pprof->out, 13, take_text(pprof));
}

/* What is shown first, and what the period is of: as another tool said it, or the last type. */
static void put_choice(struct pprof *pprof)
{
	const struct profile_meta *meta = profile_meta(pprof->profile);
	const struct value_type *last = &pprof->types[pprof->types_len - 1];
	uint32_t first = last->type, type = last->type, unit = last->unit;

	if (!last->factor) {
		first = profile_string_of(pprof, meta->default_type);
		type = profile_string_of(pprof, meta->period_type);
		unit = profile_string_of(pprof, meta->period_unit);
	}
	if (last->factor ? pprof->types_len > 1 : type || unit)
		put_type(pprof, 11, type, unit);
	if (pprof->types_len > 1 || !last->factor)
		put_number(pprof->out, 12, scaled(meta->period, 1));
	put_number(pprof->out, 14, first);
}

static void put_facts(struct pprof *pprof)
{
	const struct profile_meta *meta = profile_meta(pprof->profile);

	for (uint32_t i = 0; i < pprof->types_len; i++)
		put_type(pprof, 1, pprof->types[i].type, pprof->types[i].unit);
	put_number(pprof->out, 9, meta->wall_ns > INT64_MAX ? 0 : meta->wall_ns);
	put_number(pprof->out, 10, meta->duration_ns > INT64_MAX ? 0 : meta->duration_ns);
	put_choice(pprof);
	put_number(pprof->out, 7, profile_string_of(pprof, meta->drop_frames));
	put_number(pprof->out, 8, profile_string_of(pprof, meta->keep_frames));
	put_number(pprof->out, 15, profile_string_of(pprof, meta->doc_url));
}

/* What is written is packed when there is much of it, and not kept. */
static void pack(struct pprof *pprof, size_t least)
{
	if (pprof->err || pprof->out->len < least)
		return;
	pprof->err = buf_error(pprof->out);
	pprof->err = pprof->err ? pprof->err : gzip_more(pprof->gzip, pprof->out);
	buf_clear(pprof->out);
}

static void put_all(struct pprof *pprof)
{
	put_facts(pprof);
	for (uint32_t i = 1; i < profile_count(pprof->profile, PROFILE_SAMPLES) && !pprof->err; i++) {
		if (is_written(pprof, i))
			put_sample(pprof, i);
		pack(pprof, PACK_BYTES);
	}
	for (uint32_t i = 1; i < pprof->locations_len && !pprof->err; i++) {
		if (pprof->locations[i].id)
			put_location(pprof, i);
		pack(pprof, PACK_BYTES);
	}
	put_mappings(pprof); /* behind the locations, which find out what is known of each */
	put_functions(pprof);
	put_comments(pprof);
	for (uint32_t i = 0; i < intern_count(pprof->strings); i++) { /* the last: all have met theirs */
		size_t len;
		const char *text = intern_get(pprof->strings, i, &len);

		put_bytes(pprof->out, 6, text, len);
	}
	pack(pprof, 0);
}

int out_pprof(const struct profile *profile, struct buf *out)
{
	autobuf struct buf raw = { 0 };
	struct pprof pprof = { .profile = profile, .out = &raw };
	int err = intern_new(&pprof.strings);

	err = err ? err : intern_new(&pprof.functions);
	err = err ? err : gzip_begin(&pprof.gzip, out, GZIP_FAST);
	if (!err)
		choose_types(&pprof);
	err = err ? err : find_locations(&pprof);
	if (!err)
		number_locations(&pprof);
	err = err ? err : find_mappings(&pprof);
	if (!err)
		put_all(&pprof);
	err = err ? err : pprof.err;
	err = err ? err : gzip_end(pprof.gzip);
	gzip_free(pprof.gzip);
	intern_free(pprof.strings);
	intern_free(pprof.functions);
	free(pprof.mappings);
	free(pprof.locations);
	free(pprof.places);
	buf_free(&pprof.message);
	buf_free(&pprof.part);
	buf_free(&pprof.text);
	return err;
}
