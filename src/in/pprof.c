/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pprof's format, of whatever made it. In: the protocol buffer, unpacked. Out: a profile of all its types of
 * values, of which one is shown, or words that name the byte or the id that is wrong.
 *
 * Which type: the one that --type names, else the file's default, else the last, as pprof does. If that is nothing but
 * the number of samples times the period, the samples are shown. What wick itself would write again of samples and
 * period is not kept twice.
 */
#include "in/in.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "in/pprof_proto.h"
#include "in/stack.h"
#include "profile/profile.h"

#define FRAMES_MAX (16u << 20)
#define LABEL_UNIT_MAX 64 /* bytes: each number has its own */

struct pprof {
	struct profile *profile;
	struct in_request *request;
	struct pprof_file file;
	const void *data;
	size_t type;      /* index of the values that are shown */
	uint32_t *frames; /* of all locations that were met */
	size_t frames_len, frames_cap;
	struct stack stack;
	struct buf text;
	uint64_t sum, count;
	size_t number; /* of the sample, from 1 */
};

struct sample {
	uint64_t values[TYPES_MAX];
	size_t values_len;
};

static int full(void)
{
	return fail(-ENOMEM, "reading a profile");
}

static struct span string_at(const struct pprof *pprof, uint64_t number)
{
	if (number < pprof->file.strings_len)
		return pprof->file.strings[number];
	return (struct span){ "", 0 };
}

static uint32_t add_string(struct pprof *pprof, uint64_t number)
{
	struct span string = string_at(pprof, number);

	return profile_bytes(pprof->profile, string.data, string.len);
}

/* ---- Frames ---- */

/* A build id is written in hexadecimal; Go's is not, and stays what it is. */
static uint32_t add_build_id(struct pprof *pprof, struct span text)
{
	if (text.len % 2)
		return profile_bytes(pprof->profile, text.data, text.len);
	buf_clear(&pprof->text);
	for (size_t i = 0; i < text.len; i += 2) {
		int high = span_hex_digit(text.data[i]), low = span_hex_digit(text.data[i + 1]);

		if (high < 0 || low < 0)
			return profile_bytes(pprof->profile, text.data, text.len);
		buf_addc(&pprof->text, (char)(high << 4 | low));
	}
	return buf_error(&pprof->text) ? PROFILE_FULL
				       : profile_bytes(pprof->profile, pprof->text.data, pprof->text.len);
}

static uint32_t add_file(struct pprof *pprof, struct pprof_mapping *mapping, uint32_t kind)
{
	struct profile_file file = { 0 };
	struct span path = string_at(pprof, mapping->path);

	if (mapping->known)
		return mapping->file;
	mapping->known = true;
	if (kind == FRAME_KERNEL && (span_begins(path, "[kernel") || span_ends(path, "vmlinux") || !path.len)) {
		profile_meta(pprof->profile)->kernel_build_id =
			add_build_id(pprof, string_at(pprof, mapping->build_id));
		return mapping->file = PROFILE_NONE;
	}
	if (kind == FRAME_KERNEL && span_begins(path, "[") && span_ends(path, "]"))
		path = (struct span){ path.data + 1, path.len - 2 };
	if (kind == FRAME_JIT || kind == FRAME_VDSO)
		return mapping->file = PROFILE_NONE;
	if (span_is(path, "[unknown]"))
		path.len = 0;
	file.path = profile_bytes(pprof->profile, path.data, path.len);
	file.build_id = add_build_id(pprof, string_at(pprof, mapping->build_id));
	if (file.path || file.build_id)
		mapping->file = profile_add_file(pprof->profile, &file);
	return mapping->file;
}

/* Where the code of a location is: kind, file, and the offset in it. */
static struct profile_frame place_of(struct pprof *pprof, const struct pprof_location *location)
{
	const uint64_t *found = map_get(&pprof->file.mapping_ids, location->mapping);
	struct pprof_mapping *mapping = found ? &pprof->file.mappings[*found - 1] : NULL;
	struct profile_frame frame = { .address = location->address };

	if (!mapping) {
		frame.kind = stack_kind((struct span){ "", 0 }, location->address);
		return frame;
	}
	frame.kind = stack_kind_at(string_at(pprof, mapping->path), location->address);
	frame.file = add_file(pprof, mapping, frame.kind);
	if (frame.kind == FRAME_USER && location->address >= mapping->start && location->address < mapping->limit)
		frame.address = location->address - mapping->start + mapping->offset;
	return frame;
}

/* A name that wick wrote with its line is whole in the system name. */
static bool is_with_line(struct span name, struct span whole, struct span file, uint64_t line)
{
	char number[24];
	size_t len = (size_t)snprintf(number, sizeof(number), ":%" PRIu64, line);

	return line && file.len && whole.len == name.len + 1 + file.len + len && span_begins(whole, " ") == false &&
	       !memcmp(whole.data, name.data, name.len) && whole.data[name.len] == ' ' &&
	       !memcmp(whole.data + name.len + 1, file.data, file.len) &&
	       !memcmp(whole.data + whole.len - len, number, len);
}

/* What wick writes for what the model keeps otherwise. */
static void set_name(struct pprof *pprof, struct profile_frame *frame, struct span name)
{
	if (frame->kind == FRAME_USER && !frame->file && !frame->address && stack_take_cut(&name))
		frame->kind = FRAME_CUT;
	frame->name = stack_unescape(pprof->profile, name, &pprof->text);
}

static int add_frame(struct pprof *pprof, const struct profile_frame *frame)
{
	if (pprof->frames_len == pprof->frames_cap) {
		size_t cap = pprof->frames_cap ? pprof->frames_cap * 2 : 1024;
		uint32_t *grown = cap <= FRAMES_MAX ? reallocarray(pprof->frames, cap, sizeof(*grown)) : NULL;

		if (!grown)
			return full();
		pprof->frames = grown;
		pprof->frames_cap = cap;
	}
	pprof->frames[pprof->frames_len] = profile_add_frame(pprof->profile, frame);
	return pprof->frames[pprof->frames_len++] == PROFILE_FULL ? full() : 0;
}

static uint32_t line_number(uint64_t value)
{
	return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* What the file says of a function and a line in it, where wick has not put that into the name. */
static void set_source(struct pprof *pprof, struct profile_frame *frame, const struct pprof_function *function,
		       const struct pprof_line *line)
{
	struct span name = string_at(pprof, function->name), whole = string_at(pprof, function->system_name);
	struct span file = string_at(pprof, function->file);

	frame->source.file = stack_unescape(pprof->profile, file, &pprof->text);
	frame->source.line = line_number(line->line);
	frame->source.column = line_number(line->column);
	frame->source.first_line = line_number(function->start_line);
	if (name.len && !span_equal(name, whole))
		frame->source.linkage = stack_unescape(pprof->profile, whole, &pprof->text);
}

/* The name of a function, with the line if wick wrote it; what more is known goes into the frame. */
static struct span take_function(struct pprof *pprof, struct profile_frame *frame,
				 const struct pprof_function *function, const struct pprof_line *line, bool inlined)
{
	struct span name = string_at(pprof, function->name), whole = string_at(pprof, function->system_name);
	struct span file = string_at(pprof, function->file);
	bool alone = !inlined && whole.len > name.len && span_ends(whole, "_[i]");

	if (alone) {
		struct span bare = { whole.data, whole.len - 4 };

		alone = span_equal(bare, name) || is_with_line(name, bare, file, line->line);
		whole = alone ? bare : whole;
	}
	if (alone) /* it stands alone, and wick says so there */
		frame->kind = FRAME_INLINE;
	if (is_with_line(name, whole, file, line->line))
		return whole;
	set_source(pprof, frame, function, line);
	if (alone)
		frame->source.linkage = PROFILE_NONE;
	return name.len ? name : whole;
}

/* The line of a location: the first is the innermost; what is not the last was inlined. */
static int add_line(struct pprof *pprof, struct profile_frame frame, const struct pprof_line *line, bool inlined)
{
	const uint64_t *found = map_get(&pprof->file.function_ids, line->function);
	const struct pprof_function *function = found ? &pprof->file.functions[*found - 1] : NULL;
	struct span name = { "", 0 };

	if (!function && line->function)
		return fail_plain(-EINVAL, "sample %zu: function %" PRIu64 " is not in the file", pprof->number,
				  line->function);
	if (function && function->name >= pprof->file.strings_len)
		return fail_plain(-EINVAL, "sample %zu: string %" PRIu64 " is not in the file", pprof->number,
				  function->name);
	if (inlined)
		frame.kind = FRAME_INLINE;
	if (function)
		name = take_function(pprof, &frame, function, line, inlined);
	if (name.len)
		set_name(pprof, &frame, name);
	return add_frame(pprof, &frame);
}

static int add_location(struct pprof *pprof, struct pprof_location *location)
{
	struct profile_frame frame = place_of(pprof, location);
	int err = 0;

	location->first_frame = (uint32_t)pprof->frames_len;
	for (uint32_t i = 0; i < location->lines && !err; i++)
		err = add_line(pprof, frame, &pprof->file.lines[location->first_line + i], i + 1 < location->lines);
	if (!location->lines)
		err = add_frame(pprof, &frame);
	if (!err)
		location->frames = (uint32_t)pprof->frames_len - location->first_frame;
	return err;
}

/* ---- Samples ---- */

static int push_location(struct pprof *pprof, uint64_t id)
{
	const uint64_t *found = map_get(&pprof->file.location_ids, id);
	struct pprof_location *location = found ? &pprof->file.locations[*found - 1] : NULL;
	int err = 0;

	if (!location)
		return fail_plain(-EINVAL, "sample %zu: location %" PRIu64 " is not in the file", pprof->number, id);
	if (!location->frames)
		err = add_location(pprof, location);
	for (uint32_t i = 0; i < location->frames && !err; i++)
		err = stack_push(&pprof->stack, pprof->frames[location->first_frame + i]);
	if (err == -E2BIG)
		return fail_plain(-EINVAL, "sample %zu: more than %d frames", pprof->number, STACK_DEPTH_MAX);
	return err;
}

/* A number as the text that a label has, with its unit. */
static uint32_t add_number(struct pprof *pprof, int64_t number, struct span unit)
{
	autobuf struct buf whole = { 0 };

	buf_addf(&whole, "%" PRId64, number);
	if (unit.len) {
		const char *text;
		size_t len;

		text = profile_text(pprof->profile, stack_unescape(pprof->profile, unit, &pprof->text), &len);
		buf_addc(&whole, ' ');
		buf_add(&whole, text, len < LABEL_UNIT_MAX ? len : LABEL_UNIT_MAX);
	}
	return buf_error(&whole) ? PROFILE_FULL : profile_bytes(pprof->profile, whole.data, whole.len);
}

/* Who the sample is of are fields of the model; other labels are labels. */
static void set_label(struct pprof *pprof, struct profile_sample *ret, struct span key, struct span text,
		      uint64_t number, uint64_t unit)
{
	uint64_t value = number;
	bool is_number = text.len ? span_u64(text, &value) : true;
	uint32_t key_number;

	if (is_number && value <= UINT32_MAX && (span_is(key, "pid") || span_is(key, "process_id"))) {
		ret->process = profile_add_process(pprof->profile, (uint32_t)value, 0);
		return;
	}
	if (is_number && value <= UINT32_MAX && (span_is(key, "tid") || span_is(key, "thread_id"))) {
		ret->tid = (uint32_t)value;
		return;
	}
	if (text.len && (span_is(key, "comm") || span_is(key, "thread_comm"))) {
		ret->comm = stack_unescape(pprof->profile, text, &pprof->text);
		return;
	}
	key_number = stack_unescape(pprof->profile, key, &pprof->text);
	if (!text.len)
		ret->labels = profile_add_number(pprof->profile, ret->labels, key_number,
						 add_number(pprof, (int64_t)number, string_at(pprof, unit)));
	else
		ret->labels = profile_add_label(pprof->profile, ret->labels, key_number,
						stack_unescape(pprof->profile, text, &pprof->text));
}

static int read_label(struct pprof *pprof, struct span bytes, struct profile_sample *ret)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	uint64_t fields[5] = { 0 }, depth = 0;
	struct proto_field field;
	uint32_t rest, key, value;
	int more;

	while ((more = proto_next(&in, &field)) > 0)
		if (field.number < 5)
			fields[field.number] = field.value;
	if (more < 0)
		return fail_plain(-EINVAL, "sample %zu: a label was expected", pprof->number);
	for (uint32_t at = ret->labels; at && depth < PROFILE_LABELS_MAX; at = rest, depth++)
		profile_label(pprof->profile, at, &rest, &key, &value);
	if (depth == PROFILE_LABELS_MAX)
		return fail_plain(-EINVAL, "sample %zu: more than %d labels", pprof->number, PROFILE_LABELS_MAX);
	set_label(pprof, ret, string_at(pprof, fields[1]), string_at(pprof, fields[2]), fields[3], fields[4]);
	return ret->labels == PROFILE_FULL || ret->process == PROFILE_FULL ? full() : 0;
}

static int read_values(struct pprof *pprof, const struct proto_field *field, struct sample *ret)
{
	unsigned char scratch[10];
	struct cursor in = proto_numbers(field, scratch);
	uint64_t value;

	while (proto_number(&in, &value)) {
		if (ret->values_len == pprof->file.types_len)
			return fail_plain(-EINVAL, "sample %zu: more values than types", pprof->number);
		ret->values[ret->values_len++] = value;
	}
	return in.bad ? fail_plain(-EINVAL, "sample %zu: its values do not make sense", pprof->number) : 0;
}

/* The values of a sample alone, for choosing among them. */
static int survey_sample(struct pprof *pprof, struct span bytes, struct sample *ret)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct proto_field field;
	int err = 0, more;

	ret->values_len = 0;
	while (!err && (more = proto_next(&in, &field)) != 0) {
		if (more < 0)
			return fail_plain(-EINVAL, "sample %zu: it does not make sense", pprof->number);
		if (field.number == 2)
			err = read_values(pprof, &field, ret);
	}
	if (!err && ret->values_len != pprof->file.types_len)
		return fail_plain(-EINVAL, "sample %zu: %zu values for %zu types", pprof->number, ret->values_len,
				  pprof->file.types_len);
	return err;
}

static int read_locations(struct pprof *pprof, const struct proto_field *field)
{
	unsigned char scratch[10];
	struct cursor in = proto_numbers(field, scratch);
	uint64_t id;
	int err = 0;

	while (!err && proto_number(&in, &id))
		err = push_location(pprof, id);
	if (!err && in.bad)
		err = fail_plain(-EINVAL, "sample %zu: its locations do not make sense", pprof->number);
	return err;
}

static int finish_sample(struct pprof *pprof, struct profile_sample *sample, const struct sample *values)
{
	uint32_t number;

	if (!sample->process && sample->comm &&
	    stack_owner(pprof->profile, sample->comm, &sample->comm, &sample->process))
		return full();
	if (sample->process && sample->comm && !profile_process(pprof->profile, sample->process)->comm)
		profile_process(pprof->profile, sample->process)->comm = sample->comm;
	sample->stack = stack_node(&pprof->stack, pprof->profile);
	if (!span_add(&pprof->sum, sample->value))
		return fail_plain(-EINVAL, "sample %zu: the values add up to more than can be", pprof->number);
	number = profile_add_sample(pprof->profile, sample);
	if (number == PROFILE_FULL || types_add(pprof->profile, number, values->values))
		return full();
	pprof->count++;
	return 0;
}

static int read_sample(struct pprof *pprof, struct span bytes)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct profile_sample sample = { 0 };
	struct proto_field field;
	struct sample values;
	int err = survey_sample(pprof, bytes, &values);

	if (err)
		return err;
	sample.value = values.values[pprof->type];
	if (sample.value > INT64_MAX)
		return fail_plain(-EINVAL, "sample %zu: a value below zero: a difference of profiles is none itself",
				  pprof->number);
	pprof->stack.depth = 0;
	while (!err && proto_next(&in, &field) > 0) {
		if (field.number == 1)
			err = read_locations(pprof, &field);
		else if (field.number == 3)
			err = read_label(pprof, field.bytes, &sample);
	}
	return err ? err : finish_sample(pprof, &sample, &values);
}

/* ---- Types ---- */

static bool is_type(const struct pprof *pprof, size_t index, const char *type, const char *unit)
{
	return span_is(string_at(pprof, pprof->file.types[index].type), type) &&
	       (!unit || span_is(string_at(pprof, pprof->file.types[index].unit), unit));
}

/* Each sample of the file, without looking at what it refers to: `each` returns false to stop. */
static void each_sample(struct pprof *pprof, bool (*each)(struct pprof *pprof, struct span bytes))
{
	struct cursor in = cursor_of(pprof->data, pprof->file.end);
	struct proto_field field;

	while (proto_next(&in, &field) > 0)
		if (field.number == 2 && field.wire == 2 && !each(pprof, field.bytes))
			return;
}

struct ratio {
	struct pprof pprof; /* a copy, first: what is given to each_sample */
	size_t samples;
	bool exact;
};

static bool is_exact(struct pprof *pprof, struct span bytes)
{
	struct ratio *ratio = (struct ratio *)pprof;
	struct sample values;
	uint64_t product;

	ratio->exact = !survey_sample(pprof, bytes, &values) &&
		       !__builtin_mul_overflow(values.values[ratio->samples], pprof->file.period, &product) &&
		       product == values.values[pprof->type];
	return ratio->exact;
}

static bool is_product(const struct pprof *pprof, size_t type, size_t samples)
{
	struct ratio ratio = { .pprof = *pprof, .samples = samples, .exact = true };

	if (!pprof->file.period || pprof->file.period > INT64_MAX)
		return false;
	ratio.pprof.type = type;
	each_sample(&ratio.pprof, is_exact);
	return ratio.exact;
}

/* If the type is the samples times the period, take the samples. */
static void prefer_samples(struct pprof *pprof)
{
	size_t samples = 0;

	while (samples < pprof->file.types_len &&
	       (samples == pprof->type || !is_type(pprof, samples, "samples", "count")))
		samples++;
	if (samples < pprof->file.types_len && is_product(pprof, pprof->type, samples))
		pprof->type = samples;
}

static void list_types(const struct pprof *pprof, size_t but, struct buf *ret)
{
	for (size_t i = 0; i < pprof->file.types_len; i++) {
		struct span type = string_at(pprof, pprof->file.types[i].type);

		if (i != but)
			buf_addf(ret, "%s%.*s", ret->len ? ", " : "", (int)(type.len < 64 ? type.len : 64), type.data);
	}
}

static bool is_default(const struct pprof *pprof, size_t index)
{
	return pprof->file.default_type &&
	       span_equal(string_at(pprof, pprof->file.default_type), string_at(pprof, pprof->file.types[index].type));
}

static int choose_type(struct pprof *pprof)
{
	const struct pprof_file *file = &pprof->file;
	const char *wanted = pprof->request->type;
	autobuf struct buf names = { 0 };
	size_t default_type = 0;

	if (!file->types_len)
		return fail_plain(-EINVAL, "a pprof profile without a type of its values");
	while (default_type < file->types_len - 1 && !is_default(pprof, default_type))
		default_type++;
	pprof->type = default_type;
	if (!wanted) {
		prefer_samples(pprof);
		list_types(pprof, pprof->type, &names);
		if (names.len && !buf_error(&names) && pprof->type == default_type) {
			struct span type = string_at(pprof, file->types[pprof->type].type);
			autofree char *taken = strndup(type.data, type.len);

			in_note_types(pprof->request, taken ? taken : "", names.data);
		}
		return 0;
	}
	for (pprof->type = 0; pprof->type < file->types_len; pprof->type++)
		if (is_type(pprof, pprof->type, wanted, NULL))
			return 0;
	list_types(pprof, SIZE_MAX, &names);
	fail_plain(-EINVAL, "--type: '%s' is not in it", wanted);
	return fail_hint(-EINVAL, "it has %s", names.data ? names.data : "");
}

/* Whether wick writes the same types again of what is shown, its unit and its period: then these are not kept. */
static bool are_own(const struct pprof *pprof)
{
	const struct pprof_file *file = &pprof->file;
	struct span type = string_at(pprof, file->types[0].type), unit = string_at(pprof, file->types[0].unit);
	bool samples = is_type(pprof, 0, "samples", "count");

	if (pprof->type || file->types_len > 2 || !is_default(pprof, file->types_len - 1) ||
	    (pprof->request->type && file->types_len > 1))
		return false;
	if (file->types_len == 1)
		return !file->period && !string_at(pprof, file->period_type.type).len &&
		       !string_at(pprof, file->period_type.unit).len &&
		       (samples || (type.len && unit.len && !span_is(unit, "samples")));
	return samples && (is_type(pprof, 1, "cpu", "nanoseconds") || is_type(pprof, 1, "cycles", "count")) &&
	       span_equal(string_at(pprof, file->types[1].type), string_at(pprof, file->period_type.type)) &&
	       span_equal(string_at(pprof, file->types[1].unit), string_at(pprof, file->period_type.unit)) &&
	       is_product(pprof, 1, 0);
}

static uint32_t add_name(struct pprof *pprof, uint64_t number)
{
	return stack_unescape(pprof->profile, string_at(pprof, number), &pprof->text);
}

static int keep_types(struct pprof *pprof)
{
	struct profile_meta *meta = profile_meta(pprof->profile);
	const struct pprof_file *file = &pprof->file;
	struct type list[TYPES_MAX];

	if (are_own(pprof))
		return 0;
	for (size_t i = 0; i < file->types_len; i++)
		list[i] = (struct type){ add_name(pprof, file->types[i].type), add_name(pprof, file->types[i].unit) };
	/* Who asks for one wants to see it elsewhere, too. */
	meta->default_type = pprof->request->type ? list[pprof->type].name : add_name(pprof, file->default_type);
	meta->period_type = add_name(pprof, file->period_type.type);
	meta->period_unit = add_name(pprof, file->period_type.unit);
	if (types_set(pprof->profile, list, (uint32_t)file->types_len, (uint32_t)pprof->type))
		return full();
	types_name(pprof->profile, (uint32_t)pprof->type);
	return 0;
}

/* ---- All of it ---- */

static uint32_t add_remarks(struct pprof *pprof)
{
	buf_clear(&pprof->text);
	for (size_t i = 0; i < pprof->file.comments_len && pprof->text.len < PROFILE_REMARKS_MAX; i++) {
		struct span comment = string_at(pprof, pprof->file.comments[i]);

		if (pprof->text.len)
			buf_adds(&pprof->text, "\n");
		buf_add(&pprof->text, comment.data, comment.len);
	}
	if (pprof->text.len > PROFILE_REMARKS_MAX)
		pprof->text.len = PROFILE_REMARKS_MAX;
	return pprof->text.len ? profile_bytes(pprof->profile, pprof->text.data, pprof->text.len) : 0;
}

static void set_meta(struct pprof *pprof)
{
	struct profile_meta *meta = profile_meta(pprof->profile);
	const struct pprof_type *type = &pprof->file.types[pprof->type];
	bool samples = is_type(pprof, pprof->type, "samples", "count");

	meta->wall_ns = pprof->file.time_ns <= INT64_MAX ? pprof->file.time_ns : 0;
	meta->duration_ns = pprof->file.duration_ns <= INT64_MAX ? pprof->file.duration_ns : 0;
	meta->period = pprof->file.period <= INT64_MAX ? pprof->file.period : 0;
	meta->drop_frames = add_string(pprof, pprof->file.drop_frames);
	meta->keep_frames = add_string(pprof, pprof->file.keep_frames);
	meta->doc_url = add_string(pprof, pprof->file.doc_url);
	meta->remarks = add_remarks(pprof);
	if (profile_types(pprof->profile)->len)
		return;
	if (samples) {
		meta->unit = profile_string(pprof->profile, "samples");
		meta->event = add_string(pprof, pprof->file.period_type.type);
	} else {
		meta->unit = add_string(pprof, type->unit);
		meta->event = add_string(pprof, type->type);
	}
}

/* The first mapping is that of the program. Its file comes first, so that what is written of it says the same. */
static void add_program(struct pprof *pprof)
{
	struct pprof_mapping *mapping = pprof->file.mappings;
	uint32_t kind = pprof->file.mappings_len ? stack_kind_at(string_at(pprof, mapping->path), mapping->start)
						 : FRAME_KERNEL;

	if (kind == FRAME_USER)
		add_file(pprof, mapping, kind);
}

static int read_samples(struct pprof *pprof)
{
	struct cursor in = cursor_of(pprof->data, pprof->file.end);
	struct proto_field field;
	uint64_t left_out = 0;
	int err = 0;

	while (!err && proto_next(&in, &field) > 0) {
		if (field.number != 2 || field.wire != 2)
			continue;
		pprof->number++;
		err = read_sample(pprof, field.bytes);
		if (err == -EINVAL && pprof->request->salvage) {
			left_out++;
			err = 0;
		}
	}
	if (!err && left_out)
		err = in_salvage(pprof->request, -EINVAL, pprof->count);
	return err;
}

static int read_file(struct pprof *pprof, size_t len)
{
	int err = pprof_parse(&pprof->file, pprof->data, len), damage;

	damage = err == -EINVAL && pprof->request->salvage ? err : 0;
	if (err && !damage)
		return err;
	err = choose_type(pprof);
	err = err ? err : keep_types(pprof);
	if (!err)
		add_program(pprof);
	err = err ? err : read_samples(pprof);
	if (!err && damage && !pprof->request->salvaged) {
		fail_plain(damage, "byte %zu: cut off or damaged there", pprof->file.end);
		err = in_salvage(pprof->request, damage, pprof->count);
	}
	if (err)
		return err;
	set_meta(pprof);
	return profile_add_counter(pprof->profile, "total", "counted", pprof->sum) ? full() : 0;
}

int in_pprof(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct pprof pprof = { .request = request, .data = data };
	int err = profile_new(&pprof.profile);

	err = err ? err : stack_init(&pprof.stack);
	err = err ? full() : read_file(&pprof, len);
	pprof_file_free(&pprof.file);
	stack_free(&pprof.stack);
	buf_free(&pprof.text);
	free(pprof.frames);
	if (err)
		profile_free(pprof.profile);
	else
		*ret = pprof.profile;
	return err;
}

/* Text has none of these. */
static bool has_control(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)data[i] < '\t')
			return true;
	return false;
}

/* The format has no mark. Its fields have: known numbers, each of one kind, as far as they can be seen. */
bool in_is_pprof(const char *data, size_t len)
{
	static const unsigned char kinds[] = { 0xff, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0 };
	struct cursor in = cursor_of(data, len);
	struct proto_field field = { 0 };

	for (int i = 0; i < 64; i++) {
		int more = proto_next(&in, &field);

		if (more == 0)
			break;
		if (field.number >= sizeof(kinds) || (field.wire != kinds[field.number] && field.number != 13))
			return false;
		if (more < 0) /* the last one may go on behind what is seen */
			return i > 0 && has_control(data, len);
	}
	return has_control(data, len);
}
