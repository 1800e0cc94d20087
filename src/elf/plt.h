/* SPDX-License-Identifier: Apache-2.0 */
/* The small pieces of code through which a file calls functions of other files. */
#ifndef WICK_ELF_PLT_H
#define WICK_ELF_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

struct plt_stub {
	uint64_t start;
	const char *name; /* of the function that it leads to, ended by NUL; NULL if that is not known */
};

/* The addresses that all stubs lie between; false if there are none. */
bool plt_range(const struct image *image, uint64_t *ret_start, uint64_t *ret_end);

/* The stub at a virtual address; false if there is no stub. Searches each time: meant for the few that are sampled. */
bool plt_find(const struct image *image, uint64_t address, struct plt_stub *ret);

#endif
