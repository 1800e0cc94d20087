/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files of targets. A path may be redirected by whoever owns the target, so no path is believed: what was
 * opened is mapped, and the kernel side is asked whether that mapping has the id that the frames carry. Only regular
 * files are ever opened for reading; anything else (a FIFO, a device, what the kernel makes up) is not touched. What is
 * looked for by a name that a target chose is looked for in the target's root, with the rights that the target has.
 *
 * What comes back is the file itself only if nobody can hold up who uses it; else a copy.
 */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "bpf/wire.h"
#include "collect/look.h"
#include "collect/lookup.h"
#include "collect/opening.h"
#include "proc/maps.h"
#include "proc/process.h"

#define COPY_BYTES ((size_t)1 << 20) /* at a time */
#define MAPS_TEXT ((size_t)256 << 10)

#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define EROFS_MAGIC 0xe0f5e1e2
#define EXFAT_MAGIC 0x2011bab0
#define VFAT_MAGIC 0x4d44
#define JFS_MAGIC 0x3153464a
#define UDF_MAGIC 0x15013346

/* What a helper knows while it serves. */
struct serving {
	const struct opening *ask;
	int program, answers; /* of look_run */
	struct opened *opened;
};

bool files_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* An overlay that root has mounted is as good as what is below it, which is asked about as well. */
bool files_is_local(uint32_t magic)
{
	static const uint32_t local[] = {
		EXT4_SUPER_MAGIC,
		XFS_MAGIC,
		BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,
		TMPFS_MAGIC,
		RAMFS_MAGIC,
		HUGETLBFS_MAGIC,
		SQUASHFS_MAGIC,
		EROFS_MAGIC,
		OVERLAYFS_SUPER_MAGIC,
		ZFS_MAGIC,
		BCACHEFS_MAGIC,
		ISOFS_SUPER_MAGIC,
		EXFAT_MAGIC,
		VFAT_MAGIC,
		JFS_MAGIC,
		REISERFS_SUPER_MAGIC,
		NILFS_SUPER_MAGIC,
		UDF_MAGIC,
		MSDOS_SUPER_MAGIC,
	};

	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
		if (magic == local[i])
			return true;
	return false;
}

static bool is_trusted(const struct wire_look *look)
{
	return !look->place.level && files_is_local(look->place.magic) && !look->opened.level &&
	       files_is_local(look->opened.magic);
}

/* What the kernel side says of an open file; it says it of a mapping. */
static int look_at(const struct serving *serving, int fd, struct wire_look *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	struct wire_query query = { .address = (uintptr_t)at, .fd = fd, .asker = serving->ask->asker };
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = look_run(serving->program, serving->answers, &query, ret);
	munmap(at, page);
	return err ? err : ret->id ? 0 : -ESTALE;
}

/* The first bytes of a file become those of another one that has no name and no owner but us. */
static int copy_of(int fd, uint64_t max)
{
	int copy = memfd_create("wick-copy", MFD_CLOEXEC);
	uint64_t copied = 0;
	ssize_t put = copy < 0 ? -1 : 1;

	while (put > 0 && copied <= max)
		copied += (uint64_t)((put = sendfile(copy, fd, NULL, COPY_BYTES)) > 0 ? put : 0);
	if (put || copied > max) {
		int err = put < 0 ? -errno : -EFBIG;

		if (copy >= 0)
			close(copy);
		return err;
	}
	return copy;
}

/* Says what the file is, and gives it, or a copy of it. Takes the descriptor. */
static int deliver(struct serving *serving, int file, const struct wire_look *look)
{
	autoclose int fd = file;
	struct opened *opened = serving->opened;
	char magic[4] = "";
	struct stat stat;
	int given;

	if (fstat(fd, &stat))
		return -errno;
	opened->trusted = is_trusted(look);
	opened->id = look->id;
	opened->owner = look->owner;
	opened->mode = look->mode;
	opened->size = (uint64_t)stat.st_size;
	opened->elf = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic));
	opened->copied = !opened->trusted;
	given = opened->trusted ? fd : copy_of(fd, serving->ask->copy_max);
	fd = opened->trusted ? -1 : fd;
	return given;
}

/* The same for a file that must be the one with an id, if one is wanted. */
static int deliver_if(struct serving *serving, int fd)
{
	struct wire_look look;
	int err = fd < 0 ? fd : look_at(serving, fd, &look);

	if (!err && serving->ask->id && look.id != serving->ask->id)
		err = -ESTALE;
	if (err && fd >= 0)
		close(fd);
	return err ? err : deliver(serving, fd, &look);
}

/* ---- by what is mapped ---- */

static int open_at_path(struct serving *serving)
{
	const struct opening *ask = serving->ask;

	return *ask->path == '/' && ask->id ? deliver_if(serving, lookup_regular(ask->path, O_NOFOLLOW)) : -ENOENT;
}

/*
 * At its path, as far as it can be looked for there. In another mount name space the path may be anything that whoever
 * made that wanted: it is looked for with his rights.
 */
static int open_in_own_root(struct serving *serving, bool *ret_tried)
{
	const struct opening *ask = serving->ask;
	const struct lookup_rights rights = { (uid_t)ask->uid, LOOKUP_NO_GROUP };
	bool own = lookup_own_mount(ask->mount);
	int fd;

	*ret_tried = ask->trusted && (own || (ask->uid && ask->uid <= UINT32_MAX));
	if (!*ret_tried || own)
		return *ret_tried ? open_at_path(serving) : -ENOENT;
	fd = lookup_become(&rights) ? -EPERM : open_at_path(serving);
	lookup_become(NULL);
	return fd;
}

/*
 * The link in /proc leads to the file itself, whatever its path leads to now; but the process can hold up who follows
 * it. So where nobody but root has a say in where the file is, its path is tried first.
 */
static int open_mapped(struct serving *serving)
{
	const struct opening *ask = serving->ask;
	bool by_path;
	int fd = open_in_own_root(serving, &by_path);
	char mapped[96];

	if (fd < 0 && ask->aloof)
		return -EAGAIN;
	if (fd < 0 && ask->pid) {
		snprintf(mapped, sizeof(mapped), "/proc/%u/map_files/%llx-%llx", ask->pid,
			 (unsigned long long)ask->vm_start, (unsigned long long)ask->vm_end);
		fd = deliver_if(serving, lookup_regular(mapped, 0));
	}
	return fd >= 0 || fd == -EFBIG || by_path ? fd : open_at_path(serving);
}

static int open_program(struct serving *serving)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/exe", serving->ask->pid);
	return serving->ask->pid ? deliver_if(serving, lookup_regular(path, 0)) : -ESRCH;
}

static int list_maps(const struct serving *serving, struct buf *reply)
{
	autobuf struct buf text = { 0 };
	struct maps_line line;
	size_t at = 0, begin = 0, before = reply->len;
	int err = maps_read(serving->ask->pid, &text);

	while (!err && maps_next(text.data, text.len, &at, &line)) {
		size_t len = at - begin;

		if (line.executable && line.path_len && reply->len - before + len < MAPS_TEXT)
			buf_add(reply, text.data + begin, len);
		begin = at;
	}
	return err ? err : buf_error(reply);
}

/* ---- by names ---- */

/*
 * Nobody speaks for another: what is added to a file that nobody but root and its owner can change must come from where
 * nobody but those two can write.
 */
static bool may_speak(const struct opening *ask, const struct wire_look *look)
{
	if (!S_ISREG(look->mode))
		return false;
	if (!ask->trusted)
		return true;
	return is_trusted(look) && (!look->owner || look->owner == ask->owner) && !(look->mode & S_IWOTH) &&
	       !(look->mode & S_IWGRP && !look->owner);
}

static int open_debug_in(struct serving *serving, int root, bool by_link)
{
	const struct opening *ask = serving->ask;
	const struct symbols_debug *debug = &ask->debug;
	struct wire_look look;
	int fd, err;

	if (ask->kind == OPENING_ALT)
		fd = lookup_alt(root, debug, by_link);
	else
		fd = lookup_debug(root, debug, by_link ? ask->path : NULL);
	err = fd < 0 ? fd : look_at(serving, fd, &look);
	if (!err && may_speak(ask, &look))
		return deliver(serving, fd, &look);
	if (fd >= 0)
		close(fd);
	return err ? err : -EACCES;
}

/*
 * By what it is known by in our own root, where root alone decides what is there; then as the process itself would
 * look for it.
 */
static int open_debug(struct serving *serving)
{
	const struct opening *ask = serving->ask;
	autoclose int own = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY), root = -1;
	struct lookup_rights rights = { 0 };
	int fd = own < 0 ? -errno : open_debug_in(serving, own, ask->kind == OPENING_ALT);

	if (fd >= 0 || ask->own)
		return fd;
	if (ask->uid <= UINT32_MAX &&
	    lookup_own_mount(ask->mount)) { /* its paths are ours, whether or not it is there */
		rights = (struct lookup_rights){ (uid_t)ask->uid, LOOKUP_NO_GROUP };
		root = fcntl(own, F_DUPFD_CLOEXEC, 0);
	} else {
		root = lookup_root(ask->pid, &rights);
	}
	if (root < 0)
		return fd;
	lookup_become(&rights); /* where it may not, it looks with the rights of whoever started wick */
	fd = open_debug_in(serving, root, true);
	lookup_become(NULL);
	return fd;
}

/* ---- code that a runtime made ---- */

/*
 * A perf map is /tmp/perf-PID.map, with the pid that the process has where it lives and the /tmp that it sees. Whoever
 * can write to that /tmp can put something else there: only a regular file of the process's own user, or of root,
 * is taken, no link is followed at its end, and its path cannot leave the process's root.
 */
static int open_perf_map(struct serving *serving, uint32_t inner)
{
	struct lookup_rights rights = { 0 };
	autoclose int root = lookup_root(serving->ask->pid, &rights);
	char path[64];
	struct stat stat;
	bool became;
	int fd;

	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "tmp/perf-%u.map", inner);
	became = !lookup_become(&rights);
	if (!became) /* whoever may not, may read what is the process's own all the same */
		lookup_become(NULL);
	fd = lookup_below(root, path, O_NOFOLLOW);
	lookup_become(NULL);
	if (fd >= 0 && (fstat(fd, &stat) || (stat.st_uid != rights.uid && (stat.st_uid || !became)))) {
		close(fd);
		fd = -EACCES;
	}
	return deliver_if(serving, fd);
}

/* A jitdump file is found by its mapping, which the runtime makes for that purpose. */
static int open_jitdump(struct serving *serving, uint32_t inner)
{
	uint32_t pid = serving->ask->pid;
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
		return deliver_if(serving, lookup_regular(path, 0));
	}
	return -ENOENT;
}

static int open_jit(struct serving *serving)
{
	uint32_t inner = lookup_inner_pid(serving->ask->pid);
	int fd = open_jitdump(serving, inner);

	return fd < 0 ? open_perf_map(serving, inner) : fd;
}

/* ---- serving ---- */

static int serve_opening(struct serving *serving, struct buf *reply)
{
	switch (serving->ask->kind) {
	case OPENING_MAPPED:
		return open_mapped(serving);
	case OPENING_PROGRAM:
		return open_program(serving);
	case OPENING_DEBUG:
	case OPENING_ALT:
		return open_debug(serving);
	case OPENING_JIT:
		return open_jit(serving);
	case OPENING_MAPS:
		return list_maps(serving, reply);
	}
	return -EINVAL;
}

void files_serve(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply,
		 int *ret_fd)
{
	struct opening ask = { 0 };
	struct opened opened = { 0 };
	struct serving serving = { .ask = &ask, .opened = &opened };
	size_t before = reply->len;
	int got;

	(void)arg;
	if (len < offsetof(struct opening, path) || len > sizeof(ask) || fds_len != 2)
		return; /* an empty answer is no answer */
	memcpy(&ask, request, len);
	ask.path[sizeof(ask.path) - 1] = 0;
	serving.program = fds[0];
	serving.answers = fds[1];
	buf_add(reply, &opened, sizeof(opened));
	got = serve_opening(&serving, reply);
	if (got >= 0 && ask.start && !process_is(ask.pid, ask.start)) { /* its pid is another's */
		if (ask.kind != OPENING_MAPS)
			close(got);
		got = -ESRCH;
	}
	opened.err = got < 0 ? got : 0;
	*ret_fd = got < 0 || ask.kind == OPENING_MAPS ? -1 : got;
	if (!buf_error(reply))
		memcpy(reply->data + before, &opened, sizeof(opened));
}
