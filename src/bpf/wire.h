/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What crosses between the kernel and user space, and nothing else: the only header both sides include.
 * Fixed-size integers, no padding holes; sizes are asserted below.
 *
 * A stack crosses once, as a record in the ring, under a 64-bit id that is a keyed hash of its frames. After that only
 * its id does, in count keys and events.
 */
#ifndef WICK_BPF_WIRE_H
#define WICK_BPF_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define WIRE_COMM_LEN 16
#define WIRE_USER_FRAMES 1024 /* user frames in a stack, without the note at its root */
#define WIRE_KERNEL_FRAMES 127
#define WIRE_PATH_LEN 4096
#define WIRE_GENERATIONS 2

enum wire_counter {
#define COUNTER(group, name, text) WIRE_##group##_##name,
#include "counters.def"
#undef COUNTER
	WIRE_COUNTERS
};

/* The address of a frame is the one to look up: the instruction running, or inside the call that was made. */
enum wire_frame_kind {
	WIRE_FRAME_FILE = 0, /* owner: file id; address: offset in the file */
	WIRE_FRAME_ANON = 1, /* owner: process id; address in code without a file, such as a JIT's */
	WIRE_FRAME_VDSO = 2, /* owner: process id; address: offset in the vDSO */
	WIRE_FRAME_CUT = 3,  /* owner: 0; address: enum wire_counter of group cut. Root-most, if there is one */
	WIRE_FRAME_KINDS
};

struct wire_frame {
	__u64 owner;
	__u64 where; /* kind in the top byte, address below it */
};

#define WIRE_WHERE(kind, address) ((__u64)(kind) << 56 | (0x00ffffffffffffffULL & (address)))
#define WIRE_KIND(where) ((__u32)((where) >> 56))
#define WIRE_ADDRESS(where) (0x00ffffffffffffffULL & (where))

/* Where a count came from; more to come beside the clock. */
enum wire_source {
	WIRE_SOURCE_CPU = 0,
};

/* What is counted. What was not asked for is zero, so that keys stay few. */
struct wire_key {
	__u64 user;   /* id of the user stack, 0 for none */
	__u64 kernel; /* id of the kernel stack, 0 for none */
	__u64 start;  /* of the process, ns since boot: with pid its identity, since pids are used again */
	__u64 cgroup; /* id in the v2 hierarchy */
	__u32 pid;    /* in the name space of the caller; 0: not visible there */
	__u32 tid;
	__u32 source;
	__u32 reserved;
	char comm[WIRE_COMM_LEN];
};

/* Records in the ring. Each begins with its type. */
enum wire_type {
	WIRE_USER_STACK = 1,
	WIRE_KERNEL_STACK,
	WIRE_FILE,
	WIRE_EXEC,
	WIRE_FORK,
	WIRE_EXIT,
	WIRE_EARLY,
	WIRE_GROUP,
	WIRE_PROGRAM,
};

struct wire_user_stack { /* followed by count frames, leaf first */
	__u32 type;
	__u32 count;
	__u64 id;
};

struct wire_kernel_stack { /* followed by count addresses, leaf first */
	__u32 type;
	__u32 count;
	__u64 id;
};

/* What the kernel knows a file by. Not ctime: unlinking changes it. */
struct wire_file_key {
	__u64 device;
	__u64 inode;
	__u64 generation;
	__u64 mtime_sec;
	__u64 mtime_nsec;
	__u64 size;
	__u64 owner; /* uid: on some file systems all else can be made the same by whoever owns one of two files */
};

/*
 * Whose budget is charged for a process: its user's. A user name space and all that is below it belong to the user who
 * made it, whatever uids it has; one that root made is a user of its own.
 */
#define WIRE_USER_ROOT 0
#define WIRE_USER_NAMESPACE(inum) (1ULL << 32 | (inum))

/* Where a file is, as far as it matters who can hold up, or write, what is there. */
struct wire_place {
	__u32 magic; /* of the file system */
	__u32 level; /* of the user name space that it was mounted in: 0 is the first, root's */
};

/* A file met for the first time, with one place where it is mapped. */
struct wire_file {
	__u32 type;
	__u32 pid; /* in the name space of the caller; 0: not visible there */
	__u64 id;  /* keyed hash of key: what frames carry */
	struct wire_file_key key;
	__u64 vm_start;
	__u64 vm_end;
	__u64 vm_offset; /* in the file, bytes */
	__u64 user;      /* of the process: whose budget it is */
	struct wire_place place;
	__u32 mode;
	__u32 links; /* names that the file has */
	__u32 mount; /* inode of the process's mount name space, in which the path is meant */
	__u32 path_len;
	char path[WIRE_PATH_LEN]; /* names, leaf first, each ended by NUL; sent up to path_len */
};

/* A cgroup met for the first time, by a sample or by a program that begins in it. */
struct wire_group {
	__u32 type;
	__u32 reserved;
	__u64 id; /* in the v2 hierarchy */
};

/* A program that nobody has met begins: its file can be opened by now, and may be gone soon. */
struct wire_program {
	__u32 type;
	__u32 pid;
	__u64 id; /* of the file */
	__u64 user;
	struct wire_place place;
};

/* One sample in time, in a ring of its own. Its key is wire_hash_key of the struct wire_key that was counted. */
struct wire_event {
	__u64 when; /* cpu in the top 16 bits, microseconds since boot (monotonic) below */
	__u64 key;
};

#define WIRE_EVENT_CPU(when) ((__u32)((when) >> 48))
#define WIRE_EVENT_US(when) (0x0000ffffffffffffULL & (when))

/* A process began, changed its program, or ended. */
struct wire_notice {
	__u32 type; /* WIRE_EXEC, WIRE_FORK, WIRE_EXIT */
	__u32 pid;
	__u32 parent; /* WIRE_FORK only */
	__u32 path_len;
	__u64 start;
	__u64 parent_start; /* WIRE_FORK only */
	__u64 cgroup;
	char comm[WIRE_COMM_LEN];
	char path[WIRE_PATH_LEN]; /* WIRE_EXEC only: of the program, as in struct wire_file */
};

/* Counters of one CPU in one generation. User space clears those of the generation it has drained. */
struct wire_counters {
	__u64 value[WIRE_COUNTERS];
} __attribute__((aligned(64)));

/*
 * Counts of one CPU in one generation, each in the place that its key's hash gives it; what finds its place taken is
 * counted with those of all CPUs. Mapped and cleared as the counters are.
 */
#define WIRE_TALLIES 512 /* a power of two */

struct wire_tally { /* a key and its count, in one line of the cache */
	union {
		struct wire_key key; /* but for what is reserved there */
		struct {
			__u64 words[5];
			__u32 source;
			__u32 count;
		};
	};
};

struct wire_tallies {
	struct wire_tally items[WIRE_TALLIES];
};

/* What user space tells a CPU, what the CPU remembers between ticks, and what it has counted. Mapped. */
struct wire_cpu {
	__u64 period_ns; /* between ticks now; 0: not known, nothing is estimated */
	__u32 phase;     /* changes when period_ns does */
	__u32 seen_phase;
	__u64 last_ns;
	__u64 first_ns; /* of the first tick */
	struct wire_counters counters[WIRE_GENERATIONS];
} __attribute__((aligned(64)));

/*
 * How to find the caller of a frame, for a run of instructions. Registers are numbered as DWARF does; saved ones are in
 * memory at the CFA plus an offset, or at the frame pointer plus one where their bit in from_fp is set.
 */
enum wire_rule_kind {
	WIRE_RULE_NONE = 0, /* nothing is known here: another way has to be found */
	WIRE_RULE_REGISTER, /* CFA = register + offset */
	WIRE_RULE_DEREF,    /* CFA = *(register + offset) + offset2 */
	WIRE_RULE_PLT,      /* CFA = stack pointer + 8, and 8 more where the low bits of the address reach offset2 */
	WIRE_RULE_SIGNAL,   /* a signal's frame: all registers are in memory */
	WIRE_RULE_ROOT,     /* there is no caller */
	WIRE_RULE_ODD,      /* something that is not understood */
	WIRE_RULE_KINDS
};

enum wire_save { /* registers that a caller may need back, in the order of saves[] */
		 WIRE_SAVE_FP,
		 WIRE_SAVE_BX,
		 WIRE_SAVE_R12,
		 WIRE_SAVE_R13,
		 WIRE_SAVE_R14,
		 WIRE_SAVE_R15,
		 WIRE_SAVES
};

#define WIRE_NOT_SAVED (-32768)
#define WIRE_RA_IN_REGISTER 1
#define WIRE_RULE_SAVES 2
#define WIRE_FP_IN_REGISTER 4
#define WIRE_RULE_PLAIN \
	16 /* CFA from the stack or frame pointer, return address right below it, all else from the CFA */
#define WIRE_RULE_SWITCHES 8 /* the caller is on another stack, wherever that is; if the frame pointer is 0, nowhere */

struct wire_rule {
	__u8 kind;
	__u8 reg;
	__u8 flags;   /* WIRE_RA_IN_REGISTER, …: ra_offset, saves[0] are numbers of registers; WIRE_RULE_SAVES */
	__u8 from_fp; /* bit i: saves[i] is relative to the frame pointer */
	__s32 offset;
	__s16 offset2;
	__s16 ra_offset; /* of the return address from the CFA */
	__s16 saves[WIRE_SAVES];
};

/*
 * Unwind tables. A file's code is cut into pages of 64 KiB; the rows of a page are two runs of 16-bit cells in a slab:
 * offsets in the page, ascending, the first always 0, and then as many numbers of rules.
 */
#define WIRE_PAGE_SHIFT 16
#define WIRE_SLAB_CELLS (128 << 10)
#define WIRE_RULES_MAX 32768
#define WIRE_PAGES_MAX 32768

struct wire_slab {
	__u16 cells[WIRE_SLAB_CELLS];
};

struct wire_page {
	__u32 slab;
	__u32 start; /* cell */
	__u32 count; /* rows; 0: none */
	__u32 used;  /* epoch in which it was last searched */
};

#define WIRE_TABLE_UNKNOWN 0xffffffff /* of a file that nobody has looked at yet */
#define WIRE_TABLE_VDSO 1             /* in place of a file's id: the table of the vDSO */
#define WIRE_TABLE_JIT 0xffffffff  /* as its pages, with id 0: memory in which a process puts code of its own making */
#define WIRE_TABLE_ID_MAX 0xffffff /* a key of cached rows has so many bits for it */
#define WIRE_TABLE_OFFSETS 32      /* and for an offset in a file */

struct wire_table {
	__u32 id;          /* never used again for another table; 0: the file has none */
	__u32 first_index; /* in the array of pages */
	__u32 first_page;  /* of the file */
	__u32 pages;
};

enum wire_unwind {
	WIRE_UNWIND_AUTO = 0, /* rows, and frame pointers where there are none */
	WIRE_UNWIND_FP,
	WIRE_UNWIND_TABLE,
	WIRE_UNWIND_OFF, /* the leaf alone */
};

/* What hardly ever is so goes out of the way: at a hundred runs a second, no code is in the caches. */
#define WIRE_RARE(x) __builtin_expect(!!(x), 0)

/* Registers by DWARF's numbers. In a caller only those that calls preserve mean anything. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define STEP_FP 29
#define STEP_SP 31
#define STEP_IP 32
#define STEP_REGISTERS 33
#else
#define STEP_FP 6
#define STEP_SP 7
#define STEP_IP 16
#define STEP_REGISTERS 17
#endif

struct step_regs {
	__u64 r[STEP_REGISTERS];
};

/*
 * A sample in a file whose table is not there yet: everything that is needed to unwind it later, whether or not its
 * process still exists. User space does that, with the same steps, and counts it.
 */
#define WIRE_EARLY_MAPS 192
#define WIRE_EARLY_STACK (64 << 10)
#define WIRE_EARLY_REGISTERS 34

struct wire_early_map {
	__u64 start, end;
	__u64 owner;  /* of frames in it */
	__u64 offset; /* what to add to an address to have the frame's */
	__u64 kind;
};

struct wire_early { /* followed by stack_len bytes of the stack */
	__u32 type; /* WIRE_EARLY */
	__u32 maps_len;
	__u64 when; /* as in struct wire_event */
	struct wire_key key;
	__u64 process;
	__u64 user;
	__u64 stack_root; /* address at which the first thread's stack began */
	__u64 registers[WIRE_EARLY_REGISTERS];
	__u64 stack_start; /* address of its first byte */
	__u64 stack_len;
	struct wire_early_map maps[WIRE_EARLY_MAPS];
};

/* What to do, fixed when the program is loaded. */
struct wire_settings {
	__u64 seed;          /* of all hashes */
	__u64 cgroup;        /* id of the one asked for, or 0 */
	__s32 cgroup_subsys; /* index of its v1 controller; -1: the v2 hierarchy */
	__u32 cpus;          /* possible ones */
	__u32 wakeup_bytes;  /* in a ring, before user space is woken */
	__u8 by_pid, by_tid, by_comm;
	__u8 keep_idle, keep_self;
	__u8 user, kernel; /* which stacks */
	__u8 threads;      /* tell threads apart */
	__u8 want_events;
	__u8 children; /* follow the descendants of pids */
	__u8 no_tree;  /* the tree of mappings cannot be read: frames are addresses, user space finds their mappings */
	__u8 by_cgroup_map, by_mount_map; /* only what is in a map that someone else keeps */
	__u8 unwind;                      /* enum wire_unwind */
	__u8 tallies;                     /* each CPU has its own */
	__u8 filtered;                    /* by any of all those: else it is one dead piece that the kernel takes out */
	__u8 reserved[4];
	__u32 max_stacks, max_files;   /* entries of `known` and `files` */
	__u32 ring_bytes, early_bytes; /* of the rings for stacks and for early samples */
};

#define WIRE_WORKERS 8

/* What changes while it runs. Mapped. */
struct wire_session {
	__u32 generation;
	__u32 self_tgid;             /* wick's own, as the kernel counts pids */
	__u32 ns_level;              /* of the caller's pid name space */
	__u32 ns_inum;               /* and which one of that level it is */
	__u32 command;               /* pid of the command to start with its exec; 0: none, or started */
	__u32 epoch;                 /* for marking pages as used */
	__u32 tables;                /* changes whenever the tables do */
	__u32 stacks;                /* entries of `known` that are in use, */
	__u32 files;                 /* and of `files` */
	__u32 workers[WIRE_WORKERS]; /* pids of wick's other processes */
	__u32 reserved;
};

/* Which of wick's processes asks the kernel side about itself: each has its own answer. */
enum wire_asker {
	WIRE_ASKER_SELF = 0,
	WIRE_ASKER_HELPER, /* and those that follow */
	WIRE_ASKERS = 3,
};

/* The question: what is mapped at an address, and what is open as a descriptor (negative: not asked). */
struct wire_query {
	__u64 address;
	__s64 fd;
	__u64 asker;
};

struct wire_look {
	__u64 start; /* 0: nothing is mapped there */
	__u64 end;
	__u64 offset; /* in the file, of the address */
	__u64 id;     /* of the file, as frames carry it; 0: none */
	__u32 kind;
	__u32 executable;
	__u64 owner;              /* of the file */
	struct wire_place place;  /* of the file that is mapped */
	struct wire_place opened; /* of the one that was opened: another where one file system is stacked on another */
	__u32 mode;
	__u32 links;
};

/* What a user has taken of what all share. */
struct wire_usage {
	__u32 stacks;
	__u32 files;
	__u32 generation; /* in which the following was taken */
	__u32 ring_bytes;
	__u32 early_bytes;
	__u32 reserved;
};

/*
 * Whether a user may take more of something, of which all users together have `taken`: the last quarter of all there is
 * remains for those who have little. Root may take what there is.
 */
#define WIRE_USER_LITTLE 64
#define WIRE_USER_MAY(user, own, taken, max) \
	((user) == WIRE_USER_ROOT || (taken) < (max) - (max) / 4 || (own) < (max) / 16 || (own) < WIRE_USER_LITTLE)

/* Questions about the names of kernel addresses: as many at a time. */
#define WIRE_NAMES 64
#define WIRE_NAME_LEN 256

struct wire_name {
	__u64 address;
	char text[WIRE_NAME_LEN]; /* name+0xoffset/0xsize [module] */
};

/* Both sides hash with this: a mix of 64-bit words under a random key for each run. */
static inline __attribute__((always_inline)) __u64 wire_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ULL;
	return hash ^ hash >> 32;
}

/* The id of a stack, frame by frame, from the root to the leaf. What is multiplied depends on the run as well, so that
 * no frames can be made up whose words cancel out. */
static inline __attribute__((always_inline)) __u64 wire_mix_frame(__u64 seed, __u64 hash, __u64 owner, __u64 where)
{
	return wire_mix(hash, where ^ owner * (seed | 1));
}

static inline __attribute__((always_inline)) __u64 wire_hash_key(__u64 seed, const struct wire_key *key)
{
	for (unsigned int i = 0; i < sizeof(*key); i += 8) {
		__u64 word;

		__builtin_memcpy(&word, (const char *)key + i, sizeof(word));
		seed = wire_mix(seed, word);
	}
	return seed;
}

/* A process in one word: its pid, and its start in units of about a microsecond, which tells users of one pid apart. */
static inline __attribute__((always_inline)) __u64 wire_process_id(__u32 pid, __u64 start)
{
	return (__u64)pid << 32 | (__u32)(start >> 10);
}

#define WIRE_PROCESS_PID(id) ((__u32)((id) >> 32))

_Static_assert(sizeof(struct wire_frame) == 16, "");
_Static_assert(sizeof(struct wire_key) == 64, "");
_Static_assert(sizeof(struct wire_tally) == 64, "");
_Static_assert(sizeof(struct wire_user_stack) == 16, "");
_Static_assert(sizeof(struct wire_kernel_stack) == 16, "");
_Static_assert(sizeof(struct wire_file_key) == 56, "");
_Static_assert(sizeof(struct wire_file) == 128 + WIRE_PATH_LEN, "");
_Static_assert(sizeof(struct wire_group) == 16, "");
_Static_assert(sizeof(struct wire_program) == 32, "");
_Static_assert(sizeof(struct wire_event) == 16, "");
_Static_assert(sizeof(struct wire_name) == 264, "");
_Static_assert(sizeof(struct wire_rule) == 24, "");
_Static_assert(sizeof(struct wire_page) == 16, "");
_Static_assert(sizeof(struct wire_table) == 16, "");
_Static_assert(sizeof(struct wire_early) == 8 + 8 + 64 + 24 + WIRE_EARLY_REGISTERS * 8 + 16 + WIRE_EARLY_MAPS * 40, "");
_Static_assert(sizeof(struct wire_settings) == 64, "");
_Static_assert(sizeof(struct wire_session) == 72, "");
_Static_assert(sizeof(struct wire_look) == 72, "");
_Static_assert(sizeof(struct wire_usage) == 24, "");
_Static_assert(sizeof(struct wire_notice) == 56 + WIRE_PATH_LEN, "");

#endif
