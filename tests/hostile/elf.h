/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ELF files for attackers to make: a head with room for call frame information and sections, which is written
 * to the beginning of a file, and code anywhere in the file, in one loadable segment.
 */
#ifndef WICK_TESTS_HOSTILE_ELF_H
#define WICK_TESTS_HOSTILE_ELF_H

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "hostile/hostile.h"

#define ELF_CODE 0x1000 /* where code is if nothing else is said, as offset and as address */
#define ELF_CFI 0x2000

/* 0xedi times pause; ret: a function that ends. And one that does not. */
static const unsigned char elf_leave[] = { 0xff, 0xcf, 0xf3, 0x90, 0x75, 0xfa, 0xc3 };
static const unsigned char elf_spin[] = { 0xf3, 0x90, 0xeb, 0xfc };

struct elf {
	unsigned char *head;
	size_t head_len, cfi;
};

static inline void elf_put(struct elf *elf, const void *bytes, size_t len)
{
	if (ELF_CFI + elf->cfi + len + 0x1000 > elf->head_len) {
		errno = ENOSPC;
		die("call frame information");
	}
	memcpy(elf->head + ELF_CFI + elf->cfi, bytes, len);
	elf->cfi += len;
}

static inline void elf_put_u32(struct elf *elf, uint32_t value)
{
	elf_put(elf, &value, sizeof(value));
}

static inline void elf_put_u64(struct elf *elf, uint64_t value)
{
	elf_put(elf, &value, sizeof(value));
}

/* Begins with a CIE: CFA = rsp + 8, return address below it. */
static inline void elf_begin(struct elf *elf, size_t cfi_room)
{
	elf->head_len = (ELF_CFI + cfi_room + 0x2000) / 0x1000 * 0x1000;
	elf->head = calloc(1, elf->head_len);
	elf->cfi = 0;
	if (!elf->head)
		die("calloc");
	elf_put_u32(elf, 20);
	elf_put_u32(elf, 0);
	elf_put(elf, "\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0\0\0", 16);
}

static inline void elf_fde(struct elf *elf, uint64_t start, uint64_t len, const void *program, size_t program_len)
{
	size_t padding = -program_len & 7;

	elf_put_u32(elf, (uint32_t)(4 + 16 + program_len + padding));
	elf_put_u32(elf, (uint32_t)elf->cfi);
	elf_put_u64(elf, start);
	elf_put_u64(elf, len);
	elf_put(elf, program, program_len);
	elf_put(elf, "\0\0\0\0\0\0\0", padding);
}

/* Header, one segment with code, sections .eh_frame and names. */
static inline void elf_end(struct elf *elf, uint64_t offset, uint64_t address, uint64_t size)
{
	size_t at = elf->head_len - 0x1000;
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(header),
			      .e_shoff = at,
			      .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 3,
			      .e_shstrndx = 2 };
	Elf64_Phdr segment = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = offset,
			       .p_vaddr = address,
			       .p_filesz = size,
			       .p_memsz = size };
	Elf64_Shdr sections[3] = {
		[1] = { .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = ELF_CFI,
			.sh_offset = ELF_CFI,
			.sh_size = elf->cfi },
		[2] = { .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = at + sizeof(sections), .sh_size = 21 },
	};

	memcpy(elf->head, &header, sizeof(header));
	memcpy(elf->head + sizeof(header), &segment, sizeof(segment));
	memcpy(elf->head + at, sections, sizeof(sections));
	memcpy(elf->head + at + sizeof(sections), "\0.eh_frame\0.shstrtab", 21);
}

/* A new file with this head, and this code at an offset. */
static inline int elf_write(const struct elf *elf, const char *path, uint64_t offset, const void *code, size_t len)
{
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || pwrite(fd, elf->head, elf->head_len, 0) != (ssize_t)elf->head_len ||
	    pwrite(fd, code, len, (off_t)offset) != (ssize_t)len)
		die(path);
	return fd;
}

/* The code of a file, in memory and to stay there. */
static inline unsigned char *elf_map(int fd, uint64_t offset, size_t len)
{
	uint64_t page = offset & ~0xfffULL;
	unsigned char *at =
		mmap(NULL, len + (offset - page), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_POPULATE, fd, (off_t)page);

	if (at == MAP_FAILED)
		die("mmap");
	return at + (offset - page);
}

static inline void elf_call(const unsigned char *at, int times)
{
	((void (*)(int))(uintptr_t)at)(times);
}

#endif
