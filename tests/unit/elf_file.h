/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ELF files made by hand, whole or wrong. Sections are added one by one; elf_file_finish() writes what leads to
 * them. One segment, readable and executable, holds the whole file at ELF_FILE_BASE, so that the address of a byte is
 * its offset plus that.
 */
#ifndef WICK_TESTS_UNIT_ELF_FILE_H
#define WICK_TESTS_UNIT_ELF_FILE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define ELF_FILE_BASE 0x400000
#define ELF_FILE_SECTIONS 16
#define ELF_FILE_SEGMENTS 4

struct elf_file {
	struct buf bytes, names;
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_FILE_SEGMENTS];
	unsigned int segments_len;
	Elf64_Shdr sections[ELF_FILE_SECTIONS];
	unsigned int sections_len;
};

static inline void elf_file_pad(struct elf_file *file, size_t to)
{
	while (file->bytes.len % to)
		buf_addc(&file->bytes, 0);
}

static inline void elf_file_begin(struct elf_file *file)
{
	*file = (struct elf_file){ .sections_len = 1, .segments_len = 1 };
	file->header = (Elf64_Ehdr){ .e_type = ET_EXEC,
				     .e_machine = EM_X86_64,
				     .e_version = EV_CURRENT,
				     .e_phoff = sizeof(Elf64_Ehdr),
				     .e_ehsize = sizeof(Elf64_Ehdr),
				     .e_phentsize = sizeof(Elf64_Phdr),
				     .e_shentsize = sizeof(Elf64_Shdr) };
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] = ELFDATA2LSB;
	file->header.e_ident[EI_VERSION] = EV_CURRENT;
	buf_addc(&file->names, '\0');
	for (size_t i = 0; i < sizeof(file->header) + sizeof(file->segments); i++)
		buf_addc(&file->bytes, 0);
}

/* Returns the section's number; its header can be changed until the end. */
static inline unsigned int elf_file_add(struct elf_file *file, const char *name, uint32_t type, uint64_t flags,
					const void *data, size_t len)
{
	Elf64_Shdr *section = &file->sections[file->sections_len];

	elf_file_pad(file, 16);
	*section = (Elf64_Shdr){ .sh_name = (uint32_t)file->names.len,
				 .sh_type = type,
				 .sh_flags = flags,
				 .sh_addr = flags & SHF_ALLOC ? ELF_FILE_BASE + file->bytes.len : 0,
				 .sh_offset = file->bytes.len,
				 .sh_size = len,
				 .sh_addralign = 1 };
	buf_add(&file->names, name, strlen(name) + 1);
	buf_add(&file->bytes, data, len);
	return file->sections_len++;
}

/* Code: `len` bytes of nop. Returns its address. */
static inline uint64_t elf_file_add_code(struct elf_file *file, size_t len)
{
	static const char nops[4096] = { 0 };
	unsigned int number = elf_file_add(file, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, nops,
					   len < sizeof(nops) ? len : sizeof(nops));

	return file->sections[number].sh_addr;
}

/* A table of symbols and its strings. */
static inline void elf_file_add_symbols(struct elf_file *file, uint32_t type, const Elf64_Sym *symbols, size_t count,
					const char *strings, size_t len)
{
	unsigned int table = elf_file_add(file, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, 0, symbols,
					  count * sizeof(*symbols));

	file->sections[table].sh_entsize = sizeof(*symbols);
	file->sections[table].sh_link =
		elf_file_add(file, type == SHT_SYMTAB ? ".strtab" : ".dynstr", SHT_STRTAB, 0, strings, len);
}

static inline void elf_file_finish(struct elf_file *file)
{
	unsigned int number = elf_file_add(file, ".shstrtab", SHT_STRTAB, 0, NULL, 0);

	file->sections[number].sh_size = file->names.len;
	buf_add(&file->bytes, file->names.data, file->names.len);
	elf_file_pad(file, 16);
	file->header.e_shoff = file->bytes.len;
	file->header.e_shnum = (uint16_t)file->sections_len;
	file->header.e_shstrndx = (uint16_t)number;
	file->header.e_phnum = (uint16_t)file->segments_len;
	buf_add(&file->bytes, file->sections, file->sections_len * sizeof(*file->sections));
	if (!file->segments[0].p_type)
		file->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
						  .p_flags = PF_R | PF_X,
						  .p_vaddr = ELF_FILE_BASE,
						  .p_filesz = file->bytes.len,
						  .p_memsz = file->bytes.len };
	memcpy(file->bytes.data, &file->header, sizeof(file->header));
	memcpy(file->bytes.data + sizeof(file->header), file->segments, sizeof(file->segments));
}

static inline void elf_file_free(struct elf_file *file)
{
	buf_free(&file->bytes);
	buf_free(&file->names);
}

#endif
