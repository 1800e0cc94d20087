/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf map is /tmp/perf-PID.map, with the pid that the process has where it lives and the /tmp that it sees. Whoever
 * can write to that /tmp can put something else there: only a regular file of the process's own user, or of root,
 * is taken, no link is followed at its end, and its path cannot leave the process's root. A jitdump file is found by
 * its mapping, which the runtime makes for that purpose.
 */
#include "collect/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/files.h"
#include "proc/maps.h"

/* The pid in the innermost name space: the last number of the NSpid line. */
static uint32_t inner_pid(uint32_t pid)
{
	autobuf struct buf text = { 0 };
	char path[64], *line, *end;
	uint32_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (file_read(path, 1 << 16, &text) || !text.len)
		return pid;
	line = strstr(text.data, "\nNSpid:");
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = 0;
	for (unsigned long value = strtoul(line, &end, 10); end != line; value = strtoul(line, &end, 10)) {
		inner = (uint32_t)value;
		line = end;
	}
	return inner;
}

/* The owner must be who the process is, or root. */
static int check_owner(int fd, uint32_t pid)
{
	struct stat file, process;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (fstat(fd, &file) || stat(path, &process))
		return -errno;
	return file.st_uid == process.st_uid || !file.st_uid ? 0 : -EACCES;
}

static int open_perf_map(uint32_t pid, uint32_t inner)
{
	autoclose int root = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0)
		return -errno;
	snprintf(path, sizeof(path), "tmp/perf-%u.map", inner);
	return files_open_below(root, path, O_NOFOLLOW);
}

static int open_jitdump(uint32_t pid, uint32_t inner)
{
	autobuf struct buf text = { 0 };
	struct maps_line line;
	char wanted[64], path[96];
	size_t at = 0, len;

	len = (size_t)snprintf(wanted, sizeof(wanted), "/jit-%u.dump", inner);
	if (maps_read(pid, &text))
		return -ESRCH;
	while (maps_next(text.data, text.len, &at, &line)) {
		if (line.path_len < len || memcmp(line.path + line.path_len - len, wanted, len))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)line.start,
			 (unsigned long long)line.end);
		return files_open_regular(path, 0);
	}
	return -ENOENT;
}

int jit_open(uint32_t pid)
{
	uint32_t inner = inner_pid(pid);
	int fd = open_jitdump(pid, inner), err;

	if (fd < 0)
		fd = open_perf_map(pid, inner);
	if (fd < 0)
		return fd;
	err = check_owner(fd, pid);
	if (!err)
		return fd;
	close(fd);
	return err;
}
