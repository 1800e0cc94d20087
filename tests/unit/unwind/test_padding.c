/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: code without CFI between functions is taken for their end, or padding for code. */
#include "unwind/padding.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct piece {
	const char *bytes;
	size_t len;
};

#define piece(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}

/* Each of them ends at the end of memory, for the sanitizer. */
static bool is_padding(unsigned int machine, const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);
	bool is;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	is = padding_is(machine, copy, len);
	free(copy);
	return is;
}

/* What assemblers write for gaps of one to fifteen bytes, and what linkers do. */
static const struct piece x86[] = {
	piece("\x90"),
	piece("\x66\x90"),
	piece("\x66\x66\x66\x90"),
	piece("\x0f\x1f\x00"),
	piece("\x0f\x1f\x40\x00"),
	piece("\x0f\x1f\x44\x00\x00"),
	piece("\x66\x0f\x1f\x44\x00\x00"),
	piece("\x0f\x1f\x80\x00\x00\x00\x00"),
	piece("\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	piece("\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	piece("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	piece("\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	piece("\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	piece("\x0f\x1f\xc0"),
	piece("\x0f\x1f\x04\x25\x00\x00\x00\x00"),
	piece("\x0f\x1f\x05\x00\x00\x00\x00"),
	piece("\xcc"),
	piece("\x0f\x0b"),
	piece("\x00"),
};

static void test_padding_of_x86(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++) {
		assert_true(is_padding(EM_X86_64, x86[i].bytes, x86[i].len));
		for (size_t j = 0; j < sizeof(x86) / sizeof(*x86); j++) {
			char both[32];

			memcpy(both, x86[i].bytes, x86[i].len);
			memcpy(both + x86[i].len, x86[j].bytes, x86[j].len);
			assert_true(is_padding(EM_X86_64, both, x86[i].len + x86[j].len));
		}
	}
	assert_true(is_padding(EM_X86_64, "", 0));
}

/* Zeros at the end of a nop are its operand: what is cut there is something else. */
static void test_what_is_cut_is_no_padding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		for (size_t len = 1; len < x86[i].len; len++)
			if (x86[i].bytes[0] != '\x00')
				assert_false(is_padding(EM_X86_64, x86[i].bytes, len));
}

static void test_code_of_x86(void **state)
{
	static const struct piece code[] = {
		piece("\xc3"),                 /* ret */
		piece("\xf3\x90"),             /* pause */
		piece("\xf3\x0f\x1e\xfa"),     /* endbr64 */
		piece("\x0f\x05"),             /* syscall */
		piece("\x0f\x1e\xfa"),         /* reserved */
		piece("\x0f\x1f\x48\x00"),     /* not /0 */
		piece("\x66\x66"),             /* of nothing */
		piece("\xeb\xfe"),             /* jmp */
		piece("\x48\x89\xe5"),         /* mov %rsp, %rbp */
		piece("\x90\xff\xe0"),         /* jmp *%rax, behind a nop */
		piece("\xb8\x0f\x00\x00\x00"), /* mov $15, %eax */
		piece("\xf4"),                 /* hlt */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
		assert_false(is_padding(EM_X86_64, code[i].bytes, code[i].len));
}

static void test_arm64(void **state)
{
	(void)state;
	assert_true(is_padding(EM_AARCH64, "\x1f\x20\x03\xd5\x00\x00\x00\x00\x00\x00\x20\xd4", 12)); /* nop; udf; brk */
	assert_true(is_padding(EM_AARCH64, "\x34\x12\x00\x00\x20\x00\x3e\xd4", 8));
	assert_false(is_padding(EM_AARCH64, "\x1f\x20\x03", 3));
	assert_false(is_padding(EM_AARCH64, "\x1f\x20\x03\xd5\xc0\x03\x5f\xd6", 8)); /* nop; ret */
	assert_false(is_padding(EM_AARCH64, "\x01\x00\x00\xd4", 4));                 /* svc */
	assert_false(is_padding(EM_AARCH64, "\x90\x90\x90\x90", 4));
}

static void test_other_processors(void **state)
{
	(void)state;
	assert_false(is_padding(EM_RISCV, "\x00\x00\x00\x00", 4));
	assert_true(is_padding(EM_RISCV, "", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding_of_x86),   cmocka_unit_test(test_what_is_cut_is_no_padding),
		cmocka_unit_test(test_code_of_x86),      cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_other_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
