/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's protocol buffer as tables: messages are taken apart, nothing is looked up yet. Numbers of strings and ids are
 * as the file has them, not checked.
 */
#ifndef WICK_IN_PPROF_PROTO_H
#define WICK_IN_PPROF_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/span.h"
#include "profile/types.h"

/* A field of a message. */
struct proto_field {
	uint32_t number;
	uint32_t wire; /* 0: a number in value; 2: bytes; 1, 5: passed over */
	uint64_t value;
	struct span bytes;
};

/* The next field: 1, 0 at the end, -EINVAL if the bytes are none. */
int proto_next(struct cursor *in, struct proto_field *ret);
/* The next number of a repeated field, packed or not: `in` is over its bytes. */
bool proto_number(struct cursor *in, uint64_t *ret);
struct cursor proto_numbers(const struct proto_field *field, unsigned char scratch[10]);

struct pprof_type {
	uint64_t type, unit; /* strings */
};

struct pprof_mapping {
	uint64_t start, limit, offset, path, build_id;
	uint32_t file; /* for the reader to use */
	bool known;
};

struct pprof_line {
	uint64_t function, line, column;
};

struct pprof_location {
	uint64_t mapping, address;
	uint32_t first_line, lines;
	uint32_t first_frame, frames; /* for the reader to use */
};

struct pprof_function {
	uint64_t name, system_name, file, start_line;
};

struct pprof_file {
	struct span *strings;
	struct pprof_mapping *mappings;
	struct pprof_location *locations;
	struct pprof_function *functions;
	struct pprof_line *lines;
	size_t strings_len, mappings_len, locations_len, functions_len, lines_len;
	struct map mapping_ids, location_ids, function_ids; /* id → index + 1 */
	struct pprof_type types[TYPES_MAX], period_type;
	size_t types_len;
	uint64_t default_type, period, time_ns, duration_ns;
	uint64_t drop_frames, keep_frames, doc_url; /* strings */
	uint64_t *comments;                         /* the same */
	size_t comments_len;
	size_t samples;
	size_t end; /* up to this byte it could be read */
};

/* 0, -ENOMEM, or -EINVAL with fail() set, after which what stands before `end` is there. */
int pprof_parse(struct pprof_file *file, const void *data, size_t len);
void pprof_file_free(struct pprof_file *file);

#endif
