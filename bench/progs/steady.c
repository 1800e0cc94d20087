/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load that never changes: spins on one CPU at the bottom of stacks that are 43 to 47 frames deep where frame
 * pointers are followed, among them main and what called it. Built twice, with frame pointers (FRAMES) and without.
 * Depths and
 * leaves take turns, so that a profiler meets a few hundred different stacks and then the same ones again.
 *
 *   steady CPU
 *
 * Ends with the process that started it.
 */
#include "progs/prog.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#define LEAST_FRAMES 43
#define DEPTHS 5
#define OTHER_FRAMES 4   /* the caller of main, main, run, a leaf */
#define LEAF_TURNS 80000 /* some hundreds of microseconds */

#ifdef FRAMES
#define KEEP_FRAME() PROG_FRAME()
#else
#define KEEP_FRAME()
#endif

#define LEAF(name)                                                               \
	static NOINLINE void name(void)                                          \
	{                                                                        \
		uint64_t x = 1;                                                  \
                                                                                 \
		KEEP_FRAME();                                                    \
		for (int i = 0; i < LEAF_TURNS; i++) {                           \
			x = x * 6364136223846793005ULL + 1442695040888963407ULL; \
			__asm__ volatile("" : "+r"(x));                          \
		}                                                                \
	}

LEAF(parse)
LEAF(hash)
LEAF(sort)
LEAF(print)

static void (*const leaves[])(void) = { parse, hash, sort, print };
#define LEAVES (sizeof(leaves) / sizeof(leaves[0]))

static void odd(unsigned int frames, unsigned int leaf);

static NOINLINE void even(unsigned int frames, unsigned int leaf)
{
	if (frames > 1)
		odd(frames - 1, leaf);
	else
		leaves[leaf]();
	PROG_STAYS();
}

static NOINLINE void odd(unsigned int frames, unsigned int leaf)
{
	if (frames > 1)
		even(frames - 1, leaf);
	else
		leaves[leaf]();
	PROG_STAYS();
}

static NOINLINE void run(void)
{
	for (unsigned int turn = 0;; turn++) {
		even(LEAST_FRAMES - OTHER_FRAMES + turn % DEPTHS, turn / DEPTHS % LEAVES);
		PROG_STAYS();
	}
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;

	if (argc != 2)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		prog_die("sched_setaffinity");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		prog_die("prctl");
	run();
}
