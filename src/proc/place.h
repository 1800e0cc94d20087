/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process belongs, told from its cgroup path: the systemd unit, the container, the pod. */
#ifndef WICK_PROC_PLACE_H
#define WICK_PROC_PLACE_H

#include <stddef.h>

struct place {
	char unit[128];      /* nginx.service, session-3.scope, user@1000.service; "" if none */
	char container[128]; /* its full id, or the name where the runtime uses one; "" if none */
	char runtime[32];    /* docker, containerd, crio, podman, lxc, systemd-nspawn, … */
	char pod[64];        /* uid of the Kubernetes pod; "" if none */
};

void place_of(const char *cgroup_path, size_t len, struct place *ret);

/* The short form of a container's id: 12 hexadecimal digits, or the name. Writes at most size bytes, with NUL. */
void place_short(const char *container, char *ret, size_t size);

#endif
