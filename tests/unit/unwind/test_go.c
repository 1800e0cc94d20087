/* SPDX-License-Identifier: Apache-2.0 */
/* What is added to the rows of Go's functions: where the frame pointer is kept, and how to leave the thread's stack. */
#include "unwind/go.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bpf/wire.h"
#include "elf/cfi.h"
#include "unwind/rules.h"

static const struct go go = { .is = true, .ranges = { { 0x1000, 0x1100, false }, { 0x2000, 0x2010, true } }, .len = 2 };

static struct wire_rule by_sp(int32_t offset)
{
	struct wire_rule rule;

	rule_of(NULL, &rule);
	rule.kind = WIRE_RULE_REGISTER;
	rule.reg = CFI_SP;
	rule.offset = offset;
	rule.ra_offset = -8;
	return rule;
}

static void assert_adjusted(uint64_t address, int32_t offset, unsigned int reg, int32_t new_offset, int save,
			    unsigned int flags)
{
	struct wire_rule rule = by_sp(offset);

	go_adjust(&go, address, &rule);
	assert_int_equal(rule.kind, WIRE_RULE_REGISTER);
	assert_int_equal(rule.reg, reg);
	assert_int_equal(rule.offset, new_offset);
	assert_int_equal(rule.ra_offset, -8);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], save);
	assert_int_equal(rule.flags, flags);
}

static void test_frame_pointers_are_kept(void **state)
{
	(void)state;
	assert_adjusted(0x500, 16, CFI_SP, 16, -16, 0);
	assert_adjusted(0x500, 4096, CFI_SP, 4096, -16, 0);
	assert_adjusted(0x500, 8, CFI_SP, 8, WIRE_NOT_SAVED, 0); /* no frame, or no longer */
}

/* From the end of the prologue to where the frame is given up; the row before that is cut in two. */
static void test_functions_that_change_stacks(void **state)
{
	(void)state;
	assert_adjusted(0x1000, 8, CFI_SP, 8, WIRE_NOT_SAVED, 0);
	assert_adjusted(0x1001, 16, CFI_SP, 16, -16, 0);
	assert_adjusted(0x1004, 16, CFI_FP, 16, -16, WIRE_RULE_SWITCHES);
	assert_adjusted(0x1080, 24, CFI_FP, 16, -16, WIRE_RULE_SWITCHES);
	assert_adjusted(0x10ff, 8, CFI_SP, 8, WIRE_NOT_SAVED, 0);
	assert_adjusted(0x1100, 16, CFI_SP, 16, -16, 0);
	assert_int_equal(go_splits(&go, 0x1001), 0x1004);
	assert_int_equal(go_splits(&go, 0x1000), 0);
	assert_int_equal(go_splits(&go, 0x1004), 0);
	assert_int_equal(go_splits(&go, 0x501), 0);
}

static void test_functions_that_nobody_calls(void **state)
{
	struct wire_rule rule = by_sp(8);

	(void)state;
	go_adjust(&go, 0x2004, &rule);
	assert_int_equal(rule.kind, WIRE_RULE_ROOT);
}

static void test_other_files_and_rules(void **state)
{
	const struct go other = { 0 };
	struct wire_rule rule = by_sp(16);

	(void)state;
	go_adjust(&other, 0x1080, &rule);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], WIRE_NOT_SAVED);
	rule = by_sp(16);
	rule.saves[WIRE_SAVE_FP] = -24; /* C in the same file */
	go_adjust(&go, 0x500, &rule);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], -24);
	rule = by_sp(16);
	rule.reg = CFI_FP;
	go_adjust(&go, 0x500, &rule);
	assert_int_equal(rule.saves[WIRE_SAVE_FP], WIRE_NOT_SAVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointers_are_kept),
		cmocka_unit_test(test_functions_that_change_stacks),
		cmocka_unit_test(test_functions_that_nobody_calls),
		cmocka_unit_test(test_other_files_and_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
