/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The path of a file from its directory entries, across mounts, as names from the leaf up. User space turns it round. */
#ifndef WICK_BPF_PATH_H
#define WICK_BPF_PATH_H

#include "bpf/kernel.h"
#include "bpf/wire.h"

#define PATH_NAMES 48 /* more than any real path has; a deeper one loses its beginning */
#define PATH_NAME_LEN 256

/* `names` has room for WIRE_PATH_LEN bytes and PATH_NAME_LEN more. Returns the bytes used. */
static __always_inline __u32 path_read(char *names, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *vfsmount = BPF_CORE_READ(file, f_path.mnt);
	struct mount *mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	__u64 used = 0;

	for (int i = 0; i < PATH_NAMES; i++) {
		struct dentry *root = BPF_CORE_READ(mount, mnt.mnt_root), *parent = BPF_CORE_READ(dentry, d_parent);
		long len;

		if (dentry == root) {
			struct mount *above = BPF_CORE_READ(mount, mnt_parent);

			if (above == mount)
				break;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		used &= WIRE_PATH_LEN - 1;
		len = bpf_probe_read_kernel_str(names + used, PATH_NAME_LEN, BPF_CORE_READ(dentry, d_name.name));
		if (len <= 0)
			break;
		used += len;
		if (dentry == parent || used > WIRE_PATH_LEN - PATH_NAME_LEN)
			break;
		dentry = parent;
	}
	return used;
}

#endif
