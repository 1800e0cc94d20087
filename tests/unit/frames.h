/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information made by hand, entry by entry. A CIE belongs to the FDEs after it. FRAMES_START is the first
 * instruction of each program: the CFA is rsp + 8, the return address right below it.
 */
#ifndef WICK_TESTS_UNIT_FRAMES_H
#define WICK_TESTS_UNIT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define FRAMES_START "\x0c\x07\x08\x90\x01"

struct frames {
	struct buf bytes;
	bool debug; /* .debug_frame */
	bool wide;  /* lengths of 64 bits */
	size_t cie;
	uint64_t address; /* of the section: what is not zero makes pointers relative to where they are */
};

#define bytes_of(text) text, sizeof(text) - 1

/* Where the entry begins; its length is filled in at its end. */
static inline size_t frames_begin(struct frames *frames)
{
	size_t at = frames->bytes.len;

	if (frames->wide) {
		buf_u32(&frames->bytes, UINT32_MAX);
		buf_u64(&frames->bytes, 0);
	} else {
		buf_u32(&frames->bytes, 0);
	}
	return at;
}

static inline void frames_end(struct frames *frames, size_t at)
{
	uint64_t len;
	uint32_t narrow;

	while (frames->bytes.len % 8)
		buf_addc(&frames->bytes, 0);
	len = frames->bytes.len - at - (frames->wide ? 12 : 4);
	narrow = (uint32_t)len;
	if (frames->wide)
		memcpy(frames->bytes.data + at + 4, &len, sizeof(len));
	else
		memcpy(frames->bytes.data + at, &narrow, sizeof(narrow));
}

/* The field that tells CIE and FDE apart. */
static inline void frames_id(struct frames *frames, bool is_cie)
{
	uint64_t id = frames->debug ? (is_cie ? UINT64_MAX : frames->cie)
		      : is_cie      ? 0
				    : frames->bytes.len - frames->cie;

	if (frames->wide && frames->debug)
		buf_u64(&frames->bytes, id);
	else
		buf_u32(&frames->bytes, (uint32_t)id);
}

struct frames_cie {
	unsigned char version;
	const char *letters;
	const char *data; /* of the augmentation, where letters begin with z */
	size_t data_len;
	unsigned char code_factor, ra;
	const char *program;
	size_t len;
};

/* Data offsets are multiples of -8. */
static inline void frames_add_cie(struct frames *frames, const struct frames_cie *cie)
{
	size_t at = frames_begin(frames);

	frames->cie = at;
	frames_id(frames, true);
	buf_addc(&frames->bytes, (char)cie->version);
	buf_add(&frames->bytes, cie->letters, strlen(cie->letters) + 1);
	if (cie->version == 4)
		buf_add(&frames->bytes, "\x08\x00", 2); /* sizes of addresses and segments */
	buf_addc(&frames->bytes, (char)cie->code_factor);
	buf_addc(&frames->bytes, 0x78);
	buf_addc(&frames->bytes, (char)cie->ra);
	if (*cie->letters == 'z') {
		buf_varint(&frames->bytes, cie->data_len);
		buf_add(&frames->bytes, cie->data, cie->data_len);
	}
	buf_add(&frames->bytes, cie->program, cie->len);
	frames_end(frames, at);
}

/* The usual one; relative pointers if the section has an address. */
static inline void frames_add_usual_cie(struct frames *frames)
{
	frames_add_cie(frames, &(struct frames_cie){ .version = 1,
						     .letters = frames->address ? "zR" : "",
						     .data = "\x1b", /* relative, four bytes */
						     .data_len = 1,
						     .code_factor = 1,
						     .ra = 16,
						     .program = FRAMES_START,
						     .len = sizeof(FRAMES_START) - 1 });
}

static inline void frames_add_fde(struct frames *frames, uint64_t start, uint64_t len, const char *program, size_t size)
{
	size_t at = frames_begin(frames);

	frames_id(frames, false);
	if (frames->address) {
		buf_u32(&frames->bytes, (uint32_t)(start - frames->address - frames->bytes.len));
		buf_u32(&frames->bytes, (uint32_t)len);
		buf_varint(&frames->bytes, 0);
	} else {
		buf_u64(&frames->bytes, start);
		buf_u64(&frames->bytes, len);
	}
	buf_add(&frames->bytes, program, size);
	frames_end(frames, at);
}

#endif
