/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path is resolved by the kernel, within a root, without links that only the kernel can make; what it leads to is
 * held without being opened, looked at, and opened if it is a regular file of an ordinary file system. So nothing here
 * ends on a device, a FIFO, procfs or the like, whatever a target puts in the way.
 */
#include "collect/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "sym/symbols.h"

#define STATUS_BYTES ((size_t)1 << 16)
#define PSTORE_MAGIC 0x6165676c
#define CONFIGFS_MAGIC 0x62656570
#define SECURITY_MAGIC 0x73636673
#define EFIVAR_MAGIC 0xde5e81e4

/* File systems whose regular files are not bytes that somebody stored. */
static bool is_made_up(int handle)
{
	static const long magics[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,    DEBUGFS_MAGIC,  TRACEFS_MAGIC,       CGROUP_SUPER_MAGIC,
		BPF_FS_MAGIC,     SELINUX_MAGIC,  CONFIGFS_MAGIC, CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,
		PSTORE_MAGIC,     SECURITY_MAGIC, EFIVAR_MAGIC,   BINFMTFS_MAGIC,      NSFS_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(handle, &fs))
		return true;
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if ((uint32_t)fs.f_type == (uint32_t)magics[i])
			return true;
	return false;
}

/* Opens for reading what an O_PATH descriptor is of. */
static int reopen(int handle)
{
	char again[64];
	struct stat stat;
	int fd;

	if (fstat(handle, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode) || is_made_up(handle))
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", handle);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int lookup_regular(const char *path, int flags)
{
	autoclose int handle = open(path, O_PATH | O_CLOEXEC | flags);

	return handle < 0 ? -errno : reopen(handle);
}

/* As openat2 would, part by part, where no part is a link. */
static int open_plainly(int root, const char *path)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0);

	for (path += strspn(path, "/"); at >= 0 && *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");
		char part[NAME_MAX + 1];
		int next = -1;

		if (len < sizeof(part)) {
			memcpy(part, path, len);
			part[len] = 0;
			errno = ELOOP;
			if (strcmp(part, "..") != 0)
				next = openat(at, part, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		} else {
			errno = ENAMETOOLONG;
		}
		close(at);
		at = next;
		path += len;
	}
	return at;
}

int lookup_below(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	autoclose int handle = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (handle < 0 && errno == ENOSYS) /* refused by systemd's RestrictSUIDSGID=, and not in Linux before 5.6 */
		handle = open_plainly(root, path);
	return handle < 0 ? -errno : reopen(handle);
}

/* ---- whose ---- */

/* Number `at` of a line of /proc/PID/status, or the last one if there are fewer. False if there is no such line. */
static bool status_number(const struct buf *text, const char *name, unsigned int at, uint32_t *ret)
{
	const char *line = text->len ? strstr(text->data, name) : NULL;
	char *end;

	if (!line)
		return false;
	line += strlen(name);
	for (unsigned int i = 0; i <= at && *line && *line != '\n'; i++, line = end) {
		unsigned long value = strtoul(line, &end, 10);

		if (end == line)
			return i > 0;
		*ret = (uint32_t)value;
		while (*end == ' ' || *end == '\t')
			end++;
	}
	return true;
}

static int read_status(uint32_t pid, struct buf *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return file_read(path, STATUS_BYTES, ret);
}

uint32_t lookup_inner_pid(uint32_t pid)
{
	autobuf struct buf text = { 0 };
	uint32_t inner = pid;

	if (!read_status(pid, &text))
		status_number(&text, "\nNSpid:", UINT_MAX, &inner);
	return inner;
}

int lookup_root(uint32_t pid, struct lookup_rights *ret)
{
	autobuf struct buf text = { 0 };
	char path[64];
	int fd, err = pid ? read_status(pid, &text) : -ESRCH;

	if (err)
		return err;
	if (!status_number(&text, "\nUid:", 3, &ret->uid) || !status_number(&text, "\nGid:", 3, &ret->gid))
		return -EBADMSG;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
	return fd < 0 ? -errno : fd;
}

/* Lets this process search and read, or not, what its user may not. */
static int set_search(bool on)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
	const uint32_t bit = 1u << CAP_DAC_READ_SEARCH;

	if (syscall(SYS_capget, &head, have))
		return -errno;
	have[0].effective = on ? have[0].effective | (have[0].permitted & bit) : have[0].effective & ~bit;
	return syscall(SYS_capset, &head, have) ? -errno : 0;
}

/*
 * The kernel takes the rights over files from a process whose user for files is not root. A wick that is not root
 * itself may not become another user: it is left with the rights of whoever started it.
 */
int lookup_become(const struct lookup_rights *rights)
{
	uid_t uid = rights ? rights->uid : geteuid();
	gid_t gid = rights ? rights->gid : getegid();
	int err;

	setfsgid(gid);
	setfsuid(uid);
	err = set_search(!rights || !rights->uid);
	return (uid_t)setfsuid((uid_t)-1) != uid ? -EPERM : err;
}

bool lookup_own_mount(uint32_t inode)
{
	struct stat stat_of;

	return inode && !stat("/proc/self/ns/mnt", &stat_of) && stat_of.st_ino == inode;
}

/* ---- debug files ---- */

static int open_by_id(int root, const unsigned char *id, size_t len)
{
	char path[64 + 2 * SYMBOLS_BUILD_ID_MAX] = "/usr/lib/debug/.build-id/";
	size_t at = strlen(path);

	if (len < 2 || len > SYMBOLS_BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, i ? "%02x" : "%02x/", id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return lookup_below(root, path, 0);
}

static int open_by_link(int root, const char *path, const struct symbols_debug *debug)
{
	static const char *const places[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
	const char *slash = strrchr(path, '/');
	char whole[PATH_MAX];
	int fd = -ENOENT;

	if (!slash || !*debug->link || strchr(debug->link, '/'))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && fd < 0; i++)
		if ((size_t)snprintf(whole, sizeof(whole), places[i], (int)(slash - path), path, debug->link) <
		    sizeof(whole))
			fd = lookup_below(root, whole, 0);
	return fd;
}

int lookup_debug(int root, const struct symbols_debug *debug, const char *path)
{
	int fd = open_by_id(root, debug->build_id, debug->build_id_len);

	return fd < 0 && path ? open_by_link(root, path, debug) : fd;
}

/* What dwz wrote leads there from beside the debug file, or from the root: only its part from .dwz on is believed. */
int lookup_alt(int root, const struct symbols_debug *debug, bool by_link)
{
	const char *common = strstr(debug->alt_link, "/.dwz/");
	int fd = open_by_id(root, debug->alt_id, debug->alt_id_len);
	char path[PATH_MAX];

	if (fd >= 0 || !by_link || !common || strstr(common, "/../"))
		return fd;
	snprintf(path, sizeof(path), "/usr/lib/debug%s", common);
	return lookup_below(root, path, 0);
}
