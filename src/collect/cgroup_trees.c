/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounted cgroup hierarchies, and who could have named what is in them. A directory's entries are named by whoever
 * may write to it, so a path is root's as far as every directory on the way is root's and nobody else's; what is below
 * the first one that is not was named by its owner. That directory itself has root's name still: so user@1000.service,
 * which systemd makes and then gives to the user.
 *
 * Where an owner cannot be told, the rest of the path is nobody's. No look-up leaves its hierarchy: a user may have
 * mounted something over a directory of his, and could make whoever enters that wait.
 */
#include "collect/cgroup_trees.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/mounts.h"
#include "proc/place.h"
#include "proc/process.h"

#define TREES_MAX 32
#define TOP_INODE 1                           /* of a hierarchy's top, however deep the mount begins */
#define FIRST_NAMESPACE "cgroup:[4026531835]" /* the kernel's CGROUP_NS_INIT_INO */

struct tree {
	int fd;
	bool unified;
	bool whole; /* or the mount begins further down, as in a container */
	dev_t device;
	char *root;    /* where in the hierarchy it begins, and */
	char *options; /* its controllers, as mountinfo has them */
};

struct cgroup_trees {
	struct tree list[TREES_MAX];
	size_t len;
	const struct tree *unified; /* the whole one, if there is one */
	const char *who;            /* whose mounts are being looked at */
	bool paths_are_whole;       /* those of /proc/PID/cgroup: they begin at our cgroup name space */
};

/* ---- Mounts ---- */

static void tree_close(struct tree *tree)
{
	if (tree->fd >= 0)
		close(tree->fd);
	free(tree->root);
	free(tree->options);
}

static bool tree_open(struct tree *tree, const char *who, const struct mount_line *mount)
{
	char path[PATH_MAX];
	struct statfs fs;
	struct stat stat;

	tree->fd = -1;
	if ((size_t)snprintf(path, sizeof(path), "/proc/%s/root%s", who, mount->point) >= sizeof(path))
		return false;
	tree->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tree->fd < 0 || fstatfs(tree->fd, &fs) || fstat(tree->fd, &stat))
		return false;
	tree->unified = fs.f_type == CGROUP2_SUPER_MAGIC;
	tree->whole = stat.st_ino == TOP_INODE;
	tree->device = stat.st_dev;
	tree->root = strdup(mount->root);
	tree->options = strdup(mount->options);
	return tree->root && tree->options && (tree->unified || fs.f_type == CGROUP_SUPER_MAGIC);
}

/* Of each hierarchy one mount is enough, if it is all of it. */
static bool add_mount(const struct mount_line *mount, void *arg)
{
	struct cgroup_trees *trees = arg;
	struct tree tree = { 0 };
	size_t same = 0;

	if (strcmp(mount->type, "cgroup") && strcmp(mount->type, "cgroup2"))
		return false;
	if (!tree_open(&tree, trees->who, mount)) {
		tree_close(&tree);
		return false;
	}
	while (same < trees->len && trees->list[same].device != tree.device)
		same++;
	if (same == TREES_MAX || (same < trees->len && (trees->list[same].whole || !tree.whole))) {
		tree_close(&tree);
		return false;
	}
	if (same == trees->len)
		trees->len++;
	else
		tree_close(&trees->list[same]);
	trees->list[same] = tree;
	return false;
}

static const struct tree *find_unified(const struct cgroup_trees *trees)
{
	for (size_t i = 0; i < trees->len; i++)
		if (trees->list[i].unified)
			return &trees->list[i];
	return NULL;
}

int cgroup_trees_open(struct cgroup_trees **ret)
{
	struct cgroup_trees *trees = calloc(1, sizeof(*trees));
	char space[64] = "";

	if (!trees)
		return -ENOMEM;
	*ret = trees;
	trees->who = "self";
	mounts_each(trees->who, add_mount, trees);
	trees->unified = find_unified(trees);
	if (!trees->unified || !trees->unified->whole) {
		/* In a container that sees the machine's processes: what their first one sees. */
		trees->who = "1";
		mounts_each(trees->who, add_mount, trees);
		trees->unified = find_unified(trees);
	}
	trees->paths_are_whole =
		readlink("/proc/self/ns/cgroup", space, sizeof(space) - 1) < 0 || !strcmp(space, FIRST_NAMESPACE);
	return 0;
}

void cgroup_trees_free(struct cgroup_trees *trees)
{
	for (size_t i = 0; trees && i < trees->len; i++)
		tree_close(&trees->list[i]);
	free(trees);
}

int cgroup_trees_unified(const struct cgroup_trees *trees)
{
	return trees->unified ? trees->unified->fd : -1;
}

/* ---- Owners ---- */

/*
 * Of the directory that the first bytes of a path lead to, if it is one of the hierarchy's. Nothing is asked of a file
 * system that may be mounted there: what the kernel remembers of it is enough to see that it is another.
 */
static int stat_part(const struct tree *tree, const char *path, size_t len, struct statx *ret)
{
	const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	char part[PATH_MAX];

	while (len && *path == '/') {
		path++;
		len--;
	}
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len);
	part[len] = 0;
	if (statx(tree->fd, part, flags, STATX_TYPE | STATX_MODE | STATX_UID, ret))
		return -errno;
	return makedev(ret->stx_dev_major, ret->stx_dev_minor) == tree->device && S_ISDIR(ret->stx_mode) ? 0 : -EXDEV;
}

/* A name space's paths climb out of it: they lead elsewhere than they say. */
static bool is_climbing(const char *name, size_t len)
{
	return (len == 1 && *name == '.') || (len == 2 && !memcmp(name, "..", 2));
}

/* The end of the component behind `at`, which is `at` itself where there is none to be followed. */
static size_t next_end(const char *path, size_t len, size_t at)
{
	size_t begin = at, end;

	while (begin < len && path[begin] == '/')
		begin++;
	for (end = begin; end < len && path[end] != '/';)
		end++;
	return is_climbing(path + begin, end - begin) ? at : end;
}

/*
 * `from`: so many bytes lead to where the mount begins. In a directory that others may write as well, an entry is its
 * owner's; but a v1 hierarchy lets them give root's another name.
 */
static struct place_names names_in(const struct tree *tree, const char *path, size_t len, size_t from)
{
	struct place_names names = { .root_len = from, .owner = PLACE_UNKNOWN };
	size_t at = from, end = at;
	bool shared = false;

	do {
		struct statx stat;
		int err = stat_part(tree, path + from, end - from, &stat);
		bool users = !err && stat.stx_uid, roots = !err && !users;

		if (!shared || (roots && tree->unified))
			names.root_len = end;
		if (users)
			names.owner = stat.stx_uid;
		if (!roots || names.root_len < end)
			return names;
		shared = stat.stx_mode & (S_IWGRP | S_IWOTH);
		at = end;
		end = next_end(path, len, at);
	} while (end > at);
	return names;
}

struct place_names cgroup_trees_names(const struct cgroup_trees *trees, const char *path, size_t len)
{
	struct place_names names = { .owner = PLACE_UNKNOWN };

	return trees->unified ? names_in(trees->unified, path, len, 0) : names;
}

/* ---- /proc/PID/cgroup ---- */

static bool has_word(const char *list, const char *word, size_t len)
{
	for (;; list++) {
		size_t end = strcspn(list, ",");

		if (end == len && !memcmp(list, word, len))
			return true;
		list += end;
		if (!*list)
			return false;
	}
}

/* By the controllers in a line: one of them is enough, no two hierarchies share any. None of them: v2. */
static const struct tree *find_tree(const struct cgroup_trees *trees, const char *controllers)
{
	size_t len = strcspn(controllers, ",:\n");

	for (size_t i = 0; i < trees->len; i++) {
		const struct tree *tree = &trees->list[i];

		if (len ? !tree->unified && has_word(tree->options, controllers, len) : tree->unified)
			return tree;
	}
	return NULL;
}

/* The bytes of a path that lead to the mount; SIZE_MAX: it is not below that. */
static size_t root_bytes(const struct tree *tree, const char *path, size_t len)
{
	size_t root = strlen(tree->root);

	if (!strcmp(tree->root, "/"))
		return 0;
	return root <= len && !memcmp(path, tree->root, root) && (root == len || path[root] == '/') ? root : SIZE_MAX;
}

/* How much is told: a container, or a unit, or at least something; by root, rather than by others. */
static int place_line(const struct cgroup_trees *trees, const char *controllers, const char *path, size_t len,
		      struct place *ret)
{
	const struct tree *tree = trees->paths_are_whole ? find_tree(trees, controllers) : NULL;
	size_t from = tree ? root_bytes(tree, path, len) : SIZE_MAX;
	struct place_names names = { .owner = PLACE_UNKNOWN };

	if (from != SIZE_MAX)
		names = names_in(tree, path, len, from);
	place_named(path, len, &names, ret);
	if (*ret->container)
		return strchr(ret->container, '/') ? 2 : 4;
	return *ret->unit ? 3 : len > 1;
}

int cgroup_trees_place(const struct cgroup_trees *trees, uint32_t pid, struct buf *ret_path, struct place *ret)
{
	autobuf struct buf text = { 0 };
	const char *line, *best = NULL;
	size_t best_len = 0;
	int err = process_cgroups(pid, &text), most = -1;

	if (err)
		return err;
	for (line = text.len ? text.data : ""; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *controllers = line + strcspn(line, ":\n");
		const char *path = line + strcspn(line, "/\n");
		size_t len = strcspn(path, "\n");
		struct place place;
		int tells;

		controllers += *controllers == ':';
		tells = len ? place_line(trees, controllers, path, len, &place) : -1;
		if (tells <= most)
			continue;
		most = tells;
		best = path;
		best_len = len;
		*ret = place;
	}
	buf_add(ret_path, best, best_len);
	return best_len ? buf_error(ret_path) : -ENOENT;
}
