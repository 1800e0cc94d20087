/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of the zoo share: a leaf that runs without end, callers that leave nothing useful in rbp, and the
 * word `ready PID TID` that says when the stack has become what it stays.
 */
#ifndef WICK_TESTS_UNWIND_ZOO_H
#define WICK_TESTS_UNWIND_ZOO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define ZOO __attribute__((noinline, unused))
#else
#define ZOO __attribute__((noipa, unused))
#endif

#define ZOO_LIFE_SECONDS 300

static volatile unsigned long zoo_turns = ~0UL;

ZOO static void zoo_ready(void)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "ready %ld %ld\n", syscall(SYS_getpid), syscall(SYS_gettid));

	alarm(ZOO_LIFE_SECONDS);
	if (write(1, text, (size_t)len) != len)
		abort();
}

/* The leaf: all that calls preserve is lost in it, and can only be had back from where it was saved. */
ZOO static unsigned long zoo_spin(unsigned long x)
{
	zoo_ready();
	__asm__ volatile("mov $1, %%ebx; mov $5, %%r12d; mov $7, %%r13d; mov $9, %%r14d; mov $11, %%r15d" ::
				 : "rbx", "r12", "r13", "r14", "r15");
#ifndef ZOO_FP
	__asm__ volatile("mov $3, %%ebp" ::: "rbp");
#endif
	for (unsigned long turns = zoo_turns; turns; turns--) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/* A caller that keeps six values across its call, and so uses all registers that calls preserve for something else. */
#define ZOO_LEVEL(name, next)                                                                             \
	ZOO static unsigned long name(unsigned long a, unsigned long b, unsigned long c, unsigned long d, \
				      unsigned long e, unsigned long f)                                   \
	{                                                                                                 \
		unsigned long x = next(b + 1, c + 2, d + 3, e + 4, f + 5, a + 6);                         \
                                                                                                          \
		return x * a + (x ^ b) * c + (x | d) * e + f;                                             \
	}

/* The innermost of them. */
#define ZOO_LAST(name, leaf)                                                                              \
	ZOO static unsigned long name(unsigned long a, unsigned long b, unsigned long c, unsigned long d, \
				      unsigned long e, unsigned long f)                                   \
	{                                                                                                 \
		unsigned long x = leaf(a);                                                                \
                                                                                                          \
		return x * a + (x ^ b) * c + (x | d) * e + f;                                             \
	}

#define ZOO_MAIN(name)                                                         \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		unsigned long n = (unsigned long)argc;                         \
                                                                               \
		(void)argv;                                                    \
		return (int)name(n, n + 1, n + 2, n + 3, n + 4, n + 5) + argc; \
	}

#endif
