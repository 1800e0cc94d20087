/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wire records made by hand, given to an ingest as a kernel would send them: for the tests of collect/ingest.c. Include
 * after cmocka.h.
 */
#ifndef WICK_TESTS_UNIT_COLLECT_RECORDS_H
#define WICK_TESTS_UNIT_COLLECT_RECORDS_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "collect/ingest.h"
#include "out/out.h"
#include "profile/profile.h"

#define SEED 42
#define START 5000000000ULL /* of the process that is sampled */
#define PID 77
#define PROGRAM 7 /* id of its file */
#define KERNEL 0xffffffff81000000ULL

struct fixture {
	struct profile *profile;
	struct ingest *ingest;
	unsigned int files_found, mappings_asked, programs_asked;
	uint32_t asked_pid;
};

static struct fixture fixture;

static inline void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct fixture *f = arg;

	assert_int_equal(profile_file(f->profile, file)->inode, found->key.inode);
	f->files_found++;
}

static inline void find_mapping(void *arg, uint32_t pid, struct profile_frame *frame)
{
	struct fixture *f = arg;

	f->mappings_asked++;
	f->asked_pid = pid;
	if (frame->address < 0x1000)
		return;
	frame->kind = FRAME_USER;
	frame->process = PROFILE_NONE;
	frame->file =
		profile_add_file(f->profile, &(struct profile_file){ .path = profile_string(f->profile, "/found") });
	frame->address -= 0x1000;
}

static inline int find_program(void *arg, uint32_t pid, uint64_t start, struct buf *exe, struct buf *comm)
{
	struct fixture *f = arg;

	(void)start;
	f->programs_asked++;
	f->asked_pid = pid;
	if (pid != 1)
		return -ENOENT;
	buf_adds(exe, "/sbin/init");
	buf_adds(comm, "init");
	return 0;
}

static inline void begin(struct fixture *f, ingest_find_mapping *mapping)
{
	const struct ingest_options options = {
		.seed = SEED,
		.file_found = file_found,
		.find_mapping = mapping,
		.find_program = find_program,
		.arg = f,
	};
	struct ingest_options all = options;

	*f = (struct fixture){ 0 };
	assert_int_equal(profile_new(&f->profile), 0);
	all.profile = f->profile;
	assert_int_equal(ingest_new(&f->ingest, &all), 0);
}

static inline int set_up(void **state)
{
	*state = &fixture;
	begin(&fixture, NULL);
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	ingest_free(f->ingest);
	profile_free(f->profile);
	return 0;
}

/* A copy of its own, to the byte and at an odd address, so that a read beside it is seen. */
static inline int give(const struct fixture *f, const void *data, size_t len)
{
	char *copy = malloc(len + 1);
	int err;

	assert_non_null(copy);
	memcpy(copy + 1, data, len);
	err = ingest_record(f->ingest, copy + 1, len);
	free(copy);
	return err;
}

static inline int give_notice(const struct fixture *f, const void *data, size_t len, struct ingest_ended *ret)
{
	char *copy = malloc(len + 1);
	int err;

	assert_non_null(copy);
	memcpy(copy + 1, data, len);
	err = ingest_notice(f->ingest, copy + 1, len, ret);
	free(copy);
	return err;
}

struct user_record {
	struct wire_user_stack head;
	struct wire_frame frames[WIRE_USER_FRAMES + 2];
};

struct kernel_record {
	struct wire_kernel_stack head;
	uint64_t addresses[WIRE_KERNEL_FRAMES + 1];
};

static inline struct wire_frame frame(uint32_t kind, uint64_t owner, uint64_t address)
{
	return (struct wire_frame){ .owner = owner, .where = WIRE_WHERE(kind, address) };
}

static inline int give_user(const struct fixture *f, uint64_t id, const struct wire_frame *frames, uint32_t count)
{
	struct user_record record = { .head = { .type = WIRE_USER_STACK, .count = count, .id = id } };

	memcpy(record.frames, frames, count * sizeof(*frames));
	return give(f, &record, sizeof(record.head) + count * sizeof(*frames));
}

/* A stack of the program, by offsets, leaf first, up to a zero. */
static inline void user_stack(const struct fixture *f, uint64_t id, const uint64_t *offsets)
{
	struct wire_frame frames[8];
	uint32_t count = 0;

	for (; offsets[count]; count++)
		frames[count] = frame(WIRE_FRAME_FILE, PROGRAM, offsets[count]);
	assert_int_equal(give_user(f, id, frames, count), 0);
}

static inline void kernel_stack(const struct fixture *f, uint64_t id, const uint64_t *offsets)
{
	struct kernel_record record = { .head = { .type = WIRE_KERNEL_STACK, .id = id } };

	while (offsets[record.head.count]) {
		record.addresses[record.head.count] = KERNEL + offsets[record.head.count];
		record.head.count++;
	}
	assert_int_equal(give(f, &record, sizeof(record.head) + record.head.count * sizeof(uint64_t)), 0);
}

/* Names from the leaf up, as the kernel sends them. */
static inline int give_file(const struct fixture *f, uint64_t id, uint64_t inode, const char *names, size_t len)
{
	struct wire_file file = {
		.type = WIRE_FILE,
		.pid = PID,
		.id = id,
		.key = { .device = 8 << 20 | 1,
			 .inode = inode,
			 .generation = 3,
			 .mtime_sec = 2,
			 .mtime_nsec = 5,
			 .size = 4096 },
		.path_len = (uint32_t)len,
	};

	memcpy(file.path, names, len);
	return give(f, &file, offsetof(struct wire_file, path) + len);
}

#define FILE_NAMES(f, id, inode, names) assert_int_equal(give_file(f, id, inode, names, sizeof(names)), 0)

static inline struct wire_key key_of(uint64_t user, uint64_t kernel)
{
	return (struct wire_key){ .user = user, .kernel = kernel, .start = START, .pid = PID, .comm = "app" };
}

static inline void count(const struct fixture *f, uint64_t user, uint64_t kernel, uint64_t value)
{
	const struct wire_key key = key_of(user, kernel);

	assert_int_equal(ingest_count(f->ingest, &key, value), 0);
}

static inline void notice(const struct fixture *f, uint32_t type, uint32_t pid, uint32_t parent, const char *names,
			  size_t len)
{
	struct wire_notice record = {
		.type = type,
		.pid = pid,
		.parent = parent,
		.start = START,
		.parent_start = parent ? START : 0,
		.path_len = (uint32_t)len,
		.comm = "taken",
	};
	struct ingest_ended ended;

	memcpy(record.path, names, len);
	assert_int_equal(give_notice(f, &record, offsetof(struct wire_notice, path) + len, &ended), 0);
	assert_int_equal(ended.pid, type == WIRE_EXIT ? pid : 0);
	assert_int_equal(ended.start, type == WIRE_EXIT ? START : 0);
}

#define EXEC(f, pid, names) notice(f, WIRE_EXEC, pid, 0, names, sizeof(names))
#define FORK(f, pid, parent) notice(f, WIRE_FORK, pid, parent, "", 0)
#define EXIT(f, pid) notice(f, WIRE_EXIT, pid, 0, "", 0)

static inline void assert_folded(const struct fixture *f, const char *wanted)
{
	autobuf struct buf out = { 0 };

	assert_int_equal(out_folded(f->profile, &out), 0);
	assert_string_equal(out.data ? out.data : "", wanted);
}

static inline uint64_t sum_of_samples(const struct fixture *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(f->profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(f->profile, i)->value;
	return sum;
}

static inline const char *file_path(const struct fixture *f, uint32_t file)
{
	return profile_text(f->profile, profile_file(f->profile, file)->path, NULL);
}

/* The process with that pid; number 0 if there is none. */
static inline const struct profile_process *process_by_pid(const struct fixture *f, uint32_t pid)
{
	for (uint32_t i = 1; i < profile_count(f->profile, PROFILE_PROCESSES); i++)
		if (profile_process(f->profile, i)->pid == pid)
			return profile_process(f->profile, i);
	return profile_process(f->profile, 0);
}

static inline const char *program_of(const struct fixture *f, uint32_t pid)
{
	return profile_text(f->profile, process_by_pid(f, pid)->exe, NULL);
}

static inline void sample_of(const struct fixture *f, uint32_t pid)
{
	const struct wire_key key = { .pid = pid, .start = START, .comm = "sampled" };

	assert_int_equal(ingest_count(f->ingest, &key, 1), 0);
}

#define with_ingest(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
