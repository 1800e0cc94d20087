/* SPDX-License-Identifier: Apache-2.0 */
/* How a file names the files that its debugging information was moved to, and whether a file is the one it means. */
#ifndef WICK_ELF_DEBUGLINK_H
#define WICK_ELF_DEBUGLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

#define DEBUGLINK_NAME_MAX 256
#define DEBUGLINK_ID_MAX 64

/* .gnu_debuglink: a name without slashes and a checksum. False, and an empty name, if there is none. */
bool debuglink_read(const struct image *image, char ret[DEBUGLINK_NAME_MAX], uint32_t *ret_crc);
/* .gnu_debugaltlink, of dwz: a path, and the build id of that file, whose length is returned; 0 if there is none. */
size_t debuglink_read_alt(const struct image *image, char ret[DEBUGLINK_NAME_MAX],
			  unsigned char ret_id[DEBUGLINK_ID_MAX]);

/* Is `debug` the debug file of `image`: by build id, or by the checksum if `image` has no build id? */
bool debuglink_belongs(const struct image *image, const struct image *debug);
bool debuglink_is_alt(const struct image *image, const struct image *alt);

#endif
