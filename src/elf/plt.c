/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of PLT stubs. In: an image and an address in .plt, .plt.sec or .plt.got. Out: where the stub begins and the
 * function that it leads to, by the relocation of the slot that its jump reads. Invariant: the name is that of a
 * relocation which belongs to this very stub by its instructions, not by counting; where those are not understood
 * (other processors than x86-64), there is no name. Each relocation is read once, when the first stub is asked for.
 */
#include "elf/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/index.h"
#include "base/map.h"
#include "elf/image.h"

#define STUB_SIZE 16
#define SMALL_STUB_SIZE 8     /* in .plt.got of older linkers */
#define STUBS_MAX 4           /* sections of stubs: there are three kinds */
#define TABLES_MAX 8          /* sections of relocations */
#define RELOCATIONS_MAX 32768 /* that fill slots; real files have a few thousand */
#define NAME_MAX_BYTES 16384

struct plt {
	const struct image *image;
	struct image_section stubs[STUBS_MAX];
	size_t stubs_len;
	struct map slots; /* address, keyed at random, to the table's number and the relocation's */
	uint64_t seed[2];
	bool indexed;      /* .rela.plt */
	bool indexed_rest; /* and all others */
};

/* The bytes of section `number`, which must be whole in the file. */
static const void *section_bytes(const struct image *image, uint32_t number, struct image_section *ret)
{
	if (!image_section(image, number, ret) || ret->type == SHT_NOBITS)
		return NULL;
	return image_bytes(image, ret->offset, ret->size);
}

/* The name of a relocation's symbol: from the table that its section is linked to. */
static const char *symbol_name(const struct image *image, uint32_t table, uint64_t number)
{
	struct image_section symbols, strings;
	const unsigned char *entries = section_bytes(image, table, &symbols);
	const char *text;
	Elf64_Sym symbol;
	uint64_t room;

	if (!entries || !number || number >= symbols.size / sizeof(symbol))
		return NULL;
	memcpy(&symbol, entries + number * sizeof(symbol), sizeof(symbol));
	text = section_bytes(image, symbols.link, &strings);
	if (!text || symbol.st_name >= strings.size || !text[symbol.st_name])
		return NULL;
	room = strings.size - symbol.st_name;
	return memchr(text + symbol.st_name, '\0', room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES)
		       ? text + symbol.st_name
		       : NULL;
}

static bool fills_slot(const Elf64_Rela *relocation)
{
	uint64_t type = ELF64_R_TYPE(relocation->r_info);

	return ELF64_R_SYM(relocation->r_info) && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT);
}

static uint64_t key_of(const struct plt *plt, uint64_t slot)
{
	return index_mix(slot ^ plt->seed[0], plt->seed[1]);
}

/* Relocations of a section that fill slots; the first of a slot counts. */
static void index_section(struct plt *plt, uint32_t number, const struct image_section *section)
{
	const unsigned char *entries = image_bytes(plt->image, section->offset, section->size);
	size_t count = section->size / sizeof(Elf64_Rela);

	if (!entries || !budget_spend(image_budget(plt->image), count))
		return;
	for (size_t i = 0; i < count && i < UINT32_MAX && plt->slots.len < RELOCATIONS_MAX; i++) {
		Elf64_Rela relocation;
		uint64_t *place;

		memcpy(&relocation, entries + i * sizeof(relocation), sizeof(relocation));
		place = fills_slot(&relocation) ? map_put(&plt->slots, key_of(plt, relocation.r_offset)) : NULL;
		if (place && !*place)
			*place = (uint64_t)number << 32 | i;
	}
}

/* `first`: .rela.plt, which nearly all slots are in; else all others, of which one may be large. */
static void index_slots(struct plt *plt, bool first)
{
	bool *done = first ? &plt->indexed : &plt->indexed_rest;
	unsigned int tables = 0;

	if (*done)
		return;
	*done = true;
	for (uint32_t i = 1; i < image_sections(plt->image) && tables < TABLES_MAX; i++) {
		struct image_section section;

		if (!image_section(plt->image, i, &section) || section.type != SHT_RELA ||
		    !(section.flags & SHF_ALLOC) || !strcmp(section.name, ".rela.plt") != first)
			continue;
		index_section(plt, i, &section);
		tables++;
	}
}

/* The symbol of the relocation of a number, which a stub for lazy binding pushes. */
static const char *numbered_name(const struct image *image, const struct image_section *section, uint32_t number)
{
	const unsigned char *entries = image_bytes(image, section->offset, section->size);
	Elf64_Rela relocation;

	if (section->type != SHT_RELA || !entries || number >= section->size / sizeof(relocation))
		return NULL;
	memcpy(&relocation, entries + number * sizeof(relocation), sizeof(relocation));
	return symbol_name(image, section->link, ELF64_R_SYM(relocation.r_info));
}

/* The symbol that the dynamic linker puts into a slot. */
static const char *slot_name(struct plt *plt, uint64_t slot)
{
	const uint64_t *place = NULL;
	struct image_section section;

	for (int first = 1; first >= 0 && !place; first--) {
		index_slots(plt, first);
		place = map_get(&plt->slots, key_of(plt, slot));
	}
	if (!place || !image_section(plt->image, (uint32_t)(*place >> 32), &section))
		return NULL;
	return numbered_name(plt->image, &section, (uint32_t)*place);
}

/* Reads the stub: [endbr64] [bnd] jmp *slot(%rip), or [endbr64] push number; [bnd] jmp. */
static const char *stub_name(struct plt *plt, const unsigned char *code, size_t len, uint64_t address)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = len >= 4 && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	struct image_section section;
	int32_t operand;

	if (at < len && code[at] == 0xf2) /* bnd */
		at++;
	if (len - at >= 6 && code[at] == 0xff && code[at + 1] == 0x25) {
		memcpy(&operand, code + at + 2, sizeof(operand));
		return slot_name(plt, address + at + 6 + (uint64_t)(int64_t)operand);
	}
	if (len - at >= 5 && code[at] == 0x68) {
		memcpy(&operand, code + at + 1, sizeof(operand));
		return operand >= 0 && image_section_named(plt->image, ".rela.plt", &section)
			       ? numbered_name(plt->image, &section, (uint32_t)operand)
			       : NULL;
	}
	return NULL;
}

static bool is_plt(const struct image_section *section)
{
	return section->type == SHT_PROGBITS && section->flags & SHF_EXECINSTR &&
	       (!strcmp(section->name, ".plt") || !strcmp(section->name, ".plt.sec") ||
		!strcmp(section->name, ".plt.got"));
}

int plt_open(struct plt **ret, const struct image *image)
{
	struct plt *plt = calloc(1, sizeof(*plt));

	if (!plt)
		return -ENOMEM;
	plt->image = image;
	index_seed(plt->seed);
	for (uint32_t i = 1; i < image_sections(image) && plt->stubs_len < STUBS_MAX; i++) {
		struct image_section *section = &plt->stubs[plt->stubs_len];

		if (image_section(image, i, section) && is_plt(section))
			plt->stubs_len++;
	}
	if (!plt->stubs_len) {
		free(plt);
		return -ENODATA;
	}
	*ret = plt;
	return 0;
}

void plt_free(struct plt *plt)
{
	if (!plt)
		return;
	map_free(&plt->slots);
	free(plt);
}

bool plt_find(struct plt *plt, uint64_t address, struct plt_stub *ret)
{
	for (size_t i = 0; i < plt->stubs_len; i++) {
		const struct image_section *section = &plt->stubs[i];
		const unsigned char *code;
		uint64_t size = STUB_SIZE, at;

		if (address < section->address || address - section->address >= section->size)
			continue;
		if (section->entry_size == SMALL_STUB_SIZE)
			size = SMALL_STUB_SIZE;
		at = (address - section->address) / size * size;
		*ret = (struct plt_stub){ .start = section->address + at };
		if (size > section->size - at)
			size = section->size - at;
		code = image_bytes(plt->image, section->offset, section->size);
		if (code && image_header(plt->image)->e_machine == EM_X86_64)
			ret->name = stub_name(plt, code + at, size, ret->start);
		return true;
	}
	return false;
}

size_t plt_memory(const struct plt *plt)
{
	return sizeof(*plt) + map_bytes(&plt->slots);
}
