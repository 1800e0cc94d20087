/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwind table of a file, as it is built in the worker and carried to where it is used: rules, each once, and rows
 * in pages of 64 KiB of the file. Offsets are those in the file, which is what frames carry.
 */
#ifndef WICK_UNWIND_ROWS_H
#define WICK_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct cfi;
struct image;
struct wire_rule;

#define ROWS_BYTES_MAX (48u << 20)          /* of a table, as carried */
#define ROWS_OFFSET_END ((uint64_t)1 << 32) /* of the file: rows at this offset and beyond are left out */
#define ROWS_RULES_MAX 4096                 /* of a table: three times those of the largest libraries there are */

/*
 * Appends the table of an image. -ENODATA: nothing is said about code that it has. -EFBIG: too much is said, or it is
 * said of code that is so far apart that the table would have hardly a row in each page.
 */
int rows_build(const struct image *image, const struct cfi *cfi, struct buf *out);

/* Reading one, which is not trusted. First the rules, then the pages, in order. */
struct rows_reader {
	const unsigned char *at, *end;
	uint32_t rules, pages; /* how many there are */
	uint64_t rows;
	uint32_t first_page, last_page;
};

struct rows_page {
	uint32_t number;
	uint32_t count;
	const uint16_t *offsets; /* unaligned: copy */
	const uint16_t *rules;
};

int rows_open(struct rows_reader *ret, const void *data, size_t len);
int rows_next_rule(struct rows_reader *reader, struct wire_rule *ret);
int rows_next_page(struct rows_reader *reader, struct rows_page *ret);

#endif
