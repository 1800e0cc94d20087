/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that believes an ELF header. In: a file or bytes, from anybody. Out: headers copied out of it and
 * ranges of its bytes. Invariant: no pointer leaves here that was not checked against the file's size, and no table is
 * walked further than its bytes in the file reach; tables need no alignment, for they are copied entry by entry. A look
 * at a section costs the same whatever the file says: sections are few, and where their names end is found out once.
 */
#include "elf/image.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "elf/buildid.h"

#define SECTIONS_MAX 4096 /* real files that can be run have up to a hundred; those for linkers are not mapped */
#define NAME_HASHED 32    /* bytes of a section's name: nobody looks for a longer one */
#define SEGMENTS_MAX 4096
#define LOADS_MAX 64 /* real files have four to ten */

struct load {
	uint64_t offset, address, size; /* size: bytes that are in the file and in no way wrap around */
	bool executable;
};

struct image {
	const unsigned char *data;
	size_t size;
	bool mapped;
	Elf64_Ehdr header;
	uint32_t sections, segments;
	const char *names; /* of sections, up to and with the last NUL */
	size_t names_len;
	bool names_end;   /* with the table */
	uint32_t *hashes; /* of the sections' names */
	struct budget steps, *budget;
	struct load loads[LOADS_MAX];
	unsigned int loads_len;
};

static bool read_at(const struct image *image, uint64_t offset, void *ret, size_t len)
{
	const void *bytes = image_bytes(image, offset, len);

	if (bytes)
		memcpy(ret, bytes, len);
	return bytes != NULL;
}

static bool read_section_header(const struct image *image, uint32_t number, Elf64_Shdr *ret)
{
	uint64_t offset;

	return !__builtin_add_overflow(image->header.e_shoff, (uint64_t)number * sizeof(*ret), &offset) &&
	       read_at(image, offset, ret, sizeof(*ret));
}

/* How many entries of this size are in the file, from `offset` on. */
static uint32_t that_fit(const struct image *image, uint64_t offset, size_t entry, uint64_t count, uint32_t max)
{
	uint64_t room = offset < image->size ? (image->size - offset) / entry : 0;

	if (count > room)
		count = room;
	return count > max ? max : (uint32_t)count;
}

/* The table of sections' names, without a rest that is not ended. */
static void find_names(struct image *image, uint32_t number)
{
	struct image_section section;
	const char *text, *last;

	if (!image_section(image, number, &section) || section.type != SHT_STRTAB)
		return;
	text = image_bytes(image, section.offset, section.size);
	last = text && section.size ? memrchr(text, '\0', section.size) : NULL;
	image->names = last ? text : NULL;
	image->names_len = last ? (size_t)(last - text) + 1 : 0;
	image->names_end = image->names_len == section.size;
}

/* Numbers that do not fit the header's 16 bits are in the first section's header. */
static void count_tables(struct image *image)
{
	const Elf64_Ehdr *header = &image->header;
	uint64_t sections = header->e_shnum, segments = header->e_phnum;
	uint32_t names = header->e_shstrndx;
	Elf64_Shdr first;

	if (header->e_shoff && header->e_shentsize == sizeof(first) && read_section_header(image, 0, &first)) {
		sections = sections ? sections : first.sh_size;
		segments = segments == PN_XNUM ? first.sh_info : segments;
		names = names == SHN_XINDEX ? first.sh_link : names;
		image->sections = that_fit(image, header->e_shoff, sizeof(first), sections, SECTIONS_MAX + 1);
	}
	if (header->e_phentsize == sizeof(Elf64_Phdr))
		image->segments = that_fit(image, header->e_phoff, sizeof(Elf64_Phdr), segments, SEGMENTS_MAX);
	find_names(image, names);
}

static void find_loads(struct image *image)
{
	for (uint32_t i = 0; i < image->segments && image->loads_len < LOADS_MAX; i++) {
		struct load *load = &image->loads[image->loads_len];
		Elf64_Phdr segment;
		uint64_t end;

		if (!image_segment(image, i, &segment) || segment.p_type != PT_LOAD || !segment.p_filesz ||
		    __builtin_add_overflow(segment.p_vaddr, segment.p_filesz, &end) ||
		    __builtin_add_overflow(segment.p_offset, segment.p_filesz, &end))
			continue;
		*load = (struct load){ .offset = segment.p_offset,
				       .address = segment.p_vaddr,
				       .size = segment.p_filesz,
				       .executable = segment.p_flags & PF_X };
		image->loads_len++;
	}
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 0;

	for (unsigned int i = 0; i < NAME_HASHED && name[i]; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x01000193u;
	return hash;
}

static int hash_names(struct image *image)
{
	image->hashes = calloc(image->sections + 1, sizeof(*image->hashes));
	for (uint32_t i = 1; image->hashes && i < image->sections; i++) {
		struct image_section section;

		image->hashes[i] = image_section(image, i, &section) ? hash_name(section.name) : 0;
	}
	return image->hashes ? 0 : -ENOMEM;
}

static int read_headers(struct image *image)
{
	const Elf64_Ehdr *header = &image->header;

	if (!read_at(image, 0, &image->header, sizeof(image->header)) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	count_tables(image);
	find_loads(image);
	return image->sections > SECTIONS_MAX ? -EFBIG : hash_names(image);
}

static int image_new(struct image **ret, const void *data, size_t len, bool mapped)
{
	struct image *image = calloc(1, sizeof(*image));
	int err;

	if (!image) {
		if (mapped)
			munmap((void *)data, len);
		return -ENOMEM;
	}
	image->data = data;
	image->size = len;
	image->mapped = mapped;
	image->steps = budget_of(len);
	image->budget = &image->steps;
	err = read_headers(image);
	if (err)
		image_free(image);
	else
		*ret = image;
	return err;
}

int image_open(struct image **ret, int fd)
{
	struct stat found;
	void *data;

	if (fstat(fd, &found) < 0)
		return -errno;
	if (!S_ISREG(found.st_mode) || found.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	return image_new(ret, data, (size_t)found.st_size, true);
}

int image_from_memory(struct image **ret, const void *data, size_t len)
{
	return image_new(ret, data, len, false);
}

void image_free(struct image *image)
{
	if (!image)
		return;
	if (image->mapped)
		munmap((void *)image->data, image->size);
	free(image->hashes);
	free(image);
}

const Elf64_Ehdr *image_header(const struct image *image)
{
	return &image->header;
}

size_t image_size(const struct image *image)
{
	return image->size;
}

struct budget *image_budget(const struct image *image)
{
	return image->budget;
}

const void *image_bytes(const struct image *image, uint64_t offset, uint64_t len)
{
	return offset <= image->size && len <= image->size - offset ? image->data + offset : NULL;
}

/* Only whole pages of a mapped file: bytes in memory would be lost. */
void image_release(const struct image *image, uint64_t offset, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = (offset + page - 1) / page * page, end;

	if (!image->mapped || !image_bytes(image, offset, len))
		return;
	end = (offset + len) / page * page;
	if (start < end)
		madvise((void *)(image->data + start), end - start, MADV_DONTNEED);
}

int image_unlock_sections(const struct image *image)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = image->header.e_shoff / page * page;
	uint64_t end = image->header.e_shoff + (uint64_t)image->sections * sizeof(Elf64_Shdr);

	if (!image->mapped || !image->sections)
		return -EINVAL;
	if (!image->names_end)
		return -EBADMSG;
	return mprotect((void *)(image->data + start), end - start, PROT_READ | PROT_WRITE) ? -errno : 0;
}

bool image_section(const struct image *image, uint32_t number, struct image_section *ret)
{
	Elf64_Shdr header;

	if (number >= image->sections || !read_section_header(image, number, &header))
		return false;
	*ret = (struct image_section){ .name = header.sh_name < image->names_len ? image->names + header.sh_name : "",
				       .type = header.sh_type,
				       .flags = header.sh_flags,
				       .address = header.sh_addr,
				       .offset = header.sh_offset,
				       .size = header.sh_size,
				       .entry_size = header.sh_entsize,
				       .link = header.sh_link,
				       .info = header.sh_info };
	return true;
}

bool image_section_named(const struct image *image, const char *name, struct image_section *ret)
{
	const uint32_t hash = hash_name(name);

	for (uint32_t i = 1; i < image->sections; i++) {
		struct image_section section;

		if (image->hashes[i] == hash && image_section(image, i, &section) && !strcmp(section.name, name)) {
			*ret = section;
			return true;
		}
	}
	return false;
}

uint32_t image_sections(const struct image *image)
{
	return image->sections;
}

bool image_segment(const struct image *image, uint32_t number, Elf64_Phdr *ret)
{
	uint64_t offset;

	return number < image->segments &&
	       !__builtin_add_overflow(image->header.e_phoff, (uint64_t)number * sizeof(*ret), &offset) &&
	       read_at(image, offset, ret, sizeof(*ret));
}

uint32_t image_segments(const struct image *image)
{
	return image->segments;
}

bool image_executable(const struct image *image, uint64_t address)
{
	for (unsigned int i = 0; i < image->loads_len; i++) {
		const struct load *load = &image->loads[i];

		if (load->executable && address >= load->address && address - load->address < load->size)
			return true;
	}
	return false;
}

bool image_code_range(const struct image *image, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned int i = 0; i < image->loads_len; i++) {
		const struct load *load = &image->loads[i];

		if (!load->executable)
			continue;
		start = load->address < start ? load->address : start;
		end = load->address + load->size > end ? load->address + load->size : end;
	}
	*ret_start = start;
	*ret_end = end;
	return start < end;
}

/* A page at the seam of two segments is mapped by both: what is asked about is code. */
static const struct load *find_load(const struct image *image, uint64_t at, bool by_address)
{
	const struct load *found = NULL;

	for (unsigned int i = 0; i < image->loads_len; i++) {
		const struct load *load = &image->loads[i];
		uint64_t start = by_address ? load->address : load->offset;

		if (at < start || at - start >= load->size)
			continue;
		if (load->executable)
			return load;
		found = found ? found : load;
	}
	return found;
}

bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *ret)
{
	const struct load *load = find_load(image, offset, false);

	if (load)
		*ret = offset - load->offset + load->address;
	return load != NULL;
}

bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *ret)
{
	const struct load *load = find_load(image, address, true);

	if (load)
		*ret = address - load->address + load->offset;
	return load != NULL;
}

bool image_code_at(const struct image *image, uint64_t address, struct image_code *ret)
{
	const struct load *load = find_load(image, address, true);

	if (load && load->executable)
		*ret = (struct image_code){ load->address, load->size, load->offset };
	return load && load->executable;
}

static size_t build_id_at(const struct image *image, uint64_t offset, uint64_t size, unsigned char ret[64])
{
	const void *notes = budget_spend(image->budget, size) ? image_bytes(image, offset, size) : NULL;
	int len = notes ? buildid_from_notes(notes, size, ret) : -ENODATA;

	return len > 0 ? (size_t)len : 0;
}

/* By sections first: in a split debug file the segments' offsets are those of the file that it was split from. */
size_t image_build_id(const struct image *image, unsigned char ret[64])
{
	struct image_section section;
	Elf64_Phdr segment;
	size_t len = 0;

	static_assert(BUILD_ID_MAX == 64, "the caller's room");
	for (uint32_t i = 1; i < image->sections && !len; i++)
		if (image_section(image, i, &section) && section.type == SHT_NOTE)
			len = build_id_at(image, section.offset, section.size, ret);
	for (uint32_t i = 0; i < image->segments && !len; i++)
		if (image_segment(image, i, &segment) && segment.p_type == PT_NOTE)
			len = build_id_at(image, segment.p_offset, segment.p_filesz, ret);
	return len;
}
