/* SPDX-License-Identifier: Apache-2.0 */
/* A library that root's programs use. It is stripped before it is used: what its functions are called is not in it. */
#include "progs/prog.h"

void hidden_enter(void);
void hidden_loop(void);
void hidden_work(void);

__attribute__((visibility("hidden"))) NOINLINE void hidden_work(void)
{
	PROG_WORK(PROG_UNIT);
}

__attribute__((visibility("hidden"))) NOINLINE void hidden_loop(void)
{
	for (;;)
		hidden_work();
}

void hidden_enter(void)
{
	hidden_loop();
	PROG_STAYS();
}
