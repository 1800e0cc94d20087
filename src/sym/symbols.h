/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in one ELF file. Everything here reads what targets wrote: it runs in the worker, is bounded, and gives no
 * name rather than a wrong one: an address outside every symbol's size is never given the name of the symbol before it.
 *
 * Order of trust: .symtab of the file or of its debug file, .gnu_debugdata, .gopclntab, .dynsym; then the bounds of
 * the function in .eh_frame, which name a stripped function file@0xstart; then _start, known from the entry point.
 */
#ifndef WICK_SYM_SYMBOLS_H
#define WICK_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_BUILD_ID_MAX 64
#define SYMBOLS_INLINE_MAX 64 /* functions inlined into each other at one address */

enum symbols_demangle {
	DEMANGLE_SHORT = 0, /* without parameters and return type; templates kept, Rust's hash dropped */
	DEMANGLE_FULL,
	DEMANGLE_NO,
};

struct symbols_options {
	const char *file; /* name to show for functions without one, as in cc1@0x5d2a10 */
	enum symbols_demangle demangle;
	bool inlines; /* inlined functions, from DWARF if the file has it */
	bool lines;   /* source lines */
};

struct symbols;

/* Reads the file; the descriptor stays the caller's. -ENOEXEC: not an ELF file that can be read. */
int symbols_open(struct symbols **ret, int fd, const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/* What a split debug file of it would be known by; lengths 0 and an empty link if nothing is known or needed. */
struct symbols_debug {
	unsigned char build_id[SYMBOLS_BUILD_ID_MAX];
	size_t build_id_len;
	char link[256]; /* .gnu_debuglink: a file name without slashes */
	uint32_t link_crc;
	bool wanted; /* the file alone does not have all names, or not the DWARF that was asked for */
	/* .gnu_debugaltlink (dwz): what is wanted for lines and inlined functions beside it; length 0 if nothing is. */
	unsigned char alt_id[SYMBOLS_BUILD_ID_MAX];
	size_t alt_id_len;
	char alt_link[256];
};
void symbols_debug(const struct symbols *symbols, struct symbols_debug *ret);

/* Adds a debug file. -ESTALE if it does not belong to the file (build id, or checksum if it has none). */
int symbols_add_debug(struct symbols *symbols, int fd);

struct symbol_name {
	const char *name; /* valid until the next symbols_find or symbols_free; ended by NUL */
	size_t len;
	uint64_t start;     /* of the function, as an offset in the file; 0 where not known */
	const char *source; /* NULL unless lines were asked for and are known */
	uint32_t line;
	bool inlined; /* into the next one of the list */
};

/*
 * The functions at an offset in the file, innermost first, the last one not inlined. How many, at most `max`; 0 if the
 * address has no name. The offset is of the instruction itself or inside the call.
 */
size_t symbols_find(struct symbols *symbols, uint64_t offset, struct symbol_name *list, size_t max);

/*
 * Why names are missing, for the quality report: "stripped", "bad_elf", "too_big", …; NULL if all is well. What comes
 * of DWARF ("dwarf_budget", "bad_dwarf") is known when symbols_find has met it.
 */
const char *symbols_reason(struct symbols *symbols);

/* Gives back the pages of the mapped files: they are read again when something is asked again. */
void symbols_rest(struct symbols *symbols);

size_t symbols_memory(const struct symbols *symbols);

#endif
