/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files of targets. A path may be redirected by whoever owns the target, so no path is believed: what was
 * opened is mapped and the kernel side is asked whether that mapping has the id that the frames carry. Only regular
 * files are ever opened for reading; anything else (a FIFO, a device) is not touched.
 */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/sampler.h"
#include "sym/symbols.h"

int files_reopen(int handle)
{
	char again[64];
	struct stat stat;
	int fd;

	if (fstat(handle, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", handle);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

bool files_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

int files_open_regular(const char *path, int flags)
{
	autoclose int handle = open(path, O_PATH | O_CLOEXEC | flags);

	if (handle < 0 && errno == EMFILE && files_raise_limit()) /* only now: a command that was started has its own */
		handle = open(path, O_PATH | O_CLOEXEC | flags);

	return handle < 0 ? -errno : files_reopen(handle);
}

int files_id(struct sampler *sampler, int fd, uint64_t *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	struct wire_look look = { 0 };
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = sampler_look(sampler, at, &look);
	munmap(at, page);
	*ret = look.id;
	return err ? err : look.id ? 0 : -ESTALE;
}

static int is_file(struct sampler *sampler, int fd, uint64_t id)
{
	uint64_t own;
	int err = files_id(sampler, fd, &own);

	return err ? err : own == id ? 0 : -ESTALE;
}

int files_open(struct sampler *sampler, const struct wire_file *found, const char *path)
{
	char mapped[96];
	int fd = -ENOENT, err;

	if (found->pid) { /* the link leads to the file itself, whatever its path leads to now */
		snprintf(mapped, sizeof(mapped), "/proc/%u/map_files/%llx-%llx", found->pid,
			 (unsigned long long)found->vm_start, (unsigned long long)found->vm_end);
		fd = files_open_regular(mapped, 0);
	}
	if (fd >= 0 && !is_file(sampler, fd, found->id))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = *path == '/' ? files_open_regular(path, O_NOFOLLOW) : -ENOENT;
	if (fd < 0)
		return fd;
	err = is_file(sampler, fd, found->id);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int files_open_program(struct sampler *sampler, uint32_t pid, uint64_t id)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = pid ? files_open_regular(path, 0) : -ESRCH;
	err = fd < 0 ? fd : is_file(sampler, fd, id);
	if (fd >= 0 && err)
		close(fd);
	return err ? err : fd;
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

int files_open_below(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	autoclose int handle = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (handle < 0 && errno == ENOSYS) /* refused by systemd's RestrictSUIDSGID=, and not in Linux before 5.6 */
		handle = open_plainly(root, path);
	return handle < 0 ? -errno : files_reopen(handle);
}

static int open_by_id(int root, const unsigned char *id, size_t len)
{
	char path[64 + 2 * SYMBOLS_BUILD_ID_MAX] = "/usr/lib/debug/.build-id/";
	size_t at = strlen(path);

	if (len < 2 || len > SYMBOLS_BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, i ? "%02x" : "%02x/", id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return files_open_below(root, path, 0);
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
			fd = files_open_below(root, whole, 0);
	return fd;
}

/* What dwz wrote leads there from beside the debug file, or from the root: only its part from .dwz on is believed. */
static int open_by_alt_link(int root, const char *link)
{
	const char *common = strstr(link, "/.dwz/");
	char path[PATH_MAX];

	if (!common || strstr(common, "/../"))
		return -ENOENT;
	snprintf(path, sizeof(path), "/usr/lib/debug%s", common);
	return files_open_below(root, path, 0);
}

/* Our root, then that of the process. -errno of opening it, or if there is no more. */
static int open_root(uint32_t pid, int number)
{
	char path[64] = "/";
	int fd;

	if (number > 1 || (number && !pid))
		return -ENOENT;
	if (number)
		snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
	return fd < 0 ? -errno : fd;
}

int files_open_debug(uint32_t pid, const char *path, const struct symbols_debug *debug)
{
	int fd = -ENOENT;

	for (int i = 0; i < 2 && fd < 0; i++) {
		autoclose int root = open_root(pid, i);

		if (root < 0)
			continue;
		fd = open_by_id(root, debug->build_id, debug->build_id_len);
		if (fd < 0)
			fd = open_by_link(root, path, debug);
	}
	return fd;
}

int files_open_alt(uint32_t pid, const struct symbols_debug *debug)
{
	int fd = -ENOENT;

	for (int i = 0; i < 2 && fd < 0; i++) {
		autoclose int root = open_root(pid, i);

		if (root < 0)
			continue;
		fd = open_by_id(root, debug->alt_id, debug->alt_id_len);
		if (fd < 0)
			fd = open_by_alt_link(root, debug->alt_link);
	}
	return fd;
}
