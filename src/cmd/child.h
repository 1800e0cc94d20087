/* SPDX-License-Identifier: Apache-2.0 */
/* The command of `record -- COMMAND`: made ready, held before its exec, let go, waited for. */
#ifndef WICK_CMD_CHILD_H
#define WICK_CMD_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	const char *name;
	int go;     /* writing end: one byte lets it exec */
	int failed; /* reading end: errno, if exec failed */
	bool ended;
	int status; /* exit status as a shell would give it, once ended */
};

int child_prepare(struct child *ret, char **argv);
int child_go(struct child *child); /* -errno with fail() set if it could not be run */
bool child_poll(struct child *child);
void child_wait(struct child *child, int signal); /* sends the signal first, if it is not 0 and the child still runs */
void child_discard(struct child *child);          /* one that was never let go */

#endif
