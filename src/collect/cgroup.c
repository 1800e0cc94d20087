/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup is known to the kernel side by its id, which is the inode number of its directory, and by the hierarchy it
 * is in: v2, or the v1 hierarchy of a controller. A v1 hierarchy without a controller (name=…) cannot be reached from
 * a task in one step and is refused by name.
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

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/map.h"
#include "bpf/wire.h"

#define KERNFS_HANDLE 0xfe /* the kernel's FILEID_KERNFS */
#define CGROUPS_MAX 16384  /* paths that are remembered */
#define MOUNTS_BYTES ((size_t)8 << 20)

/* One line of /proc/self/mountinfo: "id parent dev root mountpoint options … - type source superoptions". */
struct mount_line {
	const char *point;
	const char *type;
	const char *options;
};

static bool parse_mount(char *line, struct mount_line *ret)
{
	char *save = NULL, *dash = strstr(line, " - ");
	char *field = NULL;

	if (!dash)
		return false;
	*dash = 0;
	field = strtok_r(line, " ", &save);
	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	ret->point = field;
	ret->type = strtok_r(dash + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	ret->options = strtok_r(NULL, " ", &save);
	return ret->point && ret->type && ret->options;
}

/* Calls back for each mount of the type, until it returns true. */
static bool find_mount(const char *type, bool (*match)(const struct mount_line *, void *), void *arg)
{
	autobuf struct buf text = { 0 };
	char *line, *save = NULL;

	if (file_read("/proc/self/mountinfo", MOUNTS_BYTES, &text) || !text.len)
		return false;
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount_line mount;

		if (parse_mount(line, &mount) && !strcmp(mount.type, type) && match(&mount, arg))
			return true;
	}
	return false;
}

struct v2_search {
	const char *path;
	struct stat stat;
};

static bool match_v2(const struct mount_line *mount, void *arg)
{
	struct v2_search *search = arg;
	char whole[4096];

	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", mount->point, search->path) >= sizeof(whole))
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

	if (len > search->len && !strncmp(search->path, mount->point, len) &&
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

	find_mount("cgroup", match_v1, &search);
	memcpy(options, search.options, sizeof(options));
	ret->cgroup = stat->st_ino;
	ret->cgroup_subsys = controller_index(options);
	if (ret->cgroup_subsys >= 0)
		return 0;
	fail_plain(-ENOTSUP, "cgroup '%s': the v1 hierarchy '%s' has no controller to filter by", path, search.options);
	return fail_hint(-ENOTSUP, "name the group in the v2 tree or under a controller such as cpu or memory");
}

/* ---- paths ---- */

struct cgroups {
	int mount; /* of the v2 tree; negative: there is none */
	char point[4096];
	struct map paths; /* id to number of the path; 0: it was gone when it was asked for */
	struct intern *strings;
};

static bool match_point(const struct mount_line *mount, void *arg)
{
	struct cgroups *cgroups = arg;

	if ((size_t)snprintf(cgroups->point, sizeof(cgroups->point), "%s", mount->point) >= sizeof(cgroups->point))
		return false;
	cgroups->mount = open(cgroups->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cgroups->mount >= 0;
}

int cgroups_new(struct cgroups **ret)
{
	struct cgroups *cgroups = calloc(1, sizeof(*cgroups));

	if (!cgroups)
		return -ENOMEM;
	*ret = cgroups;
	cgroups->mount = -1;
	find_mount("cgroup2", match_point, cgroups);
	return intern_new(&cgroups->strings);
}

void cgroups_free(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	if (cgroups->mount >= 0)
		close(cgroups->mount);
	map_free(&cgroups->paths);
	intern_free(cgroups->strings);
	free(cgroups);
}

static uint32_t ask_path(struct cgroups *cgroups, uint64_t id)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE } };
	size_t below = strlen(cgroups->point);
	char link[64], path[4096];
	ssize_t len;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	autoclose int fd =
		cgroups->mount < 0 ? -1 : open_by_handle_at(cgroups->mount, &handle.head, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path));
	if (len < (ssize_t)below || strncmp(path, cgroups->point, below))
		return 0;
	return len == (ssize_t)below ? intern_text(cgroups->strings, "/")
				     : intern_bytes(cgroups->strings, path + below, (size_t)len - below);
}

const char *cgroups_path(struct cgroups *cgroups, uint64_t id, size_t *ret_len)
{
	uint64_t *known = map_get(&cgroups->paths, id);
	uint32_t path = known ? (uint32_t)*known : ask_path(cgroups, id);

	if (path == UINT32_MAX) /* no memory: it has no path */
		path = 0;
	if (!known && cgroups->paths.len < CGROUPS_MAX && (known = map_put(&cgroups->paths, id)))
		*known = path;
	return path ? intern_get(cgroups->strings, path, ret_len) : NULL;
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
	if (find_mount("cgroup2", match_v2, &search)) {
		ret->cgroup = search.stat.st_ino;
		return 0;
	}
	fail_plain(-ENOENT, "cgroup '%s': no such group", path);
	return fail_hint(-ENOENT, "give a directory below a cgroup mount, or a path as in /proc/PID/cgroup");
}
