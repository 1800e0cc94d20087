/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A return address that is the beginning of a page, and nobody's trap: main, probed, aligned, work, where the call of
 * work is the last instruction of its page. Says `ready` and runs until killed.
 */
#include "hostile/hostile.h"

void aligned(void);
void work(void);

NOINLINE void work(void)
{
	for (int i = 0; i < 1000; i++)
		PROG_WORK(PROG_UNIT);
}

/* Its frame is 16 bytes; the call ends at the end of the page. */
__asm__(".text\n\t.balign 4096\n\t.fill 4096 - 5 - 4 - 4, 1, 0xcc\n\t.globl aligned\n\t.type aligned, @function\n"
	"aligned:\n\t.cfi_startproc\n\tsub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tnopl (%rax)\n\tnop\n\n\tcall work\n"
	"\tadd $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.size aligned, . - aligned\n");

NOINLINE void probed(void);
NOINLINE void probed(void)
{
	aligned();
	PROG_STAYS();
}

int main(void)
{
	prog_begin();
	say_ready();
	for (;;)
		probed();
}
