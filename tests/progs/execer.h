/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two programs from one source, exec-alpha and exec-beta, that turn into each other by exec and keep their pid. Both
 * are loaded at the same addresses; where alpha spins, beta has code that is never run, and the other way round, so a
 * frame named after the wrong program is seen.
 *
 *   exec-alpha TURNS MILLISECONDS [OTHER]
 *
 * Spins so long, and, while TURNS are left, becomes OTHER.
 */
#ifndef WICK_TESTS_EXECER_H
#define WICK_TESTS_EXECER_H

#include "prog.h"

#ifdef SECOND
__attribute__((used)) static NOINLINE void decoy(void)
{
	__asm__ volatile(".fill 2048, 1, 0x90");
}
#endif

static NOINLINE void spin(double seconds)
{
	double until = prog_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (prog_clock(CLOCK_THREAD_CPUTIME_ID) < until)
		PROG_WORK(PROG_UNIT);
	PROG_STAYS();
}

static NOINLINE void SPIN(double seconds)
{
	spin(seconds);
	PROG_STAYS();
}

int main(int argc, char **argv)
{
	char turns[32];
	int left;

	if (argc != 3 && argc != 4)
		return 2;
	alarm(PROG_LIFE_SECONDS);
	SPIN(atof(argv[2]) / 1000);
	left = atoi(argv[1]) - 1;
	if (left <= 0 || argc != 4)
		return 0;
	snprintf(turns, sizeof(turns), "%d", left);
	execl(argv[3], argv[3], turns, argv[2], argv[0], NULL);
	prog_die("execl");
}

#endif
