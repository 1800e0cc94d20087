/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that others are forked from: begun before everything else, it has nothing that they could inherit, no
 * memory worth the name, no descriptor, no map of the kernel side. So one that hangs for ever holds on to nothing, and
 * one more costs little. What it forks is our child, not its own.
 */
#ifndef WICK_WORKER_SPAWNER_H
#define WICK_WORKER_SPAWNER_H

#include <sys/types.h>

struct spawner;
struct worker_options;

/* What runs in a process that was forked: it does not return. */
typedef void spawner_main(const struct worker_options *options, int nice, int socket);

int spawner_start(struct spawner **ret);
void spawner_free(struct spawner *spawner);

/*
 * A child with a descriptor, which stays the caller's as well. Its pid or -errno. What `options` point to is from
 * before.
 */
pid_t spawner_fork(struct spawner *spawner, spawner_main *run, const struct worker_options *options, int nice, int fd);

pid_t spawner_pid(const struct spawner *spawner);

#endif
