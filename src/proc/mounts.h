/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts that a process sees, line by line. */
#ifndef WICK_PROC_MOUNTS_H
#define WICK_PROC_MOUNTS_H

#include <stdbool.h>

/* One line of mountinfo: "id parent dev root point options … - type source superoptions". */
struct mount_line {
	const char *root; /* the directory of the file system that is mounted */
	const char *point;
	const char *type;
	const char *options; /* of the file system */
};

/* Calls back for each mount that `who` ("self", or a pid) sees, until it returns true. Whether it did. */
bool mounts_each(const char *who, bool (*match)(const struct mount_line *, void *), void *arg);

#endif
