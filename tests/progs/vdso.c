/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the time until killed: most of its time goes by in the vDSO. */
#include "prog.h"

static NOINLINE void ask(void)
{
	struct timespec now;

	for (unsigned int i = 0; i < 100000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	PROG_STAYS();
}

int main(void)
{
	prog_begin();
	for (;;)
		ask();
}
