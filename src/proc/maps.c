/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps: "start-end perms offset major:minor inode   path". Bounded, and it never trusts a number. */
#include "proc/maps.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define DEVICE_MAJOR_BITS 12
#define DEVICE_MINOR_BITS 20
#define MAPS_BYTES ((size_t)64 << 20) /* 60,000 mappings are about 6 MB */

int maps_read(uint32_t pid, struct buf *ret)
{
	char path[64];

	if (!pid)
		return file_read("/proc/self/maps", MAPS_BYTES, ret);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return file_read(path, MAPS_BYTES, ret);
}

/* A number in `base`, then the character `stop`. NULL if that is not what is there. */
static const char *take_number(const char *at, const char *end, int base, char stop, uint64_t *ret)
{
	const char *begin = at;
	uint64_t value = 0;

	for (; at < end && *at != stop; at++) {
		int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : 99;

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return NULL;
	}
	*ret = value;
	return at < end && at > begin ? at + 1 : NULL;
}

static bool parse_line(const char *at, const char *end, struct maps_line *ret)
{
	uint64_t major, minor;

	at = take_number(at, end, 16, '-', &ret->start);
	at = at ? take_number(at, end, 16, ' ', &ret->end) : NULL;
	if (!at || end - at < 5 || at[4] != ' ')
		return false;
	ret->executable = at[2] == 'x';
	at = take_number(at + 5, end, 16, ' ', &ret->offset);
	at = at ? take_number(at, end, 16, ':', &major) : NULL;
	at = at ? take_number(at, end, 16, ' ', &minor) : NULL;
	at = at ? take_number(at, end, 10, ' ', &ret->inode) : NULL;
	if (!at || major >> DEVICE_MAJOR_BITS || minor >> DEVICE_MINOR_BITS)
		return false;
	ret->device = major << DEVICE_MINOR_BITS | minor;
	while (at < end && *at == ' ')
		at++;
	ret->path = at;
	ret->path_len = (size_t)(end - at);
	return ret->start < ret->end;
}

bool maps_next(const char *text, size_t len, size_t *at, struct maps_line *ret)
{
	while (*at < len) {
		const char *begin = text + *at, *newline = memchr(begin, '\n', len - *at);
		const char *end = newline ? newline : text + len;

		*at = (size_t)(end - text) + 1;
		if (parse_line(begin, end, ret))
			return true;
	}
	return false;
}
