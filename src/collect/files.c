/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files of targets. A path may be redirected by whoever owns the target, so no path is believed: what was
 * opened is mapped and the kernel side is asked whether that mapping has the id that the frames carry. Only regular
 * files are ever opened for reading; anything else (a FIFO, a device) is not touched.
 */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/sampler.h"
#include "elf/buildid.h"
#include "profile/profile.h"

/* Without touching it: a handle, a look at what it is, and only then for reading. */
static int open_regular(const char *path, int flags)
{
	autoclose int handle = open(path, O_PATH | O_CLOEXEC | flags);
	char again[64];
	struct stat stat;
	int fd;

	if (handle < 0 || fstat(handle, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", handle);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int is_file(struct sampler *sampler, int fd, uint64_t id)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	struct wire_look look = { 0 };
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = sampler_look(sampler, at, &look);
	munmap(at, page);
	return err ? err : look.id == id ? 0 : -ESTALE;
}

int files_open(struct sampler *sampler, const struct wire_file *found, const char *path)
{
	char mapped[96];
	int fd = -ENOENT, err;

	if (found->pid) { /* the link leads to the file itself, whatever its path leads to now */
		snprintf(mapped, sizeof(mapped), "/proc/%u/map_files/%llx-%llx", found->pid,
			 (unsigned long long)found->vm_start, (unsigned long long)found->vm_end);
		fd = open_regular(mapped, 0);
	}
	if (fd >= 0 && !is_file(sampler, fd, found->id))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = *path == '/' ? open_regular(path, O_NOFOLLOW) : -ENOENT;
	if (fd < 0)
		return fd;
	err = is_file(sampler, fd, found->id);
	if (!err)
		return fd;
	close(fd);
	return err;
}

void files_identify(struct sampler *sampler, struct profile *profile, uint32_t file, const struct wire_file *found)
{
	const char *reason = NULL;
	unsigned char id[BUILD_ID_MAX];
	uint32_t string;
	int len;
	autoclose int fd = files_open(sampler, found, profile_text(profile, profile_file(profile, file)->path, NULL));

	if (fd < 0) {
		reason = "file_gone";
	} else {
		len = buildid_read(fd, id);
		if (len == -ENOEXEC)
			reason = "not_elf";
		else if (len < 0)
			reason = "no_build_id";
	}
	string = reason ? profile_string(profile, reason) : profile_bytes(profile, id, (size_t)len);
	if (string == PROFILE_FULL)
		return;
	if (reason)
		profile_file(profile, file)->reason = string;
	else
		profile_file(profile, file)->build_id = string;
}
