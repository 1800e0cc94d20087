/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wire records as the kernel sends them, in every order, become the profile that a user would expect of them. What the
 * profile says is read as folded text where that is all there is to see.
 */
#include "collect/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "unit/collect/records.h"

static void test_root_first_user_before_kernel(void **state)
{
	const struct fixture *f = *state;

	FILE_NAMES(f, PROGRAM, 1, "prog");
	user_stack(f, 1, (const uint64_t[]){ 0x30, 0x20, 0x10, 0 });
	kernel_stack(f, 2, (const uint64_t[]){ 0xb, 0xa, 0 });
	count(f, 1, 2, 5);
	assert_folded(f, "app;prog+0x10;prog+0x20;prog+0x30;[kernel]+0xffffffff8100000a_[k];"
			 "[kernel]+0xffffffff8100000b_[k] 5\n");
}

static void test_either_part_alone(void **state)
{
	const struct fixture *f = *state;

	FILE_NAMES(f, PROGRAM, 1, "prog");
	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	kernel_stack(f, 2, (const uint64_t[]){ 0xa, 0 });
	count(f, 1, 0, 3);
	count(f, 0, 2, 2);
	count(f, 0, 0, 1);
	assert_folded(f, "app;prog+0x10 3\napp;[kernel]+0xffffffff8100000a_[k] 2\napp 1\n");
}

static void test_stacks_share_their_roots(void **state)
{
	const struct fixture *f = *state;

	user_stack(f, 1, (const uint64_t[]){ 0x30, 0x20, 0x10, 0 });
	user_stack(f, 2, (const uint64_t[]){ 0x40, 0x20, 0x10, 0 });
	kernel_stack(f, 3, (const uint64_t[]){ 0xb, 0xa, 0 });
	assert_int_equal(profile_count(f->profile, PROFILE_NODES), 1 + 4);
	assert_int_equal(profile_count(f->profile, PROFILE_FRAMES), 1 + 6);
	count(f, 1, 3, 1); /* the kernel's frames hang on whom they were counted with */
	count(f, 2, 3, 1);
	count(f, 2, 3, 1);
	assert_int_equal(profile_count(f->profile, PROFILE_NODES), 1 + 4 + 2 + 2);
	assert_int_equal(profile_count(f->profile, PROFILE_FRAMES), 1 + 6);
}

static void test_sent_twice_is_there_once(void **state)
{
	const struct fixture *f = *state;
	size_t memory;

	user_stack(f, 1, (const uint64_t[]){ 0x20, 0x10, 0 });
	kernel_stack(f, 2, (const uint64_t[]){ 0xb, 0xa, 0 });
	memory = ingest_memory(f->ingest);
	for (unsigned int i = 0; i < 2000; i++) {
		user_stack(f, 1, (const uint64_t[]){ 0x20, 0x10, 0 });
		kernel_stack(f, 2, (const uint64_t[]){ 0xb, 0xa, 0 });
	}
	assert_int_equal(profile_count(f->profile, PROFILE_NODES), 1 + 2);
	assert_int_equal(profile_count(f->profile, PROFILE_FRAMES), 1 + 4);
	assert_int_equal(ingest_memory(f->ingest), memory);
}

static void test_deepest_stacks(void **state)
{
	const struct fixture *f = *state;
	static struct wire_frame frames[WIRE_USER_FRAMES + 1];
	uint64_t addresses[WIRE_KERNEL_FRAMES + 1] = { 0 };
	uint32_t depth = 0;

	for (uint32_t i = 0; i < WIRE_USER_FRAMES; i++)
		frames[i] = frame(WIRE_FRAME_FILE, PROGRAM, i + 1);
	for (uint32_t i = 0; i < WIRE_KERNEL_FRAMES; i++)
		addresses[i] = i + 1;
	frames[WIRE_USER_FRAMES] = frame(WIRE_FRAME_CUT, 0, WIRE_cut_depth);
	assert_int_equal(give_user(f, 1, frames, WIRE_USER_FRAMES + 1), 0);
	kernel_stack(f, 2, addresses);
	count(f, 1, 2, 1);
	for (uint32_t node = profile_sample(f->profile, 1)->stack; node; node = profile_node(f->profile, node)->parent)
		depth++;
	assert_int_equal(depth, WIRE_USER_FRAMES + 1 + WIRE_KERNEL_FRAMES);
}

/* Many small stacks: what is kept for kernel stacks grows and stays right. */
static void test_many_kernel_stacks(void **state)
{
	const struct fixture *f = *state;

	for (uint64_t id = 1; id <= 3000; id++)
		kernel_stack(f, id, (const uint64_t[]){ id * 16, 0xa, 0 });
	for (uint64_t id = 1; id <= 3000; id++)
		count(f, 0, id, 1);
	for (uint32_t i = 1; i <= 3000; i++) {
		const struct profile_node *leaf = profile_node(f->profile, profile_sample(f->profile, i)->stack);

		assert_int_equal(profile_frame(f->profile, leaf->frame)->address, KERNEL + i * 16);
	}
	assert_int_equal(profile_count(f->profile, PROFILE_SAMPLES), 3001);
}

static void test_cut_is_named_at_the_root(void **state)
{
	const struct fixture *f = *state;
	const struct wire_frame frames[] = { frame(WIRE_FRAME_FILE, PROGRAM, 0x20),
					     frame(WIRE_FRAME_CUT, 0, WIRE_cut_no_mapping) };

	FILE_NAMES(f, PROGRAM, 1, "prog");
	assert_int_equal(give_user(f, 1, frames, 2), 0);
	assert_int_equal(give_user(f, 2, frames + 1, 1), 0);
	count(f, 1, 0, 2);
	count(f, 2, 0, 1);
	assert_folded(f, "app;[incomplete: no_mapping];prog+0x20 2\napp;[incomplete: no_mapping] 1\n");
}

/* A reason is a counter of the group that holds reasons, and no other number. */
static void test_only_reasons_are_reasons(void **state)
{
	const struct fixture *f = *state;
	static const char *const groups[] = {
#define COUNTER(group, name, text) #group,
#include "bpf/counters.def"
#undef COUNTER
	};

	for (uint32_t i = 0; i < WIRE_COUNTERS + 3; i++) {
		const struct wire_frame cut = frame(WIRE_FRAME_CUT, 0, i);
		bool is_reason = i < WIRE_COUNTERS && !strcmp(groups[i], "cut");

		assert_int_equal(give_user(f, 1, &cut, 1), is_reason ? 0 : -EBADMSG);
	}
}

/* A count is never lost, even if what it refers to did not come through. */
static void test_never_sent(void **state)
{
	const struct fixture *f = *state;

	kernel_stack(f, 2, (const uint64_t[]){ 0xa, 0 });
	count(f, 1, 0, 3);
	count(f, 1, 2, 2);
	count(f, 0, 9, 1);
	assert_folded(f,
		      "app;[incomplete: not_sent] 4\napp;[incomplete: not_sent];[kernel]+0xffffffff8100000a_[k] 2\n");
}

static void test_path_is_turned_round(void **state)
{
	static const struct {
		const char *names;
		size_t len;
		const char *path;
	} cases[] = {
		{ "ls\0bin\0usr", 11, "/usr/bin/ls" },
		{ "ls\0bin\0usr", 10, "/usr/bin/ls" },    /* the last NUL is missing */
		{ "ls\0bin\0usr\0/", 13, "/usr/bin/ls" }, /* the root has a name of its own */
		{ "memfd:x (deleted)", 18, "/memfd:x (deleted)" },
		{ "a\nb;\xff", 6, "/a\nb;\xff" }, /* as it is: who shows it escapes it */
		{ "", 0, "" },
	};
	const struct fixture *f = *state;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(give_file(f, i + 1, i + 1, cases[i].names, cases[i].len), 0);
		assert_string_equal(file_path(f, i + 1), cases[i].path);
	}
	assert_int_equal(f->files_found, sizeof(cases) / sizeof(cases[0]));
}

static void test_longest_paths(void **state)
{
	const struct fixture *f = *state;
	static char names[WIRE_PATH_LEN];

	memset(names, 'x', sizeof(names)); /* one name */
	assert_int_equal(give_file(f, 1, 1, names, sizeof(names)), 0);
	assert_int_equal(strlen(file_path(f, 1)), WIRE_PATH_LEN + 1);
	for (size_t i = 1; i < sizeof(names); i += 2) /* as many as there can be */
		names[i] = '\0';
	assert_int_equal(give_file(f, 2, 2, names, sizeof(names)), 0);
	assert_int_equal(strlen(file_path(f, 2)), WIRE_PATH_LEN);
	assert_int_equal(strncmp(file_path(f, 2), "/x/x/x", 6), 0);
	memset(names, 0, sizeof(names)); /* names of nothing */
	assert_int_equal(give_file(f, 3, 3, names, sizeof(names)), 0);
	assert_in_range(strlen(file_path(f, 3)), 1, WIRE_PATH_LEN + 1);
}

static void test_file_is_known_by_its_key(void **state)
{
	const struct fixture *f = *state;
	const struct profile_file *file;

	FILE_NAMES(f, PROGRAM, 1234, "prog");
	file = profile_file(f->profile, 1);
	assert_int_equal(file->device, 8 << 20 | 1);
	assert_int_equal(file->inode, 1234);
	assert_int_equal(file->generation, 3);
	assert_int_equal(file->mtime_ns, 2000000005);
	assert_int_equal(file->size, 4096);
}

static void test_announced_twice(void **state)
{
	const struct fixture *f = *state;

	FILE_NAMES(f, PROGRAM, 1, "prog");
	FILE_NAMES(f, PROGRAM, 1, "link");
	assert_string_equal(file_path(f, 1), "/prog");
	assert_int_equal(f->files_found, 1);
	assert_int_equal(give_file(f, 8, 2, "", 0), 0); /* nor when its path could not be read */
	assert_int_equal(give_file(f, 8, 2, "", 0), 0);
	assert_int_equal(f->files_found, 2);
	assert_int_equal(profile_count(f->profile, PROFILE_FILES), 3);
}

static void test_frames_before_their_file(void **state)
{
	const struct fixture *f = *state;

	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	count(f, 1, 0, 1);
	assert_folded(f, "app;[file]+0x10 1\n"); /* never announced: counted all the same */
	FILE_NAMES(f, PROGRAM, 1, "prog");
	user_stack(f, 2, (const uint64_t[]){ 0x20, 0 });
	count(f, 2, 0, 1);
	assert_folded(f, "app;prog+0x10 1\napp;prog+0x20 1\n");
	assert_int_equal(profile_count(f->profile, PROFILE_FILES), 2);
}

/* Code without a file belongs to a process, which comes with the first count; the stack comes before that. */
static void test_jit_gets_its_process_later(void **state)
{
	const struct fixture *f = *state;
	const struct wire_frame jit = frame(WIRE_FRAME_ANON, wire_process_id(PID, START), 0x7f0000000010);
	const struct wire_frame other = frame(WIRE_FRAME_ANON, wire_process_id(PID, START + 1000000), 0x7f0000000010);

	assert_int_equal(give_user(f, 1, &jit, 1), 0);
	assert_int_equal(give_user(f, 2, &other, 1), 0); /* a later user of the same pid */
	assert_int_equal(profile_count(f->profile, PROFILE_PROCESSES), 3);
	assert_int_equal(profile_frame(f->profile, 1)->process, 1);
	assert_int_equal(profile_frame(f->profile, 1)->kind, FRAME_JIT);
	assert_int_equal(profile_frame(f->profile, 1)->address, 0x7f0000000010);
	EXEC(f, PID, "node");
	count(f, 1, 0, 1);
	assert_int_equal(profile_count(f->profile, PROFILE_PROCESSES), 3);
	assert_int_equal(profile_sample(f->profile, 1)->process, 1);
	assert_int_equal(profile_process(f->profile, 1)->start, START);
	assert_int_equal(profile_process(f->profile, 1)->pid, PID);
	assert_string_equal(program_of(f, PID), "/node");
	assert_folded(f, "app;[jit]_[j] 1\n");
}

static void test_vdso_is_shared_by_all(void **state)
{
	const struct fixture *f = *state;
	const struct wire_frame frames[] = { frame(WIRE_FRAME_VDSO, wire_process_id(1, START), 0x6f0),
					     frame(WIRE_FRAME_VDSO, wire_process_id(2, START), 0x6f0) };

	assert_int_equal(give_user(f, 1, frames, 2), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_FRAMES), 2);
	assert_int_equal(profile_count(f->profile, PROFILE_PROCESSES), 1);
	count(f, 1, 0, 1);
	assert_folded(f, "app;[vdso]+0x6f0;[vdso]+0x6f0 1\n");
}

static void test_mappings_found_in_user_space(void **state)
{
	struct fixture *f = *state;
	const struct wire_frame frames[] = { frame(WIRE_FRAME_ANON, wire_process_id(PID, START), 0x1010),
					     frame(WIRE_FRAME_ANON, wire_process_id(PID, START), 0x10) };

	tear_down(state);
	begin(f, find_mapping);
	assert_int_equal(give_user(f, 1, frames, 2), 0);
	count(f, 1, 0, 1);
	assert_int_equal(f->mappings_asked, 2);
	assert_int_equal(f->asked_pid, PID);
	assert_folded(f, "app;[jit]_[j];found+0x10 1\n");
}

static void test_exec_before_and_after_the_sample(void **state)
{
	const struct fixture *f = *state;

	EXEC(f, 10, "sh\0bin");
	sample_of(f, 10);
	assert_string_equal(program_of(f, 10), "/bin/sh");
	EXEC(f, 10, "ls\0bin");
	assert_string_equal(program_of(f, 10), "/bin/ls");
	assert_string_equal(profile_text(f->profile, process_by_pid(f, 10)->comm, NULL), "taken");
	sample_of(f, 11);
	assert_string_equal(program_of(f, 11), "");
	assert_string_equal(profile_text(f->profile, process_by_pid(f, 11)->comm, NULL), "sampled");
	EXEC(f, 11, "ls\0bin");
	assert_string_equal(program_of(f, 11), "/bin/ls");
	assert_int_equal(profile_count(f->profile, PROFILE_PROCESSES), 3);
}

static void test_fork_inherits_the_program(void **state)
{
	const struct fixture *f = *state;

	EXEC(f, 10, "sh\0bin");
	FORK(f, 11, 10);
	FORK(f, 12, 11);
	EXEC(f, 10, "ls\0bin"); /* what a parent does later is its own */
	sample_of(f, 12);
	sample_of(f, 11);
	sample_of(f, 10);
	assert_string_equal(program_of(f, 12), "/bin/sh");
	assert_string_equal(program_of(f, 11), "/bin/sh");
	assert_string_equal(program_of(f, 10), "/bin/ls");
	assert_int_equal(f->programs_asked, 0);
}

static void test_fork_of_one_never_seen(void **state)
{
	const struct fixture *f = *state;

	FORK(f, 11, 1);
	FORK(f, 12, 1);
	assert_int_equal(f->programs_asked, 1);
	assert_int_equal(f->asked_pid, 1);
	sample_of(f, 12);
	assert_string_equal(program_of(f, 12), "/sbin/init");
	sample_of(f, 21);
	FORK(f, 21, 20); /* the notice comes after the sample, and nobody knows its parent */
	FORK(f, 22, 20);
	assert_int_equal(f->programs_asked, 2);
	assert_string_equal(program_of(f, 21), "");
	assert_string_equal(profile_text(f->profile, process_by_pid(f, 21)->comm, NULL), "sampled");
}

/* Of those who ended, what was sampled stays, and the others are kept for one window: a count may still come. */
static void test_ended_are_forgotten(void **state)
{
	const struct fixture *f = *state;

	EXEC(f, 10, "sh\0bin");
	EXEC(f, 11, "sh\0bin");
	EXEC(f, 12, "sh\0bin");
	sample_of(f, 10);
	EXIT(f, 10);
	EXIT(f, 11);
	ingest_forget_ended(f->ingest);
	EXIT(f, 12);
	FORK(f, 21, 11);
	ingest_forget_ended(f->ingest);
	FORK(f, 20, 10);
	FORK(f, 22, 11);
	FORK(f, 23, 12);
	for (uint32_t pid = 20; pid <= 23; pid++)
		sample_of(f, pid);
	assert_string_equal(program_of(f, 20), "/bin/sh");
	assert_string_equal(program_of(f, 21), "/bin/sh");
	assert_string_equal(program_of(f, 22), "");
	assert_string_equal(program_of(f, 23), "/bin/sh");
}

static void test_unknown_programs_are_listed(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(ingest_next_unknown(f->ingest, 0), 0);
	sample_of(f, 10);
	EXEC(f, 11, "sh");
	sample_of(f, 11);
	sample_of(f, 12);
	assert_int_equal(ingest_next_unknown(f->ingest, 0), 1);
	assert_int_equal(ingest_next_unknown(f->ingest, 1), 3);
	assert_int_equal(ingest_next_unknown(f->ingest, 3), 0);
}

static void test_counts_add_up_exactly(void **state)
{
	const struct fixture *f = *state;
	uint64_t sum = 0;

	for (uint64_t id = 1; id <= 20; id++)
		user_stack(f, id, (const uint64_t[]){ id, 0x10, 0 });
	for (uint64_t i = 1; i <= 500; i++) {
		count(f, i % 20 + 1, 0, i * i);
		sum += i * i;
	}
	assert_int_equal(profile_count(f->profile, PROFILE_SAMPLES), 1 + 20);
	assert_int_equal(sum_of_samples(f), sum);
}

static void test_keys_stay_apart(void **state)
{
	const struct fixture *f = *state;
	struct wire_key keys[] = { key_of(0, 0), key_of(0, 0), key_of(0, 0), key_of(0, 0), key_of(0, 0) };

	keys[1].pid++;
	keys[2].start += 1000000;
	keys[3].tid = 5;
	memcpy(keys[4].comm, "0123456789abcdef", WIRE_COMM_LEN); /* no NUL */
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			assert_int_equal(ingest_count(f->ingest, &keys[i], 1ULL << (8 * i)), 0);
	for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_int_equal(profile_sample(f->profile, i + 1)->value, 2ULL << (8 * i));
	assert_int_equal(profile_sample(f->profile, 4)->tid, 5);
	assert_string_equal(profile_text(f->profile, profile_sample(f->profile, 5)->comm, NULL), "0123456789abcdef");
	assert_int_equal(profile_count(f->profile, PROFILE_PROCESSES), 1 + 3);
}

static void event(const struct fixture *f, const struct wire_key *key, uint64_t cpu, uint64_t us)
{
	const struct wire_event record = { .when = cpu << 48 | us, .key = wire_hash_key(SEED, key) };

	assert_int_equal(ingest_event(f->ingest, &record, sizeof(record)), 0);
}

static void test_events_wait_for_their_key(void **state)
{
	const struct fixture *f = *state;
	const struct wire_key first = key_of(1, 0), second = key_of(2, 0);

	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	user_stack(f, 2, (const uint64_t[]){ 0x20, 0 });
	profile_meta(f->profile)->start_us = 1000;
	event(f, &second, 65535, 1500);
	event(f, &first, 1, 1600);
	event(f, &second, 2, 900); /* before the start: a clock read later */
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_events_waiting(f->ingest), 3);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 1);
	assert_int_equal(ingest_count(f->ingest, &first, 1), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_events_waiting(f->ingest), 2);
	assert_int_equal(profile_event(f->profile, 1)->time_us, 600);
	assert_int_equal(profile_event(f->profile, 1)->sample, 1);
	assert_int_equal(ingest_count(f->ingest, &second, 2), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_events_waiting(f->ingest), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 4);
	assert_int_equal(profile_event(f->profile, 2)->cpu, 65535);
	assert_int_equal(profile_event(f->profile, 2)->time_us, 500);
	assert_int_equal(profile_event(f->profile, 3)->time_us, 0);
	assert_int_equal(profile_event(f->profile, 3)->sample, 2);
}

/* An event that is there before its sample was counted once more belongs to what is counted next. */
static void test_as_many_events_as_samples(void **state)
{
	const struct fixture *f = *state;
	const struct wire_key key = key_of(1, 0);

	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	for (uint64_t i = 1; i <= 5; i++)
		event(f, &key, 0, i);
	assert_int_equal(ingest_count(f->ingest, &key, 2), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 1 + 2);
	assert_int_equal(ingest_count(f->ingest, &key, 2), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 1 + 4);
	assert_int_equal(profile_event(f->profile, 4)->time_us, 4);
	assert_int_equal(ingest_events_waiting(f->ingest), 1);
}

static void test_early_ones_have_their_own_event(void **state)
{
	const struct fixture *f = *state;
	const struct wire_key key = key_of(1, 2);
	const uint64_t when = 30;

	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	assert_int_equal(ingest_count_early(f->ingest, &key, &when), 0);
	kernel_stack(f, 2, (const uint64_t[]){ 0xa, 0 }); /* what the key means is known better now */
	event(f, &key, 0, 40);
	assert_int_equal(ingest_count(f->ingest, &key, 1), 0);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_events_waiting(f->ingest), 0);
	assert_int_equal(profile_event(f->profile, 1)->sample, 1);
	assert_int_equal(profile_event(f->profile, 1)->time_us, 30);
	assert_int_equal(profile_event(f->profile, 2)->sample, 2);
	assert_int_equal(ingest_count_early(f->ingest, &key, NULL), 0);
	assert_int_equal(profile_count(f->profile, PROFILE_EVENTS), 1 + 2);
}

/* What was counted is taken out; what is known stays known, and what came too late is not kept for ever. */
static void test_taking_out(void **state)
{
	const struct fixture *f = *state;
	const struct wire_key key = key_of(1, 0), other = key_of(2, 0);
	struct profile_stacks stacks;
	struct map early = { 0 };
	uint64_t late;

	user_stack(f, 1, (const uint64_t[]){ 0x10, 0 });
	user_stack(f, 2, (const uint64_t[]){ 0x20, 0 });
	assert_int_equal(ingest_count(f->ingest, &key, 3), 0);
	assert_int_equal(ingest_count_early(f->ingest, &key, NULL), 0);
	event(f, &key, 0, 1);
	event(f, &other, 0, 2);
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_take(f->ingest, &stacks, &early, &late), 0);
	assert_int_equal(stacks.samples_len, 1 + 1);
	assert_int_equal(stacks.samples[1].value, 4);
	assert_int_equal(stacks.events_len, 1 + 1);
	assert_int_equal(*map_get(&early, 1), 1);
	assert_int_equal(late, 0);
	map_free(&early);
	profile_stacks_free(&stacks);
	assert_int_equal(ingest_stacks(f->ingest), 2);

	assert_int_equal(ingest_count(f->ingest, &key, 5), 0); /* its stack is not sent again */
	assert_folded(f, "app;[file]+0x10 5\n");
	assert_int_equal(ingest_events_settle(f->ingest), 0);
	assert_int_equal(ingest_take(f->ingest, &stacks, &early, &late), 0);
	assert_int_equal(stacks.samples[1].value, 5);
	assert_int_equal(stacks.events_len, 1);
	assert_int_equal(early.len, 0);
	assert_int_equal(late, 1);
	assert_int_equal(ingest_events_waiting(f->ingest), 0);
	map_free(&early);
	profile_stacks_free(&stacks);
}

/* Memory does not grow with the processes that came, were sampled, and went. */
static void test_the_past_is_forgotten(void **state)
{
	const struct fixture *f = *state;
	size_t memory = 0;

	for (uint32_t pid = 1000; pid < 9000; pid++) {
		struct profile_stacks stacks;
		struct map early;
		uint64_t late;

		EXEC(f, pid, "sh\0bin");
		sample_of(f, pid);
		EXIT(f, pid);
		ingest_forget_ended(f->ingest);
		assert_int_equal(ingest_take(f->ingest, &stacks, &early, &late), 0);
		assert_int_equal(stacks.samples[1].value, 1);
		profile_stacks_free(&stacks);
		map_free(&early);
		if (pid == 1100)
			memory = ingest_memory(f->ingest);
	}
	assert_true(ingest_memory(f->ingest) < memory + (1 << 20));
	assert_string_equal(program_of(f, 8999), "/bin/sh");
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	ingest_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_ingest(test_root_first_user_before_kernel),
		with_ingest(test_either_part_alone),
		with_ingest(test_stacks_share_their_roots),
		with_ingest(test_sent_twice_is_there_once),
		with_ingest(test_deepest_stacks),
		with_ingest(test_many_kernel_stacks),
		with_ingest(test_cut_is_named_at_the_root),
		with_ingest(test_only_reasons_are_reasons),
		with_ingest(test_never_sent),
		with_ingest(test_path_is_turned_round),
		with_ingest(test_longest_paths),
		with_ingest(test_file_is_known_by_its_key),
		with_ingest(test_announced_twice),
		with_ingest(test_frames_before_their_file),
		with_ingest(test_jit_gets_its_process_later),
		with_ingest(test_vdso_is_shared_by_all),
		with_ingest(test_mappings_found_in_user_space),
		with_ingest(test_exec_before_and_after_the_sample),
		with_ingest(test_fork_inherits_the_program),
		with_ingest(test_fork_of_one_never_seen),
		with_ingest(test_ended_are_forgotten),
		with_ingest(test_unknown_programs_are_listed),
		with_ingest(test_counts_add_up_exactly),
		with_ingest(test_keys_stay_apart),
		with_ingest(test_events_wait_for_their_key),
		with_ingest(test_as_many_events_as_samples),
		with_ingest(test_early_ones_have_their_own_event),
		with_ingest(test_taking_out),
		with_ingest(test_the_past_is_forgotten),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
