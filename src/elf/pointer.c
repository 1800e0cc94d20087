/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded pointers. Those that lead elsewhere (indirect) are not followed: no function begins at one. */
#include "elf/pointer.h"

#include "base/buf.h"

uint64_t cursor_sleb(struct cursor *in)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned int byte = cursor_u8(in);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return byte & 0x40 && shift + 7 < 64 ? value | ~(uint64_t)0 << (shift + 7) : value;
	}
	in->bad = 1;
	return 0;
}

static uint64_t read_format(struct cursor *in, unsigned char format)
{
	switch (format) {
	case POINTER_ABSOLUTE:
	case POINTER_U8:
	case POINTER_S8:
		return cursor_u64(in);
	case POINTER_ULEB:
		return cursor_varint(in);
	case POINTER_U2:
		return cursor_u16(in);
	case POINTER_U4:
		return cursor_u32(in);
	case POINTER_SLEB:
		return cursor_sleb(in);
	case POINTER_S2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(in);
	case POINTER_S4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(in);
	default:
		in->bad = 1;
		return 0;
	}
}

bool pointer_read_any(struct cursor *in, unsigned char encoding, uint64_t here, uint64_t data, uint64_t *ret)
{
	uint64_t value;

	if (encoding == POINTER_OMIT)
		return false;
	value = read_format(in, encoding & POINTER_FORMAT);
	switch (encoding & POINTER_BASE) {
	case POINTER_ABSOLUTE:
		break;
	case POINTER_PC:
		value += here;
		break;
	case POINTER_DATA:
		value += data;
		break;
	default:
		return false;
	}
	*ret = value;
	return !in->bad && !(encoding & POINTER_INDIRECT);
}
