/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function bounds from .eh_frame. In: an image. Out: the range of the FDE that covers an address, found through the
 * binary search table of .eh_frame_hdr where the file has one (no memory, nothing read that is not asked for), else
 * through a table of our own. Invariant: a range is only given if its FDE was read in bounds and covers the address, so
 * a table that is out of order or lies leads to no answer.
 */
#include "elf/ehframe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf/image.h"
#include "elf/pointer.h"

#define FRAMES_MAX (1u << 20) /* of a file without a search table */
#define AUGMENTATION_MAX 16

struct place {
	uint64_t start; /* of the function */
	size_t at;      /* of its FDE */
};

struct ehframe {
	uint64_t address; /* of .eh_frame */
	const unsigned char *data;
	size_t len;
	uint64_t header; /* address of .eh_frame_hdr, which its table is relative to */
	const unsigned char *table;
	uint32_t table_len;
	struct place *places; /* without a table: all FDEs, sorted */
	size_t places_len;
};

/* What an FDE needs to know from its CIE. */
struct cie {
	unsigned char encoding;
	bool signal;
};

/* A pointer: `start` is where the cursor's bytes begin and `address` the virtual address of that place. */
static uint64_t read_pointer(struct cursor *cursor, unsigned int encoding, const unsigned char *start, uint64_t address,
			     uint64_t data_base)
{
	uint64_t here = address + (uint64_t)(cursor->at - start), value = 0;

	if (!pointer_read(cursor, (unsigned char)encoding, here, data_base, &value))
		cursor->bad = 1;
	return value;
}

/* A number in the format of a pointer, relative to nothing. */
static uint64_t read_value(struct cursor *cursor, unsigned int encoding)
{
	return read_pointer(cursor, encoding & POINTER_FORMAT, cursor->at, 0, 0);
}

/* The bytes of the entry at an offset, after its length; false at the end or where it reaches outside. */
static bool read_entry(const struct ehframe *frames, size_t at, struct cursor *ret, size_t *ret_next)
{
	struct cursor cursor;
	uint64_t len;

	if (at >= frames->len)
		return false;
	cursor = cursor_of(frames->data + at, frames->len - at);
	len = cursor_u32(&cursor);
	if (len == 0xffffffff)
		len = cursor_u64(&cursor);
	if (cursor.bad || !len || len > cursor_left(&cursor))
		return false;
	*ret = cursor_of(cursor.at, len);
	*ret_next = (size_t)(cursor.at - frames->data) + len;
	return true;
}

/* The letters of the augmentation after 'z', each with its data. */
static void read_augmentation(struct cursor *cursor, const char *letters, struct cie *ret)
{
	for (unsigned int i = 0; i < AUGMENTATION_MAX && letters[i]; i++) {
		unsigned int encoding;

		switch (letters[i]) {
		case 'R':
			ret->encoding = (unsigned char)cursor_u8(cursor);
			break;
		case 'P':
			encoding = cursor_u8(cursor);
			read_value(cursor, encoding);
			break;
		case 'L':
			cursor_u8(cursor);
			break;
		case 'S':
			ret->signal = true;
			break;
		default: /* of no meaning for bounds, and without data as far as is known: 'B' */
			break;
		}
	}
}

static bool read_cie(const struct ehframe *frames, size_t at, struct cie *ret)
{
	char letters[AUGMENTATION_MAX] = { 0 };
	unsigned int version, len = 0;
	struct cursor cursor;
	size_t next;

	*ret = (struct cie){ .encoding = POINTER_ABSOLUTE };
	if (!read_entry(frames, at, &cursor, &next) || cursor_u32(&cursor) != 0)
		return false;
	version = cursor_u8(&cursor);
	if (version != 1 && version != 3)
		return false;
	do {
		letters[len] = (char)cursor_u8(&cursor);
	} while (letters[len] && ++len < AUGMENTATION_MAX);
	if (len == AUGMENTATION_MAX || (letters[0] && letters[0] != 'z'))
		return false;
	cursor_varint(&cursor); /* code alignment */
	cursor_sleb(&cursor);   /* data alignment */
	if (version == 1)
		cursor_u8(&cursor); /* return address register */
	else
		cursor_varint(&cursor);
	if (letters[0]) {
		cursor_varint(&cursor); /* length of what follows */
		read_augmentation(&cursor, letters + 1, ret);
	}
	return !cursor.bad;
}

/* Reads the FDE at an offset. False for a CIE and for what cannot be read; `next` is set if there is a next entry. */
static bool read_fde(const struct ehframe *frames, size_t at, struct ehframe_range *ret, size_t *ret_next)
{
	struct cursor cursor;
	struct cie cie;
	size_t id_at;
	uint32_t id;

	*ret_next = 0;
	if (!read_entry(frames, at, &cursor, ret_next))
		return false;
	id_at = (size_t)(cursor.at - frames->data);
	id = cursor_u32(&cursor);
	if (cursor.bad || !id || id > id_at || !read_cie(frames, id_at - id, &cie))
		return false;
	ret->start = read_pointer(&cursor, cie.encoding, frames->data, frames->address, frames->header);
	ret->signal = cie.signal;
	return !__builtin_add_overflow(ret->start, read_value(&cursor, cie.encoding), &ret->end) && !cursor.bad &&
	       ret->start < ret->end;
}

/* Where .eh_frame_hdr is: the program headers stay when sections are stripped. */
static bool find_header(const struct image *image, uint64_t *ret_address, struct cursor *ret)
{
	Elf64_Phdr segment;

	for (uint32_t i = 0; i < image_segments(image); i++) {
		const void *bytes;

		if (!image_segment(image, i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
			continue;
		bytes = image_bytes(image, segment.p_offset, segment.p_filesz);
		*ret_address = segment.p_vaddr;
		*ret = cursor_of(bytes, segment.p_filesz);
		return bytes != NULL;
	}
	return false;
}

/* .eh_frame by its section, else from where the header says to the end of that segment's bytes. */
static bool find_frames(struct ehframe *frames, const struct image *image, uint64_t by_header)
{
	struct image_section section;
	Elf64_Phdr segment;
	uint64_t offset;

	if (image_section_named(image, ".eh_frame", &section) && section.type != SHT_NOBITS) {
		frames->address = section.address;
		frames->data = image_bytes(image, section.offset, section.size);
		frames->len = section.size;
		return frames->data != NULL;
	}
	if (!by_header || !image_address_to_offset(image, by_header, &offset))
		return false;
	for (uint32_t i = 0; i < image_segments(image); i++) {
		if (!image_segment(image, i, &segment) || segment.p_type != PT_LOAD || by_header < segment.p_vaddr ||
		    by_header - segment.p_vaddr >= segment.p_filesz)
			continue;
		frames->address = by_header;
		frames->len = segment.p_filesz - (by_header - segment.p_vaddr);
		frames->data = image_bytes(image, offset, frames->len);
		return frames->data != NULL;
	}
	return false;
}

/* The search table, if it is of the one kind that linkers write: pairs of 32-bit offsets from the header. */
static uint64_t read_header(struct ehframe *frames, const struct image *image)
{
	const unsigned char *start;
	unsigned int version, pointer, count, table;
	struct cursor cursor;
	uint64_t address, len;

	if (!find_header(image, &frames->header, &cursor))
		return 0;
	start = cursor.at;
	version = cursor_u8(&cursor);
	pointer = cursor_u8(&cursor);
	count = cursor_u8(&cursor);
	table = cursor_u8(&cursor);
	if (cursor.bad || version != 1 || pointer == POINTER_OMIT)
		return 0;
	address = read_pointer(&cursor, pointer, start, frames->header, frames->header);
	if (count == POINTER_OMIT || table != (POINTER_DATA | POINTER_S4))
		return cursor.bad ? 0 : address;
	len = read_pointer(&cursor, count, start, frames->header, frames->header);
	if (!cursor.bad && len <= cursor_left(&cursor) / 8 && len <= UINT32_MAX) {
		frames->table = cursor.at;
		frames->table_len = (uint32_t)len;
	}
	return cursor.bad ? 0 : address;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int list_places(struct ehframe *frames)
{
	size_t cap = 0, next;

	for (size_t at = 0; at < frames->len && frames->places_len < FRAMES_MAX; at = next) {
		struct ehframe_range range;
		bool found = read_fde(frames, at, &range, &next);

		if (!next)
			break;
		if (!found)
			continue;
		if (frames->places_len == cap) {
			struct place *more = realloc(frames->places, (cap ? cap * 2 : 64) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			cap = cap ? cap * 2 : 64;
			frames->places = more;
		}
		frames->places[frames->places_len++] = (struct place){ range.start, at };
	}
	if (frames->places_len)
		qsort(frames->places, frames->places_len, sizeof(*frames->places), compare_places);
	return frames->places_len ? 0 : -ENODATA;
}

int ehframe_open(struct ehframe **ret, const struct image *image)
{
	struct ehframe *frames = calloc(1, sizeof(*frames));
	uint64_t by_header;
	int err;

	if (!frames)
		return -ENOMEM;
	by_header = read_header(frames, image);
	err = find_frames(frames, image, by_header) ? 0 : -ENODATA;
	if (!err && !frames->table_len)
		err = list_places(frames);
	if (err)
		ehframe_free(frames);
	else
		*ret = frames;
	return err;
}

void ehframe_free(struct ehframe *frames)
{
	if (!frames)
		return;
	free(frames->places);
	free(frames);
}

static int64_t table_value(const struct ehframe *frames, uint32_t index, unsigned int which)
{
	int32_t value;

	memcpy(&value, frames->table + (size_t)index * 8 + which * 4, sizeof(value));
	return value;
}

/* The offset of the last FDE that begins at or before the address, by the file's table. */
static bool search_table(const struct ehframe *frames, uint64_t address, size_t *ret)
{
	uint32_t low = 0, high = frames->table_len;
	uint64_t at;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (frames->header + (uint64_t)table_value(frames, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	at = frames->header + (uint64_t)table_value(frames, low - 1, 1) - frames->address;
	*ret = at;
	return at < frames->len;
}

static bool search_places(const struct ehframe *frames, uint64_t address, size_t *ret)
{
	size_t low = 0, high = frames->places_len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->places[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		*ret = frames->places[low - 1].at;
	return low > 0;
}

bool ehframe_find(const struct ehframe *frames, uint64_t address, struct ehframe_range *ret)
{
	struct ehframe_range range;
	size_t at, next;

	if (!(frames->table_len ? search_table : search_places)(frames, address, &at) ||
	    !read_fde(frames, at, &range, &next) || address < range.start || address >= range.end)
		return false;
	*ret = range;
	return true;
}

size_t ehframe_memory(const struct ehframe *frames)
{
	return sizeof(*frames) + frames->places_len * sizeof(*frames->places);
}
