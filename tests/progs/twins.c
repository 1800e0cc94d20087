/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that are nearly alike: four times on the way down one of two functions is called that differ in nothing but
 * their name and place, so that stack pointers, and most words on the stack, are those of another path. Of each path
 * there is a leaf of its own, leaf_0 to leaf_15, whose bits say which functions led there: bit 0 for the outermost,
 * 0 for left_N and 1 for right_N. The frame pointer is used for something else, has frames of changing size, or both.
 *
 *   twins
 */
#include "progs/prog.h"
#include <alloca.h>

#define LEAF_TURNS 20000
#define DEPTH 20

static uint64_t noise = 88172645463325252ULL;

static uint64_t next_noise(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise;
}

#define LEAF(n)                                      \
	static NOINLINE void leaf_##n(void)          \
	{                                            \
		for (int i = 0; i < LEAF_TURNS; i++) \
			__asm__ volatile("");        \
	}

LEAF(0)
LEAF(1)
LEAF(2)
LEAF(3)
LEAF(4)
LEAF(5)
LEAF(6)
LEAF(7)
LEAF(8)
LEAF(9)
LEAF(10)
LEAF(11)
LEAF(12)
LEAF(13)
LEAF(14)
LEAF(15)

static void (*const leaves[])(void) = {
	leaf_0, leaf_1, leaf_2,  leaf_3,  leaf_4,  leaf_5,  leaf_6,  leaf_7,
	leaf_8, leaf_9, leaf_10, leaf_11, leaf_12, leaf_13, leaf_14, leaf_15,
};

static NOINLINE void last(unsigned int path)
{
	leaves[path]();
	PROG_STAYS();
}

#define TWINS(n, body, next)                              \
	static NOINLINE void left_##n(unsigned int path)  \
	{                                                 \
		body;                                     \
		next;                                     \
		PROG_STAYS();                             \
	}                                                 \
	static NOINLINE void right_##n(unsigned int path) \
	{                                                 \
		body;                                     \
		next;                                     \
		PROG_STAYS();                             \
	}

#define CALL(n, path) (path >> n & 1 ? right_##n(path) : left_##n(path))

/* What the frame pointer's register holds is nobody's frame. */
#define USE_FP()                                                                                                     \
	({                                                                                                           \
		uint64_t value = next_noise();                                                                       \
                                                                                                                     \
		__asm__ volatile("mov %0, %%rbp" ::"r"(value) : "rbp", "rbx", "r12", "r13", "r14", "r15", "memory"); \
	})

/* A frame of 16 or 32 bytes more, found by the frame pointer alone. */
#define USE_ROOM()                                                 \
	({                                                         \
		char *room = alloca(16 + (next_noise() & 1) * 16); \
                                                                   \
		__asm__ volatile("" ::"r"(room) : "memory");       \
	})

TWINS(3, (void)0, last(path))
TWINS(2, USE_FP(), CALL(3, path))
TWINS(1, USE_ROOM(), CALL(2, path))
TWINS(0, USE_FP(), CALL(1, path))

static NOINLINE void down(unsigned int depth, unsigned int path)
{
	if (depth)
		down(depth - 1, path);
	else
		CALL(0, path);
	PROG_STAYS();
}

int main(void)
{
	for (;;) {
		down(DEPTH, next_noise() >> 20 & 15);
		PROG_STAYS();
	}
}
