/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes pprof's protocol buffer apart. In: bytes from anybody. Out: its tables; of the samples only how many there are,
 * because they can be understood only when everything else is known. Memory is bounded by the length of the file: every
 * element that is kept has bytes of its own in it, and tables have a limit besides.
 */
#include "in/pprof_proto.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"

#define TABLE_MAX (16u << 20) /* elements of one table */

enum { WIRE_NUMBER = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

int proto_next(struct cursor *in, struct proto_field *ret)
{
	uint64_t key, len;

	if (!cursor_left(in))
		return 0;
	key = cursor_varint(in);
	*ret = (struct proto_field){ .number = (uint32_t)(key >> 3), .wire = key & 7 };
	if (!ret->number || key > UINT32_MAX)
		in->bad = 1;
	switch (ret->wire) {
	case WIRE_NUMBER:
		ret->value = cursor_varint(in);
		break;
	case WIRE_64:
		ret->value = cursor_u64(in);
		break;
	case WIRE_32:
		ret->value = cursor_u32(in);
		break;
	case WIRE_BYTES:
		len = cursor_varint(in);
		if (len > cursor_left(in))
			in->bad = 1;
		else
			ret->bytes = (struct span){ cursor_bytes(in, (size_t)len), (size_t)len };
		break;
	default:
		in->bad = 1;
	}
	return in->bad ? -EINVAL : 1;
}

struct cursor proto_numbers(const struct proto_field *field, unsigned char scratch[10])
{
	uint64_t value = field->value;
	size_t len = 0;

	if (field->wire == WIRE_BYTES)
		return cursor_of(field->bytes.data, field->bytes.len);
	do {
		scratch[len++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	return cursor_of(scratch, len);
}

bool proto_number(struct cursor *in, uint64_t *ret)
{
	if (!cursor_left(in) || in->bad)
		return false;
	*ret = cursor_varint(in);
	return !in->bad;
}

/* Room for one more element; the table doubles at powers of two. */
static void *grow(void *table, size_t len, size_t size)
{
	if (len && (len & (len - 1)))
		return table;
	if (len >= TABLE_MAX)
		return NULL;
	return reallocarray(table, len ? len * 2 : 1, size);
}

#define ADD(file, table)                                                                        \
	({                                                                                      \
		void *grown = grow((file)->table, (file)->table##_len, sizeof(*(file)->table)); \
		if (grown) {                                                                    \
			(file)->table = grown;                                                  \
			memset(&(file)->table[(file)->table##_len], 0, sizeof(*(file)->table)); \
		}                                                                               \
		grown ? &(file)->table[(file)->table##_len++] : NULL;                           \
	})

/* Ids may be any numbers but 0, each once. */
static int add_id(struct map *ids, uint64_t id, size_t len)
{
	uint64_t *slot;

	if (!id)
		return -EINVAL;
	slot = map_put(ids, id);
	if (!slot)
		return -ENOMEM;
	if (*slot)
		return -EINVAL;
	*slot = len;
	return 0;
}

static int read_type(struct span bytes, struct pprof_type *ret)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct proto_field field;
	int more;

	*ret = (struct pprof_type){ 0 };
	while ((more = proto_next(&in, &field)) > 0) {
		if (field.number == 1)
			ret->type = field.value;
		else if (field.number == 2)
			ret->unit = field.value;
	}
	return more;
}

static int add_type(struct pprof_file *file, struct span bytes)
{
	if (file->types_len == TYPES_MAX)
		return -EINVAL;
	return read_type(bytes, &file->types[file->types_len++]);
}

static int add_mapping(struct pprof_file *file, struct span bytes)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct pprof_mapping *mapping = ADD(file, mappings);
	struct proto_field field;
	uint64_t id = 0;
	int more;

	if (!mapping)
		return -ENOMEM;
	while ((more = proto_next(&in, &field)) > 0) {
		uint64_t *const fields[] = { NULL,
					     &id,
					     &mapping->start,
					     &mapping->limit,
					     &mapping->offset,
					     &mapping->path,
					     &mapping->build_id };

		if (field.number < sizeof(fields) / sizeof(*fields))
			*fields[field.number] = field.value;
	}
	return more < 0 ? more : add_id(&file->mapping_ids, id, file->mappings_len);
}

static int add_line(struct pprof_file *file, struct span bytes)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct pprof_line *line = ADD(file, lines);
	struct proto_field field;
	int more;

	if (!line)
		return -ENOMEM;
	while ((more = proto_next(&in, &field)) > 0) {
		if (field.number == 1)
			line->function = field.value;
		else if (field.number == 2)
			line->line = field.value;
		else if (field.number == 3)
			line->column = field.value;
	}
	return more;
}

static int add_location(struct pprof_file *file, struct span bytes)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct pprof_location *location = ADD(file, locations);
	struct proto_field field;
	uint64_t id = 0;
	int more, err = 0;

	if (!location)
		return -ENOMEM;
	location->first_line = (uint32_t)file->lines_len;
	while (!err && (more = proto_next(&in, &field)) != 0) {
		err = more < 0 ? more : 0;
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			location->mapping = field.value;
		else if (field.number == 3)
			location->address = field.value;
		else if (field.number == 4 && !err)
			err = add_line(file, field.bytes);
	}
	location->lines = (uint32_t)file->lines_len - location->first_line;
	return err ? err : add_id(&file->location_ids, id, file->locations_len);
}

static int add_function(struct pprof_file *file, struct span bytes)
{
	struct cursor in = cursor_of(bytes.data, bytes.len);
	struct pprof_function *function = ADD(file, functions);
	struct proto_field field;
	uint64_t id = 0;
	int more;

	if (!function)
		return -ENOMEM;
	while ((more = proto_next(&in, &field)) > 0) {
		uint64_t *const fields[] = {
			NULL, &id, &function->name, &function->system_name, &function->file, &function->start_line
		};

		if (field.number < sizeof(fields) / sizeof(*fields))
			*fields[field.number] = field.value;
	}
	return more < 0 ? more : add_id(&file->function_ids, id, file->functions_len);
}

static int add_string(struct pprof_file *file, struct span bytes)
{
	struct span *string = ADD(file, strings);

	if (!string)
		return -ENOMEM;
	*string = bytes;
	return 0;
}

static int add_comments(struct pprof_file *file, const struct proto_field *field)
{
	unsigned char scratch[10];
	struct cursor in = proto_numbers(field, scratch);
	uint64_t number;

	while (proto_number(&in, &number)) {
		uint64_t *comment = ADD(file, comments);

		if (!comment)
			return -ENOMEM;
		*comment = number;
	}
	return 0;
}

static int add_number(struct pprof_file *file, const struct proto_field *field)
{
	switch (field->number) {
	case 7:
		file->drop_frames = field->value;
		break;
	case 8:
		file->keep_frames = field->value;
		break;
	case 9:
		file->time_ns = field->value;
		break;
	case 10:
		file->duration_ns = field->value;
		break;
	case 12:
		file->period = field->value;
		break;
	case 14:
		file->default_type = field->value;
		break;
	case 15:
		file->doc_url = field->value;
		break;
	default:
		break;
	}
	return 0;
}

static int add_field(struct pprof_file *file, const struct proto_field *field)
{
	if (field->number == 13)
		return add_comments(file, field);
	if (field->wire != WIRE_BYTES)
		return add_number(file, field);
	switch (field->number) {
	case 1:
		return add_type(file, field->bytes);
	case 2:
		file->samples++;
		return 0;
	case 3:
		return add_mapping(file, field->bytes);
	case 4:
		return add_location(file, field->bytes);
	case 5:
		return add_function(file, field->bytes);
	case 6:
		return add_string(file, field->bytes);
	case 11:
		return read_type(field->bytes, &file->period_type);
	default:
		return 0;
	}
}

int pprof_parse(struct pprof_file *file, const void *data, size_t len)
{
	static const char *const names[] = { "a field",    "a sample type", "a sample", "a mapping",
					     "a location", "a function",    "a string" };
	struct cursor in = cursor_of(data, len);
	struct proto_field field = { 0 };
	int err = 0, more;

	while (!err) {
		file->end = len - cursor_left(&in);
		more = proto_next(&in, &field);
		if (more == 0)
			return 0;
		err = more < 0 ? more : add_field(file, &field);
	}
	if (err == -ENOMEM)
		return fail(err, "reading a profile");
	return fail_plain(-EINVAL, "byte %zu: %s of a pprof profile was expected", file->end,
			  names[field.number < sizeof(names) / sizeof(*names) ? field.number : 0]);
}

void pprof_file_free(struct pprof_file *file)
{
	free(file->strings);
	free(file->mappings);
	free(file->locations);
	free(file->functions);
	free(file->lines);
	free(file->comments);
	map_free(&file->mapping_ids);
	map_free(&file->location_ids);
	map_free(&file->function_ids);
}
