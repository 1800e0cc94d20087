/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of PLT stubs. In: an image and an address in .plt, .plt.sec or .plt.got. Out: where the stub begins and the
 * function that it leads to, by the relocation of the slot that its jump reads. Invariant: the name is that of a
 * relocation which belongs to this very stub by its instructions, not by counting; where those are not understood
 * (other processors than x86-64), there is no name.
 */
#include "elf/plt.h"

#include <string.h>

#include "elf/image.h"

#define STUB_SIZE 16
#define SMALL_STUB_SIZE 8 /* in .plt.got of older linkers */
#define RELOCATIONS_MAX (1u << 20)

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

	if (!entries || !number || number >= symbols.size / sizeof(symbol))
		return NULL;
	memcpy(&symbol, entries + number * sizeof(symbol), sizeof(symbol));
	text = section_bytes(image, symbols.link, &strings);
	if (!text || symbol.st_name >= strings.size || !text[symbol.st_name] ||
	    !memchr(text + symbol.st_name, '\0', strings.size - symbol.st_name))
		return NULL;
	return text + symbol.st_name;
}

/* Whether a section has the relocation of a slot. */
static bool find_slot(const struct image *image, const struct image_section *section, uint64_t slot, Elf64_Rela *ret)
{
	const unsigned char *entries = image_bytes(image, section->offset, section->size);
	size_t count = section->size / sizeof(*ret);

	if (!entries || section->type != SHT_RELA || !(section->flags & SHF_ALLOC))
		return false;
	for (size_t i = 0; i < count && i < RELOCATIONS_MAX; i++) {
		memcpy(ret, entries + i * sizeof(*ret), sizeof(*ret));
		if (ret->r_offset == slot)
			return true;
	}
	return false;
}

/* The symbol that the dynamic linker puts into a slot. Nearly all are in one section, and another one is large. */
static const char *slot_name(const struct image *image, uint64_t slot)
{
	struct image_section section;
	Elf64_Rela relocation;

	if (image_section_named(image, ".rela.plt", &section) && find_slot(image, &section, slot, &relocation))
		return symbol_name(image, section.link, ELF64_R_SYM(relocation.r_info));
	for (uint32_t number = 1; number < image_sections(image); number++)
		if (image_section(image, number, &section) && find_slot(image, &section, slot, &relocation))
			return symbol_name(image, section.link, ELF64_R_SYM(relocation.r_info));
	return NULL;
}

/* The symbol of the relocation of a number, which a stub for lazy binding pushes. */
static const char *numbered_name(const struct image *image, uint32_t number)
{
	struct image_section section;
	const unsigned char *entries;
	Elf64_Rela relocation;

	if (!image_section_named(image, ".rela.plt", &section) || section.type != SHT_RELA)
		return NULL;
	entries = image_bytes(image, section.offset, section.size);
	if (!entries || number >= section.size / sizeof(relocation))
		return NULL;
	memcpy(&relocation, entries + number * sizeof(relocation), sizeof(relocation));
	return symbol_name(image, section.link, ELF64_R_SYM(relocation.r_info));
}

/* Reads the stub: [endbr64] [bnd] jmp *slot(%rip), or [endbr64] push number; [bnd] jmp. */
static const char *stub_name(const struct image *image, const unsigned char *code, size_t len, uint64_t address)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = len >= 4 && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	int32_t operand;

	if (at < len && code[at] == 0xf2) /* bnd */
		at++;
	if (len - at >= 6 && code[at] == 0xff && code[at + 1] == 0x25) {
		memcpy(&operand, code + at + 2, sizeof(operand));
		return slot_name(image, address + at + 6 + (uint64_t)(int64_t)operand);
	}
	if (len - at >= 5 && code[at] == 0x68) {
		memcpy(&operand, code + at + 1, sizeof(operand));
		return operand < 0 ? NULL : numbered_name(image, (uint32_t)operand);
	}
	return NULL;
}

static bool is_plt(const struct image_section *section)
{
	return section->type == SHT_PROGBITS && section->flags & SHF_EXECINSTR &&
	       (!strcmp(section->name, ".plt") || !strcmp(section->name, ".plt.sec") ||
		!strcmp(section->name, ".plt.got"));
}

bool plt_range(const struct image *image, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = UINT64_MAX;
	*ret_end = 0;
	for (uint32_t number = 1; number < image_sections(image); number++) {
		struct image_section section;
		uint64_t end;

		if (!image_section(image, number, &section) || !is_plt(&section) ||
		    __builtin_add_overflow(section.address, section.size, &end))
			continue;
		*ret_start = section.address < *ret_start ? section.address : *ret_start;
		*ret_end = end > *ret_end ? end : *ret_end;
	}
	return *ret_start < *ret_end;
}

bool plt_find(const struct image *image, uint64_t address, struct plt_stub *ret)
{
	for (uint32_t number = 1; number < image_sections(image); number++) {
		struct image_section section;
		const unsigned char *code;
		uint64_t size = STUB_SIZE, at;

		if (!image_section(image, number, &section) || !is_plt(&section) || address < section.address ||
		    address - section.address >= section.size)
			continue;
		if (section.entry_size == SMALL_STUB_SIZE)
			size = SMALL_STUB_SIZE;
		at = (address - section.address) / size * size;
		*ret = (struct plt_stub){ .start = section.address + at };
		if (size > section.size - at)
			size = section.size - at;
		code = image_bytes(image, section.offset, section.size);
		if (code && image_header(image)->e_machine == EM_X86_64)
			ret->name = stub_name(image, code + at, size, ret->start);
		return true;
	}
	return false;
}
