/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps: "start-end perms offset major:minor inode   path". Bounded, and it never trusts a number. */
#include "proc/maps.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

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
	uint64_t value = 0;
	int digits = 0;

	for (; at < end && *at != stop; at++) {
		int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : 99;

		if (digit >= base || ++digits > 20)
			return NULL;
		value = value * (uint64_t)base + (uint64_t)digit;
	}
	*ret = value;
	return at < end && digits ? at + 1 : NULL;
}

static bool parse_line(const char *at, const char *end, struct maps_line *ret)
{
	uint64_t major, minor;

	at = take_number(at, end, 16, '-', &ret->start);
	at = at ? take_number(at, end, 16, ' ', &ret->end) : NULL;
	if (!at || end - at < 5)
		return false;
	ret->executable = at[2] == 'x';
	at = take_number(at + 5, end, 16, ' ', &ret->offset);
	at = at ? take_number(at, end, 16, ':', &major) : NULL;
	at = at ? take_number(at, end, 16, ' ', &minor) : NULL;
	at = at ? take_number(at, end, 10, ' ', &ret->inode) : NULL;
	if (!at)
		return false;
	ret->device = major << 20 | minor;
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
