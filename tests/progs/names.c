/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spins until killed under a name that is meant to break the lines of a file.
 *
 *   names "$(printf 'a\nb')"
 */
#include "prog.h"
#include <sys/prctl.h>

static NOINLINE void hot(void)
{
	PROG_WORK(PROG_UNIT);
}

int main(int argc, char **argv)
{
	prog_begin();
	if (argc != 2 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	for (;;)
		hot();
}
