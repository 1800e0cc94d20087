/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links to debug files. In: images of anybody's making. Out: names, and yes or no. Invariant: a name ends within its
 * section, and a file is said to belong only if it has the very build id or checksum that the other one asks for, so
 * that nobody can lend a file the names of another.
 */
#include "elf/debuglink.h"

#include <string.h>
#include <zlib.h>

#include "elf/image.h"

#define CHECKSUM_MAX ((size_t)1 << 30) /* of a debug file that has no build id */

/* The name in a link section: without slashes, for it must not lead anywhere else. Its length with the NUL, or 0. */
static size_t read_link(const struct image *image, const char *section_name, bool slashes, char ret[DEBUGLINK_NAME_MAX],
			const unsigned char **ret_bytes, size_t *ret_len)
{
	struct image_section section;
	const char *bytes;
	size_t len;

	if (!image_section_named(image, section_name, &section) || section.type == SHT_NOBITS)
		return 0;
	bytes = image_bytes(image, section.offset, section.size);
	len = bytes ? strnlen(bytes, section.size) : 0;
	if (!len || len >= DEBUGLINK_NAME_MAX || len == section.size || (!slashes && memchr(bytes, '/', len)))
		return 0;
	memcpy(ret, bytes, len + 1);
	*ret_bytes = (const unsigned char *)bytes;
	*ret_len = section.size;
	return len + 1;
}

/* The checksum stands after the name, at the next multiple of four. */
bool debuglink_read(const struct image *image, char ret[DEBUGLINK_NAME_MAX], uint32_t *ret_crc)
{
	const unsigned char *bytes;
	size_t len = 0, at = (read_link(image, ".gnu_debuglink", false, ret, &bytes, &len) + 3) & ~(size_t)3;

	if (!at || at > len || len - at < sizeof(*ret_crc)) {
		ret[0] = '\0';
		return false;
	}
	memcpy(ret_crc, bytes + at, sizeof(*ret_crc));
	return true;
}

/* The build id of the file that dwz made stands after its name. */
size_t debuglink_read_alt(const struct image *image, char ret[DEBUGLINK_NAME_MAX],
			  unsigned char ret_id[DEBUGLINK_ID_MAX])
{
	const unsigned char *bytes;
	size_t len = 0, at = read_link(image, ".gnu_debugaltlink", true, ret, &bytes, &len);

	if (!at || len - at > DEBUGLINK_ID_MAX || len == at) {
		ret[0] = '\0';
		return 0;
	}
	memcpy(ret_id, bytes + at, len - at);
	return len - at;
}

static bool has_id(const struct image *image, const unsigned char *id, size_t len)
{
	unsigned char found[DEBUGLINK_ID_MAX];

	return image_build_id(image, found) == len && !memcmp(found, id, len);
}

bool debuglink_belongs(const struct image *image, const struct image *debug)
{
	size_t size = image_size(debug), len;
	char link[DEBUGLINK_NAME_MAX];
	unsigned char id[DEBUGLINK_ID_MAX];
	uint32_t crc;

	len = image_build_id(image, id);
	if (len)
		return has_id(debug, id, len);
	return debuglink_read(image, link, &crc) && size <= CHECKSUM_MAX &&
	       crc32_z(0, image_bytes(debug, 0, size), size) == crc;
}

bool debuglink_is_alt(const struct image *image, const struct image *alt)
{
	char link[DEBUGLINK_NAME_MAX];
	unsigned char id[DEBUGLINK_ID_MAX];
	size_t len = debuglink_read_alt(image, link, id);

	return len && has_id(alt, id, len);
}
