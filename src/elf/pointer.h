/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers and numbers as exception tables write them (DW_EH_PE_*), read within bounds. */
#ifndef WICK_ELF_POINTER_H
#define WICK_ELF_POINTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/* The format in the low four bits, what it is relative to in the next three. */
enum {
	POINTER_FORMAT = 0x0f,
	POINTER_ABSOLUTE = 0x00,
	POINTER_ULEB = 0x01,
	POINTER_U2 = 0x02,
	POINTER_U4 = 0x03,
	POINTER_U8 = 0x04,
	POINTER_SLEB = 0x09,
	POINTER_S2 = 0x0a,
	POINTER_S4 = 0x0b,
	POINTER_S8 = 0x0c,
	POINTER_BASE = 0x70,
	POINTER_PC = 0x10,
	POINTER_DATA = 0x30,
	POINTER_INDIRECT = 0x80,
	POINTER_OMIT = 0xff,
};

static inline unsigned int cursor_u8(struct cursor *in)
{
	const unsigned char *byte = cursor_bytes(in, 1);

	return byte ? *byte : 0;
}

static inline unsigned int cursor_u16(struct cursor *in)
{
	const void *bytes = cursor_bytes(in, sizeof(uint16_t));
	uint16_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

uint64_t cursor_sleb(struct cursor *in);

bool pointer_read_any(struct cursor *in, unsigned char encoding, uint64_t here, uint64_t data, uint64_t *ret);

/*
 * `here` is the address of the pointer itself, `data` what POINTER_DATA is relative to. False if it cannot be read.
 * Nearly all are four bytes.
 */
static inline bool pointer_read(struct cursor *in, unsigned char encoding, uint64_t here, uint64_t data, uint64_t *ret)
{
	if ((encoding & ~POINTER_PC) != POINTER_S4)
		return pointer_read_any(in, encoding, here, data, ret);
	*ret = (uint64_t)(int64_t)(int32_t)cursor_u32(in) + (encoding & POINTER_PC ? here : 0);
	return !in->bad;
}

#endif
