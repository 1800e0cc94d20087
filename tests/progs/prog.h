/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the test programs share: functions that keep their frame, units of work of equal cost, clocks, and a limit on
 * how long a forgotten program can live.
 */
#ifndef WICK_TESTS_PROG_H
#define WICK_TESTS_PROG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define PROG_LIFE_SECONDS 300
#define PROG_UNIT 4000 /* turns: some ten microseconds */

/* The call is not the last thing its caller does, so the caller's frame stays on the stack. */
#define PROG_STAYS() __asm__ volatile("" ::: "memory")

/* gcc leaves the frame pointer out of a function that calls nothing, whatever it is told, unless its frame is used. */
#define PROG_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

/* Code of the same shape, and so of the same cost, wherever it is put. */
#define PROG_WORK(turns)                                                                   \
	do {                                                                               \
		uint64_t prog_x = 1;                                                       \
                                                                                           \
		PROG_FRAME();                                                              \
		for (unsigned long prog_i = 0; prog_i < (turns); prog_i++) {               \
			prog_x = prog_x * 6364136223846793005ULL + 1442695040888963407ULL; \
			__asm__ volatile("" : "+r"(prog_x));                               \
		}                                                                          \
	} while (0)

static inline double prog_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* CPU seconds of this process, or of the children it has waited for. */
static inline double prog_cpu(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static inline uint32_t prog_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

static inline void prog_begin(void)
{
	alarm(PROG_LIFE_SECONDS);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((noreturn)) static inline void prog_die(const char *what)
{
	perror(what);
	exit(125);
}

#endif
