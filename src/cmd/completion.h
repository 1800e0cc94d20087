/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells, made from the tables of commands and options. */
#ifndef WICK_CMD_COMPLETION_H
#define WICK_CMD_COMPLETION_H

#include <stddef.h>

struct command;

/* `wick completion bash`: prints the script. argv[0] is "completion". Returns the exit status. */
int completion_run(const struct command *const *commands, size_t len, int argc, char **argv);

#endif
