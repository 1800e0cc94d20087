/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end, by what the unwinder was told about them: present in stripped files too. */
#ifndef WICK_ELF_EHFRAME_H
#define WICK_ELF_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct ehframe;

struct ehframe_range {
	uint64_t start, end; /* virtual addresses, end not included */
	bool signal;         /* a signal trampoline: described from one byte before its start */
};

/* -ENODATA if the file has none. The image must outlive it. */
int ehframe_open(struct ehframe **ret, const struct image *image);
void ehframe_free(struct ehframe *frames);

/* The description that covers a virtual address; false if there is none. */
bool ehframe_find(const struct ehframe *frames, uint64_t address, struct ehframe_range *ret);

size_t ehframe_memory(const struct ehframe *frames);

#endif
