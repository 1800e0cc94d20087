/* SPDX-License-Identifier: Apache-2.0 */
/* A coroutine: its stack is its own, and ends where makecontext began it. */
#include <ucontext.h>

#include "zoo.h"

static ucontext_t here, there;
static char its_stack[64 << 10] __attribute__((aligned(16)));

ZOO_LAST(inner, zoo_spin)
ZOO_LEVEL(outer, inner)

ZOO static void coroutine(int n)
{
	swapcontext(&there, &here); /* and back: it has run before */
	exit((int)outer((unsigned long)n, 2, 3, 4, 5, 6) + n);
}

int main(int argc, char **argv)
{
	(void)argv;
	getcontext(&there);
	there.uc_stack.ss_sp = its_stack;
	there.uc_stack.ss_size = sizeof(its_stack);
	makecontext(&there, (void (*)(void))coroutine, 1, argc);
	swapcontext(&here, &there);
	swapcontext(&here, &there);
	return 0;
}
