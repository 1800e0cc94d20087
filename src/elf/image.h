/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A safe view of an ELF file: mapped, every table checked against the file's size before it is touched, nothing
 * trusted. 64-bit little endian. The file may shrink while it is read: whoever uses this runs in a process that may
 * die of it.
 */
#ifndef WICK_ELF_IMAGE_H
#define WICK_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct image;

/* -ENOEXEC: not an ELF file that can be read; -EFBIG: it has more sections than any file that can be run. */
int image_open(struct image **ret, int fd);
int image_from_memory(struct image **ret, const void *data, size_t len); /* borrowed */
void image_free(struct image *image);

const Elf64_Ehdr *image_header(const struct image *image);
size_t image_size(const struct image *image);

/* The steps that reading it may still take, in proportion to its size; whoever reads it shares them. */
struct budget *image_budget(const struct image *image);

/* Gives back the memory of a part of the file that was read once; it is still there to be read again. */
void image_release(const struct image *image, uint64_t offset, uint64_t len);

/*
 * Makes the section headers of a mapped file writable, in memory only: libelf writes into those that it is given.
 * -EBADMSG where the table of their names has no end: libelf would look for it again with each of them.
 */
int image_unlock_sections(const struct image *image);

/* Bytes of the file; NULL if the range is not in it. */
const void *image_bytes(const struct image *image, uint64_t offset, uint64_t len);

struct image_section {
	const char *name; /* ended by NUL, "" if it has none */
	uint32_t type;
	uint64_t flags, address, offset, size, entry_size;
	uint32_t link, info;
};
/* The section of a number or name; false if there is none. Its bytes may still be missing (SHT_NOBITS, cut file). */
bool image_section(const struct image *image, uint32_t number, struct image_section *ret);
bool image_section_named(const struct image *image, const char *name, struct image_section *ret);
uint32_t image_sections(const struct image *image);

/* The program header of a number; false if there is none. */
bool image_segment(const struct image *image, uint32_t number, Elf64_Phdr *ret);
uint32_t image_segments(const struct image *image);

/* Can code be at this virtual address? And the range of addresses that holds all code, false if there is none. */
bool image_executable(const struct image *image, uint64_t address);
bool image_code_range(const struct image *image, uint64_t *ret_start, uint64_t *ret_end);

/* File offset and virtual address, by the loadable segments, those with code first. False if it is in none. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *ret);
bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *ret);

/* The piece of code that an address is in: for all of its addresses, offsets are as far from each other as they are. */
struct image_code {
	uint64_t address, size, offset;
};

bool image_code_at(const struct image *image, uint64_t address, struct image_code *ret);

/* The length of its GNU build id, 0 if it has none. */
size_t image_build_id(const struct image *image, unsigned char ret[64]);

#endif
