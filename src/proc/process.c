/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small questions to /proc. A process may end, or its pid be taken by another, between any two of them: whoever asks
 * about a sampled process compares its start as well.
 */
#include "proc/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "bpf/wire.h"
#include "proc/cputimes.h"

#define PROC_TEXT ((size_t)1 << 20)

bool process_exists(uint32_t pid)
{
	return pid && pid <= INT_MAX && (!kill((pid_t)pid, 0) || errno == EPERM);
}

static int read_proc(uint32_t pid, const char *name, struct buf *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return file_read(path, PROC_TEXT, ret);
}

/*
 * A field of /proc/PID/stat, numbered as proc(5) does, or NULL: the name in parentheses may hold anything, so fields
 * are counted from the last ')'.
 */
static const char *stat_field(const struct buf *stat, int wanted)
{
	const char *at = stat->len ? strrchr(stat->data, ')') : NULL;

	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

uint64_t process_start(uint32_t pid)
{
	autobuf struct buf stat = { 0 };
	const char *begun = read_proc(pid, "stat", &stat) ? NULL : stat_field(&stat, 22);

	return begun ? strtoull(begun, NULL, 10) : 0;
}

bool process_is(uint32_t pid, uint64_t start)
{
	const uint64_t tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t begun = process_start(pid);

	return begun && begun == start / tick;
}

uint64_t process_user(uint32_t pid)
{
	autobuf struct buf text = { 0 };
	char path[64];
	struct stat own, its;
	const char *line;

	snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
	if (!stat(path, &its) && !stat("/proc/self/ns/user", &own) && its.st_ino != own.st_ino)
		return WIRE_USER_NAMESPACE(its.st_ino);
	line = read_proc(pid, "status", &text) || !text.len ? NULL : strstr(text.data, "\nUid:");
	return line ? strtoull(line + strlen("\nUid:"), NULL, 10) : WIRE_USER_NAMESPACE(0);
}

int process_load(uint32_t pid, struct process_load *ret)
{
	const uint64_t tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	autobuf struct buf stat = { 0 };
	int err = read_proc(pid, "stat", &stat);
	const char *state, *user, *kernel, *begun;
	uint64_t used, now = clock_ns(CLOCK_BOOTTIME), start;

	if (err)
		return err;
	state = stat_field(&stat, 3);
	user = stat_field(&stat, 14);
	kernel = stat_field(&stat, 15);
	begun = stat_field(&stat, 22);
	if (!begun)
		return -EBADMSG;
	used = (strtoull(user, NULL, 10) + strtoull(kernel, NULL, 10)) * tick;
	start = strtoull(begun, NULL, 10) * tick;
	*ret = (struct process_load){
		.permille = now > start ? used / ((now - start) / 1000 + 1) : 0,
		.running = *state == 'R',
	};
	return 0;
}

int process_exe(uint32_t pid, struct buf *ret)
{
	static const char deleted[] = " (deleted)";
	char path[64], exe[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, exe, sizeof(exe));
	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(deleted) && !memcmp(exe + len - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1))
		len -= (ssize_t)sizeof(deleted) - 1;
	buf_add(ret, exe, (size_t)len);
	return buf_error(ret);
}

int process_comm(uint32_t pid, struct buf *ret)
{
	int err = read_proc(pid, "comm", ret);

	if (!err && ret->len && ret->data[ret->len - 1] == '\n')
		ret->len--;
	return err ? err : ret->len ? 0 : -ENODATA;
}

int process_cgroups(uint32_t pid, struct buf *ret)
{
	return read_proc(pid, "cgroup", ret);
}

int machine_times(struct machine_times *ret)
{
	const uint64_t us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	autobuf struct buf text = { 0 };
	struct cputimes all;
	size_t at = 0;
	int err = file_read("/proc/stat", PROC_TEXT, &text);

	if (err)
		return err;
	if (!cputimes_next(text.data, text.len, &at, &all) || all.cpu != CPUTIMES_ALL)
		return -EBADMSG;
	*ret = (struct machine_times){ all.user * us, all.kernel * us, all.idle * us };
	return 0;
}

int machine_idle(uint64_t *idle_us, unsigned int cpus)
{
	const uint64_t us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	autobuf struct buf text = { 0 };
	struct cputimes line;
	size_t at = 0;
	int err = file_read("/proc/stat", PROC_TEXT, &text);

	if (err)
		return err;
	while (cputimes_next(text.data, text.len, &at, &line))
		if (line.cpu < cpus)
			idle_us[line.cpu] = line.idle * us;
	return 0;
}

uint64_t self_capabilities(void)
{
	autobuf struct buf text = { 0 };
	const char *line;

	if (file_read("/proc/self/status", PROC_TEXT, &text) || !text.len)
		return UINT64_MAX;
	line = strstr(text.data, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : UINT64_MAX;
}
