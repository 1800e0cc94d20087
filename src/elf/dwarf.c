/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlined functions and lines through libdw. In: an image with DWARF. Out: the chain of functions at an address.
 *
 * Not every compiler writes .debug_aranges, so an index of the units' ranges is made once; the functions of a unit are
 * listed when its first address is asked for. Invariant: reading stops, for good, when the file has used up its budget
 * of CPU time or of memory; each walk is bounded in depth. The budget is time, in proportion to the size of the file,
 * because libdw does not tell what a call of it costs: an entry of one byte may have a million attributes.
 */
#include "elf/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/map.h"
#include "elf/image.h"

#define UNPACKED_MAX ((uint64_t)512 << 20) /* of compressed sections, together */
#define BUDGET_FLOOR_NS (100 * NS_PER_MS)  /* CPU time for one file, beside */
#define BUDGET_MIB_NS (50 * NS_PER_MS)     /* for each MiB of it; ten times what all of a well-formed one takes, */
#define BUDGET_MAX_NS (5 * NS_PER_SEC)     /* and no more than this */
#define CHECK_EVERY 16                     /* entries between two looks at the clock */
#define UNITS_MIN 1024                     /* units that any file may have, beside */
#define UNIT_BYTES 64                      /* one for so many bytes of it: each costs libdw a few KiB of memory; */
#define UNITS_MAX (1u << 17)               /* and no more than this */
#define RANGES_MAX (4u << 20)
#define ABBREVIATIONS_MAX (1u << 16) /* of a unit; hundreds are usual */
#define ATTRIBUTES_MAX 64            /* of an abbreviation; a dozen is usual, */
#define EMPTY_MAX 16                 /* and half of them without a byte in an entry */
#define DEPTH_MAX 64
#define SIBLINGS_MAX (1u << 22)

struct range {
	uint64_t start, end;
	uint64_t die; /* offset in .debug_info */
};

struct ranges {
	struct range *list;
	size_t len, cap;
};

struct debuginfo {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct ranges units;     /* sorted; made at the first question */
	struct map judged;       /* tables of abbreviations by their offset: 1 good, 2 not */
	struct map functions_at; /* unit's offset to index in `functions` plus one */
	struct ranges *functions;
	size_t functions_len, functions_cap;
	uint64_t used_ns, began_ns, most_ns;
	uint64_t units_max;
	unsigned int until_check;
	bool indexed, exhausted;
};

/* ---- budget ---- */

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* May reading go on? */
static bool has_time(struct debuginfo *info)
{
	info->until_check = CHECK_EVERY;
	info->exhausted = info->exhausted || info->used_ns + (cpu_ns() - info->began_ns) > info->most_ns;
	return !info->exhausted;
}

/* The same, for one entry more, which takes little. */
static bool spend(struct debuginfo *info)
{
	return !info->exhausted && (info->until_check-- || has_time(info));
}

static void set_budget(struct debuginfo *info, uint64_t bytes)
{
	uint64_t mib = bytes >> 20, units = UNITS_MIN + bytes / UNIT_BYTES;

	info->most_ns = mib < BUDGET_MAX_NS / BUDGET_MIB_NS ? BUDGET_FLOOR_NS + mib * BUDGET_MIB_NS : BUDGET_MAX_NS;
	info->units_max = units < UNITS_MAX ? units : UNITS_MAX;
}

/* Where to go on when libdw has no memory left: by itself it would end the process. */
static _Thread_local jmp_buf *without_memory;

__attribute__((noreturn)) static void leave(void)
{
	longjmp(*without_memory, 1);
}

/* ---- opening ---- */

/* What compressed sections claim to become. The old kind, .zdebug_*, has its size in big endian after "ZLIB". */
static uint64_t unpacked_size(const struct image *image, const struct image_section *section)
{
	const unsigned char *bytes = image_bytes(image, section->offset, section->size);
	uint64_t size = 0;
	Elf64_Chdr head;

	if (!bytes)
		return 0;
	if (section->flags & SHF_COMPRESSED && section->size >= sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
		return head.ch_size;
	}
	if (strncmp(section->name, ".zdebug", 7) || section->size < 12)
		return 0;
	for (unsigned int i = 4; i < 12; i++)
		size = size << 8 | bytes[i];
	return size;
}

/* The size of the whole, unpacked; -EFBIG if that is out of proportion. */
static int check_sections(const struct image *image, uint64_t *ret)
{
	uint64_t sum = 0, size;
	bool found = false;

	for (uint32_t i = 1; i < image_sections(image); i++) {
		struct image_section section;

		if (!image_section(image, i, &section) || section.type == SHT_NOBITS)
			continue;
		found = found || !strcmp(section.name, ".debug_info") || !strcmp(section.name, ".zdebug_info");
		size = unpacked_size(image, &section);
		if (size > budget_unpack(section.size, UNPACKED_MAX) || sum + size > UNPACKED_MAX)
			return -EFBIG;
		sum += size;
	}
	*ret = image_size(image) + sum;
	return found ? 0 : -ENODATA;
}

/* libelf writes into section headers when it unpacks what is compressed, and into nothing else of the file. */
static int open_dwarf(const struct image *image, Elf **ret_elf, Dwarf **ret, uint64_t *ret_bytes)
{
	void *bytes = (void *)image_bytes(image, 0, image_size(image));
	int err = check_sections(image, ret_bytes);

	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	err = image_unlock_sections(image);
	if (err)
		return err;
	*ret_elf = elf_memory(bytes, image_size(image));
	*ret = *ret_elf ? dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL) : NULL;
	if (!*ret)
		return -ENODATA;
	dwarf_new_oom_handler(*ret, leave);
	return 0;
}

int debuginfo_open(struct debuginfo **ret, const struct image *image)
{
	struct debuginfo *info = calloc(1, sizeof(*info));
	uint64_t bytes = 0;
	int err;

	if (!info)
		return -ENOMEM;
	err = open_dwarf(image, &info->elf, &info->dwarf, &bytes);
	set_budget(info, bytes);
	if (err)
		debuginfo_free(info);
	else
		*ret = info;
	return err;
}

int debuginfo_add_alt(struct debuginfo *info, const struct image *image)
{
	uint64_t bytes;
	int err = info->alt_elf ? -EEXIST : open_dwarf(image, &info->alt_elf, &info->alt, &bytes);

	if (!err)
		dwarf_setalt(info->dwarf, info->alt);
	return err;
}

static void close_dwarf(struct debuginfo *info)
{
	dwarf_end(info->dwarf);
	elf_end(info->elf);
	dwarf_end(info->alt);
	elf_end(info->alt_elf);
	info->dwarf = info->alt = NULL;
	info->elf = info->alt_elf = NULL;
}

void debuginfo_free(struct debuginfo *info)
{
	if (!info)
		return;
	close_dwarf(info);
	for (size_t i = 0; i < info->functions_len; i++)
		free(info->functions[i].list);
	free(info->functions);
	free(info->units.list);
	map_free(&info->functions_at);
	map_free(&info->judged);
	free(info);
}

/* ---- ranges ---- */

static bool add_range(struct ranges *ranges, uint64_t start, uint64_t end, uint64_t die)
{
	if (start >= end || ranges->len >= RANGES_MAX)
		return start >= end;
	if (ranges->len == ranges->cap) {
		size_t cap = ranges->cap ? ranges->cap * 2 : 64;
		struct range *more = realloc(ranges->list, cap * sizeof(*more));

		if (!more)
			return false;
		ranges->list = more;
		ranges->cap = cap;
	}
	ranges->list[ranges->len++] = (struct range){ start, end, die };
	return true;
}

static void add_die(struct debuginfo *info, struct ranges *ranges, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (spend(info) && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (!add_range(ranges, start, end, dwarf_dieoffset(die)))
			info->exhausted = true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

static void sort_ranges(struct ranges *ranges)
{
	if (ranges->len)
		qsort(ranges->list, ranges->len, sizeof(*ranges->list), compare_ranges);
}

/* The last range that begins at or before the address, if it covers it. */
static const struct range *find_range(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges->list[low - 1].end ? &ranges->list[low - 1] : NULL;
}

/* ---- abbreviations ---- */

/* May entries have this abbreviation? libdw goes through all attributes of each entry that it passes over. */
static bool abbreviation_is_sane(Dwarf_Abbrev *abbreviation)
{
	unsigned int empty = 0;

	for (size_t i = 0; i <= ATTRIBUTES_MAX;
	     i++) { /* libdw's count of them is wrong where constants are among them */
		unsigned int name, form;
		Dwarf_Off offset;

		if (dwarf_getabbrevattr(abbreviation, i, &name, &form, &offset))
			return empty <= EMPTY_MAX;
		empty += form == DW_FORM_flag_present || form == DW_FORM_implicit_const;
	}
	return false;
}

static bool abbreviations_are_sane(struct debuginfo *info, Dwarf_Die *unit)
{
	Dwarf_Off at = 0;

	for (unsigned int i = 0; i < ABBREVIATIONS_MAX && spend(info); i++) {
		size_t len = 0;
		Dwarf_Abbrev *abbreviation = dwarf_getabbrev(unit, at, &len);

		if (!abbreviation || abbreviation == DWARF_END_ABBREV || !len)
			return true; /* for libdw too: it finds none behind it */
		if (!abbreviation_is_sane(abbreviation))
			return false;
		at += len;
	}
	return false;
}

/* Each table is judged once: units share them. */
static bool unit_is_sane(struct debuginfo *info, Dwarf_Die *unit)
{
	Dwarf_Off offset = 0;
	uint64_t *slot;

	if (!dwarf_cu_die(unit->cu, &(Dwarf_Die){ 0 }, NULL, &offset, NULL, NULL, NULL, NULL))
		return false;
	slot = map_put(&info->judged, offset);
	if (slot && !*slot)
		*slot = abbreviations_are_sane(info, unit) ? 1 : 2;
	info->exhausted = info->exhausted || !slot || *slot == 2;
	return !info->exhausted;
}

/* ---- units and functions ---- */

static void index_units(struct debuginfo *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	for (uint64_t i = 0; spend(info); i++) {
		info->exhausted = i >= info->units_max;
		if (info->exhausted || dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL))
			break;
		if (type == DW_UT_compile && unit_is_sane(info, &die))
			add_die(info, &info->units, &die);
	}
	sort_ranges(&info->units);
	info->indexed = true;
}

/* Can functions be below it? */
static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static void list_functions(struct debuginfo *info, struct ranges *ranges, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die))
		return;
	for (unsigned int i = 0; i < SIBLINGS_MAX && spend(info); i++) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_die(info, ranges, &die);
		else if (holds_functions(tag))
			list_functions(info, ranges, &die, depth + 1);
		if (dwarf_siblingof(&die, &die))
			break;
	}
}

/* The functions of a unit, listed when first asked for; NULL if memory or budget is out. */
static const struct ranges *functions_of(struct debuginfo *info, Dwarf_Die *unit)
{
	uint64_t *slot = map_put(&info->functions_at, dwarf_dieoffset(unit));
	struct ranges *ranges;

	if (!slot)
		return NULL;
	if (*slot)
		return &info->functions[*slot - 1];
	if (info->functions_len == info->functions_cap) {
		size_t cap = info->functions_cap ? info->functions_cap * 2 : 16;
		struct ranges *more = realloc(info->functions, cap * sizeof(*more));

		if (!more)
			return NULL;
		info->functions = more;
		info->functions_cap = cap;
	}
	ranges = &info->functions[info->functions_len++];
	*ranges = (struct ranges){ 0 };
	*slot = info->functions_len;
	list_functions(info, ranges, unit, 0);
	sort_ranges(ranges);
	return ranges;
}

/* ---- one address ---- */

/* Looks through all its ranges, which may be many. */
static bool covers(struct debuginfo *info, Dwarf_Die *die, uint64_t address)
{
	return has_time(info) && dwarf_haspc(die, address) > 0;
}

/*
 * From a function down to the innermost inlined one at the address: `chain` gets the function and then each inlined
 * one, in that order. At each level at most one block or inlined function covers an address.
 */
static size_t descend(struct debuginfo *info, Dwarf_Die function, uint64_t address, Dwarf_Die *chain, size_t max)
{
	Dwarf_Die parent = function, die;
	size_t len = 0;

	chain[len++] = function;
	for (unsigned int depth = 0; depth < DEPTH_MAX && len < max && !dwarf_child(&parent, &die); depth++) {
		bool found = false;

		for (unsigned int i = 0; i < SIBLINGS_MAX && spend(info); i++) {
			int tag = dwarf_tag(&die);

			found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				covers(info, &die, address);
			if (found || dwarf_siblingof(&die, &die))
				break;
		}
		if (!found)
			break;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			chain[len++] = die;
		parent = die;
	}
	return len;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

static bool number_of(Dwarf_Die *die, unsigned int name, uint32_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* Where the inlined function was called: the line in the one around it. */
static void place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct debuginfo_frame *frame)
{
	Dwarf_Files *files;
	uint32_t number;
	size_t len;

	number_of(inlined, DW_AT_call_line, &frame->line);
	if (!number_of(inlined, DW_AT_call_file, &number) || dwarf_getsrcfiles(unit, &files, &len) || number >= len)
		return;
	frame->source = dwarf_filesrc(files, number, NULL, NULL);
	/* So libdw calls the file of number 0, which only DWARF 5 has. */
	if (frame->source && !strcmp(frame->source, "???"))
		frame->source = NULL;
}

static void place_of_address(Dwarf_Die *unit, uint64_t address, struct debuginfo_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;

	if (!line)
		return;
	frame->source = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
}

static size_t find(struct debuginfo *info, uint64_t address, struct debuginfo_frame *list, size_t max)
{
	const struct range *unit_range, *range;
	const struct ranges *functions;
	Dwarf_Die unit, function, chain[DEPTH_MAX];
	size_t len;

	if (!info->indexed)
		index_units(info);
	unit_range = find_range(&info->units, address);
	if (!unit_range || !dwarf_offdie(info->dwarf, unit_range->die, &unit))
		return 0;
	functions = functions_of(info, &unit);
	range = functions ? find_range(functions, address) : NULL;
	if (!range || !dwarf_offdie(info->dwarf, range->die, &function))
		return 0;
	len = descend(info, function, address, chain, max < DEPTH_MAX ? max : DEPTH_MAX);
	for (size_t i = 0; i < len; i++) {
		struct debuginfo_frame *frame = &list[len - 1 - i];

		*frame = (struct debuginfo_frame){ .name = name_of(&chain[i]) };
		if (i + 1 < len)
			place_of_call(&unit, &chain[i + 1], frame);
		else
			place_of_address(&unit, address, frame);
	}
	return info->exhausted ? 0 : len;
}

size_t debuginfo_find(struct debuginfo *info, uint64_t address, struct debuginfo_frame *list, size_t max)
{
	volatile size_t len = 0;
	jmp_buf here;

	if (!max || info->exhausted)
		return 0;
	info->began_ns = cpu_ns();
	without_memory = &here;
	if (!setjmp(here)) {
		len = find(info, address, list, max);
	} else {
		info->exhausted = true;
		close_dwarf(info); /* others need memory too */
	}
	without_memory = NULL;
	info->used_ns += cpu_ns() - info->began_ns;
	return info->exhausted ? 0 : len;
}

bool debuginfo_exhausted(const struct debuginfo *info)
{
	return info->exhausted;
}

size_t debuginfo_memory(const struct debuginfo *info)
{
	size_t bytes = sizeof(*info) + info->units.cap * sizeof(*info->units.list) + map_bytes(&info->functions_at) +
		       map_bytes(&info->judged) + info->functions_cap * sizeof(*info->functions);

	for (size_t i = 0; i < info->functions_len; i++)
		bytes += info->functions[i].cap * sizeof(*info->functions[i].list);
	return bytes;
}
