/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest ELF file with Go's table of functions, in each of its layouts. Two functions: main.outer from 0x401000
 * to 0x401040, with main.inner inlined from 0x10 to 0x20 into it, and main.next from 0x401050 to 0x401080.
 */
#ifndef WICK_TESTS_GOIMAGE_H
#define WICK_TESTS_GOIMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define GOIMAGE_BASE 0x400000ULL
#define GOIMAGE_TEXT 0x401000ULL

enum {
	GOIMAGE_TABLE = 0x200, /* offsets in the file */
	GOIMAGE_NAMES = 0x300,
	GOIMAGE_UNITS = 0x380,
	GOIMAGE_FILES = 0x3a0,
	GOIMAGE_VALUES = 0x400,
	GOIMAGE_FUNCTIONS = 0x500,
	GOIMAGE_RECORDS = 0x600,
	GOIMAGE_MODULE = 0x800,
	GOIMAGE_TREE = 0xa00,
	GOIMAGE_RELAS = 0xb00,
	GOIMAGE_SECTION_NAMES = 0xf00,
	GOIMAGE_SECTIONS = 0x1000,
	GOIMAGE_BYTES = 0x1200,
};

struct goimage {
	unsigned char data[GOIMAGE_BYTES];
	int version; /* 2, 16, 18, 20 */
	size_t value_at;
	unsigned int relas;
};

static inline void goimage_u32(struct goimage *image, size_t at, uint32_t value)
{
	memcpy(image->data + at, &value, sizeof(value));
}

static inline void goimage_u64(struct goimage *image, size_t at, uint64_t value)
{
	memcpy(image->data + at, &value, sizeof(value));
}

/* Where a part is counted from in this version. */
static inline uint32_t goimage_from(const struct goimage *image, size_t at, size_t part)
{
	return (uint32_t)(at - (image->version == 2 ? GOIMAGE_TABLE : part));
}

/* A table of values, each up to an offset in the function. Its own offset. */
static inline uint32_t goimage_values(struct goimage *image, const int (*pairs)[2], size_t count)
{
	uint32_t start = goimage_from(image, image->value_at, GOIMAGE_VALUES);
	int value = -1, pc = 0;

	for (size_t i = 0; i < count; i++) {
		int delta = pairs[i][0] - value;

		image->data[image->value_at++] = (unsigned char)(delta < 0 ? -2 * delta - 1 : 2 * delta);
		image->data[image->value_at++] = (unsigned char)(pairs[i][1] - pc);
		value = pairs[i][0];
		pc = pairs[i][1];
	}
	image->data[image->value_at++] = 0;
	return start;
}

static inline void goimage_function(struct goimage *image, unsigned int number, uint32_t start, uint32_t name, int size)
{
	bool old = image->version < 18, inlined = number == 0;
	int first = image->version == 2;
	const int stack[][2] = { { 0, size } };
	const int files[][2] = { { first, 0x10 }, { first + 1, 0x20 }, { first, size } };
	const int lines[][2] = { { 10, 0x10 }, { 20, 0x20 }, { 12, size } };
	const int tree[][2] = { { -1, 0x10 }, { 0, 0x20 }, { -1, size } };
	size_t at = GOIMAGE_RECORDS + number * 0x80UL, pair = GOIMAGE_FUNCTIONS + number * (old ? 16UL : 8UL);
	uint32_t record = goimage_from(image, at, GOIMAGE_FUNCTIONS);

	if (image->version == 2)
		pair = GOIMAGE_TABLE + 16 + number * 16UL;
	if (old) {
		goimage_u64(image, pair, GOIMAGE_TEXT + start);
		goimage_u64(image, pair + 8, record);
		goimage_u64(image, at, GOIMAGE_TEXT + start);
		at += 8;
	} else {
		goimage_u32(image, pair, start);
		goimage_u32(image, pair + 4, record);
		goimage_u32(image, at, start);
		at += 4;
	}
	goimage_u32(image, at, goimage_from(image, GOIMAGE_NAMES, GOIMAGE_NAMES) + name);
	goimage_u32(image, at + 12, goimage_values(image, stack, 1));
	goimage_u32(image, at + 16, goimage_values(image, files, 3));
	goimage_u32(image, at + 20, goimage_values(image, lines, 3));
	goimage_u32(image, at + 24, 3);
	at += image->version < 20 ? 36 : 40; /* behind the counts */
	if (image->version == 2)
		return;
	image->data[at - 1] = 4;
	goimage_u32(image, at + 8, inlined ? goimage_values(image, tree, 3) : 0);
	at += 12;
	if (old)
		goimage_u64(image, (at + 4) / 8 * 8 + 24, inlined ? GOIMAGE_BASE + GOIMAGE_TREE : 0);
	else
		goimage_u32(image, at + 12, inlined ? 0x10 : UINT32_MAX);
}

/* main.inner, called at 8 bytes into main.outer */
static inline void goimage_tree(struct goimage *image)
{
	size_t at = GOIMAGE_TREE;
	bool old = image->version < 20;

	goimage_u32(image, at, old ? 0xffff : 0);
	goimage_u32(image, at + (old ? 12 : 4), 11);
	goimage_u32(image, at + (old ? 16 : 8), 8);
}

static inline void goimage_module(struct goimage *image)
{
	size_t at = GOIMAGE_MODULE;

	goimage_u64(image, at, GOIMAGE_BASE + GOIMAGE_TABLE);
	goimage_u64(image, at + 8, GOIMAGE_BASE + GOIMAGE_NAMES);
	goimage_u64(image, at + 13 * 8, GOIMAGE_BASE + GOIMAGE_FUNCTIONS);
	goimage_u64(image, at + 16 * 8, GOIMAGE_BASE + GOIMAGE_FUNCTIONS);
	goimage_u64(image, at + 17 * 8, 3);
	goimage_u64(image, at + 20 * 8, GOIMAGE_TEXT);
	goimage_u64(image, at + 21 * 8, GOIMAGE_TEXT + 0x80);
	goimage_u64(image, at + 22 * 8, GOIMAGE_TEXT);
	goimage_u64(image, at + (image->version == 18 ? 38 : 40) * 8, GOIMAGE_BASE + GOIMAGE_TREE - 0x10);
}

/* Moves the module's pointers into relocations, as another linker does for a program that may lie anywhere. */
static inline void goimage_relocate(struct goimage *image)
{
	for (size_t word = 0; word < 41; word++) {
		Elf64_Rela rela = { .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE) };

		memcpy(&rela.r_addend, image->data + GOIMAGE_MODULE + word * 8, 8);
		if (rela.r_addend < (int64_t)GOIMAGE_BASE)
			continue;
		rela.r_offset = GOIMAGE_BASE + GOIMAGE_MODULE + word * 8;
		memcpy(image->data + GOIMAGE_RELAS + image->relas++ * sizeof(rela), &rela, sizeof(rela));
		goimage_u64(image, GOIMAGE_MODULE + word * 8, 0);
	}
}

static inline void goimage_section(struct goimage *image, unsigned int number, uint32_t name, uint32_t type,
				   size_t offset, size_t size)
{
	Elf64_Shdr section = { .sh_name = name,
			       .sh_type = type,
			       .sh_flags = SHF_ALLOC,
			       .sh_addr = GOIMAGE_BASE + offset,
			       .sh_offset = offset,
			       .sh_size = size,
			       .sh_addralign = 8 };

	if (type == SHT_RELA)
		section.sh_entsize = sizeof(Elf64_Rela);
	memcpy(image->data + GOIMAGE_SECTIONS + number * sizeof(section), &section, sizeof(section));
}

static inline void goimage_elf(struct goimage *image)
{
	static const char names[] = "\0.gopclntab\0.shstrtab\0.rela.dyn";
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(header),
			      .e_shoff = GOIMAGE_SECTIONS,
			      .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 4,
			      .e_shstrndx = 2 };
	Elf64_Phdr segment = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_W,
			       .p_vaddr = GOIMAGE_BASE,
			       .p_filesz = GOIMAGE_BYTES,
			       .p_memsz = GOIMAGE_BYTES,
			       .p_align = 4096 };

	memcpy(image->data, &header, sizeof(header));
	memcpy(image->data + sizeof(header), &segment, sizeof(segment));
	memcpy(image->data + GOIMAGE_SECTION_NAMES, names, sizeof(names));
	goimage_section(image, 1, 1, SHT_PROGBITS, GOIMAGE_TABLE, GOIMAGE_MODULE - GOIMAGE_TABLE);
	goimage_section(image, 2, 12, SHT_STRTAB, GOIMAGE_SECTION_NAMES, sizeof(names));
	goimage_section(image, 3, 22, SHT_RELA, GOIMAGE_RELAS, image->relas * sizeof(Elf64_Rela));
}

static inline void goimage_header(struct goimage *image)
{
	static const size_t parts[] = { GOIMAGE_NAMES, GOIMAGE_UNITS, GOIMAGE_FILES, GOIMAGE_VALUES,
					GOIMAGE_FUNCTIONS };
	uint32_t magic = image->version == 2    ? 0xfffffffb
			 : image->version == 16 ? 0xfffffffa
			 : image->version == 18 ? 0xfffffff0
						: 0xfffffff1;
	size_t at = GOIMAGE_TABLE;

	goimage_u32(image, at, magic);
	image->data[at + 6] = 1;
	image->data[at + 7] = 8;
	goimage_u64(image, at + 8, 2);
	if (image->version == 2) {
		goimage_u64(image, at + 16 + 32, GOIMAGE_TEXT + 0x80);
		goimage_u32(image, at + 16 + 40, GOIMAGE_UNITS - GOIMAGE_TABLE);
		goimage_u32(image, GOIMAGE_UNITS, 3);
		goimage_u32(image, GOIMAGE_UNITS + 4, GOIMAGE_FILES - GOIMAGE_TABLE);
		goimage_u32(image, GOIMAGE_UNITS + 8, GOIMAGE_FILES - GOIMAGE_TABLE + 5);
		return;
	}
	goimage_u64(image, at + 16, 2);
	at += image->version == 16 ? 24 : 32;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		goimage_u64(image, at + i * 8, parts[i] - GOIMAGE_TABLE);
	goimage_u32(image, GOIMAGE_UNITS + 4, 5);
	if (image->version == 16)
		goimage_u64(image, GOIMAGE_FUNCTIONS + 32, GOIMAGE_TEXT + 0x80);
	else
		goimage_u32(image, GOIMAGE_FUNCTIONS + 16, 0x80);
}

static inline void goimage_make(struct goimage *image, int version)
{
	static const char names[] = "main.outer\0main.inner\0main.next", files[] = "a.go\0b.go";

	memset(image, 0, sizeof(*image));
	image->version = version;
	image->value_at = GOIMAGE_VALUES + 1;
	memcpy(image->data + GOIMAGE_NAMES, names, sizeof(names));
	memcpy(image->data + GOIMAGE_FILES, files, sizeof(files));
	goimage_header(image);
	goimage_function(image, 0, 0, 0, 0x40);
	goimage_function(image, 1, 0x50, 22, 0x30);
	if (version != 2)
		goimage_tree(image);
	if (version >= 18)
		goimage_module(image);
	goimage_elf(image);
}

#endif
