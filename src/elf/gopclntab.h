/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own table of functions, which stripping leaves in: names, and what was inlined where. */
#ifndef WICK_ELF_GOPCLNTAB_H
#define WICK_ELF_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct gopclntab;

struct gopclntab_name {
	const char *name; /* in the image: not always ended by NUL */
	size_t len;
	uint64_t start;   /* address of the function */
	const char *file; /* source; NULL if not known */
	size_t file_len;
	uint32_t line; /* 0 if not known */
	bool inlined;  /* into the next one */
};

/* -ENODATA if the file has none. Go 1.2 to 1.26: versions of the header 1.2, 1.16, 1.18, 1.20. */
int gopclntab_open(struct gopclntab **ret, const struct image *image);
void gopclntab_free(struct gopclntab *table);

/* The functions at a virtual address, innermost first. How many, at most max. */
size_t gopclntab_find(const struct gopclntab *table, uint64_t address, struct gopclntab_name *list, size_t max);

/*
 * The next function that has one of these names: begin with *at = 0. An assembly function and its wrapper have one
 * name. False if there is no further one.
 */
struct gopclntab_range {
	uint64_t start, end;
	size_t name; /* its place in the list of names */
};

bool gopclntab_named(const struct gopclntab *table, const char *const *names, size_t names_len, uint64_t *at,
		     struct gopclntab_range *ret);

#endif
