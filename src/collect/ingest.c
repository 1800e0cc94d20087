/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wire records become the profile. Ids of the kernel side (64-bit hashes) are turned into numbers of the profile at
 * once and kept in maps: stack, file, process and key. A user stack is a node; a kernel stack is kept as a list of
 * frames that is hung onto whichever user stack it was counted with.
 *
 * Invariant: a sample is in the profile exactly once for each count given in, whatever else is missing; what a count
 * refers to and was never sent shows as a frame that says so.
 */
#include "collect/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/programs.h"
#include "profile/profile.h"

#define PATH_TEXT (WIRE_PATH_LEN + 2)
#define AT_ONCE_BYTES ((size_t)1 << 20)
#define PLACED_MAX 8192          /* processes in their cgroups: beyond it they are looked at again */
#define NOT_ANNOUNCED UINT64_MAX /* as the device of a file: the kernel's have 32 bits */

struct ingest {
	struct ingest_options options;
	struct map user_stacks;   /* id → node */
	struct map kernel_stacks; /* id → index into kernel_frames: a count, then frames, root first */
	struct map files;         /* id → file */
	struct map processes;     /* process id → process, for those sampled */
	struct map placed;        /* a process in a cgroup → labels, plus one */
	struct programs programs; /* of all processes that were noticed */
	size_t at_once;           /* bytes of paths that became part of the profile without a sample */
	struct map samples;       /* hash of key → sample */
	struct map early;         /* sample → how many were unwound here */
	uint32_t *timed;          /* sample → how many events it has */
	size_t timed_cap;
	uint32_t *kernel_frames;
	size_t kernel_len, kernel_cap;
	struct buf waiting; /* struct wire_event whose key has not been drained */
	size_t waited;      /* bytes of it that were there at the last ingest_take: the first ones */
	struct buf ended;   /* process ids that ended since the last forgetting */
	struct buf ended_before;
	struct buf past; /* those of them that were sampled */
};

static const char *const counter_names[WIRE_COUNTERS] = {
#define COUNTER(group, name, text) [WIRE_##group##_##name] = #name,
#include "bpf/counters.def"
#undef COUNTER
};

static const char *const counter_groups[WIRE_COUNTERS] = {
#define COUNTER(group, name, text) [WIRE_##group##_##name] = #group,
#include "bpf/counters.def"
#undef COUNTER
};

int ingest_new(struct ingest **ret, const struct ingest_options *options)
{
	struct ingest *ingest = calloc(1, sizeof(*ingest));

	if (!ingest)
		return -ENOMEM;
	ingest->options = *options;
	*ret = ingest;
	return 0;
}

void ingest_free(struct ingest *ingest)
{
	if (!ingest)
		return;
	map_free(&ingest->user_stacks);
	map_free(&ingest->kernel_stacks);
	map_free(&ingest->files);
	map_free(&ingest->processes);
	map_free(&ingest->placed);
	programs_free(&ingest->programs);
	map_free(&ingest->samples);
	map_free(&ingest->early);
	buf_free(&ingest->waiting);
	buf_free(&ingest->ended);
	buf_free(&ingest->ended_before);
	buf_free(&ingest->past);
	free(ingest->kernel_frames);
	free(ingest->timed);
	free(ingest);
}

/* A name where there is no frame: why a stack is incomplete. */
static uint32_t cut_frame(struct ingest *ingest, const char *reason)
{
	struct profile *profile = ingest->options.profile;

	return profile_add_frame(profile, &(struct profile_frame){
						  .kind = FRAME_CUT,
						  .name = profile_string(profile, reason),
					  });
}

static int remember(struct map *map, uint64_t key, uint32_t number)
{
	uint64_t *slot;

	if (number == PROFILE_FULL)
		return -ENOMEM;
	slot = map_put(map, key);
	if (!slot)
		return -ENOMEM;
	*slot = number;
	return 0;
}

/* The file of an id. One that was never announced, its notice having found no room, is a file without a path. */
static uint32_t file_of(struct ingest *ingest, uint64_t id)
{
	uint64_t *known = map_get(&ingest->files, id);
	uint32_t file;

	if (known)
		return *known;
	file = profile_add_file(ingest->options.profile,
				&(struct profile_file){ .inode = id, .device = NOT_ANNOUNCED });
	return remember(&ingest->files, id, file) ? PROFILE_FULL : file;
}

/* The process of an id. Its start is filled in when it is counted: a stack comes before its count. */
static uint32_t process_of_id(struct ingest *ingest, uint64_t id)
{
	uint64_t *known = map_get(&ingest->processes, id);
	uint32_t number;

	if (known)
		return *known;
	number = profile_add_process(ingest->options.profile, WIRE_PROCESS_PID(id), id);
	return remember(&ingest->processes, id, number) ? PROFILE_FULL : number;
}

/* Whether a frame can be as it was sent; a note why the stack ends is at its root or nowhere. */
static bool frame_can_be(const struct wire_frame *frame, bool is_root)
{
	uint64_t address = WIRE_ADDRESS(frame->where);

	if (WIRE_KIND(frame->where) != WIRE_FRAME_CUT)
		return WIRE_KIND(frame->where) < WIRE_FRAME_KINDS;
	return is_root && address < WIRE_COUNTERS && !strcmp(counter_groups[address], "cut");
}

static int user_frame(struct ingest *ingest, const struct wire_frame *frame, uint32_t *ret)
{
	struct profile_frame add = { .address = WIRE_ADDRESS(frame->where) };

	switch (WIRE_KIND(frame->where)) {
	case WIRE_FRAME_FILE:
		add.kind = FRAME_USER;
		add.file = file_of(ingest, frame->owner);
		if (add.file == PROFILE_FULL)
			return -ENOMEM;
		break;
	case WIRE_FRAME_ANON:
		add.kind = FRAME_JIT;
		add.process = process_of_id(ingest, frame->owner);
		if (add.process == PROFILE_FULL)
			return -ENOMEM;
		if (ingest->options.jit_found)
			ingest->options.jit_found(ingest->options.arg, add.process);
		if (ingest->options.find_mapping)
			ingest->options.find_mapping(ingest->options.arg, WIRE_PROCESS_PID(frame->owner), &add);
		break;
	case WIRE_FRAME_VDSO:
		add.kind = FRAME_VDSO;
		break;
	case WIRE_FRAME_CUT:
		*ret = cut_frame(ingest, counter_names[add.address]);
		return *ret == PROFILE_FULL ? -ENOMEM : 0;
	default:
		return -EBADMSG;
	}
	*ret = profile_add_frame(ingest->options.profile, &add);
	return *ret == PROFILE_FULL ? -ENOMEM : 0;
}

static struct wire_frame frame_at(const void *data, uint32_t index)
{
	struct wire_frame frame;

	memcpy(&frame, (const char *)data + sizeof(struct wire_user_stack) + index * sizeof(frame), sizeof(frame));
	return frame;
}

/* Hangs a frame onto a node, which becomes that of the frame. */
static int add_frame(struct ingest *ingest, const struct wire_frame *frame, uint32_t *node)
{
	uint32_t number;
	int err = user_frame(ingest, frame, &number);

	if (err)
		return err;
	*node = profile_add_node(ingest->options.profile, *node, number);
	return *node == PROFILE_FULL ? -ENOMEM : 0;
}

static int ingest_user_stack(struct ingest *ingest, const void *data, size_t len)
{
	struct wire_user_stack head;
	uint32_t node = PROFILE_NONE;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.count > WIRE_USER_FRAMES + 1 || len < sizeof(head) + head.count * sizeof(struct wire_frame))
		return -EBADMSG;
	for (uint32_t i = 0; i < head.count; i++) { /* all of them, before the first changes anything */
		struct wire_frame frame = frame_at(data, i);

		if (!frame_can_be(&frame, i == head.count - 1))
			return -EBADMSG;
	}
	for (uint32_t i = head.count; i-- > 0;) { /* root first */
		struct wire_frame frame = frame_at(data, i);
		int err = add_frame(ingest, &frame, &node);

		if (err)
			return err;
	}
	return remember(&ingest->user_stacks, head.id, node);
}

static int kernel_reserve(struct ingest *ingest, size_t more)
{
	size_t cap = ingest->kernel_cap ? ingest->kernel_cap : 1024;
	uint32_t *grown;

	while (cap < ingest->kernel_len + more)
		cap *= 2;
	if (cap == ingest->kernel_cap)
		return 0;
	grown = reallocarray(ingest->kernel_frames, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ingest->kernel_frames = grown;
	ingest->kernel_cap = cap;
	return 0;
}

static int ingest_kernel_stack(struct ingest *ingest, const void *data, size_t len)
{
	struct wire_kernel_stack head;
	size_t at = ingest->kernel_len;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.count > WIRE_KERNEL_FRAMES || len < sizeof(head) + head.count * sizeof(uint64_t))
		return -EBADMSG;
	if (map_get(&ingest->kernel_stacks, head.id))
		return 0;
	if (at > UINT32_MAX - WIRE_KERNEL_FRAMES - 1 || kernel_reserve(ingest, head.count + 1))
		return -ENOMEM;
	ingest->kernel_frames[at] = head.count;
	for (uint32_t i = 0; i < head.count; i++) {
		struct profile_frame frame = { .kind = FRAME_KERNEL };
		uint32_t number;

		memcpy(&frame.address, (const char *)data + sizeof(head) + (head.count - 1 - i) * sizeof(uint64_t),
		       sizeof(uint64_t));
		number = profile_add_frame(ingest->options.profile, &frame);
		if (number == PROFILE_FULL)
			return -ENOMEM;
		ingest->kernel_frames[at + 1 + i] = number;
	}
	ingest->kernel_len = at + 1 + head.count;
	return remember(&ingest->kernel_stacks, head.id, at);
}

/* Names from the leaf up, each ended by NUL, become /a/b/leaf. */
static const char *path_text(const char *names, size_t len, char path[PATH_TEXT], size_t *ret_len)
{
	size_t at = PATH_TEXT;

	while (len) {
		size_t name = strnlen(names, len);

		if (at < name + 1)
			break;
		if (name != 1 || *names != '/') { /* the root's own name adds nothing */
			at -= name;
			memcpy(path + at, names, name);
			path[--at] = '/';
		}
		name += name < len; /* its NUL */
		len -= name;
		names += name;
	}
	*ret_len = PATH_TEXT - at;
	return path + at;
}

static int ingest_file(struct ingest *ingest, const void *data, size_t len)
{
	const size_t fixed = offsetof(struct wire_file, path);
	struct profile *profile = ingest->options.profile;
	struct wire_file found;
	struct profile_file *file;
	uint32_t number, path;
	char room[PATH_TEXT];
	const char *text;
	size_t text_len;

	if (len < fixed)
		return -EBADMSG;
	memcpy(&found, data, fixed);
	if (found.path_len > WIRE_PATH_LEN || len < fixed + found.path_len)
		return -EBADMSG;
	number = file_of(ingest, found.id);
	text = path_text((const char *)data + fixed, found.path_len, room, &text_len);
	path = profile_bytes(profile, text, text_len);
	if (number == PROFILE_FULL || path == PROFILE_FULL)
		return -ENOMEM;
	file = profile_file(profile, number);
	if (file->device != NOT_ANNOUNCED) { /* two CPUs met it at once, or it was asked for again */
		if (ingest->options.file_again)
			ingest->options.file_again(ingest->options.arg, number, &found);
		return 0;
	}
	file->device = found.key.device;
	file->inode = found.key.inode;
	file->size = found.key.size;
	file->generation = found.key.generation;
	file->mtime_ns = found.key.mtime_sec * NS_PER_SEC + found.key.mtime_nsec;
	file->path = path;
	if (ingest->options.file_found)
		ingest->options.file_found(ingest->options.arg, number, &found);
	return 0;
}

static int ingest_program(struct ingest *ingest, const void *data, size_t len)
{
	struct wire_program program;

	if (len < sizeof(program))
		return -EBADMSG;
	memcpy(&program, data, sizeof(program));
	if (ingest->options.program_found)
		ingest->options.program_found(ingest->options.arg, &program);
	return 0;
}

static int ingest_group(struct ingest *ingest, const void *data, size_t len)
{
	struct wire_group group;

	if (len < sizeof(group))
		return -EBADMSG;
	memcpy(&group, data, sizeof(group));
	if (ingest->options.group_found)
		ingest->options.group_found(ingest->options.arg, group.id);
	return 0;
}

int ingest_record(struct ingest *ingest, const void *data, size_t len)
{
	uint32_t type;

	if (len < sizeof(type))
		return -EBADMSG;
	memcpy(&type, data, sizeof(type));
	switch (type) {
	case WIRE_USER_STACK:
		return ingest_user_stack(ingest, data, len);
	case WIRE_KERNEL_STACK:
		return ingest_kernel_stack(ingest, data, len);
	case WIRE_FILE:
		return ingest_file(ingest, data, len);
	case WIRE_PROGRAM:
		return ingest_program(ingest, data, len);
	case WIRE_GROUP:
		return ingest_group(ingest, data, len);
	default:
		return -EBADMSG;
	}
}

/* What a process that was sampled runs becomes part of the profile. */
static int set_program(struct ingest *ingest, uint32_t process, const struct program_text *program)
{
	struct profile *profile = ingest->options.profile;
	uint32_t exe = program->exe_len ? profile_bytes(profile, program->text, program->exe_len) : PROFILE_NONE;
	uint32_t comm = profile_bytes(profile, program->text + program->exe_len, program->comm_len);

	if (exe == PROFILE_FULL || comm == PROFILE_FULL)
		return -ENOMEM;
	profile_process(profile, process)->exe = exe;
	profile_process(profile, process)->comm = comm;
	return 0;
}

/*
 * A process that was sampled before may not be again. What that adds to the profile has a limit: it may exec for
 * ever.
 */
static int set_at_once(struct ingest *ingest, uint64_t id)
{
	const uint64_t *process = map_get(&ingest->processes, id);
	const struct program_text *program = process ? programs_get(&ingest->programs, id) : NULL;

	if (!program || ingest->at_once > AT_ONCE_BYTES)
		return 0;
	ingest->at_once += program->exe_len;
	return set_program(ingest, (uint32_t)*process, program);
}

static int notice_exec(struct ingest *ingest, const struct wire_notice *notice, const char *names)
{
	uint64_t id = wire_process_id(notice->pid, notice->start);
	char room[PATH_TEXT];
	size_t len;
	const char *path = path_text(names, notice->path_len, room, &len);
	int err = programs_set(&ingest->programs, id, path, len, notice->comm,
			       strnlen(notice->comm, sizeof(notice->comm)));

	return err ? err : set_at_once(ingest, id);
}

/* A new process runs its parent's program until it execs its own. */
static int notice_fork(struct ingest *ingest, const struct wire_notice *notice)
{
	uint64_t id = wire_process_id(notice->pid, notice->start);
	uint64_t parent = wire_process_id(notice->parent, notice->parent_start);
	const struct program_text *known = programs_get(&ingest->programs, parent);
	autobuf struct buf exe = { 0 }, comm = { 0 };
	int err = 0;

	if (!known && ingest->options.find_program) { /* asked once: what was not found is remembered as well */
		if (ingest->options.find_program(ingest->options.arg, notice->parent, notice->parent_start, &exe,
						 &comm))
			exe.len = comm.len = 0;
		err = programs_set(&ingest->programs, parent, exe.data, exe.len, comm.data, comm.len);
		known = err ? NULL : programs_get(&ingest->programs, parent);
	}
	if (!known || !known->comm_len) /* nothing is known: what the child has by now, from its samples, stays */
		return err;
	err = programs_share(&ingest->programs, id, parent);
	return err ? err : set_at_once(ingest, id);
}

int ingest_notice(struct ingest *ingest, const void *data, size_t len, struct ingest_ended *ret_ended)
{
	const size_t fixed = offsetof(struct wire_notice, path);
	struct wire_notice notice;
	uint64_t id;

	*ret_ended = (struct ingest_ended){ 0 };
	if (len < fixed)
		return -EBADMSG;
	memcpy(&notice, data, fixed);
	if (notice.path_len > WIRE_PATH_LEN || len < fixed + notice.path_len)
		return -EBADMSG;
	id = wire_process_id(notice.pid, notice.start);
	switch (notice.type) {
	case WIRE_EXEC:
		return notice_exec(ingest, &notice, (const char *)data + fixed);
	case WIRE_FORK:
		return notice_fork(ingest, &notice);
	case WIRE_EXIT:
		ret_ended->pid = notice.pid;
		ret_ended->start = notice.start;
		buf_u64(&ingest->ended, id);
		return buf_error(&ingest->ended);
	default:
		return -EBADMSG;
	}
}

void ingest_forget_ended(struct ingest *ingest)
{
	struct buf swap = ingest->ended_before;
	struct cursor cursor = cursor_of(swap.data, swap.len);

	while (cursor_left(&cursor) >= sizeof(uint64_t)) {
		uint64_t id = cursor_u64(&cursor);

		if (map_get(&ingest->processes, id))
			buf_u64(&ingest->past, id); /* without memory it is kept */
		else
			programs_forget(&ingest->programs, id);
	}
	buf_clear(&swap);
	ingest->ended_before = ingest->ended;
	ingest->ended = swap;
}

static uint32_t process_of(struct ingest *ingest, const struct wire_key *key)
{
	struct profile *profile = ingest->options.profile;
	uint64_t id = wire_process_id(key->pid, key->start);
	uint32_t number = process_of_id(ingest, id);
	const struct program_text *program;

	if (number == PROFILE_FULL)
		return PROFILE_FULL;
	profile_process(profile, number)->start = key->start;
	program = programs_get(&ingest->programs, id);
	return program && program->comm_len && set_program(ingest, number, program) ? PROFILE_FULL : number;
}

/* Labels come from the cgroup that a process was in when it was sampled: it may have been in others. */
static uint32_t labels_of(struct ingest *ingest, uint32_t process, uint64_t cgroup)
{
	uint64_t *known = map_put(&ingest->placed, wire_mix(wire_mix(0, process), cgroup));
	uint32_t labels;

	if (!ingest->options.process_found || !known)
		return PROFILE_NONE;
	if (*known)
		return (uint32_t)(*known - 1);
	labels = ingest->options.process_found(ingest->options.arg, process, cgroup);
	labels = labels == PROFILE_FULL ? PROFILE_NONE : labels;
	*known = (uint64_t)labels + 1;
	if (labels)
		profile_process(ingest->options.profile, process)->labels = labels;
	return labels;
}

/* The kernel stack of a key on top of a node. */
static uint32_t add_kernel(struct ingest *ingest, uint32_t node, uint64_t id)
{
	uint64_t *kernel = id ? map_get(&ingest->kernel_stacks, id) : NULL;

	for (uint32_t i = 0; kernel && i < ingest->kernel_frames[*kernel] && node != PROFILE_FULL; i++)
		node = profile_add_node(ingest->options.profile, node, ingest->kernel_frames[*kernel + 1 + i]);
	return node;
}

/* The node of the user stack with the kernel stack on top. What was never sent shows as a frame at the root. */
static uint32_t stack_of(struct ingest *ingest, const struct wire_key *key)
{
	uint64_t *user = key->user ? map_get(&ingest->user_stacks, key->user) : NULL;
	uint32_t node = user ? *user : PROFILE_NONE;

	if ((key->user && !user) || (key->kernel && !user && !map_get(&ingest->kernel_stacks, key->kernel)))
		node = profile_add_node(ingest->options.profile, node, cut_frame(ingest, "not_sent"));
	return add_kernel(ingest, node, key->kernel);
}

/* Adds to the sample of a stack and key; its number, or PROFILE_FULL. */
static uint32_t add_sample(struct ingest *ingest, const struct wire_key *key, uint32_t stack, uint64_t count)
{
	struct profile *profile = ingest->options.profile;
	struct profile_sample sample = {
		.value = count,
		.stack = stack,
		.process = process_of(ingest, key),
		.tid = key->tid,
		.comm = profile_bytes(profile, key->comm, strnlen(key->comm, sizeof(key->comm))),
	};

	if (sample.stack == PROFILE_FULL || sample.process == PROFILE_FULL || sample.comm == PROFILE_FULL)
		return PROFILE_FULL;
	sample.labels = labels_of(ingest, sample.process, key->cgroup);
	if (!profile_process(profile, sample.process)->comm)
		profile_process(profile, sample.process)->comm = sample.comm;
	return profile_add_sample(profile, &sample);
}

int ingest_count(struct ingest *ingest, const struct wire_key *key, uint64_t count)
{
	return remember(&ingest->samples, wire_hash_key(ingest->options.seed, key),
			add_sample(ingest, key, stack_of(ingest, key), count));
}

const struct map *ingest_early_samples(const struct ingest *ingest)
{
	return &ingest->early;
}

static int add_event(struct ingest *ingest, uint32_t sample, uint64_t when)
{
	struct profile *profile = ingest->options.profile;
	uint64_t start = profile_meta(profile)->start_us, time = WIRE_EVENT_US(when);
	const struct profile_event event = {
		.time_us = time > start ? time - start : 0,
		.sample = sample,
		.cpu = WIRE_EVENT_CPU(when),
	};

	return profile_add_event(profile, &event) == PROFILE_FULL ? -ENOMEM : 0;
}

bool ingest_has_stack(const struct ingest *ingest, uint64_t id)
{
	return map_get(&ingest->user_stacks, id);
}

int ingest_frames(struct ingest *ingest, uint64_t id, const struct wire_frame *frames, size_t len)
{
	uint32_t node = PROFILE_NONE;

	for (size_t i = len; i-- > 0;) {
		int err = add_frame(ingest, &frames[i], &node);

		if (err)
			return err;
	}
	return remember(&ingest->user_stacks, id, node);
}

int ingest_event(struct ingest *ingest, const void *data, size_t len)
{
	if (len < sizeof(struct wire_event))
		return -EBADMSG;
	buf_add(&ingest->waiting, data, sizeof(struct wire_event));
	return buf_error(&ingest->waiting);
}

/* Room to count the events of each sample. */
static int timed_reserve(struct ingest *ingest)
{
	size_t need = profile_count(ingest->options.profile, PROFILE_SAMPLES), cap = ingest->timed_cap;
	uint32_t *grown;

	if (need <= cap)
		return 0;
	cap = need > 2 * cap ? need : 2 * cap;
	grown = reallocarray(ingest->timed, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + ingest->timed_cap, 0, (cap - ingest->timed_cap) * sizeof(*grown));
	ingest->timed = grown;
	ingest->timed_cap = cap;
	return 0;
}

/* Whether the sample has been counted more often than it has events; it has one more then. */
static bool take_place(struct ingest *ingest, uint64_t sample)
{
	if (ingest->timed[sample] >= profile_sample(ingest->options.profile, (uint32_t)sample)->value)
		return false;
	ingest->timed[sample]++;
	return true;
}

int ingest_events_settle(struct ingest *ingest)
{
	size_t kept = 0, waited = 0;

	if (ingest->waiting.len && timed_reserve(ingest))
		return -ENOMEM;

	for (size_t at = 0; at + sizeof(struct wire_event) <= ingest->waiting.len; at += sizeof(struct wire_event)) {
		struct wire_event event;
		uint64_t *sample;

		memcpy(&event, ingest->waiting.data + at, sizeof(event));
		sample = map_get(&ingest->samples, event.key);
		if (!sample || !take_place(ingest, *sample)) {
			memmove(ingest->waiting.data + kept, &event, sizeof(event));
			kept += sizeof(event);
			waited += at < ingest->waited ? sizeof(event) : 0;
			continue;
		}
		if (add_event(ingest, (uint32_t)*sample, event.when))
			return -ENOMEM;
	}
	ingest->waiting.len = kept;
	ingest->waited = waited;
	return 0;
}

/* If one is met again after all, the profile knows it by its key. */
static void forget_past(struct ingest *ingest)
{
	struct cursor cursor = cursor_of(ingest->past.data, ingest->past.len);

	while (cursor_left(&cursor) >= sizeof(uint64_t)) {
		uint64_t id = cursor_u64(&cursor);

		programs_forget(&ingest->programs, id);
		map_remove(&ingest->processes, id);
	}
	buf_clear(&ingest->past);
	if (ingest->placed.len > PLACED_MAX)
		map_free(&ingest->placed);
}

int ingest_take(struct ingest *ingest, struct profile_stacks *ret, struct map *ret_early, uint64_t *ret_late)
{
	int err = profile_take_samples(ingest->options.profile, ret);

	if (err)
		return err;
	*ret_late = ingest->waited / sizeof(struct wire_event);
	ingest->waiting.len -= ingest->waited;
	if (ingest->waited)
		memmove(ingest->waiting.data, ingest->waiting.data + ingest->waited, ingest->waiting.len);
	ingest->waited = ingest->waiting.len;
	*ret_early = ingest->early;
	ingest->early = (struct map){ 0 };
	map_free(&ingest->samples);
	free(ingest->timed);
	ingest->timed = NULL;
	ingest->timed_cap = 0;
	forget_past(ingest);
	return 0;
}

size_t ingest_stacks(const struct ingest *ingest)
{
	return ingest->user_stacks.len + ingest->kernel_stacks.len;
}

/* Its event is given to it here: the same key may get another sample when its kernel stack is known. */
int ingest_count_early(struct ingest *ingest, const struct wire_key *key, const uint64_t *when)
{
	int err = ingest_count(ingest, key, 1);
	uint64_t *sample = err ? NULL : map_get(&ingest->samples, wire_hash_key(ingest->options.seed, key));
	uint64_t *count = sample ? map_put(&ingest->early, *sample) : NULL;

	if (err || !count)
		return err ? err : -ENOMEM;
	(*count)++;
	if (!when)
		return 0;
	if (timed_reserve(ingest))
		return -ENOMEM;
	ingest->timed[*sample]++;
	return add_event(ingest, (uint32_t)*sample, *when);
}

size_t ingest_events_waiting(const struct ingest *ingest)
{
	return ingest->waiting.len / sizeof(struct wire_event);
}

uint32_t ingest_file_number(const struct ingest *ingest, uint64_t id)
{
	uint64_t *number = map_get(&ingest->files, id);

	return number ? (uint32_t)*number : PROFILE_NONE;
}

uint32_t ingest_next_unknown(struct ingest *ingest, uint32_t after)
{
	const struct profile *profile = ingest->options.profile;

	for (uint32_t i = after + 1; i < profile_count(profile, PROFILE_PROCESSES); i++)
		if (!profile_process(profile, i)->exe)
			return i;
	return 0;
}

size_t ingest_memory(const struct ingest *ingest)
{
	return map_bytes(&ingest->user_stacks) + map_bytes(&ingest->kernel_stacks) + map_bytes(&ingest->files) +
	       map_bytes(&ingest->processes) + programs_memory(&ingest->programs) + map_bytes(&ingest->samples) +
	       map_bytes(&ingest->early) + map_bytes(&ingest->placed) + ingest->timed_cap * sizeof(*ingest->timed) +
	       ingest->kernel_cap * sizeof(*ingest->kernel_frames) + ingest->waiting.cap;
}
