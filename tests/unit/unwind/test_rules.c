/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From call frame information to rules: what is common, the expressions that occur in the wild, and that what is not
 * understood is said to be odd rather than taken for something else.
 */
#include "unwind/rules.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/wire.h"
#include "elf/cfi.h"

/* CFA = rsp + 8, the return address right below it. */
static struct cfi_state usual(void)
{
	struct cfi_state state = { .cfa_register = CFI_SP, .cfa_offset = 8 };

	state.rules[CFI_RA] = (struct cfi_rule){ .how = CFI_AT_CFA, .value = -8 };
	return state;
}

static struct cfi_state with_cfa(const char *expression, size_t len)
{
	struct cfi_state state = usual();

	state.cfa_expression = (const unsigned char *)expression;
	state.cfa_len = len;
	return state;
}

static void set_rule(struct cfi_state *state, unsigned int number, enum cfi_how how, int64_t value)
{
	state->rules[number] = (struct cfi_rule){ .how = how, .value = value };
}

static void set_expression(struct cfi_state *state, unsigned int number, enum cfi_how how, const char *bytes,
			   size_t len)
{
	state->rules[number] = (struct cfi_rule){ .how = how, .expression = (const unsigned char *)bytes, .len = len };
}

#define bytes_of(text) text, sizeof(text) - 1

static struct wire_rule made(const struct cfi_state *state)
{
	struct wire_rule rule;

	memset(&rule, 0xa5, sizeof(rule)); /* all of it is written: rules are compared as bytes */
	rule_of(state, &rule);
	return rule;
}

static unsigned int kind_of(const struct cfi_state *state)
{
	return made(state).kind;
}

static void test_nothing(void **state)
{
	struct wire_rule rule = made(NULL);

	(void)state;
	assert_int_equal(rule.kind, WIRE_RULE_NONE);
	for (int i = 0; i < WIRE_SAVES; i++)
		assert_int_equal(rule.saves[i], WIRE_NOT_SAVED);
}

static void test_register_and_offset(void **state)
{
	struct cfi_state cfi = usual();
	struct wire_rule rule = made(&cfi);

	(void)state;
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_int_equal(rule.reg, CFI_SP);
	assert_int_equal(rule.offset, 8);
	assert_int_equal(rule.ra_offset, -8);
	assert_int_equal(rule.flags, 0);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], WIRE_NOT_SAVED);
	for (unsigned int i = 0; i < 16; i++) {
		cfi.cfa_register = i;
		assert_int_equal(made(&cfi).reg, i);
	}
	cfi.cfa_register = CFI_RA; /* by the instruction pointer: not in any program */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	cfi.cfa_register = UINT64_MAX; /* nothing was said */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	cfi.cfa_register = CFI_SP;
	cfi.cfa_offset = 1 << 30; /* large frames */
	assert_int_equal(made(&cfi).offset, 1 << 30);
	cfi.cfa_offset = (int64_t)INT_MAX + 1;
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	cfi.cfa_offset = (int64_t)INT_MIN - 1;
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
}

static void test_saved_registers(void **state)
{
	static const uint8_t numbers[WIRE_SAVES] = { CFI_FP, 3, 12, 13, 14, 15 };
	struct cfi_state cfi = usual();
	struct wire_rule rule;

	(void)state;
	set_rule(&cfi, CFI_FP, CFI_AT_CFA, -16);
	rule = made(&cfi);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], -16);
	assert_int_equal(rule.flags, 0); /* rbp alone is nothing special */
	for (int i = 1; i < WIRE_SAVES; i++)
		set_rule(&cfi, numbers[i], CFI_AT_CFA, -16 - 8 * i);
	rule = made(&cfi);
	for (int i = 0; i < WIRE_SAVES; i++)
		assert_int_equal(rule.saves[i], -16 - 8 * i);
	assert_int_equal(rule.flags, WIRE_RULE_SAVES);
	assert_int_equal(rule.from_fp, 0);
	/* Registers that callers do not need do not matter. */
	cfi = usual();
	set_rule(&cfi, 0, CFI_AT_CFA, -64);
	set_expression(&cfi, 1, CFI_IS_EXPRESSION, bytes_of("\x30"));
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_int_equal(rule.flags, 0);
}

static void test_registers_that_stay(void **state)
{
	static const enum cfi_how list[] = { CFI_UNSET, CFI_SAME, CFI_UNDEFINED };

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct cfi_state cfi = usual();
		struct wire_rule rule;

		set_rule(&cfi, CFI_FP, list[i], 0);
		set_rule(&cfi, 3, list[i], 0);
		rule = made(&cfi);
		assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
		assert_int_equal(rule.saves[WIRE_SAVE_FP], WIRE_NOT_SAVED);
		assert_int_equal(rule.saves[WIRE_SAVE_BX], WIRE_NOT_SAVED);
	}
}

/* Where rbp is must be known, or frames found by it are wrong; the others are rarely missed. */
static void test_registers_saved_elsewhere(void **state)
{
	struct cfi_state cfi = usual();
	struct wire_rule rule;

	(void)state;
	set_rule(&cfi, CFI_FP, CFI_REGISTER, 14);
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_true(rule.flags & WIRE_FP_IN_REGISTER);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], 14);
	set_rule(&cfi, CFI_FP, CFI_REGISTER, 17);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_FP, CFI_AT_CFA, -40000);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_FP, CFI_AT_CFA, WIRE_NOT_SAVED); /* would say that it is not saved */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_FP, CFI_IS_CFA, -16);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_expression(&cfi, CFI_FP, CFI_IS_EXPRESSION, bytes_of("\x76\x00"));
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_expression(&cfi, CFI_FP, CFI_EXPRESSION, bytes_of("\x77\x00")); /* from rsp */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_expression(&cfi, CFI_FP, CFI_EXPRESSION, bytes_of(""));
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	cfi = usual();
	set_rule(&cfi, 3, CFI_AT_CFA, -40000);
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_int_equal(rule.saves[WIRE_SAVE_BX], WIRE_NOT_SAVED);
}

/* A realigned stack, as gcc writes it: breg6 -8, deref; rbp and the others from rbp. */
static void test_realigned_frame(void **state)
{
	struct cfi_state cfi = with_cfa(bytes_of("\x76\x78\x06"));
	struct wire_rule rule;

	(void)state;
	set_expression(&cfi, CFI_FP, CFI_EXPRESSION, bytes_of("\x76\x00"));
	set_expression(&cfi, 3, CFI_EXPRESSION, bytes_of("\x76\x68"));
	set_expression(&cfi, 15, CFI_EXPRESSION, bytes_of("\x76\x80\x7f")); /* -128, in two bytes */
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_DEREF);
	assert_int_equal(rule.reg, CFI_FP);
	assert_int_equal(rule.offset, -8);
	assert_int_equal(rule.offset2, 0);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], 0);
	assert_int_equal(rule.saves[WIRE_SAVE_BX], -24);
	assert_int_equal(rule.saves[WIRE_SAVE_R15], -128);
	assert_int_equal(rule.from_fp, 1 << WIRE_SAVE_FP | 1 << WIRE_SAVE_BX | 1 << WIRE_SAVE_R15);
}

static void test_frame_kept_in_memory(void **state)
{
	struct cfi_state cfi = with_cfa(bytes_of("\x77\xd8\x00\x06\x23\x08")); /* libcrypto: breg7 88, deref, plus 8 */
	struct wire_rule rule = made(&cfi);

	(void)state;
	assert_int_equal(rule.kind, WIRE_RULE_DEREF);
	assert_int_equal(rule.reg, CFI_SP);
	assert_int_equal(rule.offset, 88);
	assert_int_equal(rule.offset2, 8);
	cfi = with_cfa(bytes_of("\x77\x10\x23\x08")); /* no deref: a sum */
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_int_equal(rule.offset, 24);
	assert_int_equal(rule.offset2, 0);
}

static void test_stubs(void **state)
{
	char expression[] = "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22";
	struct cfi_state cfi = with_cfa(bytes_of(expression));
	struct wire_rule rule = made(&cfi);

	(void)state;
	assert_int_equal(rule.kind, WIRE_RULE_PLT);
	assert_int_equal(rule.offset2, 11);
	assert_int_equal(rule.ra_offset, -8);
	for (int from = 0; from < 32; from++) {
		expression[6] = (char)(0x30 + from);
		assert_int_equal(made(&cfi).offset2, from);
	}
	expression[6] = 0x50; /* no longer a constant */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	expression[6] = 0x3b;
	for (size_t i = 0; i < sizeof(expression) - 1; i++) { /* nothing but exactly this */
		expression[i] ^= 1;
		if (i != 6)
			assert_int_not_equal(kind_of(&cfi), WIRE_RULE_PLT);
		expression[i] ^= 1;
	}
	cfi.cfa_len--;
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
}

static void test_signal(void **state)
{
	struct cfi_state cfi = with_cfa(bytes_of("\x77\xa0\x01\x06")); /* breg7 160, deref */

	(void)state;
	set_expression(&cfi, CFI_RA, CFI_EXPRESSION, bytes_of("\x77\xa8\x01"));
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD); /* not said to be one, and so not understood */
	cfi.signal = true;
	assert_int_equal(kind_of(&cfi), WIRE_RULE_SIGNAL);
	/* Others are signal frames in which registers are elsewhere. */
	cfi = with_cfa(bytes_of("\x77\xa8\x01\x06"));
	cfi.signal = true;
	set_expression(&cfi, CFI_RA, CFI_EXPRESSION, bytes_of("\x77\xb0\x01"));
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	cfi = usual();
	cfi.signal = true;
	assert_int_equal(kind_of(&cfi), WIRE_RULE_REGISTER);
}

static void test_root(void **state)
{
	struct cfi_state cfi = usual();

	(void)state;
	set_rule(&cfi, CFI_RA, CFI_UNDEFINED, 0);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ROOT);
	cfi = with_cfa(bytes_of("\x99"));
	set_rule(&cfi, CFI_RA, CFI_UNDEFINED, 0);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ROOT); /* whatever else is said */
}

static void test_return_addresses(void **state)
{
	struct cfi_state cfi = usual();
	struct wire_rule rule;

	(void)state;
	set_rule(&cfi, CFI_RA, CFI_REGISTER, 5);
	rule = made(&cfi);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_true(rule.flags & WIRE_RA_IN_REGISTER);
	assert_int_equal(rule.ra_offset, 5);
	set_rule(&cfi, CFI_RA, CFI_REGISTER, 16);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_RA, CFI_AT_CFA, -32);
	assert_int_equal(made(&cfi).ra_offset, -32);
	set_rule(&cfi, CFI_RA, CFI_AT_CFA, -40000);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_RA, CFI_UNSET, 0);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_RA, CFI_IS_CFA, 0);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
}

/* The stack pointer of the caller is the CFA in every rule. Where a function says otherwise, none is right. */
static void test_other_stack_pointers(void **state)
{
	struct cfi_state cfi = usual();

	(void)state;
	set_rule(&cfi, CFI_SP, CFI_IS_CFA, 0); /* says the same */
	assert_int_equal(kind_of(&cfi), WIRE_RULE_REGISTER);
	set_rule(&cfi, CFI_SP, CFI_IS_CFA, 16);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_SP, CFI_AT_CFA, -24);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_rule(&cfi, CFI_SP, CFI_REGISTER, 10);
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	set_expression(&cfi, CFI_SP, CFI_IS_EXPRESSION, bytes_of("\x77\x08"));
	assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
}

static void test_odd_expressions(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} list[] = {
		{ bytes_of("") },
		{ bytes_of("\x77") },                                 /* no offset */
		{ bytes_of("\x80\x00") },                             /* from the instruction pointer */
		{ bytes_of("\x77\x08\x06\x06") },                     /* twice in memory */
		{ bytes_of("\x77\x08\x06\x23") },                     /* no constant */
		{ bytes_of("\x77\x08\x06\x23\xff\xff\x03") },         /* too large a one */
		{ bytes_of("\x77\x08\x30\x22") },                     /* right, and not known */
		{ bytes_of("\x03\0\0\0\0\0\0\0\0") },                 /* an address */
		{ bytes_of("\x77\xff\xff\xff\xff\xff\xff\xff\x3f") }, /* too far */
		{ bytes_of("\x77\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct cfi_state cfi = with_cfa(list[i].bytes, list[i].len);

		assert_int_equal(kind_of(&cfi), WIRE_RULE_ODD);
	}
}

/* The offset alone is new: the same rule as if it were made anew. All else is left to rule_of. */
static void test_again(void **state)
{
	struct cfi_state cfi = usual(), other;
	struct wire_rule rule, before, want;

	(void)state;
	set_rule(&cfi, CFI_FP, CFI_AT_CFA, -16);
	rule = made(&cfi);
	cfi.cfa_offset = 4096;
	want = made(&cfi);
	assert_true(rule_again(&cfi, &rule));
	assert_memory_equal(&rule, &want, sizeof(rule));
	before = rule;
	other = cfi;
	other.cfa_register = CFI_FP;
	assert_false(rule_again(&other, &rule));
	other.cfa_register = CFI_SP + 256;
	assert_false(rule_again(&other, &rule));
	other = cfi;
	other.cfa_offset = (int64_t)1 << 32;
	assert_false(rule_again(&other, &rule));
	other = with_cfa(bytes_of("\x77\x08"));
	assert_false(rule_again(&other, &rule));
	assert_memory_equal(&rule, &before, sizeof(rule));
	set_rule(&cfi, CFI_RA, CFI_UNDEFINED, 0);
	rule = made(&cfi);
	assert_false(rule_again(&cfi, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_register_and_offset),
		cmocka_unit_test(test_saved_registers),
		cmocka_unit_test(test_registers_that_stay),
		cmocka_unit_test(test_registers_saved_elsewhere),
		cmocka_unit_test(test_realigned_frame),
		cmocka_unit_test(test_frame_kept_in_memory),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_return_addresses),
		cmocka_unit_test(test_other_stack_pointers),
		cmocka_unit_test(test_odd_expressions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
