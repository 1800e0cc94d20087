/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols in the order of their addresses. In: ELF symbol tables of anybody's making. Out: the function at an address.
 * Invariant once sealed: entries are sorted by start, larger ones first, aliases side by side; `up` of an
 * entry leads to the nearest earlier one that ends after it, so that a search passes only entries that could cover the
 * address, and gives up after NESTING_MAX of them.
 */
#include "sym/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "elf/image.h"

#define SYMBOLS_MAX (2u << 20) /* 40 MB; the largest programs have about a million functions */
#define SOURCES_MAX 8
#define SECTION_TABLES_MAX 4 /* symbol tables of one kind in one file: one is usual */
#define NESTING_MAX 64
#define ALIASES_MAX 64
#define COMPARE_MAX 256     /* of a name, to choose between aliases */
#define SMALL 24            /* so few are sorted by insertion */
#define RELEASE_EVERY 32768 /* symbols: their bytes are read once */
#define NONE UINT32_MAX

struct entry {
	uint32_t start; /* from the table's base */
	uint32_t size;
	uint32_t name; /* in the strings of its source */
	uint32_t up;
	uint8_t source;
	uint8_t rank; /* lower is better */
};

static_assert(sizeof(struct entry) <= 24, "millions of them");

struct strings {
	const char *text;
	size_t len; /* up to and with the last NUL */
};

struct table {
	const struct image *code;
	uint64_t base, end;
	struct entry *entries;
	size_t len, cap;
	struct strings sources[SOURCES_MAX];
	unsigned int sources_len;
};

int table_new(struct table **ret, const struct image *code)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->code = code;
	if (!image_code_range(code, &table->base, &table->end))
		table->base = table->end = 0;
	*ret = table;
	return 0;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	free(table->entries);
	free(table);
}

/* ---- taking symbols ---- */

static int append(struct table *table, const struct entry *entry)
{
	if (table->len == table->cap) {
		size_t cap = table->cap ? table->cap + table->cap / 2 : 256;
		struct entry *more;

		if (table->len >= SYMBOLS_MAX)
			return -E2BIG;
		cap = cap > SYMBOLS_MAX ? SYMBOLS_MAX : cap;
		more = realloc(table->entries, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		table->entries = more;
		table->cap = cap;
	}
	table->entries[table->len++] = *entry;
	return 0;
}

static unsigned int rank_of(const Elf64_Sym *symbol)
{
	unsigned int bind = ELF64_ST_BIND(symbol->st_info), type = ELF64_ST_TYPE(symbol->st_info);
	unsigned int rank = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0 : bind == STB_WEAK ? 1 : 2;

	return type == STT_NOTYPE ? rank + 3 : rank;
}

/* Does the symbol say that code is there? `flags` are those of the file's sections by number. */
static bool is_code(const Elf64_Sym *symbol, const bool *code_sections, uint32_t sections)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (symbol->st_shndx == SHN_XINDEX)
		return type != STT_NOTYPE;
	return symbol->st_shndx < sections && code_sections[symbol->st_shndx];
}

/* Does it lie where addresses can be asked about, in numbers that fit an entry, and has it a name? */
static bool is_within(const struct table *table, const Elf64_Sym *symbol)
{
	return symbol->st_name && symbol->st_name < table->sources[table->sources_len - 1].len &&
	       symbol->st_value >= table->base && symbol->st_value < table->end &&
	       symbol->st_value - table->base <= UINT32_MAX && symbol->st_size <= UINT32_MAX &&
	       symbol->st_value - table->base + symbol->st_size <= UINT32_MAX &&
	       image_executable(table->code, symbol->st_value);
}

static int take_symbols(struct table *table, const struct image *from, const struct image_section *section,
			const bool *code_sections, uint32_t sections)
{
	const unsigned char *bytes = image_bytes(from, section->offset, section->size);
	size_t count = bytes ? section->size / sizeof(Elf64_Sym) : 0;

	if (!budget_spend(image_budget(from), count))
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		struct entry entry = { .up = NONE, .source = (uint8_t)(table->sources_len - 1) };
		Elf64_Sym symbol;
		int err;

		if (i && i % RELEASE_EVERY == 0)
			image_release(from, section->offset + (i - RELEASE_EVERY) * sizeof(symbol),
				      RELEASE_EVERY * sizeof(symbol));
		memcpy(&symbol, bytes + i * sizeof(symbol), sizeof(symbol));
		if (!is_code(&symbol, code_sections, sections) || !is_within(table, &symbol))
			continue;
		entry.start = (uint32_t)(symbol.st_value - table->base);
		entry.size = (uint32_t)symbol.st_size;
		entry.name = symbol.st_name;
		entry.rank = (uint8_t)rank_of(&symbol);
		err = append(table, &entry);
		if (err)
			return err;
	}
	return 0;
}

/* Which sections hold code, by number; as far as a symbol can name them. */
static bool *list_code_sections(const struct image *image, uint32_t *ret_len)
{
	uint32_t len = image_sections(image);
	bool *list;

	len = len > SHN_LORESERVE ? SHN_LORESERVE : len;
	list = calloc(len ? len : 1, sizeof(*list));
	for (uint32_t i = 1; list && i < len; i++) {
		struct image_section section;

		list[i] = image_section(image, i, &section) && section.flags & SHF_EXECINSTR;
	}
	*ret_len = len;
	return list;
}

/* The strings that a symbol table is linked to, cut to where they end in NUL. */
static bool find_strings(const struct image *image, const struct image_section *symbols, struct strings *ret)
{
	struct image_section section;
	const char *text, *last;

	if (!image_section(image, symbols->link, &section) || section.type != SHT_STRTAB)
		return false;
	text = image_bytes(image, section.offset, section.size);
	last = text && section.size ? memrchr(text, '\0', section.size) : NULL;
	if (last)
		*ret = (struct strings){ text, (size_t)(last - text) + 1 };
	return last != NULL;
}

static int add_section(struct table *table, const struct image *from, const struct image_section *section)
{
	bool *code_sections;
	uint32_t sections;
	int err;

	if (section->entry_size != sizeof(Elf64_Sym) || table->sources_len == SOURCES_MAX ||
	    !find_strings(from, section, &table->sources[table->sources_len]))
		return 0;
	code_sections = list_code_sections(from, &sections);
	if (!code_sections)
		return -ENOMEM;
	table->sources_len++;
	err = take_symbols(table, from, section, code_sections, sections);
	free(code_sections);
	return err;
}

long table_add(struct table *table, const struct image *from, uint32_t type)
{
	size_t before = table->len;
	unsigned int found = 0;
	int err = 0;

	for (uint32_t i = 1; i < image_sections(from) && found < SECTION_TABLES_MAX && !err; i++) {
		struct image_section section;

		if (!image_section(from, i, &section) || section.type != type)
			continue;
		found++;
		err = add_section(table, from, &section);
	}
	return err ? err : (long)(table->len - before);
}

/* ---- order ---- */

/* Without a look at names: they are many pages that nobody may ask for. */
static int compare(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->size != right->size)
		return left->size > right->size ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static void insertion_sort(struct entry *list, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		struct entry moved = list[i];
		size_t at = i;

		for (; at && compare(&moved, &list[at - 1]) < 0; at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/* Sorts in place by one byte of the start after the other: no second copy of the table, and no comparisons until the
 * groups are small. Entries of one start can be many, if somebody wants so: those are left to qsort. */
static void radix_sort(struct entry *list, size_t len, unsigned int shift)
{
	size_t from[256], to[256], counts[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < len; i++)
		counts[list[i].start >> shift & 0xff]++;
	for (unsigned int i = 0; i < 256; i++) {
		from[i] = sum;
		to[i] = sum += counts[i];
	}
	for (unsigned int i = 0; i < 256; i++) {
		while (from[i] < to[i]) {
			struct entry moved = list[from[i]];
			unsigned int group = moved.start >> shift & 0xff;

			list[from[i]] = list[from[group]];
			list[from[group]++] = moved;
		}
	}
	for (unsigned int i = 0; i < 256; i++) {
		struct entry *group = list + to[i] - counts[i];

		if (counts[i] <= SMALL)
			insertion_sort(group, counts[i]);
		else if (shift)
			radix_sort(group, counts[i], shift - 8);
		else
			qsort(group, counts[i], sizeof(*group), compare);
	}
}

/* Of those with one start and size, only the best kind from the best source stays: names are compared when asked. */
static void drop_aliases(struct table *table)
{
	const struct entry *best = NULL;
	size_t len = 0;

	for (size_t i = 0; i < table->len; i++) {
		struct entry entry = table->entries[i];

		if (!best || best->start != entry.start || best->size != entry.size)
			best = &table->entries[len];
		else if (best->rank != entry.rank || best->source != entry.source ||
			 table->entries[len - 1].name == entry.name)
			continue;
		table->entries[len++] = entry;
	}
	table->len = len;
}

static uint32_t end_of(const struct entry *entry)
{
	return entry->start + entry->size;
}

/* Each chain that is followed here is not followed again by a later entry, so this is linear. */
static void link_up(struct table *table)
{
	struct entry *list = table->entries;

	for (size_t i = 0; i < table->len; i++) {
		uint32_t up = i ? (uint32_t)i - 1 : NONE;

		while (up != NONE && end_of(&list[up]) <= end_of(&list[i]))
			up = list[up].up;
		list[i].up = up;
	}
}

void table_seal(struct table *table)
{
	struct entry *fitting;

	if (!table->len)
		return;
	radix_sort(table->entries, table->len, 24);
	drop_aliases(table);
	link_up(table);
	fitting = realloc(table->entries, table->len * sizeof(*fitting));
	if (fitting) {
		table->entries = fitting;
		table->cap = table->len;
	}
}

/* ---- asking ---- */

static const char *name_of(const struct table *table, const struct entry *entry)
{
	return table->sources[entry->source].text + entry->name;
}

static size_t bars_of(const char *name)
{
	size_t count = 0;

	while (count < COMPARE_MAX && name[count] == '_')
		count++;
	return count;
}

/* Between names of one thing: fewer underscores in front, then shorter, then by the alphabet. */
static int compare_names(const char *left, const char *right)
{
	size_t left_len, right_len, left_bars, right_bars;

	if (left == right)
		return 0;
	left_len = strnlen(left, COMPARE_MAX);
	right_len = strnlen(right, COMPARE_MAX);
	left_bars = bars_of(left);
	right_bars = bars_of(right);
	if (left_bars != right_bars)
		return left_bars < right_bars ? -1 : 1;
	if (left_len != right_len)
		return left_len < right_len ? -1 : 1;
	return memcmp(left, right, left_len);
}

/* The best name of an entry and its aliases, of which it is the last. */
static const struct entry *best_alias(const struct table *table, const struct entry *entry)
{
	const struct entry *best = entry;

	for (unsigned int i = 0; i < ALIASES_MAX && entry-- > table->entries; i++) {
		if (entry->start != best->start || entry->size != best->size)
			break;
		if (compare_names(name_of(table, entry), name_of(table, best)) < 0)
			best = entry;
	}
	return best;
}

/* How many entries start at or before the address. */
static size_t count_until(const struct table *table, uint64_t address)
{
	size_t low = 0, high = table->len;

	if (address < table->base)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entries[middle].start <= address - table->base)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* False for an empty name, which was not looked at until now: names are touched only when they are asked for. */
static bool give(const struct table *table, const struct entry *entry, struct table_symbol *ret)
{
	if (!entry)
		return false;
	entry = best_alias(table, entry);
	if (!name_of(table, entry)[0])
		return false;
	*ret = (struct table_symbol){ .name = name_of(table, entry),
				      .start = table->base + entry->start,
				      .size = entry->size };
	return true;
}

bool table_find(const struct table *table, uint64_t address, struct table_symbol *ret)
{
	size_t until = count_until(table, address);
	uint32_t at = until ? (uint32_t)until - 1 : NONE;
	const struct entry *best = NULL;

	for (unsigned int i = 0; at != NONE && i < NESTING_MAX; i++, at = table->entries[at].up) {
		const struct entry *entry = &table->entries[at];

		if (best && entry->start != best->start)
			break;
		if (address - table->base < end_of(entry) && (!best || entry->rank < best->rank))
			best = entry;
	}
	return give(table, best, ret);
}

bool table_find_unsized(const struct table *table, uint64_t address, struct table_symbol *ret)
{
	size_t until = count_until(table, address);
	/* Larger ones come first: one without a size is the last of its start. */
	const struct entry *entry = until ? &table->entries[until - 1] : NULL;

	if (!entry || entry->size || table->base + entry->start != address)
		return false;
	return give(table, entry, ret);
}

uint64_t table_next(const struct table *table, uint64_t address)
{
	size_t until = count_until(table, address);

	return until < table->len ? table->base + table->entries[until].start : UINT64_MAX;
}

size_t table_memory(const struct table *table)
{
	return sizeof(*table) + table->cap * sizeof(*table->entries);
}
