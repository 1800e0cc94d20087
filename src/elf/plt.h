/* SPDX-License-Identifier: Apache-2.0 */
/* The small pieces of code through which a file calls functions of other files. */
#ifndef WICK_ELF_PLT_H
#define WICK_ELF_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct plt;

struct plt_stub {
	uint64_t start;
	const char *name; /* of the function that it leads to, ended by NUL; NULL if that is not known */
};

/* -ENODATA if the file has none. The image must outlive it. */
int plt_open(struct plt **ret, const struct image *image);
void plt_free(struct plt *plt);

/* The stub at a virtual address; false if there is no stub. */
bool plt_find(struct plt *plt, uint64_t address, struct plt_stub *ret);

size_t plt_memory(const struct plt *plt);

#endif
