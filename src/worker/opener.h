/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the events that tick. Where kernel.perf_event_paranoid is above 2, Debian's and Ubuntu's kernels ask for
 * CAP_SYS_ADMIN, which is far too much for a process that runs always. A service that was given it leaves it to a
 * process that can do nothing else but open such events and hand them over, and has it no longer.
 */
#ifndef WICK_WORKER_OPENER_H
#define WICK_WORKER_OPENER_H

#include <stdbool.h>
#include <stdint.h>

struct opener;

struct event {
	uint64_t period; /* or, with `frequency`, times a second */
	uint32_t cpu;
	bool clock; /* ticks of a clock, in ns; else of the CPU's cycles */
	bool frequency;
};

/*
 * Whoever is not root gives up CAP_SYS_ADMIN; *ret is NULL if it was not there, or the kernel does not ask for it. To
 * be called before there are threads.
 */
int opener_start(struct opener **ret);
void opener_free(struct opener *opener);

/* A descriptor or -errno; without an opener the event is opened here. */
int opener_open(struct opener *opener, const struct event *event);

#endif
