/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files read whole; outputs written whole or not at all. In: paths from the user. Out: bytes, or a file that
 * appears under its name complete. Invariant of an output: after the first failed write nothing more is written, and
 * until output_commit succeeds the target is what it was; only things that cannot be replaced (devices, FIFOs, standard
 * output) are written as the bytes come. All is done relative to the folder that was opened first, with the rights of
 * the user, and no file is ever given to another owner.
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
#include "base/outpath.h"
#include "base/rights.h"

#define READ_SIZE 16384
#define PENDING_SIZE 65536
#define TEMP_MARK ".wick-"
#define TEMP_RANDOM 6
#define TEMP_TRIES 100
#define PROC_NAME 32

struct output {
	int fd;
	int err;              /* of the first write that failed */
	bool standard;        /* the descriptor is not ours to close */
	char *path;           /* as the user wrote it, for messages */
	struct outpath place; /* of the file to make or to replace, links followed */
	bool nameless;        /* what will replace it has no name yet */
	char *temp;           /* the name of what will replace it, beside it; NULL when there is nothing to clean up */
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

/* A name for the temporary file: hidden, telling what it is, new each time. */
static int temp_name(const char *base, char **ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345"; /* 32: a byte's low bits choose evenly */
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
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

/* For linkat(): the way to give a name to an open file. */
static void proc_name(int fd, char name[PROC_NAME])
{
	snprintf(name, PROC_NAME, "/proc/self/fd/%d", fd);
}

/* A file in the target's folder that has no name: whatever happens to us, nothing is left of it. Not everywhere. */
static int open_nameless(int folder, mode_t mode)
{
	int fd = openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
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
		int err = temp_name(output->place.name, &temp);

		if (err)
			return err;
		output->fd =
			openat(output->place.folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
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

/*
 * Who made the old file decided who may read it, so one of our own is replaced by one of the same group and mode. One
 * that has other names was perhaps given this one by somebody else, where others can make names.
 */
static int keep_mode(const struct output *output)
{
	const struct stat *old = &output->place.info;
	mode_t mode = old->st_mode & 0777;
	struct stat now;

	if (fstat(output->fd, &now))
		return -errno;
	if (old->st_uid != now.st_uid || (output->place.shared && old->st_nlink > 1))
		return 0;
	/* The group first, because changing it may change the mode. */
	if (old->st_gid != now.st_gid && fchown(output->fd, (uid_t)-1, old->st_gid))
		mode &= ~(mode_t)070; /* which was meant for other people */
	return fchmod(output->fd, mode) == 0 || errno == EPERM ? 0 : -errno;
}

/* Makes the temporary file beside the target. */
static int open_temp(struct output *output)
{
	const struct outpath *place = &output->place;
	bool exists = place->found >= 0;
	mode_t mode = exists ? place->info.st_mode & 0777 : 0666; /* at no time open to more people than the old one */
	int err = 0;

	/* The rename would succeed on a file that was made read-only on purpose. */
	if (exists && faccessat(place->folder, place->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
		return -errno;
	output->fd = open_nameless(place->folder, mode);
	output->nameless = output->fd >= 0;
	if (!output->nameless)
		err = open_named(output, mode);
	return err || !exists ? err : keep_mode(output);
}

/* The target's name if it is free; else one beside it, to be renamed. */
static int give_name(struct output *output)
{
	int folder = output->place.folder;
	char name[PROC_NAME];

	proc_name(output->fd, name);
	if (linkat(AT_FDCWD, name, folder, output->place.name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	for (int i = 0; i < TEMP_TRIES && errno == EEXIST; i++) {
		autofree char *temp = NULL;
		int err = temp_name(output->place.name, &temp);

		if (err)
			return err;
		if (linkat(AT_FDCWD, name, folder, temp, AT_SYMLINK_FOLLOW) == 0) {
			output->temp = temp;
			temp = NULL;
			return 0;
		}
	}
	return -errno;
}

/* What was looked at, and not what may have its name by now. */
static int open_direct(struct output *output)
{
	char name[PROC_NAME];

	proc_name(output->place.found, name);
	output->fd = open(name, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
	return output->fd < 0 ? -errno : 0;
}

/* The rights with which files are made and named: the user's, or those of who called sudo in his own folder. */
static int take_rights(const struct output *output, struct rights *ret)
{
	if (output->place.as_sudo)
		return rights_act_as(ret, output->place.uid, output->place.gid);
	return rights_lower(ret);
}

static int open_place(struct output *output)
{
	struct rights before;
	int err = take_rights(output, &before);

	if (err)
		return output_fail(output, err);
	err = output->place.in_place ? open_direct(output) : open_temp(output);
	rights_restore(&before);
	return err ? output_fail(output, err) : 0;
}

static int open_path(struct output *output)
{
	struct rights before;
	int err = rights_lower(&before);

	if (err)
		return output_fail(output, err);
	err = outpath_find(&output->place, output->path, "writing");
	rights_restore(&before);
	return err ? err : open_place(output);
}

static int open_stdout(struct output *output)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0)
		return output_fail(output, -errno);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return output_fail(output, -EBADF);
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
	output->place = (struct outpath){ .folder = -1, .found = -1 };
	output->standard = means_stdout(path);
	output->path = strdup(path);
	if (!output->path)
		err = fail(-ENOMEM, "writing '%s'", path);
	else
		err = output->standard ? open_stdout(output) : open_path(output);
	if (err) {
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

/* Closes what is written and puts it in its place. */
static int put_in_place(struct output *output)
{
	int folder = output->place.folder, err = 0, closed;

	/* Without this a crash soon after the rename may leave an empty file where a whole one was. */
	if ((output->temp || output->nameless) && fsync(output->fd) < 0 && errno != EINVAL)
		err = -errno;
	if (!err && output->nameless)
		err = give_name(output);
	closed = close_output(output);
	err = err ? err : closed;
	if (!err && output->temp && renameat(folder, output->temp, folder, output->place.name) < 0)
		err = -errno;
	return err;
}

int output_commit(struct output *output)
{
	int err = output->fd < 0 ? -EBADF : flush(output);
	struct rights before;
	char *temp;

	err = err ? err : take_rights(output, &before);
	if (err)
		return output_fail(output, err);
	err = put_in_place(output);
	rights_restore(&before);
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
		unlinkat(output->place.folder, output->temp, 0);
}

void output_free(struct output *output)
{
	if (!output)
		return;
	if (output->fd >= 0 && !output->standard)
		close(output->fd);
	if (output->temp)
		unlinkat(output->place.folder, output->temp, 0);
	free(output->temp);
	outpath_free(&output->place);
	free(output->path);
	free(output);
}
