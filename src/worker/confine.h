/* SPDX-License-Identifier: Apache-2.0 */
/* Takes everything from a process that it does not need for parsing what it is handed. */
#ifndef WICK_WORKER_CONFINE_H
#define WICK_WORKER_CONFINE_H

#include <stdint.h>

/* Keeps descriptor `keep` and standard error alone. 0 or -errno: then the process must not go on. */
int confine(int keep, uint64_t memory_bytes);

/* The part of it that leaves files and network: another user, no capabilities. The signal comes when we end. */
int confine_user(int keep, const char *name, int signal);

/* The process of worker/opener.h: CAP_SYS_ADMIN, and no system call that could use it but perf_event_open. */
int confine_opener(int keep);

/* Seconds of CPU from now on, until the kernel ends the process. */
int confine_cpu(unsigned int seconds);

#endif
