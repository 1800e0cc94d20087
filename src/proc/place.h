/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process belongs, told from its cgroup path: the systemd unit, the container, the pod. */
#ifndef WICK_PROC_PLACE_H
#define WICK_PROC_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* Names that a user gave are written as UID/NAME. A cgroup's name holds no '/': it is never taken for root's. */
struct place {
	char unit[128];      /* named by root: nginx.service, session-3.scope, user@1000.service; "" if none */
	char user_unit[128]; /* named by the user to whom root left what is below; "" if none */
	char container[128]; /* its full id, or the name where the runtime uses one; "" if none */
	char runtime[32];    /* docker, containerd, crio, podman, lxc, systemd-nspawn, … */
	char pod[64];        /* uid of the Kubernetes pod; "" if none */
};

#define PLACE_UNKNOWN UINT32_MAX

/* Who named the components of a path. */
struct place_names {
	size_t root_len; /* those that begin in so many first bytes: root */
	uint32_t owner;  /* the others: this user; PLACE_UNKNOWN: nobody knows, and they say nothing */
};

/* What root named stands. Where root named no container or pod, a user's is said, with his uid before it. */
void place_named(const char *cgroup_path, size_t len, const struct place_names *names, struct place *ret);

/* The same, where root has named all of it. */
void place_of(const char *cgroup_path, size_t len, struct place *ret);

/* The short form of a container's id: 12 hexadecimal digits, or the name. Writes at most size bytes, with NUL. */
void place_short(const char *container, char *ret, size_t size);

#endif
