/* SPDX-License-Identifier: Apache-2.0 */
/* What the call frame information of Go's compiler does not say. */
#ifndef WICK_UNWIND_GO_H
#define WICK_UNWIND_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct wire_rule;

struct go_range {
	uint64_t start, end;
	bool root; /* nothing calls it; else: it goes on on another stack */
};

#define GO_RANGES 16

struct go {
	bool is; /* the file was made by Go */
	struct go_range ranges[GO_RANGES];
	size_t len;
};

void go_open(struct go *ret, const struct image *image);

/* The rule of a row, as it should be. */
void go_adjust(const struct go *go, uint64_t address, struct wire_rule *rule);

/* Where, in a row that begins at an address, another rule begins; 0 if it does not. */
uint64_t go_splits(const struct go *go, uint64_t address);

#endif
