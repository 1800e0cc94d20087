/* SPDX-License-Identifier: Apache-2.0 */
/* Takes everything from a process that it does not need for parsing what it is handed. */
#ifndef WICK_WORKER_CONFINE_H
#define WICK_WORKER_CONFINE_H

#include <stdint.h>
#include <sys/types.h>

/* Keeps descriptor `keep` alone. 0 or -errno: then the process must not go on. */
int confine(int keep, uint64_t memory_bytes);

/* The process that others are forked from: it keeps its rights, which they give up, and nothing else. */
void confine_spawner(int keep);

/* The process that opens files of targets: it keeps the capabilities for that, and no other. */
int confine_helper(int keep, uint64_t memory_bytes);

/*
 * The part of it that leaves files and network: a user of its own, or the one that the process of a pid had (0: its
 * own), no capabilities. The signal comes when we end.
 */
int confine_user(int keep, const char *name, int signal, pid_t pid);

/* The process of worker/opener.h: CAP_SYS_ADMIN, and no system call that could use it but perf_event_open. */
int confine_opener(int keep);

/* Seconds of CPU from now on, until the kernel ends the process. */
int confine_cpu(unsigned int seconds);

#endif
