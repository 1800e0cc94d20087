/* SPDX-License-Identifier: Apache-2.0 */
/* MiniDebugInfo: a small ELF file with the symbols of the functions, packed by xz into the section .gnu_debugdata. */
#ifndef WICK_ELF_DEBUGDATA_H
#define WICK_ELF_DEBUGDATA_H

#include <stddef.h>

struct image;

/*
 * Unpacks it; the caller frees the memory. -ENODATA if the file has none, -EBADMSG if it is damaged, -EFBIG if it is
 * larger unpacked, or needs more memory to unpack, than is allowed.
 */
int debugdata_read(const struct image *image, void **ret, size_t *ret_len);

#endif
