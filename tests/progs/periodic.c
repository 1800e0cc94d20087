/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in lockstep with a sampler: busy for the first quarter of every period of exactly 1/HZ seconds, asleep for the
 * rest. A sampler of the same rate and a fixed phase sees it always or never.
 *
 *   periodic HZ SECONDS CPU
 *
 * Prints "share F": its CPU time over the time that went by.
 */
#include "prog.h"
#include <errno.h>
#include <sched.h>

#define NS 1000000000ULL

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static NOINLINE void busy(uint64_t until)
{
	while (now_ns() < until)
		PROG_STAYS();
}

int main(int argc, char **argv)
{
	struct sched_param first = { .sched_priority = 50 };
	uint64_t period, begin, at;
	cpu_set_t cpus;

	if (argc != 4)
		return 2;
	prog_begin();
	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)atoi(argv[3]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sched_setscheduler(0, SCHED_FIFO, &first))
		prog_die("sched");
	period = NS / (uint64_t)atol(argv[1]); /* as the kernel rounds it */
	begin = at = now_ns();
	while (at < begin + (uint64_t)(atof(argv[2]) * (double)NS)) {
		struct timespec next;

		busy(at + period / 4);
		at += period;
		next.tv_sec = (time_t)(at / NS);
		next.tv_nsec = (long)(at % NS);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
	printf("share %.4f\n", prog_clock(CLOCK_PROCESS_CPUTIME_ID) * (double)NS / (double)(now_ns() - begin));
	return 0;
}
