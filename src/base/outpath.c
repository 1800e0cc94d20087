/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a path. In: a path from the user, through folders that others may change meanwhile. Out: the opened folder and
 * the name in it, or a refusal that says which folder or file is not trusted.
 *
 * Invariant: what is judged is what is used. Each step opens a name without following a link, judges what was opened by
 * its descriptor, and goes on from there; no path is looked up twice.
 */
#include "base/outpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/rights.h"

#define LINKS_MAX 40 /* as many as the kernel follows */
#define PROC_NAME 32
#define GROUP_ACL "system.posix_acl_access"
#define OPEN_LINK (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_FOLDER (O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC)

struct walk {
	const char *path, *doing; /* for messages */
	bool strict;              /* root's rights are at stake */
	uid_t user;
	bool sudo;
	uid_t sudo_uid;
	gid_t sudo_gid;
	int folder; /* O_PATH */
	struct stat info;
	struct buf where;        /* the folder in words */
	struct buf rest;         /* what is still to be walked */
	size_t at;               /* in it */
	char name[NAME_MAX + 1]; /* the part that is looked at */
	bool last;               /* nothing is behind it */
	bool must_be_folder;     /* but a slash */
	int links;
	bool refused;    /* with words of our own */
	bool foreign_ok; /* the walk ends where a folder belongs to somebody else, and is not refused */
	bool foreign;    /* so it did */
};

/* ---- Who is trusted ---- */

static bool is_trusted(const struct walk *walk, uid_t uid)
{
	return !uid || uid == walk->user || (walk->sudo && uid == walk->sudo_uid);
}

/* An ACL shows its mask instead of the rights of the group. */
static bool has_acl(int fd)
{
	char name[PROC_NAME];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return getxattr(name, GROUP_ACL, NULL, 0) > 0;
}

/* Root's group, or a group of one: by custom it has the number of its user. */
static bool is_group_trusted(const struct walk *walk)
{
	gid_t gid = walk->info.st_gid;

	if (has_acl(walk->folder))
		return false;
	return !gid || (walk->sudo && gid == walk->sudo_gid && gid == walk->sudo_uid);
}

/* Can somebody who is not trusted make names in the folder? */
static bool is_shared(const struct walk *walk)
{
	mode_t mode = walk->info.st_mode;

	if (!walk->strict)
		return (mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
	return (mode & S_IWOTH) || ((mode & S_IWGRP) && !is_group_trusted(walk));
}

static const char *where(const struct walk *walk)
{
	return walk->where.len && !buf_error(&walk->where) ? walk->where.data : "/";
}

static int refuse_folder(struct walk *walk)
{
	walk->refused = true;
	fail_plain(-EPERM, "%s '%s': others than root can change the folder '%s'", walk->doing, walk->path,
		   where(walk));
	return fail_hint(-EPERM, "choose a folder of your own");
}

static int refuse_link(struct walk *walk, uid_t owner)
{
	walk->refused = true;
	fail_plain(-EPERM, "%s '%s': user %u made the link '%s' in the folder '%s', where everyone can", walk->doing,
		   walk->path, owner, walk->name, where(walk));
	return fail_hint(-EPERM, "remove it, or choose another name");
}

static int refuse_file(struct walk *walk, uid_t owner)
{
	walk->refused = true;
	fail_plain(-EPERM, "%s '%s': it belongs to user %u", walk->doing, walk->path, owner);
	return fail_hint(-EPERM, "remove it, or choose another name");
}

/* The walk goes on from `fd`, which it owns from now on. */
static int enter(struct walk *walk, int fd)
{
	if (walk->folder >= 0)
		close(walk->folder);
	walk->folder = fd;
	if (fstat(fd, &walk->info))
		return -errno;
	walk->foreign = walk->foreign_ok && !is_trusted(walk, walk->info.st_uid);
	if (!walk->strict || walk->foreign ||
	    (is_trusted(walk, walk->info.st_uid) && (!is_shared(walk) || (walk->info.st_mode & S_ISVTX))))
		return 0;
	return refuse_folder(walk);
}

/* ---- Steps ---- */

static int start_at(struct walk *walk, const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	buf_clear(&walk->where);
	buf_adds(&walk->where, folder[0] == '/' ? "" : folder);
	return fd < 0 ? -errno : enter(walk, fd);
}

/* The next part of the path; false at its end. */
static bool next_name(struct walk *walk, int *ret_err)
{
	const char *text = walk->rest.data + walk->at;
	size_t len;

	*ret_err = 0;
	text += strspn(text, "/");
	len = strcspn(text, "/");
	if (!len)
		return false;
	if (len > NAME_MAX) {
		*ret_err = -ENAMETOOLONG;
		return false;
	}
	memcpy(walk->name, text, len);
	walk->name[len] = '\0';
	text += len;
	walk->must_be_folder = *text == '/';
	text += strspn(text, "/");
	walk->last = !*text;
	walk->at = (size_t)(text - walk->rest.data);
	return true;
}

/* What the link says takes the place of its name. */
static int read_link(struct walk *walk, int link)
{
	struct buf rest = { 0 };
	char text[PATH_MAX];
	ssize_t len = readlinkat(link, "", text, sizeof(text));

	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(text))
		return -ENAMETOOLONG;
	if (!len || walk->links++ >= LINKS_MAX)
		return len ? -ELOOP : -ENOENT;
	buf_add(&rest, text, (size_t)len);
	if (walk->must_be_folder)
		buf_addc(&rest, '/');
	buf_adds(&rest, walk->rest.data + walk->at);
	buf_free(&walk->rest);
	walk->rest = rest;
	walk->at = 0;
	if (buf_error(&walk->rest))
		return -ENOMEM;
	return text[0] == '/' ? start_at(walk, "/") : 0;
}

static bool may_follow(const struct walk *walk, uid_t owner)
{
	return !is_shared(walk) || is_trusted(walk, owner) || (!walk->strict && owner == walk->info.st_uid);
}

/*
 * procfs has links that are no paths: to what a descriptor is of, to where a process is. Nobody can make links there,
 * so they are the kernel's to follow. *ret_fd is what the link leads to, or -1 if it was one of the ordinary kind.
 */
static int follow(struct walk *walk, int link, uid_t owner, int *ret_fd)
{
	struct statfs fs;

	*ret_fd = -1;
	if (!may_follow(walk, owner))
		return refuse_link(walk, owner);
	if (fstatfs(link, &fs))
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return read_link(walk, link);
	*ret_fd = openat(walk->folder, walk->name, O_PATH | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

/* Into the folder that has the name. Opened as a folder, it is mounted if that happens by itself. */
static int step_into(struct walk *walk)
{
	int fd = openat(walk->folder, walk->name, OPEN_FOLDER), err;
	struct stat info;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		autoclose int link = openat(walk->folder, walk->name, OPEN_LINK);

		if (link < 0 || fstat(link, &info))
			return -errno;
		if (!S_ISLNK(info.st_mode))
			return -ENOTDIR;
		err = follow(walk, link, info.st_uid, &fd);
		if (err || fd < 0)
			return err;
		if (fstat(fd, &info) || !S_ISDIR(info.st_mode)) {
			close(fd);
			return -ENOTDIR;
		}
	}
	if (fd < 0)
		return -errno;
	if (strcmp(walk->name, ".") != 0) {
		buf_addc(&walk->where, '/');
		buf_adds(&walk->where, walk->name);
	}
	return enter(walk, fd);
}

static int walk_start(struct walk *walk, const char *path, const char *doing, bool foreign_ok)
{
	*walk = (struct walk){
		.path = path, .doing = doing, .folder = -1, .user = rights_user(), .foreign_ok = foreign_ok
	};
	walk->strict = !walk->user;
	walk->sudo = walk->strict && !foreign_ok && rights_sudo_user(&walk->sudo_uid, &walk->sudo_gid);
	buf_adds(&walk->rest, path);
	if (buf_error(&walk->rest))
		return -ENOMEM;
	return *path ? start_at(walk, *path == '/' ? "/" : ".") : -ENOENT;
}

static void walk_end(struct walk *walk)
{
	if (walk->folder >= 0)
		close(walk->folder);
	buf_free(&walk->where);
	buf_free(&walk->rest);
}

/* A refusal has its words; for anything else they are the kernel's. */
static int walk_fail(const struct walk *walk, int err)
{
	return walk->refused ? err : fail(err, "%s '%s'", walk->doing, walk->path);
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* ---- A file ---- */

/* By the rules of outpath.h. A rename in a sticky folder would fail in the end; it is better to know that now. */
static bool may_write(const struct walk *walk, const struct stat *info)
{
	bool sticky = walk->info.st_mode & S_ISVTX, regular = S_ISREG(info->st_mode);
	bool ours = is_trusted(walk, info->st_uid);

	if (walk->strict)
		return ours || (!regular && !is_shared(walk));
	if (regular && sticky)
		return info->st_uid == walk->user || walk->info.st_uid == walk->user;
	return ours || !is_shared(walk) || info->st_uid == walk->info.st_uid;
}

/* Looks at the last name. *ret_done: it is no link. */
static int look(struct walk *walk, struct outpath *place, bool *ret_done)
{
	autoclose int fd = openat(walk->folder, walk->name, OPEN_LINK);
	bool linked = false;
	int target = -1, err;

	*ret_done = fd < 0 && errno == ENOENT;
	if (fd < 0)
		return *ret_done ? 0 : -errno;
	if (fstat(fd, &place->info))
		return -errno;
	if (S_ISLNK(place->info.st_mode)) {
		err = follow(walk, fd, place->info.st_uid, &target);
		if (err || target < 0)
			return err;
		linked = true;
		close(fd);
		fd = target;
		if (fstat(fd, &place->info))
			return -errno;
	}
	*ret_done = true;
	if (S_ISDIR(place->info.st_mode))
		return -EISDIR;
	if (!linked && !may_write(walk, &place->info))
		return refuse_file(walk, place->info.st_uid);
	place->in_place = linked || !S_ISREG(place->info.st_mode);
	place->found = fd;
	fd = -1;
	return 0;
}

static int find(struct walk *walk, struct outpath *place)
{
	bool done = false;
	int err = 0;

	while (!err && !done) {
		if (!next_name(walk, &err))
			return err ? err : -EISDIR;
		if (walk->last && !walk->must_be_folder && !is_dot(walk->name)) {
			err = look(walk, place, &done);
		} else {
			bool last = walk->last;

			err = step_into(walk);
			/* A folder, or one that is not there: no file either way. */
			if (err == -ENOENT && last)
				err = -EISDIR;
		}
	}
	return err;
}

int outpath_find(struct outpath *ret, const char *path, const char *doing)
{
	struct outpath place = { .folder = -1, .found = -1 };
	struct walk walk;
	int err = walk_start(&walk, path, doing, false);

	err = err ? err : find(&walk, &place);
	if (!err) {
		uid_t owner = place.found >= 0 ? place.info.st_uid : walk.info.st_uid;

		place.name = strdup(walk.name);
		err = place.name ? 0 : -ENOMEM;
		place.shared = is_shared(&walk);
		place.as_sudo = walk.sudo && !place.in_place && owner == walk.sudo_uid;
		place.uid = walk.sudo_uid;
		place.gid = walk.sudo_gid;
		place.folder = walk.folder;
		walk.folder = -1;
	}
	if (err) {
		walk_fail(&walk, err);
		outpath_free(&place);
	} else {
		*ret = place;
	}
	walk_end(&walk);
	return err;
}

void outpath_free(struct outpath *place)
{
	if (place->folder >= 0)
		close(place->folder);
	if (place->found >= 0)
		close(place->found);
	free(place->name);
	*place = (struct outpath){ .folder = -1, .found = -1 };
}

/* ---- A folder ---- */

/* `mode`: of the last folder, if it is to be made; else NULL. */
static int walk_folder(struct walk *walk, const mode_t *mode)
{
	int err = 0;

	while (!err && !walk->foreign && next_name(walk, &err)) {
		bool last = walk->last;

		err = step_into(walk);
		if (err == -ENOENT && mode && last && !is_dot(walk->name)) {
			err = mkdirat(walk->folder, walk->name, *mode) && errno != EEXIST ? -errno : 0;
			err = err ? err : step_into(walk);
		}
	}
	return err;
}

/* The path of an open folder, from the root. */
static int path_of(int fd, char **ret)
{
	char name[PROC_NAME], path[PATH_MAX];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path));
	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	*ret = strndup(path, (size_t)len);
	return *ret ? 0 : -ENOMEM;
}

int outpath_folder(char **ret, const char *path, mode_t mode, const char *doing)
{
	autofree char *real = NULL;
	struct walk walk, again = { .folder = -1 };
	int err = walk_start(&walk, path, doing, false);

	err = err ? err : walk_folder(&walk, &mode);
	err = err ? err : path_of(walk.folder, &real);
	if (err) {
		walk_fail(&walk, err);
	} else {
		/* Where it began was taken as it is: the folders above that count too. */
		err = walk_start(&again, real, doing, false);
		err = err ? err : walk_folder(&again, NULL);
		if (!err && (again.info.st_dev != walk.info.st_dev || again.info.st_ino != walk.info.st_ino))
			err = -ESTALE;
		if (err)
			walk_fail(&again, err);
	}
	walk_end(&walk);
	walk_end(&again);
	if (err)
		return err;
	*ret = real;
	real = NULL;
	return 0;
}

int outpath_owner(const char *path, const char *doing, uid_t *ret_uid, gid_t *ret_gid)
{
	struct walk walk;
	int err = walk_start(&walk, path, doing, true);

	err = err ? err : walk_folder(&walk, NULL);
	if (err) {
		walk_fail(&walk, err);
	} else {
		*ret_uid = walk.foreign ? walk.info.st_uid : 0;
		*ret_gid = walk.foreign ? walk.info.st_gid : 0;
	}
	walk_end(&walk);
	return err;
}
