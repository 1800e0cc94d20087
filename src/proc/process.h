/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process that is still there, and of the machine. */
#ifndef WICK_PROC_PROCESS_H
#define WICK_PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

bool process_exists(uint32_t pid);

/* When the process or thread began, in ticks of the user's clock since boot; 0 if it is gone. */
uint64_t process_start(uint32_t pid);

/* Whether the process that has the pid now began at `start` (ns since boot), as exactly as /proc tells. */
bool process_is(uint32_t pid, uint64_t start);

/* Whose budget is charged for it, as far as /proc tells: see WIRE_USER_ROOT. */
uint64_t process_user(uint32_t pid);

/* How busy it is: whether its first thread runs at this moment, and its CPU time in thousandths of its life. */
struct process_load {
	uint64_t permille;
	bool running;
};
int process_load(uint32_t pid, struct process_load *ret);

/* The path of its program, without " (deleted)". -errno if it is gone or has none. */
int process_exe(uint32_t pid, struct buf *ret);

/* The name of its first thread. */
int process_comm(uint32_t pid, struct buf *ret);

/* Its paths in the cgroup hierarchies, one a line: "NUMBER:CONTROLLERS:PATH". */
int process_cgroups(uint32_t pid, struct buf *ret);

/* Microseconds that the CPUs have spent since boot, all together. */
struct machine_times {
	uint64_t user, kernel, idle;
};
int machine_times(struct machine_times *ret);

/* How long each CPU has been idle of that, or waited for disks. What is there of one that is offline stays as it is. */
int machine_idle(uint64_t *idle_us, unsigned int cpus);

/* Effective capabilities of this process as a bit mask; all bits if they cannot be read. */
uint64_t self_capabilities(void);

#endif
