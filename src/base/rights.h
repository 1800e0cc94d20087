/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose rights are used for what. A program with file capabilities, or one that is set-user-ID, can do more than the
 * user who started it. wick needs that to sample, and for nothing else: not for paths that the user names, and not in
 * commands that do not sample.
 */
#ifndef WICK_BASE_RIGHTS_H
#define WICK_BASE_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* Whether the file of the program gave rights that its user does not have. */
bool rights_elevated(void);

/* Gives up for good what the user would not have in another program, and every capability unless he is root. */
int rights_drop(void);

/* What this thread had before, for rights_restore. */
struct rights {
	bool changed;
	uid_t fsuid;
	gid_t fsgid;
	uint32_t effective[2];
};

/* Until rights_restore this thread opens, makes and renames files with no more rights than the user has. */
int rights_lower(struct rights *ret);

/* The same with the rights of somebody else. Only for root. What is made belongs to him. */
int rights_act_as(struct rights *ret, uid_t uid, gid_t gid);

/*
 * The same for reading what is in his folder, where reading may leave files behind: still everything can be read, but
 * written only what he can write.
 */
int rights_read_as(struct rights *ret, uid_t uid, gid_t gid);

void rights_restore(const struct rights *before);

/* Whose rights count for files once they are lowered. */
uid_t rights_user(void);

/* Who became root with sudo to start this; false if nobody did. */
bool rights_sudo_user(uid_t *ret_uid, gid_t *ret_gid);

#endif
