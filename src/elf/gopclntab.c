/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table of functions (.gopclntab), which the Go runtime itself needs and which stripping therefore leaves in: from
 * an address to the function, what was inlined there, file and line. Four layouts: 1.2, 1.16, 1.18 and 1.20.
 *
 * From 1.18 on the table holds offsets from the start of the Go code, and inlining trees are offsets from `gofunc`:
 * both are in the runtime's module record, which is found by its pointer to this table and believed only if all else in
 * it agrees. Nothing in the file is trusted: every read goes through a span that knows its end, and every search comes
 * out of the file's budget, for segments and tables may lie one upon the other.
 */
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "elf/image.h"

#define VERSION_2 2
#define VERSION_16 16
#define VERSION_18 18
#define VERSION_20 20

#define HEADER_BYTES 72
#define FUNCTIONS_MAX ((uint64_t)1 << 26)
#define SEGMENTS_MAX 128
#define CANDIDATES_MAX 64
#define STEPS_MAX (1 << 20) /* in one pc-value table */
#define INLINE_DEPTH 64
#define NAME_MAX_BYTES 16384
#define PAIR_STEPS 2     /* that a pair of numbers takes */
#define FUNCTION_STEPS 4 /* that a look at a function's record takes: it may be anywhere */
#define PCDATA_INLINE 2
#define FUNCDATA_INLINE 3

/* Words of the module record, the same in all versions from 1.18 on, but for the last. */
enum {
	MODULE_HEADER = 0,
	MODULE_NAMES = 1,
	MODULE_FUNCTIONS = 13,
	MODULE_TABLE = 16,
	MODULE_TABLE_LEN = 17,
	MODULE_FIRST = 20,
	MODULE_LAST = 21,
	MODULE_TEXT = 22,
	MODULE_GOFUNC_18 = 38,
	MODULE_GOFUNC_20 = 40,
	MODULE_WORDS = 41,
};

struct span {
	const unsigned char *data;
	size_t len;
};

struct gopclntab {
	const struct image *image;
	uint64_t address; /* of the header */
	unsigned int version, quantum;
	uint64_t count;  /* of functions */
	uint64_t text;   /* what addresses in the table are relative to */
	uint64_t gofunc; /* where inlining trees are relative to; 0 if not known */
	struct span all;
	struct span names, units, files, values; /* "values": tables of pc to value */
	struct span table;                       /* pairs of address and offset in `functions`, and a last address */
	struct span functions;
};

static bool read_u32(struct span span, uint64_t at, uint32_t *ret)
{
	if (at > span.len || span.len - at < sizeof(*ret))
		return false;
	memcpy(ret, span.data + at, sizeof(*ret));
	return true;
}

static bool read_u64(struct span span, uint64_t at, uint64_t *ret)
{
	if (at > span.len || span.len - at < sizeof(*ret))
		return false;
	memcpy(ret, span.data + at, sizeof(*ret));
	return true;
}

/* May so much of the file be searched? */
static bool may_search(const struct image *image, uint64_t steps)
{
	return budget_spend(image_budget(image), steps);
}

static bool span_from(struct span span, uint64_t at, struct span *ret)
{
	if (at > span.len)
		return false;
	*ret = (struct span){ span.data + at, span.len - at };
	return true;
}

/* ---- The table of functions ---- */

static bool pc_of(const struct gopclntab *table, uint64_t index, uint64_t *ret)
{
	uint32_t offset;

	if (table->version < VERSION_18)
		return read_u64(table->table, index * 16, ret);
	if (!read_u32(table->table, index * 8, &offset))
		return false;
	*ret = table->text + offset;
	return true;
}

/* The record of a function. */
static bool function_of(const struct gopclntab *table, uint64_t index, struct span *ret)
{
	uint64_t wide;
	uint32_t narrow;

	if (table->version < VERSION_18)
		return read_u64(table->table, index * 16 + 8, &wide) && span_from(table->functions, wide, ret);
	return read_u32(table->table, index * 8 + 4, &narrow) && span_from(table->functions, narrow, ret);
}

/* Its fields, after the address that it starts with. */
enum field {
	FIELD_NAME = 0,
	FIELD_PCSP = 3,
	FIELD_FILE = 4,
	FIELD_LINE = 5,
	FIELD_PCDATA_COUNT = 6,
	FIELD_UNIT = 7, /* from 1.16 on */
};

static bool field_of(const struct gopclntab *table, struct span function, unsigned int field, uint32_t *ret)
{
	return read_u32(function, (table->version < VERSION_18 ? 8 : 4) + (uint64_t)field * 4, ret);
}

/* Where the counts end and the list of pcdata begins. */
static uint64_t pcdata_start(const struct gopclntab *table)
{
	switch (table->version) {
	case VERSION_16:
		return 8 + 9 * 4;
	case VERSION_18:
		return 4 + 9 * 4;
	default:
		return 4 + 10 * 4;
	}
}

static bool text_at(struct span span, uint64_t at, const char **ret, size_t *ret_len)
{
	const unsigned char *begin, *end;

	if (at >= span.len)
		return false;
	begin = span.data + at;
	end = memchr(begin, 0, span.len - at < NAME_MAX_BYTES ? span.len - at : NAME_MAX_BYTES);
	if (!end || end == begin)
		return false;
	*ret = (const char *)begin;
	*ret_len = (size_t)(end - begin);
	return true;
}

/* ---- Tables of pc to value ---- */

static bool read_varint(struct span *span, uint32_t *ret)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < 5 && i < span->len; i++) {
		unsigned char byte = span->data[i];

		value |= (uint32_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*span = (struct span){ span->data + i + 1, span->len - i - 1 };
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The value at `pc`, which is an offset from the function's start; false if the table does not reach so far. */
static bool value_at(const struct gopclntab *table, uint32_t offset, uint64_t pc, int32_t *ret)
{
	uint32_t value = UINT32_MAX, value_delta, pc_delta;
	uint64_t at = 0;
	struct span span;

	if (!offset || !span_from(table->values, offset, &span))
		return false;
	for (unsigned int step = 0; step < STEPS_MAX && may_search(table->image, PAIR_STEPS); step++) {
		if (!read_varint(&span, &value_delta) || (!value_delta && step) || !read_varint(&span, &pc_delta))
			return false;
		value += value_delta & 1 ? ~(value_delta >> 1) : value_delta >> 1;
		at += (uint64_t)pc_delta * table->quantum;
		if (pc < at) {
			*ret = (int32_t)value;
			return true;
		}
	}
	return false;
}

static void find_line(const struct gopclntab *table, struct span function, uint64_t pc, struct gopclntab_name *ret)
{
	uint32_t file_table, line_table, unit, offset;
	int32_t file, line;

	if (!field_of(table, function, FIELD_FILE, &file_table) ||
	    !field_of(table, function, FIELD_LINE, &line_table) || !value_at(table, file_table, pc, &file) ||
	    !value_at(table, line_table, pc, &line) || file < 0 || line <= 0)
		return;
	if (table->version == VERSION_2) {
		if (!file || !read_u32(table->files, (uint64_t)file * 4, &offset) ||
		    !text_at(table->all, offset, &ret->file, &ret->file_len))
			return;
	} else if (!field_of(table, function, FIELD_UNIT, &unit) ||
		   !read_u32(table->units, ((uint64_t)unit + (uint32_t)file) * 4, &offset) || offset == UINT32_MAX ||
		   !text_at(table->files, offset, &ret->file, &ret->file_len)) {
		return;
	}
	ret->line = (uint32_t)line;
}

/* ---- Inlining ---- */

struct inlining {
	uint32_t index_table; /* pc to index in the tree */
	uint64_t tree;        /* offset in the file */
	int32_t below;        /* callers come first in the tree: an index that does not fall is of no caller */
};

static bool inlining_of(const struct gopclntab *table, struct span function, struct inlining *ret)
{
	uint64_t at = pcdata_start(table), tree;
	uint32_t pcdata_count, offset;

	if (table->version == VERSION_2 || !field_of(table, function, FIELD_PCDATA_COUNT, &pcdata_count) ||
	    pcdata_count <= PCDATA_INLINE || at > function.len || function.data[at - 1] <= FUNCDATA_INLINE ||
	    !read_u32(function, at + PCDATA_INLINE * 4, &ret->index_table))
		return false;
	at += (uint64_t)pcdata_count * 4;
	if (table->version == VERSION_16) {
		uint64_t position = table->address + (uint64_t)(function.data - table->all.data) + at;

		at += position & 4; /* pointers are aligned */
		if (!read_u64(function, at + FUNCDATA_INLINE * 8, &tree) || !tree)
			return false;
	} else {
		if (!table->gofunc || !read_u32(function, at + FUNCDATA_INLINE * 4, &offset) || offset == UINT32_MAX)
			return false;
		tree = table->gofunc + offset;
	}
	ret->below = INT32_MAX;
	return image_address_to_offset(table->image, tree, &ret->tree);
}

/* What was inlined at `pc`, and where in the function it was called from. False if nothing was. */
static bool inlined_at(const struct gopclntab *table, struct inlining *inlining, uint64_t size, uint64_t *pc,
		       struct gopclntab_name *ret)
{
	uint64_t entry_size = table->version < VERSION_20 ? 20 : 16, offset;
	uint32_t name, parent;
	const unsigned char *bytes;
	struct span entry;
	int32_t index;

	if (!value_at(table, inlining->index_table, *pc, &index) || index < 0 || index >= inlining->below ||
	    __builtin_add_overflow(inlining->tree, (uint64_t)index * entry_size, &offset))
		return false;
	bytes = image_bytes(table->image, offset, entry_size);
	if (!bytes)
		return false;
	entry = (struct span){ bytes, entry_size };
	if (!read_u32(entry, table->version < VERSION_20 ? 12 : 4, &name) ||
	    !read_u32(entry, table->version < VERSION_20 ? 16 : 8, &parent) || parent >= size)
		return false;
	/* Names follow each other: where none begins, this is no tree. */
	if (name >= table->names.len || (name && table->names.data[name - 1]) ||
	    !text_at(table->names, name, &ret->name, &ret->len))
		return false;
	inlining->below = index;
	*pc = parent;
	return true;
}

/* ---- Finding ---- */

/* The last function that starts at or before the address. */
static bool search(const struct gopclntab *table, uint64_t address, uint64_t *ret)
{
	uint64_t low = 0, high = table->count, pc;

	if (!pc_of(table, 0, &pc) || address < pc || !pc_of(table, table->count, &pc) || address >= pc)
		return false;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (!pc_of(table, middle, &pc))
			return false;
		if (pc <= address)
			low = middle;
		else
			high = middle;
	}
	*ret = low;
	return true;
}

/* Between functions lies padding, or code that is not Go's: no table of the function reaches there. */
static bool covers(const struct gopclntab *table, struct span function, uint64_t pc)
{
	static const enum field fields[] = { FIELD_PCSP, FIELD_LINE, FIELD_FILE };
	uint32_t offset;
	int32_t value;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (field_of(table, function, fields[i], &offset) && value_at(table, offset, pc, &value))
			return true;
	}
	return false;
}

size_t gopclntab_find(const struct gopclntab *table, uint64_t address, struct gopclntab_name *list, size_t max)
{
	struct gopclntab_name outer = { 0 };
	struct inlining inlining;
	uint64_t index, start, end, pc;
	struct span function;
	uint32_t name;
	size_t count = 0;

	if (!max || !search(table, address, &index) || !pc_of(table, index, &start) || !pc_of(table, index + 1, &end) ||
	    start > address || end <= address || !function_of(table, index, &function) ||
	    !field_of(table, function, FIELD_NAME, &name) || !text_at(table->names, name, &outer.name, &outer.len))
		return 0;
	pc = address - start;
	if (!covers(table, function, pc))
		return 0;
	if (inlining_of(table, function, &inlining)) {
		for (; count + 1 < max && count < INLINE_DEPTH; count++) {
			struct gopclntab_name inlined = { .inlined = true };
			uint64_t at = pc;

			if (!inlined_at(table, &inlining, end - start, &pc, &inlined))
				break;
			find_line(table, function, at, &inlined);
			list[count] = inlined;
		}
	}
	outer.start = start;
	find_line(table, function, pc, &outer);
	list[count++] = outer;
	return count;
}

/* Is it this name, with its end? Names are not looked at any further than they are the same. */
static bool is_named(struct span names, uint64_t at, const char *name)
{
	size_t len = strlen(name) + 1;

	return at <= names.len && names.len - at >= len && !memcmp(names.data + at, name, len);
}

bool gopclntab_named(const struct gopclntab *table, const char *const *names, size_t names_len, uint64_t *at,
		     struct gopclntab_range *ret)
{
	while (*at < table->count && may_search(table->image, FUNCTION_STEPS)) {
		uint64_t index = (*at)++;
		struct span function;
		uint32_t name;

		if (!function_of(table, index, &function) || !field_of(table, function, FIELD_NAME, &name))
			continue;
		for (ret->name = 0; ret->name < names_len; ret->name++)
			if (is_named(table->names, name, names[ret->name]) && pc_of(table, index, &ret->start) &&
			    pc_of(table, index + 1, &ret->end) && ret->end > ret->start)
				return true;
	}
	return false;
}

/* ---- Opening: the module record ---- */

static bool segment_of(const struct image *image, unsigned int number, Elf64_Phdr *ret)
{
	const Elf64_Ehdr *header = image_header(image);
	const void *bytes;

	if (number >= header->e_phnum || number >= SEGMENTS_MAX || header->e_phentsize != sizeof(*ret) ||
	    header->e_phoff > UINT64_MAX - (uint64_t)number * sizeof(*ret))
		return false;
	bytes = image_bytes(image, header->e_phoff + (uint64_t)number * sizeof(*ret), sizeof(*ret));
	if (!bytes)
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

/* The entries of .rela.dyn: where a program that may lie anywhere has its pointers. */
static struct span relocations(const struct image *image)
{
	struct image_section section;
	const void *bytes;

	if (!image_section_named(image, ".rela.dyn", &section) || section.type != SHT_RELA)
		return (struct span){ 0 };
	bytes = image_bytes(image, section.offset, section.size);
	return (struct span){ bytes, bytes ? section.size : 0 };
}

static bool relative_at(struct span relas, size_t index, Elf64_Rela *ret)
{
	memcpy(ret, relas.data + index * sizeof(*ret), sizeof(*ret));
	return ELF64_R_TYPE(ret->r_info) == R_X86_64_RELATIVE || ELF64_R_TYPE(ret->r_info) == R_AARCH64_RELATIVE;
}

static bool module_read(const struct image *image, uint64_t address, uint64_t words[MODULE_WORDS])
{
	struct span relas = relocations(image);
	uint64_t offset;
	const void *bytes;

	if (!image_address_to_offset(image, address, &offset) || !may_search(image, relas.len / sizeof(Elf64_Rela)))
		return false;
	bytes = image_bytes(image, offset, MODULE_WORDS * 8);
	if (!bytes)
		return false;
	memcpy(words, bytes, MODULE_WORDS * 8);
	for (size_t i = 0; i < relas.len / sizeof(Elf64_Rela); i++) {
		Elf64_Rela rela;

		if (relative_at(relas, i, &rela) && rela.r_offset >= address &&
		    rela.r_offset - address < MODULE_WORDS * 8 && !((rela.r_offset - address) & 7))
			words[(rela.r_offset - address) / 8] = (uint64_t)rela.r_addend;
	}
	return true;
}

static bool module_agrees(const struct gopclntab *table, const uint64_t words[MODULE_WORDS])
{
	uint32_t first, last;

	return words[MODULE_HEADER] == table->address &&
	       words[MODULE_NAMES] == table->address + (uint64_t)(table->names.data - table->all.data) &&
	       words[MODULE_FUNCTIONS] == table->address + (uint64_t)(table->functions.data - table->all.data) &&
	       words[MODULE_TABLE] == words[MODULE_FUNCTIONS] && words[MODULE_TABLE_LEN] == table->count + 1 &&
	       read_u32(table->table, 0, &first) && read_u32(table->table, table->count * 8, &last) &&
	       words[MODULE_FIRST] == words[MODULE_TEXT] + first && words[MODULE_LAST] == words[MODULE_TEXT] + last;
}

static bool module_try(struct gopclntab *table, uint64_t address)
{
	uint64_t words[MODULE_WORDS];

	if (!module_read(table->image, address, words) || !module_agrees(table, words))
		return false;
	table->text = words[MODULE_TEXT];
	table->gofunc = words[table->version < VERSION_20 ? MODULE_GOFUNC_18 : MODULE_GOFUNC_20];
	return true;
}

static bool module_in_data(struct gopclntab *table)
{
	unsigned int candidates = 0;
	Elf64_Phdr segment;

	for (unsigned int i = 0; segment_of(table->image, i, &segment); i++) {
		const unsigned char *bytes = image_bytes(table->image, segment.p_offset, segment.p_filesz);

		if (segment.p_type != PT_LOAD || segment.p_flags & PF_X || !bytes)
			continue;
		if (!may_search(table->image, segment.p_filesz / 8))
			return false;
		for (uint64_t at = -segment.p_vaddr & 7; at < segment.p_filesz && segment.p_filesz - at >= 8; at += 8) {
			if (memcmp(bytes + at, &table->address, 8))
				continue;
			if (module_try(table, segment.p_vaddr + at))
				return true;
			if (++candidates == CANDIDATES_MAX)
				return false;
		}
	}
	return false;
}

/* Where another linker made the program, its pointers are only in the relocations. */
static bool module_in_relocations(struct gopclntab *table)
{
	struct span relas = relocations(table->image);
	unsigned int candidates = 0;

	if (!may_search(table->image, relas.len / sizeof(Elf64_Rela)))
		return false;
	for (size_t i = 0; i < relas.len / sizeof(Elf64_Rela) && candidates < CANDIDATES_MAX; i++) {
		Elf64_Rela rela;

		if (!relative_at(relas, i, &rela) || (uint64_t)rela.r_addend != table->address)
			continue;
		if (module_try(table, rela.r_offset))
			return true;
		candidates++;
	}
	return false;
}

/* ---- Opening: the header ---- */

static unsigned int version_of(const unsigned char *data, size_t len)
{
	uint32_t magic;

	if (len < HEADER_BYTES || data[4] || data[5] || (data[6] != 1 && data[6] != 2 && data[6] != 4) || data[7] != 8)
		return 0;
	memcpy(&magic, data, sizeof(magic));
	switch (magic) {
	case 0xfffffffb:
		return VERSION_2;
	case 0xfffffffa:
		return VERSION_16;
	case 0xfffffff0:
		return VERSION_18;
	case 0xfffffff1:
		return VERSION_20;
	default:
		return 0;
	}
}

/* One of the header's offsets, by its number. */
static bool part_of(const struct gopclntab *table, unsigned int word, struct span *ret)
{
	uint64_t offset;

	return read_u64(table->all, 8 + (uint64_t)word * 8, &offset) && span_from(table->all, offset, ret);
}

static bool parts_2(struct gopclntab *table)
{
	uint32_t files, count;

	table->names = table->values = table->functions = table->all;
	return span_from(table->all, 16, &table->table) && read_u32(table->table, table->count * 16 + 8, &files) &&
	       span_from(table->all, files, &table->files) && read_u32(table->files, 0, &count);
}

static bool parts_16(struct gopclntab *table)
{
	unsigned int first = table->version == VERSION_16 ? 2 : 3;

	if (!part_of(table, first, &table->names) || !part_of(table, first + 1, &table->units) ||
	    !part_of(table, first + 2, &table->files) || !part_of(table, first + 3, &table->values) ||
	    !part_of(table, first + 4, &table->functions))
		return false;
	table->table = table->functions;
	return true;
}

/* Takes the table that starts with these bytes, if one does. */
static bool table_at(struct gopclntab *table, struct span all, uint64_t address)
{
	uint64_t first, last;

	table->version = version_of(all.data, all.len);
	table->all = all;
	table->address = address;
	if (!table->version || !read_u64(all, 8, &table->count) || !table->count || table->count > FUNCTIONS_MAX)
		return false;
	table->quantum = all.data[6];
	if (table->version == VERSION_2 ? !parts_2(table) : !parts_16(table))
		return false;
	table->text = table->gofunc = 0;
	if (table->version >= VERSION_18 && !module_in_data(table) && !module_in_relocations(table)) {
		/* Up to 1.25 the start of the code is in the header as well, unless it is left to a relocation. */
		if (!read_u64(all, 8 + 2 * 8, &table->text) || !table->text)
			return false;
	}
	return pc_of(table, 0, &first) && pc_of(table, table->count, &last) && first < last;
}

static bool table_in_section(struct gopclntab *table, const char *name)
{
	struct image_section section;
	struct span all;

	if (!image_section_named(table->image, name, &section) || section.type == SHT_NOBITS)
		return false;
	all = (struct span){ image_bytes(table->image, section.offset, section.size), section.size };
	return all.data && table_at(table, all, section.address);
}

/* Other linkers merge the section into a larger one, and some tools take all section headers away. */
static bool table_anywhere(struct gopclntab *table)
{
	struct image_section section;
	unsigned int candidates = 0;
	Elf64_Phdr segment;

	if (image_sections(table->image) && !image_section_named(table->image, ".go.buildinfo", &section) &&
	    !image_section_named(table->image, ".note.go.buildid", &section))
		return false;
	for (unsigned int i = 0; segment_of(table->image, i, &segment); i++) {
		const unsigned char *bytes = image_bytes(table->image, segment.p_offset, segment.p_filesz);

		if (segment.p_type != PT_LOAD || segment.p_flags & PF_X || !bytes)
			continue;
		if (!may_search(table->image, segment.p_filesz / 8))
			return false;
		for (uint64_t at = -segment.p_vaddr & 7; at < segment.p_filesz && segment.p_filesz - at >= 8; at += 8) {
			struct span all = { bytes + at, segment.p_filesz - at };

			if (!version_of(all.data, all.len))
				continue;
			if (table_at(table, all, segment.p_vaddr + at))
				return true;
			if (++candidates == CANDIDATES_MAX)
				return false;
		}
	}
	return false;
}

int gopclntab_open(struct gopclntab **ret, const struct image *image)
{
	struct gopclntab *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->image = image;
	if (!table_in_section(table, ".gopclntab") && !table_in_section(table, ".data.rel.ro.gopclntab") &&
	    !table_anywhere(table)) {
		free(table);
		return -ENODATA;
	}
	*ret = table;
	return 0;
}

void gopclntab_free(struct gopclntab *table)
{
	free(table);
}
