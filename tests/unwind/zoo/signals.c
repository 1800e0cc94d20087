/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of signals: on the normal stack, on another one (alt), one within another (nested), and for a fault of a
 * function's very first instruction (fault), right after a function with another frame: the address of what was
 * interrupted is exact.
 */
#include <signal.h>

#include "zoo.h"

static const char *mode;
static char other_stack[64 << 10] __attribute__((aligned(16)));

void faults(void);
__asm__(".text\n"
	".type before_faults, @function\n"
	"before_faults: .cfi_startproc\n"
	"	sub $120, %rsp\n"
	"	.cfi_adjust_cfa_offset 120\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".size before_faults, . - before_faults\n"
	".globl faults\n"
	".type faults, @function\n"
	"faults: .cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size faults, . - faults\n");

ZOO static void handler(int number)
{
	if (!strcmp(mode, "nested") && number == SIGUSR1)
		raise(SIGUSR2);
	zoo_spin((unsigned long)number);
}

ZOO static unsigned long interrupted(unsigned long n)
{
	if (!strcmp(mode, "fault"))
		faults();
	else
		raise(SIGUSR1);
	return n + 1;
}

ZOO_LAST(inner, interrupted)
ZOO_LEVEL(outer, inner)

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler };
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	mode = argc > 1 ? argv[1] : "normal";
	if (!strcmp(mode, "alt"))
		action.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	return (int)outer(1, 2, 3, 4, 5, (unsigned long)argc) + argc;
}
