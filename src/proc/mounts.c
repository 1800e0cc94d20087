/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/PID/mountinfo. A line that has not all of its fields is skipped; what the kernel writes as \ooo in a path
 * stays so, and such a path is simply not found.
 */
#include "proc/mounts.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define MOUNTS_BYTES ((size_t)8 << 20)

static bool parse_mount(char *line, struct mount_line *ret)
{
	char *save = NULL, *dash = strstr(line, " - ");
	char *field = NULL;

	if (!dash)
		return false;
	*dash = 0;
	field = strtok_r(line, " ", &save);
	for (int i = 0; field && i < 3; i++)
		field = strtok_r(NULL, " ", &save);
	ret->root = field;
	ret->point = field ? strtok_r(NULL, " ", &save) : NULL;
	ret->type = strtok_r(dash + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	ret->options = strtok_r(NULL, " ", &save);
	return ret->point && ret->type && ret->options;
}

bool mounts_each(const char *who, bool (*match)(const struct mount_line *, void *), void *arg)
{
	autobuf struct buf text = { 0 };
	char *line, *save = NULL, path[64];

	snprintf(path, sizeof(path), "/proc/%s/mountinfo", who);
	if (file_read(path, MOUNTS_BYTES, &text) || !text.len)
		return false;
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount_line mount;

		if (parse_mount(line, &mount) && match(&mount, arg))
			return true;
	}
	return false;
}
