/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined functions and source lines from DWARF, for those who ask: within a budget of time and memory. */
#ifndef WICK_ELF_DWARF_H
#define WICK_ELF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct debuginfo;

struct debuginfo_frame {
	const char *name;   /* as linkers know it if DWARF says so, else as in the source; NULL if it has none */
	const char *source; /* NULL if not known */
	uint32_t line;      /* 0 if not known */
};

/* -ENODATA if the image has none, -EFBIG if it is larger than allowed. The image must outlive it. */
int debuginfo_open(struct debuginfo **ret, const struct image *image);
void debuginfo_free(struct debuginfo *info);

/* Gives it the file that dwz moved common parts to; that image too must outlive it. */
int debuginfo_add_alt(struct debuginfo *info, const struct image *image);

/*
 * The functions at a virtual address, innermost first, the last one not inlined; how many, at most `max`. If there are
 * more, those nearest to the function itself. Text is valid until debuginfo_free.
 */
size_t debuginfo_find(struct debuginfo *info, uint64_t address, struct debuginfo_frame *list, size_t max);

/* Has the budget run out? From then on nothing more is found. */
bool debuginfo_exhausted(const struct debuginfo *info);
size_t debuginfo_memory(const struct debuginfo *info);

#endif
