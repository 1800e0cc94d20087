/* SPDX-License-Identifier: Apache-2.0 */
/* From a cgroup's path to what the kernel side compares tasks with. */
#ifndef WICK_COLLECT_CGROUP_H
#define WICK_COLLECT_CGROUP_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct place;
struct wire_settings;

/* Fills in the cgroup fields. `path` is a directory, or a path in the v2 tree as /proc/PID/cgroup shows it. */
int cgroup_settings(const char *path, struct wire_settings *ret);

/*
 * Paths of v2 groups, each asked for once: that of a group which has gone since is still known. The newest ones, that
 * is: what users can make is bounded.
 */
struct cgroups;

int cgroups_new(struct cgroups **ret);
void cgroups_free(struct cgroups *cgroups);

/*
 * The path in its tree, by the id that the kernel side reports; NULL if it was gone when first asked for. Valid until
 * the next group is asked for.
 */
const char *cgroups_path(struct cgroups *cgroups, uint64_t id, size_t *ret_len);

/* What that path says, as far as whoever named its parts can be believed. */
void cgroups_place(struct cgroups *cgroups, uint64_t id, struct place *ret);

/* The same of a process that is still there, by whichever hierarchy says most; and its path there. */
int cgroups_place_process(struct cgroups *cgroups, uint32_t pid, struct buf *ret_path, struct place *ret);

#endif
