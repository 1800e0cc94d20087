/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The kernel as wick sees it: every structure and field that the BPF side reads, and no other. Offsets are fitted to
 * the running kernel when the program is loaded (CO-RE), so only names and types matter here, and the build machine
 * needs no BTF. A type with ___ in its name is the same kernel type as it was, or will be, in other versions.
 */
#ifndef WICK_BPF_KERNEL_H
#define WICK_BPF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

/* From the user-space interface of bpf(2), which never changes. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

enum {
	EEXIST = 17,
	E2BIG = 7,
};

enum {
	PF_KTHREAD = 0x00200000,
	PF_IO_WORKER = 0x00000010,
	VM_EXEC = 0x4,
	PAGE_SHIFT = 12,
};

/* Helpers that older kernels do not have: asked for by name. */
enum bpf_func_id___wick {
	BPF_FUNC_task_pt_regs___wick = 175,
	BPF_FUNC_get_current_task_btf___wick = 158,
	BPF_FUNC_snprintf___wick = 165,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct kuid___wick {
	unsigned int val;
};

struct user_namespace {
	struct user_namespace *parent;
	int level;
	struct kuid___wick owner;
	struct ns_common ns;
};

struct cred {
	struct kuid___wick uid;
	struct user_namespace *user_ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct maple_tree {
	void *ma_root;
};

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct file;

struct mm_struct {
	struct maple_tree mm_mt; /* 6.1 and later */
	struct file *exe_file;
	unsigned long start_stack;
};

struct mm_struct___rb { /* until 6.0 */
	struct rb_root mm_rb;
	struct vm_area_struct *mmap;
};

/* What the kernel counts up whenever it has changed the mappings. Odd, on the later ones, while it does. */
struct seqcount {
	unsigned int sequence;
};

struct mm_struct___seq { /* 6.13 and later */
	struct seqcount mm_lock_seq;
};

struct mm_struct___changes { /* 6.4 to 6.12 */
	int mm_lock_seq;
};

/* Where the vDSO is: the type of the member differs by architecture, its name does not. */
struct mm_context___vdso {
	void *vdso;
};

struct mm_struct___vdso {
	struct mm_context___vdso context;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct vm_area_struct___rb {
	struct rb_node vm_rb;
	struct vm_area_struct *vm_next;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
	struct user_namespace *s_user_ns;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode {
	unsigned short i_mode;
	struct kuid___wick i_uid;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	__u32 i_generation;
	__s64 i_size;
	__s64 i_mtime_sec; /* 6.11 and later */
	__u32 i_mtime_nsec;
};

struct inode___mid { /* 6.7 to 6.10 */
	struct timespec64 __i_mtime;
};

struct inode___old { /* until 6.6 */
	struct timespec64 i_mtime;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct atomic___wick {
	int counter;
};

struct signal_struct {
	struct atomic___wick live;
};

struct return_instance { /* a function whose return is probed */
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr; /* of the probed instruction, and of the copy that runs in its place */
	unsigned long xol_vaddr;
	void *active_uprobe;
};

struct task_struct {
	unsigned int flags;
	void *stack;
	struct mm_struct *mm;
	int pid;
	int tgid;
	unsigned int in_execve : 1;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	__u64 start_boottime;
	__u64 self_exec_id;
	struct css_set *cgroups;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	const struct cred *real_cred;
	struct files_struct *files;
	struct uprobe_task *utask;
	char comm[16];
};

#pragma clang attribute pop

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#endif
