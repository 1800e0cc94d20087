/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises padding by its instructions. In: bytes of anybody's file. Out: yes or no. Invariant: yes only if the bytes
 * are, from the first to the last, instructions that do nothing or that trap, or zeros: no function consists of those,
 * so that nothing can be called in there and return.
 */
#include "unwind/padding.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define PREFIXES_MAX 12 /* with them, an instruction has up to 15 bytes */

/* The length of an operand in memory or a register: ModRM, SIB and displacement. */
static size_t operand_len(const unsigned char *code, size_t len)
{
	unsigned int mode = code[0] >> 6, base = code[0] & 7;
	size_t size = 1;

	if (mode == 3)
		return size;
	if (base == 4) {
		if (len < 2)
			return 2;
		base = code[1] & 7;
		size++;
	}
	return size + (mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0);
}

/* nop; [data16...] [cs] nop; [data16...] [cs] nop operand: its length, 0 if it is none. */
static size_t nop_len(const unsigned char *code, size_t len)
{
	size_t at = 0, end;

	while (at < len && at < PREFIXES_MAX && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < len && code[at] == 0x90)
		return at + 1;
	if (len - at < 3 || code[at] != 0x0f || code[at + 1] != 0x1f || code[at + 2] & 0x38)
		return 0;
	end = at + 2 + operand_len(code + at + 2, len - at - 2);
	return end <= len ? end : 0;
}

/* int3, which linkers fill code with; ud2, behind a call that does not return; zeros, between sections. */
static size_t x86_len(const unsigned char *code, size_t len)
{
	if (code[0] == 0xcc || !code[0])
		return 1;
	if (len >= 2 && code[0] == 0x0f && code[1] == 0x0b)
		return 2;
	return nop_len(code, len);
}

static bool x86_is_padding(const unsigned char *code, size_t len)
{
	size_t one;

	for (; len; code += one, len -= one) {
		one = x86_len(code, len);
		if (!one)
			return false;
	}
	return true;
}

/* nop; udf, of which zeros are one; brk. */
static bool arm64_is_padding(const unsigned char *code, size_t len)
{
	for (; len >= 4; code += 4, len -= 4) {
		uint32_t one;

		memcpy(&one, code, sizeof(one));
		if (one != 0xd503201f && one >> 16 && (one & 0xffe0001f) != 0xd4200000)
			return false;
	}
	return !len;
}

bool padding_is(unsigned int machine, const void *code, size_t len)
{
	switch (machine) {
	case EM_X86_64:
		return x86_is_padding(code, len);
	case EM_AARCH64:
		return arm64_is_padding(code, len);
	default:
		return !len;
	}
}
