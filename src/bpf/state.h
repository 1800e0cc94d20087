/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What the kernel side keeps: the maps, the settings made before loading, and the scratch space of each CPU. All
 * programs of the object share it.
 */
#ifndef WICK_BPF_STATE_H
#define WICK_BPF_STATE_H

#include "bpf/kernel.h"
#include "bpf/arch.h"
#include "bpf/wire.h"

#define WINDOW_WORDS 64  /* a power of two */
#define ROW_CACHE 512    /* a power of two */
#define MAPPINGS 8       /* of a process that are remembered; a power of two */
#define MAPPING_SETS 64  /* processes of which mappings are; a power of two */
#define TRUNK_FRAMES 128 /* a power of two */
#define TRUNKS 16        /* threads of which stacks are remembered; a power of two */

/* Set before loading, so what is not asked for is dead code to the verifier. */
const volatile struct wire_settings settings;

/* Set while running. */
struct wire_session session;

/* A mapping with code, as the frames in it need it. */
struct mapping {
	__u64 start;
	__u64 end;
	__u64 owner;  /* of frames in it */
	__u64 offset; /* what to add to an address to have the frame's */
	__u32 kind;
	__u32 executable;
	struct wire_table table;
};

/*
 * The mappings that the stacks of a process went through. They stay from sample to sample: a change of its mappings,
 * of its program, or of the unwind tables makes the set begin anew, and so does time, because nothing tells when a file
 * is written over.
 */
struct mapping_set {
	__u64 process;
	__u64 mm;
	__u64 program; /* counts the programs that the task has run: an mm may be found again at the same place */
	__u32 changes; /* of the mm, as the kernel counts them */
	__u32 tables;  /* session.tables */
	__u64 period;  /* of some seconds, in which it began */
	__u64 born;    /* when it began anew */
	__u32 next;    /* to be replaced */
	__u32 last;    /* found */
	struct mapping items[MAPPINGS];
};

/* A frame of a stack as the walk came to it. */
struct trunk_frame {
	__u64 ip; /* read right below sp */
	__u64 sp;
	__u64 fp;
	__s32 fp_at;    /* where it was read, from sp; 0: it was not, or does not matter */
	__u32 needs_fp; /* what follows depends on it */
};

/*
 * The last stack of a thread, from `first` to the end, which is its root. See trunk.h. What every sample looks at lies
 * close together: between two samples all of it leaves the caches, and each page costs a walk of the page tables.
 */
struct trunk {
	struct wire_frame names[TRUNK_FRAMES];
	struct trunk_frame frames[TRUNK_FRAMES];
	__u64 process;
	__u64 born; /* of the mappings that it was found by */
	__u32 epoch;
	__u32 first;
	__u64 hashes[TRUNK_FRAMES]; /* of all frames from the root to it */
};

/* The rules of the last addresses of a CPU: most stacks go through the same few. */
struct cached_row {
	__u64 key;
	struct wire_rule rule;
};

/*
 * Of each CPU, too large for the BPF stack. The verifier takes a function of one scalar that keeps its state
 * here, verifies it once and lets it be called in a plain loop, on every supported kernel.
 */
struct scratch {
	/* what every frame needs, close together */
	__u32 which;      /* of the scratches it is */
	__u32 generation; /* in which it counts */
	__u32 busy;
	__u32 cut; /* WIRE_cut_…, or 0 when the stack reached its root */
	__u32 frames;
	__u32 frames_fp;
	__u32 frames_row;
	__u32 exact;      /* the address is of the instruction itself, not of the one after a call */
	__u32 no_table;   /* of the frame's file, though it may have one later */
	__u32 early;      /* some frame's file had none */
	__u32 with_saves; /* the walk reads all registers that functions save */
	__u32 was_exact;  /* before the step */
	__u32 chained;    /* the frame was found by a frame pointer: its own is part of the chain */
	__u32 set;        /* of mappings */
	__u32 rooted;     /* the walk has seen the root, and that it is one */
	__u32 trunk;      /* of the thread */
	__u32 trunk_at;   /* its next frame that the walk may come to */
	__u32 trunk_from; /* the first frame of the walk that may be part of it */
	__u32 joined;     /* its frame where the walk has become one with it */
	__u32 trunk_compared;
	__u32 unsettled; /* frames that are not yet part of the hash */
	__u32 by_fp;     /* the last step was by a frame pointer that was believed */
	__u64 address;   /* to find */
	__u64 hash;
	__u64 old_fp;            /* of the frame that the step began with */
	__u64 where;             /* an offset in a file, */
	struct wire_table table; /* whose table is to be searched */
	__u64 mm;
	__u64 process;
	struct step_regs regs; /* of the frame: the stack, frame and instruction pointers, */
	__u32 all_regs;        /* or all of them */
	__u32 compat;          /* it is a 32-bit program */
	__u64 leaf_ip;
	__u64 now;
	struct wire_key key; /* of the sample */
	__u64 uprobe_at;     /* the next return that is probed; UPROBE_UNREAD */
	__u64 window_start;
	__u64 window[WINDOW_WORDS + 1]; /* of the stack; one more than is filled: reads are of two words at most */
	struct trunk_frame trunk_frames[TRUNK_FRAMES]; /* of the walk, the last ones */
	struct wire_user_stack user;
	struct wire_frame user_frames[WIRE_USER_FRAMES + 1];
	/* of what was found at the address last */
	__u64 vm_start, vm_end, vm_offset, vm_file;
	__u64 file_id;
	struct wire_file_key file_key;
	__u32 pid;
	__u32 reserved2;
	__u64 node[32];  /* of the tree of mappings */
	__u64 group;     /* the last cgroup that user space was told of */
	__u64 early_vma; /* to be looked at */
	__u64 early_maps;
	__u64 early_next;                              /* where to go on */
	__u64 leaf[16];                                /* mappings of a leaf of the tree */
	struct wire_rule rule;                         /* whose saved registers are to be read */
	__u64 uprobe_stack, uprobe_return, uprobe_now; /* of the one that was read last */
	struct arch_regs saved;                        /* of the leaf */
	__u32 kernel_mixed, reserved3;
	struct wire_kernel_stack kernel;
	__u64 kernel_frames[WIRE_KERNEL_FRAMES + 1];
	/* what stays from sample to sample */
	struct cached_row rows[ROW_CACHE];
	struct mapping_set sets[MAPPING_SETS];
	struct trunk trunks[TRUNKS];
};

/* One for each CPU, and one for each asker (enum wire_asker). The number of it is called `which`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Counts of each generation. Preallocated: nothing is allocated in an interrupt. */
struct counts {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct wire_key);
	__type(value, __u64);
};

struct counts counts_0 SEC(".maps");
struct counts counts_1 SEC(".maps");

/* No program reads it. An update of a map of maps returns when every program has ended that ran before it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, __u32);
		});
} grace SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} grace_inner SEC(".maps");

/* Ids of stacks that user space has (KNOWN_SENT), or that are being sent to it. */
enum {
	KNOWN_BEGUN = 0,
	KNOWN_SENT = 1,
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u32);
} known SEC(".maps");

/* What users have taken, of those that have taken something lately. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct wire_usage);
} users SEC(".maps");

/* Cgroups that user space was told of lately. Those that it has forgotten are told again: user space remembers more. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

/* Unwind tables by file; their pages, rules and rows. User space writes them, through its own mappings. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct wire_table);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_PAGES_MAX);
	__type(key, __u32);
	__type(value, struct wire_page);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_RULES_MAX);
	__type(key, __u32);
	__type(value, struct wire_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 256);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct wire_slab));
		});
} slabs SEC(".maps");

/* Ids of files that user space was told of. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u32);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* Of (generation, CPU): index generation * cpus + cpu. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_GENERATIONS);
	__type(key, __u32);
	__type(value, struct wire_tallies);
} tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_cpu);
} cpus SEC(".maps");

/* Processes asked for: pid to start time, 0 for any. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pids SEC(".maps");

/* Threads asked for: tid to start time, in ticks of the user's clock, since tids are used again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, char[WIRE_COMM_LEN]);
	__type(value, __u32);
} comms SEC(".maps");

/* Ids of cgroups, and inodes of mount name spaces. Replaced by maps that someone else keeps, if that is asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} cgroup_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} mount_ids SEC(".maps");

static __always_inline struct wire_counters *counters_of(__u32 generation)
{
	__u32 index = bpf_get_smp_processor_id();
	struct wire_cpu *cpu = bpf_map_lookup_elem(&cpus, &index);

	return cpu ? &cpu->counters[generation & 1] : NULL;
}

#endif
