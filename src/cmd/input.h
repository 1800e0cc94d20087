/* SPDX-License-Identifier: Apache-2.0 */
/* A saved profile, from a file or standard input. */
#ifndef WICK_CMD_INPUT_H
#define WICK_CMD_INPUT_H

struct profile;

/* "-" is standard input. What is wrong is said with fail(), and the path with it. */
int input_read(struct profile **ret, const char *path);

#endif
