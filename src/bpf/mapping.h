/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * From an address to what is mapped there, by reading the kernel's own tree of mappings without its lock. Nodes may
 * change or vanish under us: every read is bounded and checked, and what is found counts only if it covers the address
 * and belongs to the process, before and after its file was read.
 */
#ifndef WICK_BPF_MAPPING_H
#define WICK_BPF_MAPPING_H

#include "bpf/path.h"
#include "bpf/state.h"
#include "bpf/task.h"
#include "bpf/user.h"

/* The maple tree, 6.1 and later: 256-byte nodes, their type in bits 3 to 6 of the pointers to them. */
enum {
	MAPLE_LEAF_64 = 1,
	MAPLE_ARANGE_64 = 3,
	MAPLE_DEPTH = 8,
	MAPLE_PIVOTS = 15,
	MAPLE_SLOTS = 16,
	MAPLE_ARANGE_SLOTS = 10,
	MAPLE_NODE_SIZE = 256,
	MAPLE_RESERVED = 4096, /* entries up to here are not pointers */
};

#define RB_DEPTH 40

/*
 * The slot for an address: the first whose pivot is not below it. Pivots ascend, those not in use are zero. Counted
 * without a branch, because each branch here would double what the verifier has to follow.
 */
static __always_inline __u64 mapping_slot(const __u64 *node, __u64 address, __u64 arange)
{
	__u64 last = address - 1, slot = 0, wide = 1 - arange;

	for (int i = 0; i < MAPLE_PIVOTS; i++) {
		__u64 pivot = node[1 + i] - 1; /* zero becomes the highest */
		__u64 below = ((pivot - last) & ~pivot) >> 63;

		asm volatile("" : "+r"(below));
		slot += i < MAPLE_ARANGE_SLOTS - 1 ? below : below & wide;
	}
	return slot;
}

/* 1 if the node has ranges and gaps, and so fewer slots; 0 otherwise. Without a branch, too. */
static __always_inline __u64 mapping_is_arange(__u64 type)
{
	__u64 is = ((type ^ MAPLE_ARANGE_64) - 1) >> 63;

	asm volatile("" : "+r"(is));
	return is;
}

/* Where the slots of a node begin, in words: behind its parent and pivots. As many slots as that. */
static __always_inline __u64 mapping_slots(__u64 arange)
{
	return MAPLE_SLOTS - arange * (MAPLE_SLOTS - MAPLE_ARANGE_SLOTS);
}

static __always_inline __u64 mapping_type(__u64 entry)
{
	return entry >> 3 & 15;
}

/* Reads the node of an entry into the scratch. The slot for the address, or negative: there is no such node. */
__attribute__((noinline)) int mapping_node(__u32 which, __u64 entry, __u64 address)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	__u64 type = mapping_type(entry);

	if (!s || !type || bpf_probe_read_kernel(s->node, MAPLE_NODE_SIZE, (void *)(entry & ~255ULL)))
		return -1;
	return mapping_slot(s->node, address, mapping_is_arange(type));
}

static __always_inline struct vm_area_struct *mapping_in_maple(struct scratch *s, __u32 which)
{
	struct mm_struct *mm = (void *)s->mm;
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	for (int depth = 0; depth < MAPLE_DEPTH; depth++) {
		__u64 type = mapping_type(entry);
		int slot;

		if (entry <= MAPLE_RESERVED)
			return NULL;
		if (!depth && (entry & 3) != 2) /* a tree of one entry has no node */
			return (void *)entry;
		slot = mapping_node(which, entry, s->address);
		if (slot < 0)
			return NULL;
		entry = s->node[(mapping_slots(mapping_is_arange(type)) + slot) & 31];
		if (type == MAPLE_LEAF_64)
			return (void *)entry;
	}
	return NULL;
}

/* The red-black tree of earlier kernels. */
static __always_inline struct vm_area_struct *mapping_in_rb(struct scratch *s)
{
	struct mm_struct___rb *mm = (void *)s->mm;
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	__u64 address = s->address;

	for (int depth = 0; depth < RB_DEPTH; depth++) {
		struct vm_area_struct *vma;

		if (!node)
			return NULL;
		vma = (void *)node - bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);
		if (address < BPF_CORE_READ(vma, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else if (address >= BPF_CORE_READ(vma, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else
			return vma;
	}
	return NULL;
}

static __always_inline void mapping_file_key(struct wire_file_key *key, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->size = BPF_CORE_READ(inode, i_size);
	key->owner = BPF_CORE_READ(inode, i_uid.val);
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		key->mtime_sec = BPF_CORE_READ(inode, i_mtime_sec);
		key->mtime_nsec = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(((struct inode___mid *)inode)->__i_mtime)) {
		key->mtime_sec = BPF_CORE_READ((struct inode___mid *)inode, __i_mtime.tv_sec);
		key->mtime_nsec = BPF_CORE_READ((struct inode___mid *)inode, __i_mtime.tv_nsec);
	} else {
		key->mtime_sec = BPF_CORE_READ((struct inode___old *)inode, i_mtime.tv_sec);
		key->mtime_nsec = BPF_CORE_READ((struct inode___old *)inode, i_mtime.tv_nsec);
	}
}

static __always_inline __u64 mapping_file_id(const struct wire_file_key *key)
{
	__u64 id = settings.seed;

	id = wire_mix(id, key->device);
	id = wire_mix(id, key->inode);
	id = wire_mix(id, key->generation);
	id = wire_mix(id, key->mtime_sec);
	id = wire_mix(id, key->mtime_nsec);
	id = wire_mix(id, key->size);
	id = wire_mix(id, key->owner);
	return id ?: 1;
}

static __always_inline void mapping_place(struct wire_place *place, struct file *file)
{
	struct super_block *sb = BPF_CORE_READ(file, f_inode, i_sb);

	place->magic = BPF_CORE_READ(sb, s_magic);
	place->level = BPF_CORE_READ(sb, s_user_ns, level);
}

static __always_inline bool mapping_covers(struct scratch *s, struct vm_area_struct *vma)
{
	s->vm_start = BPF_CORE_READ(vma, vm_start);
	s->vm_end = BPF_CORE_READ(vma, vm_end);
	return s->address >= s->vm_start && s->address < s->vm_end && (__u64)BPF_CORE_READ(vma, vm_mm) == s->mm;
}

static __always_inline struct mapping_set *mapping_set(struct scratch *s)
{
	return &s->sets[s->set & (MAPPING_SETS - 1)];
}

/* How often the mappings of the mm have changed. False if the kernel does not tell, or is about to change them. */
static __always_inline bool mapping_changes(__u64 mm, __u32 *ret)
{
	struct mm_struct___seq *seq = (void *)mm;
	struct mm_struct___changes *changes = (void *)mm;

	*ret = 0;
	if (bpf_core_field_exists(seq->mm_lock_seq.sequence)) {
		*ret = BPF_CORE_READ(seq, mm_lock_seq.sequence);
		return !(*ret & 1);
	}
	if (!bpf_core_field_exists(changes->mm_lock_seq))
		return false;
	*ret = BPF_CORE_READ(changes, mm_lock_seq);
	return true;
}

/* Chooses the set of s->process for the stack that is to be walked, and empties it if it may be out of date. */
static __always_inline void mapping_begin(struct scratch *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 period = s->now >> 33, program = TASK_READ(task, self_exec_id);
	__u32 changes, tables = session.tables;
	__u64 other = !mapping_changes(s->mm, &changes);
	struct mapping_set *set;

	s->set = (s->process >> 32 ^ s->process >> 8) & (MAPPING_SETS - 1);
	set = mapping_set(s);
	other |= (set->process ^ s->process) | (set->mm ^ s->mm) | (set->program ^ program);
	other |= (set->changes ^ changes) | (set->tables ^ tables) | (set->period ^ period);
	if (!WIRE_RARE(other))
		return;
	set->process = s->process;
	set->mm = s->mm;
	set->program = program;
	set->changes = changes;
	set->tables = tables;
	set->period = period;
	set->born = s->now;
	set->next = 0;
	for (int i = 0; i < MAPPINGS; i++)
		set->items[i].start = set->items[i].end = 0;
}

/* The compiler knows that the index is in range and drops the check; the verifier, which does not, wants to see it. */
static __always_inline __u64 index_of_mapping(__u64 at)
{
	asm volatile("" : "+r"(at));
	return at & (MAPPINGS - 1);
}

/* Puts the mapping that is in the scratch into the next place of the set, whose index is returned. */
__attribute__((noinline)) int mapping_keep(__u32 which, __u64 flags)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct mapping_set *set;
	struct wire_table *table = NULL;
	struct mapping found = {};
	struct mm_struct *mm;
	__u64 at;

	if (!s)
		return -1;
	set = mapping_set(s);
	mm = (void *)s->mm;
	found.start = s->vm_start;
	found.end = s->vm_end;
	found.executable = flags & VM_EXEC;
	if (s->vm_file) {
		found.kind = WIRE_FRAME_FILE;
		found.owner = s->file_id;
		found.offset = s->vm_offset - found.start;
	} else if (found.start == (__u64)BPF_CORE_READ((struct mm_struct___vdso *)mm, context.vdso)) {
		found.kind = WIRE_FRAME_VDSO;
		found.owner = 0; /* the same code in every process */
		found.offset = -found.start;
		s->file_id = WIRE_TABLE_VDSO;
	} else {
		found.kind = WIRE_FRAME_ANON;
		found.owner = s->process;
	}
	if (found.kind != WIRE_FRAME_ANON) {
		table = bpf_map_lookup_elem(&tables, &s->file_id);
		if (table)
			found.table = *table;
		else
			found.table.id = WIRE_TABLE_UNKNOWN;
	}
	if (found.kind == WIRE_FRAME_FILE && !found.table.id && found.table.pages == WIRE_TABLE_JIT) {
		found.kind = WIRE_FRAME_ANON;
		found.owner = s->process;
		found.offset = 0;
	}
	at = index_of_mapping(set->next++);
	set->items[at] = found;
	return at;
}

/*
 * Finds the mapping of s->address. What is new goes into the next place of the set, whose index is returned; the
 * file's particulars stay in the scratch for whoever wants to announce it. Negative: nothing is mapped there.
 */
__attribute__((noinline)) int mapping_find(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct vm_area_struct *vma;
	struct mm_struct *mm;
	struct file *file;
	__u64 flags;

	if (!s)
		return -1;
	mm = (void *)s->mm;
	vma = bpf_core_field_exists(mm->mm_mt) ? mapping_in_maple(s, which) : mapping_in_rb(s);
	if (!vma || !mapping_covers(s, vma))
		return -1;
	flags = BPF_CORE_READ(vma, vm_flags);
	file = BPF_CORE_READ(vma, vm_file);
	s->vm_file = (__u64)file;
	s->vm_offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT;
	if (file) {
		mapping_file_key(&s->file_key, file);
		s->file_id = mapping_file_id(&s->file_key);
	}
	if (!mapping_covers(s, vma) || file != BPF_CORE_READ(vma, vm_file))
		return -1;
	return mapping_keep(which, flags);
}

#define MAPPING_FILES_EACH 1024 /* of one process: no one shall take all the room there is */

/* How many files were first met in a process, for those that were last to meet one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} finders SEC(".maps");

/* Takes room for one more file. 0; 1 if there is none; -1 if another CPU was faster. */
static __always_inline int mapping_take_room(struct scratch *s)
{
	__u32 *found = bpf_map_lookup_elem(&finders, &s->process), one = 1;
	struct wire_counters *c = counters_of(session.generation & 1);
	__u64 user = user_current();
	struct wire_usage *usage = user_usage(user);
	bool may = WIRE_USER_MAY(user, usage ? usage->files : 0, session.files, settings.max_files);

	if (may && (!found || *found < MAPPING_FILES_EACH) &&
	    !bpf_map_update_elem(&files, &s->file_id, &one, BPF_NOEXIST)) {
		if (found)
			++*found;
		else
			bpf_map_update_elem(&finders, &s->process, &one, BPF_ANY);
		__sync_fetch_and_add(&session.files, 1);
		if (usage)
			__sync_fetch_and_add(&usage->files, 1);
		return 0;
	}
	if (bpf_map_lookup_elem(&files, &s->file_id))
		return -1;
	if (c)
		c->value[may ? WIRE_note_files_full : WIRE_note_user_files]++;
	return 1;
}

/*
 * Tells user space of the file that mapping_find has just found. Its path is read only here. 1: nobody will know of it,
 * so that it has no table. Negative: it is to be tried again.
 */
__attribute__((noinline)) int mapping_announce(__u32 which)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct path_scratch *p;
	struct file *file;
	int room;

	if (!s)
		return 0;
	room = mapping_take_room(s);
	if (room)
		return room;
	file = (void *)s->vm_file;
	p = path_of(PATH_FILE, file);
	if (!p)
		return 0;
	p->file.type = WIRE_FILE;
	p->file.pid = s->pid;
	p->file.id = s->file_id;
	p->file.key = s->file_key;
	p->file.vm_start = s->vm_start;
	p->file.vm_end = s->vm_end;
	p->file.vm_offset = s->vm_offset;
	p->file.user = user_current();
	mapping_place(&p->file.place, file);
	p->file.mode = BPF_CORE_READ(file, f_inode, i_mode);
	p->file.links = BPF_CORE_READ(file, f_inode, i_nlink);
	p->file.mount = task_mount_id((void *)bpf_get_current_task());
	p->file.path_len = p->used;
	if (bpf_ringbuf_output(&ring, &p->file, __builtin_offsetof(struct wire_file, path) + path_len(p),
			       BPF_RB_FORCE_WAKEUP)) { /* the sooner its table is there, the better */
		bpf_map_delete_elem(&files, &s->file_id);
		return -1;
	}
	return 0;
}

#endif
