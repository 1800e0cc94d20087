/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted index of a file's symbols: twenty bytes a function, names left where they are. Filled from one or more
 * symbol tables, sealed once, then asked.
 */
#ifndef WICK_SYM_TABLE_H
#define WICK_SYM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct table;

struct table_symbol {
	const char *name; /* in the image, ended by NUL */
	uint64_t start, size;
};

/* `code` is the file whose addresses are asked about: nothing outside its code is taken. */
int table_new(struct table **ret, const struct image *code);
void table_free(struct table *table);

/*
 * Takes the functions from the tables of this kind (SHT_SYMTAB, SHT_DYNSYM) in `from`, which must outlive the table.
 * How many they were; -E2BIG if the table is full: what was taken until then stays.
 */
long table_add(struct table *table, const struct image *from, uint32_t type);
void table_seal(struct table *table);

/* The innermost function whose size covers the address; false if there is none. */
bool table_find(const struct table *table, uint64_t address, struct table_symbol *ret);
/* The best symbol without a size exactly at the address, such as hand-written assembly leaves. */
bool table_find_unsized(const struct table *table, uint64_t address, struct table_symbol *ret);
/* The first symbol's start after the address; UINT64_MAX if there is none. */
uint64_t table_next(const struct table *table, uint64_t address);

size_t table_memory(const struct table *table);

#endif
