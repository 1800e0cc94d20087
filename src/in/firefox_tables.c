/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of Firefox profiles. In: JSON from anybody, the parser standing before a table. Out: arrays of numbers; that
 * they point to something is for the reader to see. A table is an object of columns, or of a schema (the place of each
 * column in a row) and rows.
 */
#include "in/firefox_tables.h"

#include <stdlib.h>

#include "profile/profile.h"

#define NS_PER_MS 1000000u
#define ROWS_MAX (64u << 20)
#define NUMBER_MAX 9007199254740992.0

#define COLUMNS_MAX 16

/* A column that is wanted of a table. */
struct wanted {
	const char *name;
	struct firefox_column *column;
	unsigned scale;
};

static bool push(struct json_in *json, struct firefox_column *column, int64_t value)
{
	size_t len = column->len;

	if (!(len & (len - 1))) {
		int64_t *grown =
			len < ROWS_MAX ? reallocarray(column->values, len ? len * 2 : 1, sizeof(*grown)) : NULL;

		if (!grown) {
			json_in_fail(json, "fewer rows were expected");
			return false;
		}
		column->values = grown;
	}
	column->values[column->len++] = value;
	return true;
}

/* A number, scaled; anything else is none. */
static int64_t take_value(struct json_in *json, unsigned scale)
{
	double value;

	if (json_in_peek(json) != '0') {
		json_in_skip(json);
		return -1;
	}
	value = json_in_double(json) * scale;
	if (!(value > -NUMBER_MAX && value < NUMBER_MAX)) {
		json_in_fail(json, "a smaller number was expected");
		return -1;
	}
	return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

void firefox_column_read(struct json_in *json, struct firefox_column *ret, unsigned scale)
{
	ret->len = 0;
	if (json_in_peek(json) != '[') {
		json_in_skip(json);
		return;
	}
	for (json_in_begin(json, '['); json_in_element(json);)
		push(json, ret, take_value(json, scale));
}

void firefox_strings_read(struct json_in *json, struct profile *profile, struct firefox_strings *ret)
{
	ret->len = 0;
	for (json_in_begin(json, '['); json_in_element(json);) {
		struct span text = json_in_text(json);

		if (ret->len == ret->cap) {
			size_t cap = ret->cap ? ret->cap * 2 : 256;
			uint32_t *grown = cap <= ROWS_MAX ? reallocarray(ret->numbers, cap, sizeof(*grown)) : NULL;

			if (!grown) {
				json_in_fail(json, "fewer strings were expected");
				return;
			}
			ret->numbers = grown;
			ret->cap = cap;
		}
		ret->numbers[ret->len++] = profile_bytes(profile, text.data, text.len);
	}
}

static const struct wanted *find(const struct wanted *wanted, struct span key)
{
	for (; wanted->name; wanted++)
		if (span_is(key, wanted->name))
			return wanted;
	return NULL;
}

/* {"frame": 1, "prefix": 0}: which place of a row is which column. */
static void read_schema(struct json_in *json, const struct wanted *wanted, const struct wanted **places)
{
	struct span key;

	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		const struct wanted *column = find(wanted, key);
		uint64_t place = json_in_u64(json);

		if (!json->bad && place < COLUMNS_MAX)
			places[place] = column;
	}
}

/* Rows may be shorter than the schema: what is missing is none. */
static void read_rows(struct json_in *json, const struct wanted *const *places)
{
	size_t rows = 0;

	for (json_in_begin(json, '['); json_in_element(json); rows++) {
		size_t place = 0;

		for (json_in_begin(json, '['); json_in_element(json); place++) {
			const struct wanted *column = place < COLUMNS_MAX ? places[place] : NULL;

			if (column)
				push(json, column->column, take_value(json, column->scale));
			else
				json_in_skip(json);
		}
		for (; place < COLUMNS_MAX && !json->bad; place++)
			if (places[place])
				push(json, places[place]->column, -1);
	}
}

static enum firefox_unit unit_of(struct span type)
{
	return span_is(type, "bytes") ? FIREFOX_BYTES : span_is(type, "tracing-ms") ? FIREFOX_MS : FIREFOX_SAMPLES;
}

/* `ret_unit`, where it is asked for: what weights are in. */
static void read_table(struct json_in *json, const struct wanted *wanted, enum firefox_unit *ret_unit)
{
	const struct wanted *places[COLUMNS_MAX] = { 0 };
	struct span key;

	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		const struct wanted *column = find(wanted, key);

		if (column)
			firefox_column_read(json, column->column, column->scale);
		else if (span_is(key, "schema"))
			read_schema(json, wanted, places);
		else if (span_is(key, "data"))
			read_rows(json, places);
		else if (ret_unit && span_is(key, "weightType") && json_in_peek(json) == '"')
			*ret_unit = unit_of(json_in_text(json));
		else
			json_in_skip(json);
	}
}

bool firefox_tables_read(struct json_in *json, struct profile *profile, struct span key, struct firefox_tables *ret)
{
	const struct wanted stacks[] = { { "frame", &ret->stack_frame, 1 },
					 { "prefix", &ret->stack_prefix, 1 },
					 { "prefixOffset", &ret->stack_offset, 1 },
					 { 0 } };
	const struct wanted frames[] = { { "func", &ret->frame_function, 1 },
					 { "category", &ret->frame_category, 1 },
					 { "inlineDepth", &ret->frame_depth, 1 },
					 { "location", &ret->frame_location, 1 },
					 { "line", &ret->frame_line, 1 },
					 { "column", &ret->frame_column, 1 },
					 { 0 } };
	const struct wanted functions[] = {
		{ "name", &ret->function_name, 1 },       { "resource", &ret->function_resource, 1 },
		{ "fileName", &ret->function_file, 1 },   { "source", &ret->function_source, 1 },
		{ "lineNumber", &ret->function_line, 1 }, { 0 }
	};
	const struct wanted resources[] = { { "name", &ret->resource_name, 1 }, { 0 } };
	const struct wanted sources[] = { { "filename", &ret->source_file, 1 }, { 0 } };

	if (span_is(key, "stackTable"))
		read_table(json, stacks, NULL);
	else if (span_is(key, "frameTable"))
		read_table(json, frames, NULL);
	else if (span_is(key, "funcTable"))
		read_table(json, functions, NULL);
	else if (span_is(key, "resourceTable"))
		read_table(json, resources, NULL);
	else if (span_is(key, "sources") && json_in_peek(json) == '{')
		read_table(json, sources, NULL);
	else if (span_is(key, "stringArray") || span_is(key, "stringTable"))
		firefox_strings_read(json, profile, &ret->strings);
	else
		return false;
	return true;
}

static void read_samples(struct json_in *json, struct firefox_samples *ret, unsigned weight_scale)
{
	const struct wanted wanted[] = { { "stack", &ret->stack, 1 },
					 { "time", &ret->time, 1000 },
					 { "timeDeltas", &ret->delta, 1000 },
					 { "weight", &ret->weight, weight_scale },
					 { 0 } };

	read_table(json, wanted, &ret->unit);
}

/* That weights are times is known when they are read: then they are read again, so that their fractions are kept. */
void firefox_samples_read(struct json_in *json, struct firefox_samples *ret)
{
	const char *mark = json_in_mark(json);

	read_samples(json, ret, 1);
	if (json->bad || ret->unit != FIREFOX_MS || !ret->weight.len)
		return;
	firefox_samples_free(ret);
	json_in_goto(json, mark);
	read_samples(json, ret, NS_PER_MS);
}

void firefox_tables_free(struct firefox_tables *tables)
{
	free(tables->strings.numbers);
	free(tables->stack_frame.values);
	free(tables->stack_prefix.values);
	free(tables->stack_offset.values);
	free(tables->frame_function.values);
	free(tables->frame_category.values);
	free(tables->frame_depth.values);
	free(tables->frame_location.values);
	free(tables->frame_line.values);
	free(tables->frame_column.values);
	free(tables->function_name.values);
	free(tables->function_resource.values);
	free(tables->function_file.values);
	free(tables->function_source.values);
	free(tables->function_line.values);
	free(tables->resource_name.values);
	free(tables->source_file.values);
	*tables = (struct firefox_tables){ 0 };
}

void firefox_samples_free(struct firefox_samples *samples)
{
	free(samples->stack.values);
	free(samples->time.values);
	free(samples->delta.values);
	free(samples->weight.values);
	*samples = (struct firefox_samples){ 0 };
}
