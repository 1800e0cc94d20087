/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the place that a path leads to, so that nobody can change it between the look and the use: everything is done
 * relative to an opened folder afterwards. Links are followed here and not by the kernel, one step at a time.
 *
 * Where others can make names, a name means what they want it to mean. So
 *  - a link in a sticky folder for everyone (/tmp) is followed only if the user, root or the folder's owner made it, as
 *    the kernel has it with fs.protected_symlinks;
 *  - in such a folder, what belongs to somebody else is not written to.
 * Root could write anywhere for somebody else's benefit, so of root more is asked:
 *  - every folder on the way must be one that only root can change, or sticky;
 *  - a file that belongs to somebody else is never replaced.
 * Who became root with sudo is trusted as root is: he could have named any path himself.
 */
#ifndef WICK_BASE_OUTPATH_H
#define WICK_BASE_OUTPATH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct outpath {
	int folder;       /* O_PATH */
	char *name;       /* in it */
	int found;        /* O_PATH, what has the name now; -1: nothing has */
	struct stat info; /* of it */
	bool in_place;    /* it cannot be replaced: no regular file, or one that is reached by its descriptor */
	bool shared;      /* others can make names in the folder */
	bool as_sudo;     /* what is made there is to belong to him who called sudo */
	uid_t uid;
	gid_t gid;
};

/* The place of a file to write. Fails with "<doing> '<path>': why", and then there is nothing to free. */
int outpath_find(struct outpath *ret, const char *path, const char *doing);

void outpath_free(struct outpath *place);

/*
 * A folder to keep files in: makes it if it is not there, refuses it by the same rules, and gives the path without
 * links. Of that path, nobody who is not trusted can change a part.
 */
int outpath_folder(char **ret, const char *path, mode_t mode, const char *doing);

/*
 * For root to read a folder: who decides what is in it. That is the owner of the first folder on the way that is not
 * root's; 0 if all of them are.
 */
int outpath_owner(const char *path, const char *doing, uid_t *ret_uid, gid_t *ret_gid);

#endif
