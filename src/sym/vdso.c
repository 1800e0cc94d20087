/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies this process's own vDSO into a file in memory. Its size is in no table: it ends where its segments or its
 * section headers do. All 64-bit processes of a running kernel have the same one.
 */
#include "sym/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"

#define SEGMENTS_MAX 16
#define BYTES_MAX ((uint64_t)1 << 20)

static uint64_t size_of(const Elf64_Ehdr *header)
{
	const Elf64_Phdr *segments = (const void *)((const char *)header + header->e_phoff);
	uint64_t end = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;

	for (unsigned int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	}
	return end;
}

int vdso_copy(int *ret_fd)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	uint64_t size;
	int fd, err;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
		return fail_plain(-ENODATA, "the kernel has no vDSO");
	size = size_of(header);
	if (size < sizeof(*header) || size > BYTES_MAX)
		return fail_plain(-ENODATA, "the kernel's vDSO is of an unknown form");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return fail(-errno, "copying the vDSO");
	err = file_write_all(fd, header, size);
	if (err) {
		close(fd);
		return fail(err, "copying the vDSO");
	}
	*ret_fd = fd;
	return 0;
}
