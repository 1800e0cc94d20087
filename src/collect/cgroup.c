/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup is known to the kernel side by its id, which is the inode number of its directory, and by the hierarchy it
 * is in: v2, or the v1 hierarchy of a controller. A v1 hierarchy without a controller (name=…) cannot be reached from
 * a task in one step and is refused by name. Paths are remembered with who named them, as it was when they were asked
 * for: the newest ones, within bounds, for anyone may make groups without end.
 */
#include "collect/cgroup.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/cgroup_trees.h"
#include "proc/mounts.h"
#include "proc/place.h"

#define KERNFS_HANDLE 0xfe              /* the kernel's FILEID_KERNFS */
#define CGROUPS_MAX 16384               /* groups that are remembered, */
#define CGROUPS_BYTES ((size_t)8 << 20) /* and how long all of their paths may be */

struct v2_search {
	const char *path;
	struct stat stat;
};

static bool match_v2(const struct mount_line *mount, void *arg)
{
	struct v2_search *search = arg;
	char whole[4096];

	if (strcmp(mount->type, "cgroup2") != 0 ||
	    (size_t)snprintf(whole, sizeof(whole), "%s/%s", mount->point, search->path) >= sizeof(whole))
		return false;
	return !stat(whole, &search->stat) && S_ISDIR(search->stat.st_mode);
}

struct v1_search {
	const char *path;
	size_t len; /* of the mount point found: the longest one counts */
	char options[256];
};

static bool match_v1(const struct mount_line *mount, void *arg)
{
	struct v1_search *search = arg;
	size_t len = strlen(mount->point);

	if (!strcmp(mount->type, "cgroup") && len > search->len && !strncmp(search->path, mount->point, len) &&
	    (search->path[len] == '/' || !search->path[len])) {
		search->len = len;
		snprintf(search->options, sizeof(search->options), "%s", mount->options);
	}
	return false;
}

/* The kernel's index of a v1 controller, such as cpu or memory; negative if it has none. */
static int controller_index(char *options)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int found = -1, type = btf ? btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM) : -1;
	const struct btf_type *list = type > 0 ? btf__type_by_id(btf, (uint32_t)type) : NULL;
	char *save = NULL, name[64];

	for (char *option = strtok_r(options, ",", &save); list && found < 0 && option;
	     option = strtok_r(NULL, ",", &save)) {
		snprintf(name, sizeof(name), "%s_cgrp_id", !strcmp(option, "blkio") ? "io" : option);
		for (int i = 0; i < btf_vlen(list); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_enum(list)[i].name_off), name))
				found = btf_enum(list)[i].val;
	}
	btf__free(btf);
	return found;
}

static int settings_v1(const char *path, const struct stat *stat, struct wire_settings *ret)
{
	autofree char *real = realpath(path, NULL);
	struct v1_search search = { .path = real ? real : path };
	char options[sizeof(search.options)];

	mounts_each("self", match_v1, &search);
	memcpy(options, search.options, sizeof(options));
	ret->cgroup = stat->st_ino;
	ret->cgroup_subsys = controller_index(options);
	if (ret->cgroup_subsys >= 0)
		return 0;
	fail_plain(-ENOTSUP, "cgroup '%s': the v1 hierarchy '%s' has no controller to filter by", path, search.options);
	return fail_hint(-ENOTSUP, "name the group in the v2 tree or under a controller such as cpu or memory");
}

/* ---- paths ---- */

/* A group that was asked for: its path, and who named it; NULL: it was gone. */
struct group {
	uint64_t id;
	char *path;
	size_t len;
	struct place_names names;
};

struct cgroups {
	struct cgroup_trees *trees;
	char point[4096];                /* of the v2 tree, as links to what is in it show it */
	struct map slots;                /* id to place in `known` */
	struct group known[CGROUPS_MAX]; /* a ring: from the oldest on, so many */
	size_t oldest, len;
	size_t bytes; /* of all paths */
};

static ssize_t path_of(int fd, char *ret, size_t size)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret, size);
	return len < (ssize_t)size ? len : -1;
}

int cgroups_new(struct cgroups **ret)
{
	struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	int err = cgroups ? cgroup_trees_open(&cgroups->trees) : -ENOMEM;
	ssize_t len;

	*ret = cgroups;
	if (err)
		return err;
	len = path_of(cgroup_trees_unified(cgroups->trees), cgroups->point, sizeof(cgroups->point));
	cgroups->point[len < 0 ? 0 : len] = 0;
	return 0;
}

static void forget_oldest(struct cgroups *cgroups)
{
	struct group *group = &cgroups->known[cgroups->oldest];

	map_remove(&cgroups->slots, group->id);
	free(group->path);
	cgroups->bytes -= group->len;
	cgroups->oldest = (cgroups->oldest + 1) % CGROUPS_MAX;
	cgroups->len--;
}

void cgroups_free(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	while (cgroups->len)
		forget_oldest(cgroups);
	cgroup_trees_free(cgroups->trees);
	map_free(&cgroups->slots);
	free(cgroups);
}

static void ask_path(struct cgroups *cgroups, struct group *group)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + sizeof(group->id)];
	} handle = { .head = { .handle_bytes = sizeof(group->id), .handle_type = KERNFS_HANDLE } };
	int mount = cgroup_trees_unified(cgroups->trees);
	size_t below = strlen(cgroups->point);
	char path[4096];
	ssize_t len;

	memcpy(handle.head.f_handle, &group->id, sizeof(group->id));
	autoclose int fd = mount < 0 ? -1 : open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);

	len = fd < 0 ? -1 : path_of(fd, path, sizeof(path));
	if (len < (ssize_t)below || strncmp(path, cgroups->point, below) != 0)
		return;
	group->len = (size_t)len > below ? (size_t)len - below : 1;
	group->path = strndup((size_t)len > below ? path + below : "/", group->len);
	if (group->path)
		group->names = cgroup_trees_names(cgroups->trees, group->path, group->len);
}

/* NULL: out of memory. */
static struct group *remember(struct cgroups *cgroups, const struct group *group)
{
	uint64_t *slot;
	size_t at;

	while (cgroups->len == CGROUPS_MAX || (cgroups->len && cgroups->bytes + group->len > CGROUPS_BYTES))
		forget_oldest(cgroups);
	at = (cgroups->oldest + cgroups->len) % CGROUPS_MAX;
	slot = map_put(&cgroups->slots, group->id);
	if (!slot)
		return NULL;
	*slot = at;
	cgroups->known[at] = *group;
	cgroups->bytes += group->len;
	cgroups->len++;
	return &cgroups->known[at];
}

static struct group *find_group(struct cgroups *cgroups, uint64_t id)
{
	uint64_t *slot = map_get(&cgroups->slots, id);
	struct group group = { .id = id }, *place;

	if (slot)
		return &cgroups->known[*slot];
	ask_path(cgroups, &group);
	place = remember(cgroups, &group);
	if (!place)
		free(group.path);
	return place;
}

const char *cgroups_path(struct cgroups *cgroups, uint64_t id, size_t *ret_len)
{
	const struct group *group = find_group(cgroups, id);

	if (!group || !group->path)
		return NULL;
	*ret_len = group->len;
	return group->path;
}

void cgroups_place(struct cgroups *cgroups, uint64_t id, struct place *ret)
{
	const struct group *group = find_group(cgroups, id);

	if (group && group->path)
		place_named(group->path, group->len, &group->names, ret);
	else
		*ret = (struct place){ 0 };
}

int cgroups_place_process(struct cgroups *cgroups, uint32_t pid, struct buf *ret_path, struct place *ret)
{
	return cgroup_trees_place(cgroups->trees, pid, ret_path, ret);
}

int cgroup_settings(const char *path, struct wire_settings *ret)
{
	struct v2_search search = { .path = path };
	struct statfs fs;

	if (!stat(path, &search.stat) && S_ISDIR(search.stat.st_mode) && !statfs(path, &fs)) {
		if (fs.f_type == CGROUP_SUPER_MAGIC)
			return settings_v1(path, &search.stat, ret);
		if (fs.f_type == CGROUP2_SUPER_MAGIC) {
			ret->cgroup = search.stat.st_ino;
			return 0;
		}
	}
	if (mounts_each("self", match_v2, &search)) {
		ret->cgroup = search.stat.st_ino;
		return 0;
	}
	fail_plain(-ENOENT, "cgroup '%s': no such group", path);
	return fail_hint(-ENOENT, "give a directory below a cgroup mount, or a path as in /proc/PID/cgroup");
}
