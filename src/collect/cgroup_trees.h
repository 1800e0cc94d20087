/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup hierarchies of the machine as directories: who could have named the components of a path there. */
#ifndef WICK_COLLECT_CGROUP_TREES_H
#define WICK_COLLECT_CGROUP_TREES_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct place;
struct place_names;
struct cgroup_trees;

int cgroup_trees_open(struct cgroup_trees **ret);
void cgroup_trees_free(struct cgroup_trees *trees);

/* The directory where the v2 tree is mounted, opened; negative if there is none. */
int cgroup_trees_unified(const struct cgroup_trees *trees);

/* Of a path below that directory. */
struct place_names cgroup_trees_names(const struct cgroup_trees *trees, const char *path, size_t len);

/* Where a process belongs, of the hierarchies it is in by the one that says most; and its path there. */
int cgroup_trees_place(const struct cgroup_trees *trees, uint32_t pid, struct buf *ret_path, struct place *ret);

#endif
