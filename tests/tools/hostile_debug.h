/* SPDX-License-Identifier: Apache-2.0 */
/* The part of tests/tools/hostilelf.c that writes DWARF, perf maps and jitdump files, as few would write them. */
#ifndef WICK_TESTS_TOOLS_HOSTILE_DEBUG_H
#define WICK_TESTS_TOOLS_HOSTILE_DEBUG_H

#include "../unit/elf_file.h"

static inline void put_u16(struct buf *out, unsigned int value)
{
	buf_addc(out, (char)value);
	buf_addc(out, (char)(value >> 8));
}

static inline void put_fill(struct buf *out, int byte, size_t len)
{
	char *space = buf_space(out, len);

	if (space)
		memset(space, byte, len);
}

static inline void patch_u32(struct buf *out, size_t at, size_t value)
{
	uint32_t narrow = (uint32_t)value;

	memcpy(out->data + at, &narrow, sizeof(narrow));
}

/* ---- DWARF 4. Abbreviations: 1 compile_unit, 2 subprogram, 3 inlined_subroutine ---- */

#define AT_LOW 0x11
#define AT_HIGH 0x12
#define AT_LINES 0x10
#define AT_EXTERNAL 0x3f
#define AT_RANGES 0x55
#define FORM_ADDRESS 0x01
#define FORM_U8 0x07
#define FORM_OFFSET 0x17
#define FORM_PRESENT 0x19

static inline size_t unit_begin(struct buf *info)
{
	size_t at = info->len;

	buf_u32(info, 0);
	put_u16(info, 4);
	buf_u32(info, 0); /* abbreviations */
	buf_addc(info, 8);
	return at;
}

static inline void unit_end(struct buf *info, size_t at)
{
	patch_u32(info, at, info->len - at - 4);
}

static inline void put_range(struct buf *out, uint64_t start, uint64_t len)
{
	buf_u64(out, start);
	buf_u64(out, len);
}

/* A unit with one function, both of which are all of the code; what is in the function follows. */
static inline size_t unit_of_all(struct buf *info, struct buf *abbreviations, uint64_t start, uint64_t len)
{
	static const char list[] = { 1, 0x11, 1, AT_LINES, FORM_OFFSET, AT_LOW,    FORM_ADDRESS, AT_HIGH, FORM_U8,
				     0, 0,    2, 0x2e,     1,           AT_LOW,    FORM_ADDRESS, AT_HIGH, FORM_U8,
				     0, 0,    3, 0x1d,     0,           AT_RANGES, FORM_OFFSET,  0,       0 };
	size_t at = unit_begin(info);

	buf_add(abbreviations, list, sizeof(list));
	buf_addc(info, 1);
	buf_u32(info, 0); /* lines */
	put_range(info, start, len);
	buf_addc(info, 2);
	put_range(info, start, len);
	return at;
}

/* As many units as can be, each of a byte. */
static inline void dwarf_units(struct buf *info, struct buf *abbreviations, size_t size)
{
	static const char list[] = { 1, 0x11, 0, 0, 0, 0 };

	buf_add(abbreviations, list, sizeof(list));
	while (info->len < size) {
		size_t at = unit_begin(info);

		buf_addc(info, 1);
		unit_end(info, at);
	}
}

/* Functions of a byte, each with as many attributes as can be. */
static inline void dwarf_attributes(struct buf *info, struct buf *abbreviations, uint64_t start, size_t size)
{
	size_t at = unit_of_all(info, abbreviations, start, size);

	put_fill(info, 4, size / 2);
	put_u16(info, 0);
	unit_end(info, at);
	buf_add(abbreviations, "\4\x2e\0", 3);
	while (abbreviations->len < size / 2) {
		buf_addc(abbreviations, AT_EXTERNAL);
		buf_addc(abbreviations, FORM_PRESENT);
	}
	put_fill(abbreviations, 0, 3);
}

/* Inlined functions that all have the same ranges, and those are many. */
static inline void dwarf_ranges_of_all(struct buf *info, struct buf *abbreviations, struct buf *ranges, uint64_t start,
				       size_t size)
{
	size_t at = unit_of_all(info, abbreviations, start, size);

	for (size_t i = 0; i < size / 2 / 5; i++) {
		buf_addc(info, 3);
		buf_u32(info, 0);
	}
	put_u16(info, 0);
	unit_end(info, at);
	for (uint64_t i = 0; ranges->len < size / 2; i += 2)
		put_range(ranges, i + 1, 1); /* below all code: from, and to */
	put_range(ranges, 0, 0);
}

/* A table of lines: directories and files as they are given, and a program. */
static inline void put_lines(struct buf *lines, const struct buf *directories, const struct buf *files, size_t rows)
{
	static const char lengths[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

	buf_u32(lines, 0);
	put_u16(lines, 4);
	buf_u32(lines, 0);
	buf_add(lines, "\1\1\1\xfb\x0e\x0d", 6);
	buf_add(lines, lengths, sizeof(lengths));
	buf_add(lines, directories->data, directories->len);
	buf_addc(lines, 0);
	buf_add(lines, files->data, files->len);
	buf_addc(lines, 0);
	patch_u32(lines, 6, lines->len - 10);
	buf_add(lines, "\0\x09\2", 3); /* the address */
	buf_u64(lines, ELF_FILE_BASE);
	put_fill(lines, 0x20, rows); /* a row and a line further, each */
	buf_add(lines, "\0\1\1", 3);
	patch_u32(lines, 0, lines->len - 4);
}

/* The path of each file is put together from a long directory: hundreds of times the size of the table. */
static inline void dwarf_directories(struct buf *lines, size_t size)
{
	autobuf struct buf directories = { 0 }, files = { 0 };

	put_fill(&directories, 'd', 256);
	buf_addc(&directories, 0);
	while (files.len < size)
		buf_add(&files, "f\0\1\0\0", 5);
	put_lines(lines, &directories, &files, 16);
}

static inline void dwarf_rows(struct buf *lines, size_t size)
{
	autobuf struct buf directories = { 0 }, files = { 0 };

	buf_add(&files, "f\0\0\0\0", 5);
	put_lines(lines, &directories, &files, size);
}

/* ---- maps of JIT code ---- */

static inline void map_good(struct buf *out, size_t size)
{
	for (uint64_t at = 0; out->len < size; at += 0x40)
		buf_addf(out, "%llx 40 LazyCompile:*function%llu node:internal/file:%llu\n", (unsigned long long)at,
			 (unsigned long long)at, (unsigned long long)at % 977);
}

/* Each inside the one before it, up to the middle; then out again. */
static inline void map_nested(struct buf *out, size_t size)
{
	for (uint64_t i = 0; out->len < size; i++)
		buf_addf(out, "%llx %llx n%llu\n", (unsigned long long)i * 16, (unsigned long long)(size - i) * 32,
			 (unsigned long long)i);
}

static inline void map_long_lines(struct buf *out, size_t size)
{
	while (out->len < size) {
		buf_addf(out, "%zx 40 ", out->len);
		put_fill(out, 'x', 33000);
		buf_addc(out, '\n');
	}
}

/* ---- jitdump ---- */

static inline void dump_begin(struct buf *out)
{
	buf_u32(out, 0x4A695444);
	buf_u32(out, 1);
	buf_u32(out, 40);
	put_fill(out, 0, 28);
}

static inline void dump_load(struct buf *out, uint64_t address, uint64_t number, uint32_t more)
{
	buf_u32(out, 0);
	buf_u32(out, 16 + 40 + 2 + more);
	buf_u64(out, 0);
	buf_u64(out, 0);
	buf_u64(out, address);
	buf_u64(out, address);
	buf_u64(out, 16);
	buf_u64(out, number);
	buf_add(out, "f", 2);
}

static inline void dump_good(struct buf *out, size_t size)
{
	dump_begin(out);
	for (uint64_t i = 0; out->len < size; i++)
		dump_load(out, i * 16, i, 0);
}

static inline uint64_t unshift(uint64_t value, unsigned int by)
{
	uint64_t all = value;

	for (unsigned int done = by; done < 64; done += by)
		all = value ^ all >> by;
	return all;
}

/* What base/map.c makes a number without low bits of: they would all have the same place in a table. */
static inline uint64_t colliding(uint64_t i)
{
	uint64_t key = unshift(i << 32, 31) * 0x319642b2d24d8ec3ULL;

	return unshift(unshift(key, 27) * 0x96de1b173f119089ULL, 30);
}

static inline void dump_colliding(struct buf *out, size_t size)
{
	dump_begin(out);
	for (uint64_t i = 0; out->len < size; i++)
		dump_load(out, i * 16, colliding(i), 0);
}

#endif
