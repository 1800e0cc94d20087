/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a Firefox profile: columns of numbers, -1 for null. Profiles of all ages and both kinds, as the browser
 * writes them (schema and rows) and as its profiler saves them (columns), come down to these.
 */
#ifndef WICK_IN_FIREFOX_TABLES_H
#define WICK_IN_FIREFOX_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_read.h"

struct profile;

/* Fractions, as of times, are kept in thousandths. */
struct firefox_column {
	int64_t *values;
	size_t len;
};

/* Strings of the profile. */
struct firefox_strings {
	uint32_t *numbers;
	size_t len, cap;
};

struct firefox_tables {
	struct firefox_strings strings;
	struct firefox_column stack_frame, stack_prefix, stack_offset;
	struct firefox_column frame_function, frame_category, frame_depth, frame_location, frame_line, frame_column;
	struct firefox_column function_name, function_resource, function_file, function_source, function_line;
	struct firefox_column resource_name, source_file;
};

enum firefox_unit { FIREFOX_SAMPLES, FIREFOX_BYTES, FIREFOX_MS };

struct firefox_samples {
	struct firefox_column stack, time, delta, weight; /* of FIREFOX_MS in nanoseconds */
	enum firefox_unit unit;
};

/* Each reads the value that comes next; what is wrong is in json->bad. */
void firefox_column_read(struct json_in *json, struct firefox_column *ret, unsigned scale);
void firefox_strings_read(struct json_in *json, struct profile *profile, struct firefox_strings *ret);
/* Whether `key` names one of the tables; then it was read. */
bool firefox_tables_read(struct json_in *json, struct profile *profile, struct span key, struct firefox_tables *ret);
void firefox_samples_read(struct json_in *json, struct firefox_samples *ret);

void firefox_tables_free(struct firefox_tables *tables);
void firefox_samples_free(struct firefox_samples *samples);

/* The value in a row, -1 for none. */
static inline int64_t firefox_at(const struct firefox_column *column, int64_t row)
{
	return row >= 0 && (size_t)row < column->len ? column->values[row] : -1;
}

#endif
