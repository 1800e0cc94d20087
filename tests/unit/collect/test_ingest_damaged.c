/* SPDX-License-Identifier: Apache-2.0 */
/* Wire records that cannot be right are refused, each kind in each way, and the profile stays as it was to the byte. */
#include "collect/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/collect/records.h"

/* The whole profile as bytes: equal means that nothing changed. */
static void snapshot(const struct fixture *f, struct buf *out)
{
	buf_clear(out);
	assert_int_equal(out_wick(f->profile, out), 0);
}

static void fill(const struct fixture *f)
{
	FILE_NAMES(f, PROGRAM, 1, "prog");
	user_stack(f, 1, (const uint64_t[]){ 0x20, 0x10, 0 });
	kernel_stack(f, 2, (const uint64_t[]){ 0xa, 0 });
	count(f, 1, 2, 5);
}

/* A record of `len` bytes, cut everywhere, must be refused each time without a trace. */
static void assert_cuts_refused(const struct fixture *f, const void *record, size_t len, bool is_notice)
{
	autobuf struct buf before = { 0 }, after = { 0 };
	struct ingest_ended ended;

	snapshot(f, &before);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(is_notice ? give_notice(f, record, cut, &ended) : give(f, record, cut), -EBADMSG);
	snapshot(f, &after);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void assert_refused(const struct fixture *f, const void *record, size_t len)
{
	autobuf struct buf before = { 0 }, after = { 0 };

	snapshot(f, &before);
	assert_int_equal(give(f, record, len), -EBADMSG);
	snapshot(f, &after);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void test_records_cut_short(void **state)
{
	const struct fixture *f = *state;
	struct user_record user = { .head = { .type = WIRE_USER_STACK, .count = 2, .id = 50 },
				    .frames = { frame(WIRE_FRAME_FILE, 51, 1), frame(WIRE_FRAME_ANON, 52, 2) } };
	struct kernel_record kernel = { .head = { .type = WIRE_KERNEL_STACK, .count = 2, .id = 53 },
					.addresses = { 3, 4 } };
	struct wire_file file = { .type = WIRE_FILE, .id = 54, .path_len = 5, .path = "a\0bin" };
	struct wire_notice exec = { .type = WIRE_EXEC, .pid = PID, .start = START, .path_len = 5, .path = "a\0bin" };
	struct wire_notice ends = { .type = WIRE_EXIT, .pid = PID, .start = START };
	const struct wire_event happened = { .when = 1, .key = 1 };

	fill(f);
	assert_cuts_refused(f, &user, sizeof(user.head) + 2 * sizeof(struct wire_frame), false);
	assert_cuts_refused(f, &kernel, sizeof(kernel.head) + 2 * sizeof(uint64_t), false);
	assert_cuts_refused(f, &file, offsetof(struct wire_file, path) + 5, false);
	assert_cuts_refused(f, &exec, offsetof(struct wire_notice, path) + 5, true);
	assert_cuts_refused(f, &ends, offsetof(struct wire_notice, path), true);
	for (size_t cut = 0; cut < sizeof(happened); cut++)
		assert_int_equal(ingest_event(f->ingest, &happened, cut), -EBADMSG);
	assert_int_equal(ingest_events_waiting(f->ingest), 0);
	assert_int_equal(f->files_found, 1);
}

static void test_counts_beyond_the_limits(void **state)
{
	const struct fixture *f = *state;
	static struct user_record user;
	static struct kernel_record kernel;
	static _Alignas(8) char room[sizeof(struct wire_file) + 64];
	struct wire_file *file = (struct wire_file *)room;
	struct ingest_ended ended;
	struct wire_notice *exec = (struct wire_notice *)room;

	fill(f);
	user.head = (struct wire_user_stack){ .type = WIRE_USER_STACK, .count = WIRE_USER_FRAMES + 2, .id = 50 };
	assert_refused(f, &user, sizeof(user));
	user.head.count = UINT32_MAX;
	assert_refused(f, &user, sizeof(user));
	user.head.count = 1U << 28; /* times 16 is 2^32 */
	assert_refused(f, &user, sizeof(user));
	kernel.head =
		(struct wire_kernel_stack){ .type = WIRE_KERNEL_STACK, .count = WIRE_KERNEL_FRAMES + 1, .id = 51 };
	assert_refused(f, &kernel, sizeof(kernel));
	kernel.head.count = 1U << 29;
	assert_refused(f, &kernel, sizeof(kernel));
	*file = (struct wire_file){ .type = WIRE_FILE, .id = 52, .path_len = WIRE_PATH_LEN + 1 };
	assert_refused(f, file, sizeof(room));
	file->path_len = UINT32_MAX;
	assert_refused(f, file, sizeof(room));
	*exec = (struct wire_notice){ .type = WIRE_EXEC, .pid = PID, .start = START, .path_len = WIRE_PATH_LEN + 1 };
	assert_int_equal(give_notice(f, exec, sizeof(room), &ended), -EBADMSG);
	exec->path_len = UINT32_MAX;
	assert_int_equal(give_notice(f, exec, sizeof(room), &ended), -EBADMSG);
	assert_string_equal(program_of(f, PID), "");
}

static void test_types_that_do_not_exist(void **state)
{
	const struct fixture *f = *state;
	static struct wire_notice record;
	struct ingest_ended ended;

	fill(f);
	for (uint32_t type = 0; type < 12; type++) {
		record.type = type;
		if (type < WIRE_USER_STACK || (type > WIRE_FILE && type != WIRE_GROUP && type != WIRE_PROGRAM))
			assert_refused(f, &record, sizeof(record));
		if (type < WIRE_EXEC || type > WIRE_EXIT)
			assert_int_equal(give_notice(f, &record, sizeof(record), &ended), -EBADMSG);
	}
}

/* A stack with one frame that cannot be is refused whole, wherever the frame is. */
static void test_frames_that_cannot_be(void **state)
{
	const struct fixture *f = *state;
	const struct wire_frame bad[] = {
		frame(WIRE_FRAME_KINDS, 60, 1),          frame(255, 60, 1),
		frame(WIRE_FRAME_CUT, 0, WIRE_COUNTERS), frame(WIRE_FRAME_CUT, 0, WIRE_total_fired),
		frame(WIRE_FRAME_CUT, 0, ~0ULL),
	};

	fill(f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (size_t place = 0; place < 3; place++) {
			struct user_record user = {
				.head = { .type = WIRE_USER_STACK, .count = 3, .id = 50 },
				.frames = { frame(WIRE_FRAME_FILE, 61, 1), frame(WIRE_FRAME_ANON, 62, 2),
					    frame(WIRE_FRAME_FILE, 63, 3) },
			};

			user.frames[place] = bad[i];
			assert_refused(f, &user, sizeof(user.head) + 3 * sizeof(struct wire_frame));
		}
	}
}

static void test_reason_away_from_the_root(void **state)
{
	const struct fixture *f = *state;
	const struct user_record user = {
		.head = { .type = WIRE_USER_STACK, .count = 2, .id = 50 },
		.frames = { frame(WIRE_FRAME_CUT, 0, WIRE_cut_depth), frame(WIRE_FRAME_FILE, 61, 1) },
	};

	fill(f);
	assert_refused(f, &user, sizeof(user.head) + 2 * sizeof(struct wire_frame));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_ingest(test_records_cut_short),         with_ingest(test_counts_beyond_the_limits),
		with_ingest(test_types_that_do_not_exist),   with_ingest(test_frames_that_cannot_be),
		with_ingest(test_reason_away_from_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
