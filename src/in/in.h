/* SPDX-License-Identifier: Apache-2.0 */
/* Readers: bytes from a file become a profile. The bytes may be hostile; what is wrong is said with fail(). */
#ifndef WICK_IN_IN_H
#define WICK_IN_IN_H

#include <stddef.h>

struct profile;

/* Any format that can be read, known by how it begins. */
int in_read(struct profile **ret, const void *data, size_t len);

int in_wick(struct profile **ret, const void *data, size_t len);
int in_folded(struct profile **ret, const void *data, size_t len);

#endif
