/* SPDX-License-Identifier: Apache-2.0 */
/* The build id of an ELF file: the linker's name for exactly this build. */
#ifndef WICK_ELF_BUILDID_H
#define WICK_ELF_BUILDID_H

#include <stddef.h>

#define BUILD_ID_MAX 64

/* Its length in bytes, put into `ret`; -ENODATA if the file has none, -ENOEXEC if it is not a 64-bit ELF file. */
int buildid_read(int fd, unsigned char ret[BUILD_ID_MAX]);

/* The same from the bytes of a note section or segment, such as /sys/kernel/notes. */
int buildid_from_notes(const void *notes, size_t len, unsigned char ret[BUILD_ID_MAX]);

#endif
