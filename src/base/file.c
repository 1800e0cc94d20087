/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files read whole; outputs written whole or not at all. In: paths from the user. Out: bytes, or a file that
 * appears under its name complete. Invariant of an output: after the first failed write nothing more is written, and
 * until output_commit succeeds the target is what it was; only things that cannot be replaced (devices, FIFOs, standard
 * output) are written as the bytes come.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"

#define READ_SIZE 16384
#define PENDING_SIZE 65536
#define LINKS_MAX 40 /* as many as the kernel follows */
#define TEMP_MARK ".wick-"
#define TEMP_RANDOM 6
#define TEMP_TRIES 100
#define PROC_NAME 32

struct output {
	int fd;
	int err;       /* of the first write that failed */
	bool standard; /* the descriptor is not ours to close */
	char *path;    /* as the user wrote it, for messages */
	char *target;  /* the file to replace, links followed; NULL if written directly */
	bool nameless; /* what will replace it has no name yet */
	char *temp;    /* the name of what will replace it; NULL when there is nothing to clean up */
	size_t pending_len;
	char pending[PENDING_SIZE];
};

int file_read_fd(int fd, size_t limit, struct buf *ret)
{
	size_t before = ret->len;
	int err = 0;

	for (;;) {
		char data[READ_SIZE];
		size_t left = limit - (ret->len - before);
		/* One byte more than allowed, to tell a file of exactly the limit from a longer one. */
		ssize_t got = read(fd, data, left < sizeof(data) ? left + 1 : sizeof(data));

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			return buf_error(ret);
		err = got < 0 ? -errno : (size_t)got > left ? -EFBIG : 0;
		if (!err) {
			buf_add(ret, data, (size_t)got);
			err = buf_error(ret);
		}
		if (err)
			break;
	}
	if (ret->data) {
		ret->len = before;
		ret->data[before] = '\0';
	}
	return err;
}

int file_read(const char *path, size_t limit, struct buf *ret)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, limit, ret);
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t written = write(fd, at, len);

		if (written > 0) {
			at += written;
			len -= (size_t)written;
		} else if (written == 0) {
			return -EIO;
		} else if (errno == EAGAIN) {
			/* Standard output may have been made non-blocking by another process that shares it. */
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			if (poll(&ready, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int output_fail(const struct output *output, int err)
{
	if (output->standard)
		return fail(err, "writing standard output");
	return fail(err, "writing '%s'", output->path);
}

/* `name` as seen from the folder of `path`; NULL if memory is out. */
static char *beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	struct buf joined = { 0 };

	if (slash && name[0] != '/')
		buf_add(&joined, path, (size_t)(slash + 1 - path));
	buf_adds(&joined, name);
	if (buf_error(&joined))
		buf_free(&joined);
	return joined.data;
}

/* The file that writing to `path` would reach, whether it exists or not. */
static int follow_links(const char *path, char **ret)
{
	autofree char *at = strdup(path);

	for (int hops = 0; at && hops < LINKS_MAX; hops++) {
		char link[PATH_MAX];
		ssize_t len = readlink(at, link, sizeof(link));
		char *next;

		if (len < 0 && (errno == EINVAL || errno == ENOENT)) {
			*ret = at;
			at = NULL;
			return 0;
		}
		if (len < 0)
			return -errno;
		if ((size_t)len >= sizeof(link))
			return -ENAMETOOLONG;
		link[len] = '\0';
		next = beside(at, link);
		free(at);
		at = next;
	}
	return at ? -ELOOP : -ENOMEM;
}

/* A name for the temporary file: hidden, telling what it is, new each time. */
static int temp_name(const char *target, char **ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345"; /* 32: a byte's low bits choose evenly */
	const char *slash = strrchr(target, '/');
	const char *base = slash ? slash + 1 : target;
	int room = NAME_MAX - 1 - (int)strlen(TEMP_MARK) - TEMP_RANDOM;
	unsigned char dice[TEMP_RANDOM];
	char name[NAME_MAX + 1];
	int len;

	if (getrandom(dice, sizeof(dice), 0) != (ssize_t)sizeof(dice))
		return -EIO;
	len = snprintf(name, sizeof(name), ".%.*s" TEMP_MARK, room, base);
	for (int i = 0; i < TEMP_RANDOM; i++)
		name[len++] = letters[dice[i] % 32];
	name[len] = '\0';
	*ret = beside(target, name);
	return *ret ? 0 : -ENOMEM;
}

/* For linkat(): the way to give a name to an open file. */
static void proc_name(int fd, char name[PROC_NAME])
{
	snprintf(name, PROC_NAME, "/proc/self/fd/%d", fd);
}

/* A file in the target's folder that has no name: whatever happens to us, nothing is left of it. Not everywhere. */
static int open_nameless(const char *target, mode_t mode)
{
	autofree char *folder = beside(target, ".");
	int fd = folder ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode) : -1;
	char name[PROC_NAME];

	proc_name(fd, name);
	if (fd >= 0 && access(name, F_OK) < 0) { /* then it could never get one */
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_named(struct output *output, mode_t mode)
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		autofree char *temp = NULL;
		int err = temp_name(output->target, &temp);

		if (err)
			return err;
		output->fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (output->fd >= 0) {
			output->temp = temp;
			temp = NULL;
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Makes the temporary file beside the target. `old` is the file that it will replace, or NULL. */
static int open_temp(struct output *output, const struct stat *old)
{
	mode_t mode = old ? old->st_mode & 0777 : 0666; /* at no time open to more people than what it replaces */
	int err = 0;

	output->fd = open_nameless(output->target, mode);
	output->nameless = output->fd >= 0;
	if (!output->nameless)
		err = open_named(output, mode);
	if (err)
		return err;
	/* Owner first, because changing it may change the mode. Where that is not allowed the file is still written. */
	if (old && (fchown(output->fd, old->st_uid, old->st_gid) == 0 || old->st_uid == geteuid()))
		return fchmod(output->fd, old->st_mode & 0777) == 0 || errno == EPERM ? 0 : -errno;
	return 0;
}

/* The target's name if it is free; else one beside it, to be renamed. */
static int give_name(struct output *output)
{
	char name[PROC_NAME];

	proc_name(output->fd, name);
	if (linkat(AT_FDCWD, name, AT_FDCWD, output->target, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	for (int i = 0; i < TEMP_TRIES && errno == EEXIST; i++) {
		autofree char *temp = NULL;
		int err = temp_name(output->target, &temp);

		if (err)
			return err;
		if (linkat(AT_FDCWD, name, AT_FDCWD, temp, AT_SYMLINK_FOLLOW) == 0) {
			output->temp = temp;
			temp = NULL;
			return 0;
		}
	}
	return -errno;
}

/* Can the file be replaced: is it what the links lead to, and are we meant to write it? */
static int check_target(const char *target, const struct stat *old, bool *ret_replace)
{
	struct stat found;

	/* A link such as /proc/PID/fd/3 leads to files that have no name any more: those are written in place. */
	*ret_replace = stat(target, &found) == 0 && found.st_dev == old->st_dev && found.st_ino == old->st_ino;
	/* The rename would succeed on a file that was made read-only on purpose. */
	return faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) == 0 || !*ret_replace ? 0 : -errno;
}

static int open_direct(struct output *output)
{
	output->fd = open(output->path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
	return output->fd < 0 ? -errno : 0;
}

static int open_path(struct output *output)
{
	size_t len = strlen(output->path);
	bool replace = true;
	struct stat old;
	bool exists;
	int err;

	/* First of all, by the kernel's rules for links: it refuses those that others left in /tmp. */
	exists = stat(output->path, &old) == 0;
	if (!exists && errno != ENOENT)
		return -errno;
	if (!len)
		return -ENOENT;
	if (exists ? S_ISDIR(old.st_mode) : output->path[len - 1] == '/')
		return -EISDIR;
	if (exists && !S_ISREG(old.st_mode))
		return open_direct(output);

	err = follow_links(output->path, &output->target);
	if (!err && exists)
		err = check_target(output->target, &old, &replace);
	if (err)
		return err;
	return replace ? open_temp(output, exists ? &old : NULL) : open_direct(output);
}

static int open_stdout(struct output *output)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	output->fd = STDOUT_FILENO;
	return 0;
}

/* The other names too: opening those anew would begin at the start of a file that the shell appends to. */
static bool means_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/fd/1") ||
	       !strcmp(path, "/proc/self/fd/1");
}

int output_open(struct output **ret, const char *path)
{
	struct output *output = calloc(1, sizeof(*output));
	int err;

	if (!output)
		return fail(-ENOMEM, "writing '%s'", path);
	output->fd = -1;
	output->standard = means_stdout(path);
	output->path = strdup(path);
	if (!output->path)
		err = -ENOMEM;
	else
		err = output->standard ? open_stdout(output) : open_path(output);
	if (err) {
		output_fail(output, err);
		output_free(output);
		return err;
	}
	*ret = output;
	return 0;
}

static int write_through(struct output *output, const void *data, size_t len)
{
	if (!output->err)
		output->err = file_write_all(output->fd, data, len);
	return output->err;
}

static int flush(struct output *output)
{
	size_t len = output->pending_len;

	output->pending_len = 0;
	return write_through(output, output->pending, len);
}

int output_write(struct output *output, const void *data, size_t len)
{
	int err = output->fd < 0 ? -EBADF : output->err;

	if (!err && len > sizeof(output->pending) - output->pending_len)
		err = flush(output);
	if (!err && len > sizeof(output->pending))
		err = write_through(output, data, len);
	else if (!err && len) {
		memcpy(output->pending + output->pending_len, data, len);
		output->pending_len += len;
	}
	return err ? output_fail(output, err) : 0;
}

/* Some file systems find out that they are full, or gone, only when the file is closed. */
static int close_output(struct output *output)
{
	int fd = output->standard ? dup(output->fd) : output->fd;

	output->fd = -1;
	return fd < 0 || close(fd) == 0 ? 0 : -errno;
}

int output_commit(struct output *output)
{
	int err = output->fd < 0 ? -EBADF : flush(output);
	char *temp;
	int closed;

	if (err)
		return output_fail(output, err);
	/* Without this a crash soon after the rename may leave an empty file where a whole one was. */
	if ((output->temp || output->nameless) && fsync(output->fd) < 0 && errno != EINVAL)
		err = -errno;
	if (!err && output->nameless)
		err = give_name(output);
	closed = close_output(output);
	if (!err)
		err = closed;
	if (!err && output->temp && rename(output->temp, output->target) < 0)
		err = -errno;
	if (err)
		return output_fail(output, err);
	temp = output->temp;
	output->temp = NULL;
	free(temp);
	return 0;
}

void output_abandon(const struct output *output)
{
	if (output->temp)
		unlink(output->temp);
}

void output_free(struct output *output)
{
	if (!output)
		return;
	if (output->fd >= 0 && !output->standard)
		close(output->fd);
	if (output->temp)
		unlink(output->temp);
	free(output->temp);
	free(output->target);
	free(output->path);
	free(output);
}
