/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that somebody else has a say in, followed within a root, with the rights of the process that they come from.
 * Only in a helper: each of these calls can be held up.
 */
#ifndef WICK_COLLECT_LOOKUP_H
#define WICK_COLLECT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols_debug;

#define LOOKUP_NO_GROUP 65534

struct lookup_rights {
	uid_t uid;
	gid_t gid;
};

/* Opens a path for reading if it is a regular file, touching nothing else. */
int lookup_regular(const char *path, int flags);

/* The same for a path below a root that it cannot leave; O_NOFOLLOW in `flags` is for its last part. */
int lookup_below(int root, const char *path, int flags);

/* The root of a process, and the rights with which it opens files. */
int lookup_root(uint32_t pid, struct lookup_rights *ret);

/*
 * From now on this process opens files with these rights; NULL: with its own again. -EPERM: it may not become that
 * user, and has no more rights over files than its own user from now on.
 */
int lookup_become(const struct lookup_rights *rights);

/* Whether a mount name space is the one of this process, by its inode. */
bool lookup_own_mount(uint32_t inode);

/* The pid in the innermost name space. */
uint32_t lookup_inner_pid(uint32_t pid);

/* The debug file by build id, or, with the path of the file itself, by its .gnu_debuglink. */
int lookup_debug(int root, const struct symbols_debug *debug, const char *path);
/* What dwz wrote: by build id, or also by where a link leads. */
int lookup_alt(int root, const struct symbols_debug *debug, bool by_link);

#endif
