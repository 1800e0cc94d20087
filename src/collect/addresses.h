/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels whose tree of mappings cannot be read: finds mappings from /proc/PID/maps, soon after the sample. */
#ifndef WICK_COLLECT_ADDRESSES_H
#define WICK_COLLECT_ADDRESSES_H

#include <stdint.h>

struct addresses;
struct buf;
struct profile;
struct profile_frame;

/* Reads the lines of a process's maps that are of code. It has to come back soon, whatever the process does. */
typedef int addresses_read(void *arg, uint32_t pid, struct buf *ret);

int addresses_new(struct addresses **ret, struct profile *profile, addresses_read *read, void *arg);
void addresses_free(struct addresses *addresses);

/* Turns the frame, an address of the process, into one in a file if that is what is mapped there. */
void addresses_find(struct addresses *addresses, uint32_t pid, struct profile_frame *frame);

/* Mappings change: what was read is not used beyond the window it was read in. */
void addresses_forget(struct addresses *addresses);

#endif
