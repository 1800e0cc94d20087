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

static void assert_stays(struct step_regs regs, int result)
{
	struct step_regs got = regs;

	assert_int_equal(step_fp(&got), result);
	assert_int_equal(got.ip, regs.ip);
	assert_int_equal(got.sp, regs.sp);
	assert_int_equal(got.fp, regs.fp);
}

static void test_chain_to_the_root(void **state)
{
	struct step_regs regs = { .ip = 0x100, .sp = place(0), .fp = place(4) };

	(void)state;
	put_frame(4, place(10), 0x200);
	put_frame(10, place(12), 0x300); /* right above: a frame may be empty */
	put_frame(12, 0, 0x400);         /* _start clears it */
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.ip, 0x200);
	assert_int_equal(regs.sp, place(6));
	assert_int_equal(regs.fp, place(10));
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.ip, 0x300);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.ip, 0x400);
	assert_int_equal(regs.sp, place(14));
	assert_int_equal(reads, 3);
	assert_stays(regs, STEP_ROOT);
	assert_int_equal(reads, 3); /* nothing is read for it */
}

static void test_return_address_of_zero(void **state)
{
	(void)state;
	put_frame(4, place(8), 0);
	assert_stays((struct step_regs){ 0x100, place(0), place(4) }, STEP_ROOT);
}

static void test_frame_at_the_stack_pointer(void **state)
{
	struct step_regs regs = { 0x100, place(4), place(4) };

	(void)state;
	put_frame(4, place(8), 0x200);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(regs.ip, 0x200);
}

static void test_not_a_frame_pointer(void **state)
{
	(void)state;
	put_frame(4, place(8), 0x200);
	for (__u64 off = 1; off < 8; off++) /* not aligned: the register holds something else */
		assert_stays((struct step_regs){ 0x100, place(0), place(4) + off }, WIRE_cut_no_frame_pointer);
	assert_stays((struct step_regs){ 0x100, place(5), place(4) }, WIRE_cut_no_frame_pointer); /* below the stack */
	assert_stays((struct step_regs){ 0x100, place(0), 8 }, WIRE_cut_no_frame_pointer);
	assert_int_equal(reads, 0);
}

/* Downwards or to itself: a chain that would never end does. */
static void test_chain_that_loops(void **state)
{
	struct step_regs regs = { 0x100, place(0), place(4) };

	(void)state;
	put_frame(4, place(8), 0x200);
	put_frame(8, place(4), 0x300);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_stays(regs, WIRE_cut_no_frame_pointer);
	put_frame(4, place(4), 0x200);
	regs = (struct step_regs){ 0x100, place(0), place(4) };
	assert_int_equal(step_fp(&regs), STEP_MORE);
	assert_stays(regs, WIRE_cut_no_frame_pointer);
}

static void test_memory_that_cannot_be_read(void **state)
{
	(void)state;
	assert_stays((struct step_regs){ 0x100, place(0), BASE + (1 << 20) }, WIRE_cut_no_memory);
	assert_stays((struct step_regs){ 0x100, place(0), place(WORDS - 1) }, WIRE_cut_no_memory); /* half of it */
	assert_stays((struct step_regs){ 0x100, place(0), ~7ULL }, WIRE_cut_no_memory);
	assert_stays((struct step_regs){ 0x100, 0, 8 }, WIRE_cut_no_memory);
	put_frame(WORDS - 2, 0, 0x200);
	assert_int_equal(step_fp(&(struct step_regs){ 0x100, place(0), place(WORDS - 2) }), STEP_MORE);
}

#define with_memory(test) cmocka_unit_test_setup(test, clear_memory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_memory(test_chain_to_the_root),          with_memory(test_return_address_of_zero),
		with_memory(test_frame_at_the_stack_pointer), with_memory(test_not_a_frame_pointer),
		with_memory(test_chain_that_loops),           with_memory(test_memory_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
