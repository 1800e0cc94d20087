/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The path of a file from its directory entries, across mounts: names from the leaf up. User space turns it round. */
#ifndef WICK_BPF_PATH_H
#define WICK_BPF_PATH_H

#include "bpf/kernel.h"
#include "bpf/wire.h"

#define PATH_NAMES 48 /* more than any real path has; a deeper one loses its beginning */
#define PATH_NAME_LEN 256

enum path_user {
	PATH_FILE = 0,
	PATH_NOTICE = 1, /* may be interrupted by the other */
	PATH_USERS,
};

/* Where a path is put together, inside the record that it is sent in. */
struct path_scratch {
	__u64 dentry;
	__u64 mount;
	__u32 used;
	__u32 busy; /* PATH_NOTICE: from its beginning until it is sent */
	union {
		struct wire_file file;
		struct wire_notice notice;
	};
	char slack[PATH_NAME_LEN]; /* the last name may begin at the end */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PATH_USERS);
	__type(key, __u32);
	__type(value, struct path_scratch);
} path_scratches SEC(".maps");

/* Adds one name and goes one up. 0 to go on. */
__attribute__((noinline)) int path_step(__u32 which)
{
	struct path_scratch *p = bpf_map_lookup_elem(&path_scratches, &which);
	struct dentry *dentry, *parent;
	struct mount *mount, *above;
	__u64 used;
	long len;

	if (!p)
		return 1;
	dentry = (void *)p->dentry;
	mount = (void *)p->mount;
	parent = BPF_CORE_READ(dentry, d_parent);
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		above = BPF_CORE_READ(mount, mnt_parent);
		p->dentry = (__u64)BPF_CORE_READ(mount, mnt_mountpoint);
		p->mount = (__u64)above;
		return above == mount;
	}
	used = p->used & (WIRE_PATH_LEN - 1);
	len = bpf_probe_read_kernel_str((which == PATH_NOTICE ? p->notice.path : p->file.path) + used, PATH_NAME_LEN,
					BPF_CORE_READ(dentry, d_name.name));
	if (len <= 0)
		return 1;
	p->used = used + len;
	p->dentry = (__u64)parent;
	return dentry == parent || p->used > WIRE_PATH_LEN - PATH_NAME_LEN;
}

/* Reads the path of a file into the record of `which`; its length is in `used`. */
static __always_inline struct path_scratch *path_of(__u32 which, struct file *file)
{
	struct path_scratch *p = bpf_map_lookup_elem(&path_scratches, &which);

	if (!p)
		return NULL;
	p->used = 0;
	p->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	p->mount = (__u64)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	for (int i = 0; i < PATH_NAMES; i++)
		if (path_step(which))
			break;
	return p;
}

/* As the verifier wants to see it: never more than there is room for. */
static __always_inline __u64 path_len(const struct path_scratch *p)
{
	__u64 len = p->used;

	asm volatile("" : "+r"(len));
	return len > WIRE_PATH_LEN ? WIRE_PATH_LEN : len;
}

#endif
