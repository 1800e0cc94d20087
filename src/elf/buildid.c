/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the GNU build id in a file's note segments. The file may be anything that somebody could map and run: nothing
 * in it is believed, at most a few pages of it are read, and it may change meanwhile.
 */
#include "elf/buildid.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define SEGMENTS_MAX 64
#define NOTES_MAX 8192

static size_t align4(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

int buildid_from_notes(const void *notes, size_t len, unsigned char ret[BUILD_ID_MAX])
{
	struct cursor cursor = cursor_of(notes, len);

	while (cursor_left(&cursor) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_len = cursor_u32(&cursor), desc_len = cursor_u32(&cursor), type = cursor_u32(&cursor);
		const void *name = cursor_bytes(&cursor, align4(name_len));
		const void *desc = cursor_bytes(&cursor, desc_len);

		if (!name || !desc)
			return -ENODATA;
		if (type == NT_GNU_BUILD_ID && name_len == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && desc_len && desc_len <= BUILD_ID_MAX) {
			memcpy(ret, desc, desc_len);
			return (int)desc_len;
		}
		cursor_bytes(&cursor, align4(desc_len) - desc_len);
	}
	return -ENODATA;
}

int buildid_read(int fd, unsigned char ret[BUILD_ID_MAX])
{
	unsigned char notes[NOTES_MAX];
	Elf64_Ehdr head;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    head.e_phoff > INT64_MAX / 2)
		return -ENOEXEC;
	for (unsigned int i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr segment;
		ssize_t got;
		int len;

		if (pread(fd, &segment, sizeof(segment), (off_t)(head.e_phoff + i * sizeof(segment))) !=
		    (ssize_t)sizeof(segment))
			return -ENOEXEC;
		if (segment.p_type != PT_NOTE || segment.p_offset > INT64_MAX)
			continue;
		got = pread(fd, notes, segment.p_filesz < sizeof(notes) ? segment.p_filesz : sizeof(notes),
			    (off_t)segment.p_offset);
		len = got > 0 ? buildid_from_notes(notes, (size_t)got, ret) : -ENODATA;
		if (len > 0)
			return len;
	}
	return -ENODATA;
}
