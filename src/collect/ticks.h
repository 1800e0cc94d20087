/* SPDX-License-Identifier: Apache-2.0 */
/* The ticks: one perf event per CPU that runs the sampling program, kept alive as CPUs come and go. */
#ifndef WICK_COLLECT_TICKS_H
#define WICK_COLLECT_TICKS_H

#include <stdint.h>

struct collect_options;
struct sampler;
struct ticks;

/* Opens the events of all CPUs that are there. They tick, but until ticks_start nothing runs. */
int ticks_open(struct ticks **ret, struct sampler *sampler, const struct collect_options *options);
void ticks_free(struct ticks *ticks);

int ticks_start(struct ticks *ticks); /* when the sampler is loaded */
void ticks_stop(struct ticks *ticks);

/* Follows CPUs and moves the ticks' phase, where that is due. */
int ticks_tend(struct ticks *ticks);
uint64_t ticks_due(const struct ticks *ticks, uint64_t now); /* when that is the case next */

/* How many did not come though the CPU had work, about. Never less than the last time. */
uint64_t ticks_missed(struct ticks *ticks);
uint64_t ticks_expected(const struct ticks *ticks); /* until now, or until stopped */
unsigned int ticks_cpus(const struct ticks *ticks); /* that are sampled now */
uint64_t ticks_rate(const struct ticks *ticks);     /* of all of them, about so many a second; 0: not known */

#endif
