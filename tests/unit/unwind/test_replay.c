/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample that came up whole is unwound as the kernel would have: by rules, by frame pointers where there are none,
 * and no further than what was copied. Code of a program is at 0x1000, of a library at 0x5000, the vDSO at 0x9000; the
 * stack is a list of words.
 */
#include "unwind/replay.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define STACK 0x7ffd00000000ULL
#define WORDS 64
#define FP 6 /* as DWARF numbers registers */
#define SP 7
#define IP 16

struct record {
	struct wire_early head;
	uint64_t stack[WORDS];
};

/* What a frame at an offset in its file has for a rule. */
struct known {
	uint64_t offset;
	struct wire_rule rule;
	int answer;
};

struct rules {
	const struct known *list;
	size_t len;
};

static int find_rule(void *arg, uint64_t owner, uint32_t kind, uint64_t offset, struct wire_rule *ret)
{
	const struct rules *rules = arg;

	(void)owner;
	(void)kind;
	for (size_t i = 0; i < rules->len; i++) {
		if (rules->list[i].offset != offset)
			continue;
		*ret = rules->list[i].rule;
		return rules->list[i].answer;
	}
	return 0;
}

static uint64_t place(unsigned int word)
{
	return STACK + word * sizeof(uint64_t);
}

/* Offsets in the file are addresses less 0x1000; in the library less 0x5000. */
static struct record *record_new(uint64_t ip, uint64_t sp, uint64_t fp)
{
	static const struct wire_early_map maps[] = {
		{ .start = 0x1000, .end = 0x2000, .owner = 11, .offset = -0x1000ULL, .kind = WIRE_FRAME_FILE },
		{ .start = 0x5000, .end = 0x6000, .owner = 22, .offset = -0x5000ULL, .kind = WIRE_FRAME_FILE },
		{ .start = 0x9000, .end = 0xa000, .owner = 33, .offset = -0x9000ULL, .kind = WIRE_FRAME_VDSO },
	};
	struct record *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	record->head.type = WIRE_EARLY;
	record->head.maps_len = 3;
	memcpy(record->head.maps, maps, sizeof(maps));
	record->head.stack_start = STACK;
	record->head.stack_len = sizeof(record->stack);
	record->head.registers[IP] = ip;
	record->head.registers[SP] = sp;
	record->head.registers[FP] = fp;
	return record;
}

static struct wire_rule by_sp(int offset)
{
	struct wire_rule rule = { .kind = WIRE_RULE_REGISTER, .reg = SP, .offset = offset, .ra_offset = -8 };

	for (int i = 0; i < WIRE_SAVES; i++)
		rule.saves[i] = WIRE_NOT_SAVED;
	return rule;
}

/* The frames, and the cut at the end if there is one. */
static void assert_frames(const struct replay_result *got, uint32_t cut, size_t len, const uint64_t *offsets)
{
	assert_int_equal(got->cut, cut);
	assert_int_equal(got->len, len + !!cut);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(WIRE_ADDRESS(got->frames[i].where), offsets[i]);
	if (!cut)
		return;
	assert_int_equal(WIRE_KIND(got->frames[len].where), WIRE_FRAME_CUT);
	assert_int_equal(WIRE_ADDRESS(got->frames[len].where), cut);
}

static struct replay_result result;

static void test_by_rules(void **state)
{
	const struct known list[] = { { 0x100, by_sp(16), 1 },
				      { 0x1ff, by_sp(32), 1 },
				      { 0x2ff, { .kind = WIRE_RULE_ROOT }, 1 } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 3 };

	(void)state;
	record->stack[1] = 0x5200; /* callers are looked up inside their call */
	record->stack[5] = 0x1300;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, 0, 3, (const uint64_t[]){ 0x100, 0x1ff, 0x2ff });
	assert_int_equal(result.frames[0].owner, 11);
	assert_int_equal(result.frames[1].owner, 22);
	free(record);
}

static void test_saved_registers_come_back(void **state)
{
	struct known list[] = { { 0x100, by_sp(32), 1 },
				{ 0x1ff, by_sp(0), 1 },
				{ 0x2ff, { .kind = WIRE_RULE_ROOT }, 1 } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 3 };

	(void)state;
	list[0].rule.saves[WIRE_SAVE_BX] = -16;
	list[0].rule.flags = WIRE_RULE_SAVES;
	list[1].rule.reg = 3;
	list[1].rule.offset = 8;
	record->stack[2] = place(20); /* rbx */
	record->stack[3] = 0x1200;
	record->stack[20] = 0x1300;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, 0, 3, (const uint64_t[]){ 0x100, 0x1ff, 0x2ff });
	free(record);
}

/* A frame that was interrupted is looked up where it was, not before that. */
static void test_over_a_signal(void **state)
{
	const struct known list[] = { { 0x100, by_sp(8), 1 },
				      { 0x1ff, { .kind = WIRE_RULE_SIGNAL }, 1 },
				      { 0x300, { .kind = WIRE_RULE_ROOT }, 1 } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 3 };

	(void)state;
	record->stack[0] = 0x1200;
	record->stack[1 + 5 + 15] = place(40); /* rsp and rip among the registers that the kernel saved */
	record->stack[1 + 5 + 16] = 0x1300;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, 0, 3, (const uint64_t[]){ 0x100, 0x1ff, 0x300 });
	free(record);
}

static void test_by_frame_pointers(void **state)
{
	struct record *record = record_new(0x1100, place(0), place(4));
	struct rules none = { 0 };

	(void)state;
	record->stack[4] = place(8);
	record->stack[5] = 0x5200;
	record->stack[8] = 0;
	record->stack[9] = 0x1300;
	assert_int_equal(replay(record, find_rule, &none, false, &result), 0);
	assert_frames(&result, 0, 3, (const uint64_t[]){ 0x100, 0x1ff, 0x2ff });
	record->stack[9] = 0x9100; /* nobody is called by the vDSO */
	assert_int_equal(replay(record, find_rule, &none, false, &result), 0);
	assert_frames(&result, WIRE_cut_no_frame_pointer, 2, (const uint64_t[]){ 0x100, 0x1ff });
	record->stack[9] = 0x7700; /* no code */
	assert_int_equal(replay(record, find_rule, &none, false, &result), 0);
	assert_frames(&result, WIRE_cut_no_frame_pointer, 2, (const uint64_t[]){ 0x100, 0x1ff });
	free(record);
}

static void test_tables_that_are_not_there_yet(void **state)
{
	const struct known list[] = { { 0x100, by_sp(8), 1 }, { 0x1ff, by_sp(8), -EAGAIN } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 2 };

	(void)state;
	record->stack[0] = 0x5200;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), -EAGAIN);
	assert_int_equal(replay(record, find_rule, &rules, true, &result), 0); /* then without */
	assert_frames(&result, WIRE_cut_no_table, 2, (const uint64_t[]){ 0x100, 0x1ff });
	free(record);
}

static void test_reasons(void **state)
{
	struct known list[] = { { 0x100, by_sp(8), 1 } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 1 };

	(void)state;
	record->stack[0] = 0x7700;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, WIRE_cut_no_mapping, 1, (const uint64_t[]){ 0x100 });
	record->head.stack_len = 4; /* the copy does not reach: no fault of the process */
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, WIRE_cut_no_table, 1, (const uint64_t[]){ 0x100 });
	list[0].rule.kind = WIRE_RULE_ODD;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, WIRE_cut_odd_rule, 1, (const uint64_t[]){ 0x100 });
	free(record);
}

/* The return address stays the same for ever: only a leaf may have no room on the stack. */
static void test_stacks_without_end(void **state)
{
	struct known list[] = { { 0x100, by_sp(0), 1 }, { 0xff, by_sp(0), 1 } };
	struct record *record = record_new(0x1100, place(0), 1);
	struct rules rules = { list, 2 };

	(void)state;
	list[0].rule.flags = list[1].rule.flags = WIRE_RA_IN_REGISTER;
	list[0].rule.ra_offset = list[1].rule.ra_offset = 13;
	record->head.registers[13] = 0x1100;
	assert_int_equal(replay(record, find_rule, &rules, false, &result), 0);
	assert_frames(&result, WIRE_cut_bad_rule, 2, (const uint64_t[]){ 0x100, 0xff });
	free(record);
}

static void test_records_that_are_not_whole(void **state)
{
	struct record *record = record_new(0x1100, place(0), 1);

	(void)state;
	assert_true(replay_check(record, sizeof(*record)));
	assert_false(replay_check(record, sizeof(*record) - 1));
	assert_false(replay_check(record, sizeof(record->head) - 1));
	assert_false(replay_check(record, 0));
	record->head.maps_len = WIRE_EARLY_MAPS + 1;
	assert_false(replay_check(record, sizeof(*record)));
	record->head.maps_len = 3;
	record->head.stack_len = UINT32_MAX;
	assert_false(replay_check(record, sizeof(*record)));
	record->head.stack_len = 8;
	record->head.type = WIRE_EXIT;
	assert_false(replay_check(record, sizeof(*record)));
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_rules),
		cmocka_unit_test(test_saved_registers_come_back),
		cmocka_unit_test(test_over_a_signal),
		cmocka_unit_test(test_by_frame_pointers),
		cmocka_unit_test(test_tables_that_are_not_there_yet),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_stacks_without_end),
		cmocka_unit_test(test_records_that_are_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
