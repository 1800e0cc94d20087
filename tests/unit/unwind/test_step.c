/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder's steps, compiled as ordinary C over a small memory: a chain leads to its root, whatever is wrong with
 * it is named, and a step that fails leaves the registers alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/types.h>
#include <string.h>

#define BASE 0x7ffd00001000ULL
#define WORDS 64

static __u64 memory[WORDS];
static unsigned int reads;

static int read_memory(void *into, __u32 len, __u64 address)
{
	reads++;
	if (address < BASE || address > BASE + sizeof(memory) - len)
		return -1;
	memcpy(into, (const char *)memory + (address - BASE), len);
	return 0;
}

#define STEP_READ(into, len, address) read_memory(into, len, address)

#include "unwind/step.h"

static __u64 place(unsigned int word)
{
	return BASE + word * sizeof(__u64);
}

/* A frame at that word: the caller's frame pointer, and the return address above it. */
static void put_frame(unsigned int word, __u64 fp, __u64 ip)
{
	memory[word] = fp;
	memory[word + 1] = ip;
}

static int clear_memory(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	reads = 0;
	return 0;
}

static struct step_regs regs_of(__u64 ip, __u64 sp, __u64 fp)
{
	struct step_regs regs = { 0 };

	for (unsigned int i = 0; i < STEP_REGISTERS; i++)
		regs.r[i] = 0x1000 + i;
	regs.r[STEP_IP] = ip;
	regs.r[STEP_SP] = sp;
	regs.r[STEP_FP] = fp;
	return regs;
}

static void assert_regs(const struct step_regs *regs, __u64 ip, __u64 sp, __u64 fp)
{
	assert_int_equal(regs->r[STEP_IP], ip);
	assert_int_equal(regs->r[STEP_SP], sp);
	assert_int_equal(regs->r[STEP_FP], fp);
}

static void assert_stays(struct step_regs regs, int result)
{
	struct step_regs got = regs;

	assert_int_equal(step_fp(&got), result);
	assert_memory_equal(&got, &regs, sizeof(regs));
}

static void test_chain_to_the_root(void **state)
{
	struct step_regs regs = regs_of(0x100, place(0), place(4));

	(void)state;
	put_frame(4, place(10), 0x200);
	put_frame(10, place(12), 0x300); /* right above: a frame may be empty */
	put_frame(12, 0, 0x400);         /* _start clears it */
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.r[STEP_IP], 0x200);
	assert_int_equal(regs.r[STEP_SP], place(6));
	assert_int_equal(regs.r[STEP_FP], place(10));
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.r[STEP_IP], 0x300);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.r[STEP_IP], 0x400);
	assert_int_equal(regs.r[STEP_SP], place(14));
	assert_int_equal(reads, 3);
	assert_stays(regs, STEP_ROOT);
	assert_int_equal(reads, 3); /* nothing is read for it */
}

static void test_return_address_of_zero(void **state)
{
	(void)state;
	put_frame(4, place(8), 0);
	assert_stays(regs_of(0x100, place(0), place(4)), STEP_ROOT);
}

static void test_frame_at_the_stack_pointer(void **state)
{
	struct step_regs regs = regs_of(0x100, place(4), place(4));

	(void)state;
	put_frame(4, place(8), 0x200);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.r[STEP_IP], 0x200);
}

static void test_not_a_frame_pointer(void **state)
{
	(void)state;
	put_frame(4, place(8), 0x200);
	for (__u64 off = 1; off < 8; off++) /* not aligned: the register holds something else */
		assert_stays(regs_of(0x100, place(0), place(4) + off), WIRE_cut_no_frame_pointer);
	assert_stays(regs_of(0x100, place(5), place(4)), WIRE_cut_no_frame_pointer); /* below the stack */
	assert_stays(regs_of(0x100, place(0), 8), WIRE_cut_no_frame_pointer);
	assert_int_equal(reads, 0);
}

/* Downwards or to itself: a chain that would never end does. */
static void test_chain_that_loops(void **state)
{
	struct step_regs regs = regs_of(0x100, place(0), place(4));

	(void)state;
	put_frame(4, place(8), 0x200);
	put_frame(8, place(4), 0x300);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_stays(regs, WIRE_cut_no_frame_pointer);
	put_frame(4, place(4), 0x200);
	regs = regs_of(0x100, place(0), place(4));
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_stays(regs, WIRE_cut_no_frame_pointer);
}

static void test_memory_that_cannot_be_read(void **state)
{
	struct step_regs regs;

	(void)state;
	assert_stays(regs_of(0x100, place(0), BASE + (1 << 20)), WIRE_cut_no_memory);
	assert_stays(regs_of(0x100, place(0), place(WORDS - 1)), WIRE_cut_no_memory); /* half of it */
	assert_stays(regs_of(0x100, place(0), ~7ULL), WIRE_cut_no_memory);
	assert_stays(regs_of(0x100, 0, 8), WIRE_cut_no_memory);
	put_frame(WORDS - 2, 0, 0x200);
	regs = regs_of(0x100, place(0), place(WORDS - 2));
	assert_int_equal(step_fp(&regs), STEP_MORE);
}

/* ---- by rule ---- */

static struct wire_rule rule_with(__u8 kind, __u8 reg, __s32 offset)
{
	struct wire_rule rule = { .kind = kind, .reg = reg, .offset = offset, .ra_offset = -8 };

	for (int i = 0; i < WIRE_SAVES; i++)
		rule.saves[i] = WIRE_NOT_SAVED;
	return rule;
}

static void assert_rule_stays(struct step_regs regs, const struct wire_rule *rule, int result)
{
	struct step_regs got = regs;

	assert_int_equal(step_rule(&got, rule, 1), result);
	assert_memory_equal(&got, &regs, sizeof(regs));
}

static void test_rule_by_the_stack_pointer(void **state)
{
	struct step_regs regs = regs_of(0x100, place(2), 77);
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 32);

	(void)state;
	memory[5] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(6), 77); /* rbp is whatever it was */
	assert_int_equal(reads, 1);
}

static void test_rule_with_the_usual_frame(void **state)
{
	struct step_regs regs = regs_of(0x100, place(0), place(4));
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_FP, 16);

	(void)state;
	rule.saves[WIRE_SAVE_FP] = -16;
	put_frame(4, place(20), 0x200);
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(6), place(20));
	assert_int_equal(reads, 1); /* both at once */
}

/* rbp saved far from the return address, and the return address not at the top. */
static void test_rule_with_saves_elsewhere(void **state)
{
	struct step_regs regs = regs_of(0x100, place(0), 1);
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 80);

	(void)state;
	rule.saves[WIRE_SAVE_FP] = -64;
	rule.ra_offset = -16;
	memory[2] = 0x333;
	memory[8] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(10), 0x333);
}

/* A realigned frame: the CFA is in memory below rbp, and rbp is saved where rbp points. */
static void test_rule_of_a_realigned_frame(void **state)
{
	struct step_regs regs = regs_of(0x100, place(0), place(8));
	struct wire_rule rule = rule_with(WIRE_RULE_DEREF, STEP_FP, -8);

	(void)state;
	rule.saves[WIRE_SAVE_FP] = 0;
	rule.from_fp = 1 << WIRE_SAVE_FP;
	memory[7] = place(20);
	memory[8] = 0x444;
	memory[19] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(20), 0x444);
	rule.offset2 = 8;
	memory[20] = 0x500;
	regs = regs_of(0x100, place(0), place(8));
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x500, place(21), 0x444);
}

static void test_rule_by_any_register(void **state)
{
	static const __u8 numbers[] = { 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

	(void)state;
	memory[5] = 0x200;
	for (size_t i = 0; i < sizeof(numbers); i++) {
		struct step_regs regs = regs_of(0x100, place(2), 1);
		struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, numbers[i], -8);

		regs.r[numbers[i]] = place(7);
		assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
		assert_regs(&regs, 0x200, place(6), 1);
	}
}

/* A stub has pushed nothing before its low address bits reach some value, and eight bytes from there on. */
static void test_rule_of_a_stub(void **state)
{
	struct wire_rule rule = rule_with(WIRE_RULE_PLT, 0, 0);

	(void)state;
	rule.offset2 = 11;
	memory[2] = 0x200;
	memory[3] = 0x300;
	for (__u64 at = 0; at < 16; at++) {
		struct step_regs regs = regs_of(0x7f0010 + at, place(2), 5);

		assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
		assert_regs(&regs, at < 11 ? 0x200 : 0x300, place(at < 11 ? 3 : 4), 5);
	}
}

static void test_rule_with_the_return_address_in_a_register(void **state)
{
	struct step_regs regs = regs_of(0x100, place(2), 5);
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 8);

	(void)state;
	rule.flags = WIRE_RA_IN_REGISTER;
	rule.ra_offset = 13;
	regs.r[13] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(3), 5);
	assert_int_equal(reads, 0);
}

/* As vfork: nothing of the frame is left on the stack. */
static void test_rule_of_a_frame_without_room(void **state)
{
	struct step_regs regs = regs_of(0x100, place(2), 5);
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 0);

	(void)state;
	rule.flags = WIRE_RA_IN_REGISTER;
	rule.ra_offset = 5;
	regs.r[5] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 0), WIRE_cut_bad_rule); /* it has called somebody: from nowhere */
	assert_regs(&regs, 0x100, place(2), 5);
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(2), 5);
	rule.offset = -8;
	assert_rule_stays(regs, &rule, WIRE_cut_bad_rule);
}

/* As Go's systemstack: the frame pointer leads to a stack that may lie anywhere. */
static void test_rule_that_changes_stacks(void **state)
{
	struct step_regs regs = regs_of(0x100, place(12), place(2));
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_FP, 16);

	(void)state;
	memory[2] = place(6);
	memory[3] = 0x200;
	rule.saves[WIRE_SAVE_FP] = -16;
	assert_rule_stays(regs, &rule, WIRE_cut_bad_rule);
	rule.flags = WIRE_RULE_SWITCHES;
	assert_int_equal(step_rule(&regs, &rule, 0), STEP_MORE);
	assert_regs(&regs, 0x200, place(4), place(6));
	regs = regs_of(0x100, place(12), 0);
	assert_rule_stays(regs, &rule, STEP_ROOT);
}

static void test_rule_with_the_frame_pointer_in_a_register(void **state)
{
	struct step_regs regs = regs_of(0x100, place(2), 5);
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 16);

	(void)state;
	rule.flags = WIRE_FP_IN_REGISTER;
	rule.saves[WIRE_SAVE_FP] = 14;
	memory[3] = 0x200;
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	assert_regs(&regs, 0x200, place(4), 0x1000 + 14);
}

static void test_rule_that_leads_nowhere(void **state)
{
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 0);

	(void)state;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_bad_rule); /* the same frame again */
	rule.offset = -8;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_bad_rule);
	rule.offset = 12;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_bad_rule); /* not aligned */
	rule.offset = 1 << 20;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_no_memory);
	rule = rule_with(WIRE_RULE_DEREF, 3, 0);
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_no_memory);
	rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 16);
	rule.saves[WIRE_SAVE_FP] = 0x4000;
	memory[3] = 0x200;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_no_memory); /* rbp cannot be read */
	rule = rule_with(WIRE_RULE_ODD, 0, 0);
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, WIRE_cut_odd_rule);
}

static void test_rule_at_the_root(void **state)
{
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 16);

	(void)state;
	assert_rule_stays(regs_of(0x100, place(2), 5), &rule, STEP_ROOT); /* a return address of zero */
}

static void test_saves(void **state)
{
	static const __u8 numbers[WIRE_SAVES] = { STEP_FP, 3, 12, 13, 14, 15 };
	struct step_regs regs = regs_of(0x100, place(0), place(30)), before = regs;
	struct wire_rule rule = rule_with(WIRE_RULE_REGISTER, STEP_SP, 80);

	(void)state;
	memory[9] = 0x200;
	for (int i = 1; i < WIRE_SAVES; i++) {
		rule.saves[i] = (__s16)(-16 - 8 * i);
		memory[10 - 2 - i] = 0x5000 + numbers[i];
	}
	rule.saves[WIRE_SAVE_R13] = -8; /* by the frame pointer as it was before the step */
	rule.from_fp = 1 << WIRE_SAVE_R13;
	memory[29] = 0x6000;
	rule.saves[WIRE_SAVE_R14] = 0x7000;         /* not to be read: stays */
	rule.saves[WIRE_SAVE_R15] = WIRE_NOT_SAVED; /* not saved: stays */
	assert_int_equal(step_rule(&regs, &rule, 1), STEP_MORE);
	step_saves(&regs, &rule, before.r[STEP_FP]);
	assert_int_equal(regs.r[3], 0x5003);
	assert_int_equal(regs.r[12], 0x500c);
	assert_int_equal(regs.r[13], 0x6000);
	assert_int_equal(regs.r[14], before.r[14]);
	assert_int_equal(regs.r[15], before.r[15]);
	assert_regs(&regs, 0x200, place(10), place(30));
}

/* ---- signals ---- */

/* As the kernel writes it: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip, five words above the stack pointer. */
static void put_signal(unsigned int word, const __u64 *registers)
{
	static const __u8 order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };

	for (unsigned int i = 0; i < sizeof(order); i++)
		memory[word + 5 + i] = registers[order[i]];
}

static void test_signal(void **state)
{
	struct step_regs regs = regs_of(0x100, place(40), 1), wanted;

	(void)state;
	for (unsigned int i = 0; i < STEP_REGISTERS; i++)
		wanted.r[i] = 0x9000 + i * 0x11;
	wanted.r[STEP_SP] = place(3); /* below: it ran on another stack */
	put_signal(40, wanted.r);
	assert_int_equal(step_signal(&regs), STEP_MORE);
	assert_memory_equal(&regs, &wanted, sizeof(regs));
}

static void test_signal_that_cannot_be_read(void **state)
{
	struct step_regs regs = regs_of(0x100, place(WORDS - 21), 1), before = regs;

	(void)state;
	assert_int_equal(step_signal(&regs), WIRE_cut_no_memory);
	assert_memory_equal(&regs, &before, sizeof(regs));
	regs = before = regs_of(0x100, place(0), 1);
	assert_int_equal(step_signal(&regs), STEP_ROOT);
	assert_memory_equal(&regs, &before, sizeof(regs));
}

/* ---- where there is no row ---- */

static void test_calls_are_known(void **state)
{
	static const struct {
		struct step_code code;
		int call;
	} list[] = {
		{ { { 0, 0, 0xe8, 1, 2, 3, 4 }, { 0 } }, 1 },                /* call there */
		{ { { 0, 0, 0, 0, 0, 0xff, 0xd0 }, { 0 } }, 1 },             /* call *%rax */
		{ { { 0, 0, 0, 0, 0x41, 0xff, 0xd4 }, { 0 } }, 1 },          /* call *%r12 */
		{ { { 0, 0xff, 0x15, 1, 2, 3, 4 }, { 0 } }, 1 },             /* call *there(%rip) */
		{ { { 0xff, 0x94, 0x24, 0, 1, 0, 0 }, { 0 } }, 1 },          /* call *256(%rsp) */
		{ { { 0, 0, 0, 0, 0xff, 0x50, 0x10 }, { 0 } }, 1 },          /* call *16(%rax) */
		{ { { 0, 0, 0, 0, 0, 0, 0x90 }, { 0 } }, 1 },                /* nop, as Go pretends */
		{ { { 0, 0, 0xe9, 1, 2, 3, 4 }, { 0 } }, 0 },                /* jmp */
		{ { { 0, 0, 0, 0, 0, 0xff, 0xe0 }, { 0 } }, 0 },             /* jmp *%rax */
		{ { { 0 }, { 0xe8 } }, 0 },                                  /* a call, but after it */
		{ { { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3, 0 }, { 0 } }, 0 }, /* push, mov, pop, ret */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(step_after_call(&list[i].code), list[i].call);
}

static void test_restorers_are_known(void **state)
{
	static const struct step_code rax = { .at = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 } };
	static const struct step_code eax = { .at = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 } };

	(void)state;
	assert_true(step_at_restorer(&rax));
	assert_true(step_at_restorer(&eax));
	for (int i = 0; i < 9; i++) {
		struct step_code changed = rax;

		changed.at[i] ^= 1;
		assert_false(step_at_restorer(&changed));
		changed = eax;
		changed.at[i] ^= 1;
		assert_int_equal(step_at_restorer(&changed), i >= 7); /* seven bytes are all of it */
	}
}

/* A leaf whose return address is on top of the stack, after a call of the leaf. The code is in the same memory. */
static void test_leaf_without_a_frame(void **state)
{
	const __u64 leaf = place(40), caller = place(50) + 5;
	const __s32 distance = (__s32)(leaf - caller);
	struct step_regs regs = regs_of(leaf + 9, place(2), 5), before = regs;
	unsigned char *code = (unsigned char *)&memory[50];

	(void)state;
	memory[2] = caller;
	assert_int_equal(step_leaf(&regs), WIRE_cut_no_frame_pointer); /* nobody calls there */
	assert_memory_equal(&regs, &before, sizeof(regs));
	code[0] = 0xe8;
	memcpy(code + 1, &distance, sizeof(distance));
	assert_int_equal(step_leaf(&regs), STEP_MORE);
	assert_regs(&regs, caller, place(3), 5);
	regs = before;
	regs.r[STEP_IP] = leaf - 1; /* what is called is after it */
	assert_int_equal(step_leaf(&regs), WIRE_cut_no_frame_pointer);
	regs.r[STEP_IP] = leaf + STEP_LEAF_BYTES; /* or long before */
	assert_int_equal(step_leaf(&regs), WIRE_cut_no_frame_pointer);
	memory[2] = 1; /* not to be read */
	regs = before;
	assert_int_equal(step_leaf(&regs), WIRE_cut_no_frame_pointer);
	assert_memory_equal(&regs, &before, sizeof(regs));
}

#define with_memory(test) cmocka_unit_test_setup(test, clear_memory)

/* A register that is zero, or words that are, say nothing of a function that may use them for what it likes. */
static void test_root_without_a_row(void **state)
{
	struct step_regs none = regs_of(0x100, place(0), 0), some = regs_of(0x100, place(0), place(4));

	(void)state;
	assert_false(step_fp_root(&none, 0, 0));
	assert_true(step_fp_root(&none, 1, 0));
	assert_true(step_fp_root(&none, 0, place(0)));
	assert_true(step_fp_root(&none, 0, place(0) + STEP_ROOT_BYTES));
	assert_false(step_fp_root(&none, 0, place(0) + STEP_ROOT_BYTES + 8));
	assert_false(step_fp_root(&none, 0, place(0) - 8)); /* a stack that is another one */
	put_frame(4, 0, 0);
	assert_false(step_fp_root(&some, 0, place(0)));
	assert_true(step_fp_root(&some, 1, 0));
	put_frame(4, place(8), 0); /* the chain goes on, or is none */
	assert_false(step_fp_root(&some, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_memory(test_root_without_a_row),
		with_memory(test_chain_to_the_root),
		with_memory(test_return_address_of_zero),
		with_memory(test_frame_at_the_stack_pointer),
		with_memory(test_not_a_frame_pointer),
		with_memory(test_chain_that_loops),
		with_memory(test_memory_that_cannot_be_read),
		with_memory(test_rule_by_the_stack_pointer),
		with_memory(test_rule_with_the_usual_frame),
		with_memory(test_rule_with_saves_elsewhere),
		with_memory(test_rule_of_a_realigned_frame),
		with_memory(test_rule_by_any_register),
		with_memory(test_rule_of_a_stub),
		with_memory(test_rule_with_the_return_address_in_a_register),
		with_memory(test_rule_of_a_frame_without_room),
		with_memory(test_rule_that_changes_stacks),
		with_memory(test_rule_with_the_frame_pointer_in_a_register),
		with_memory(test_rule_that_leads_nowhere),
		with_memory(test_rule_at_the_root),
		with_memory(test_saves),
		with_memory(test_signal),
		with_memory(test_signal_that_cannot_be_read),
		with_memory(test_calls_are_known),
		with_memory(test_restorers_are_known),
		with_memory(test_leaf_without_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
