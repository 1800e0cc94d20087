/* SPDX-License-Identifier: Apache-2.0 */
/* From a cgroup's path to what the kernel side compares tasks with. */
#ifndef WICK_COLLECT_CGROUP_H
#define WICK_COLLECT_CGROUP_H

#include <stdint.h>

struct buf;
struct wire_settings;

/* Fills in the cgroup fields. `path` is a directory, or a path in the v2 tree as /proc/PID/cgroup shows it. */
int cgroup_settings(const char *path, struct wire_settings *ret);

/* The path of a v2 group in its tree, by the id that the kernel side reports. -errno if it is gone. */
int cgroup_path(uint64_t id, struct buf *ret);

#endif
