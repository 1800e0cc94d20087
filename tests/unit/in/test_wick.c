/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .wick format: what was written is read back to the byte, and what is damaged, hostile or from the future is
 * refused in words. Files that no writer of ours makes are built here by hand, after docs/format-wick.md.
 *
 * With a folder as its argument it writes the first inputs for tests/fuzz/fuzz_wick.c there instead.
 */
#include "in/in.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

#define TABLES 10
#define START_LEN 12
#define HEADER_LEN 40

struct bytes {
	const char *data;
	size_t len;
};

#define BYTES(text)                     \
	{                               \
		text, sizeof(text) - 1, \
	}

static const char *const tags[TABLES] = {
	"STRS", "FILE", "PROC", "FRAM", "NODE", "LABL", "SAMP", "EVNT", "CNTR", "META",
};

enum place { STRS, FILES, PROC, FRAM, NODE, LABL, SAMP, EVNT, CNTR, META };

/* The smallest file with one of everything (and two strings), as the document says. */
static const struct bytes small[TABLES] = {
	BYTES("\2\1a\1b"),                /* "a", "b" */
	BYTES("\1\10\11\12\13\14\1\0\0"), /* device 8, inode 9, size 10, generation 11, mtime 12, path "a" */
	BYTES("\1\5\11\0\1\0\0"),         /* pid 5, start 9, no parent, comm "a" */
	BYTES("\1\0\40\1\0\1"),           /* user, address 16, file 1, no process, name "a" */
	BYTES("\1\1\2"),                  /* parent is 1 below, frame 1 */
	BYTES("\1\0\1\2"),                /* no rest, "a" = "b" */
	BYTES("\1\3\2\1\0\1\1"),          /* value 3, stack 1, process 1, no tid, comm "a", labels 1 */
	BYTES("\1\16\1\2"),               /* 7 us, sample 1, cpu 2 */
	BYTES("\1\1\2\7"),                /* "a" "b" 7 */
	BYTES("\1\143\1\1"),              /* hz 99; event "a" */
};

static void add_header(struct buf *out, const char *tag, uint32_t flags, uint32_t compression, uint64_t raw_len,
		       const void *stored, size_t len)
{
	size_t at = out->len;

	buf_add(out, tag, 4);
	buf_u32(out, flags);
	buf_u32(out, compression);
	buf_u32(out, 0);
	buf_u64(out, len);
	buf_u64(out, raw_len);
	buf_u64(out, XXH64(stored, len, XXH64(out->data + at, 32, 0)));
	buf_add(out, stored, len);
}

static void add_plain(struct buf *out, const char *tag, const struct bytes *bytes)
{
	add_header(out, tag, 1, 0, bytes->len, bytes->data, bytes->len);
}

static void add_start(struct buf *out, uint32_t version)
{
	buf_add(out, "\x8dWICK\r\n\x1a", 8);
	buf_u32(out, version);
}

/* The small file, with other bytes at one place. */
static void build(struct buf *out, enum place place, const struct bytes *bytes)
{
	const struct bytes nothing = BYTES("");

	add_start(out, 1);
	for (int i = 0; i < TABLES; i++)
		add_plain(out, tags[i], i == (int)place ? bytes : &small[i]);
	add_plain(out, "END ", &nothing);
}

static void assert_refused(const void *data, size_t len, const char *words)
{
	struct profile *profile = NULL;
	int err = in_wick(&profile, data, len, &(struct in_request){ 0 });

	if (!strstr(fail_text(), words))
		fail_msg("'%s' is not in: %s", words, fail_text());
	assert_true(err == -EINVAL || err == -EFBIG);
	assert_null(profile);
}

static void write_example(struct buf *out)
{
	struct profile *profile;

	assert_int_equal(profile_new(&profile), 0);
	example_fill(profile);
	assert_int_equal(out_wick(profile, out), 0);
	profile_free(profile);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Large enough to be compressed, with numbers of all sizes. */
static void fill_at_random(struct profile *profile, uint32_t samples)
{
	uint64_t state = 42;
	char name[32];

	example_processes(profile);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t node = PROFILE_NONE;

		for (uint64_t depth = next_random(&state) % 30; depth; depth--) {
			uint64_t pick = next_random(&state) % 300;

			snprintf(name, sizeof(name), "function_%d", (int)pick);
			node = profile_add_node(
				profile, node,
				example_frame(profile, pick % FRAME_KINDS, 0, pick << (pick % 57), name));
		}
		example_sample(profile, 1 + i % 2, node, PROFILE_NONE, next_random(&state) << (i % 31));
	}
}

static void assert_same_again(const struct buf *first)
{
	autobuf struct buf second = { 0 };
	struct profile *profile;

	if (in_wick(&profile, first->data, first->len, &(struct in_request){ 0 }) != 0)
		fail_msg("%s", fail_text());
	assert_int_equal(out_wick(profile, &second), 0);
	profile_free(profile);
	assert_int_equal(first->len, second.len);
	assert_memory_equal(first->data, second.data, first->len);
}

static void test_round_trip(void **state)
{
	autobuf struct buf empty = { 0 }, example = { 0 }, large = { 0 };
	struct profile *profile;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	assert_int_equal(out_wick(profile, &empty), 0);
	fill_at_random(profile, 3000);
	assert_int_equal(out_wick(profile, &large), 0);
	profile_free(profile);
	write_example(&example);
	assert_same_again(&empty);
	assert_same_again(&example);
	assert_same_again(&large);
}

/* What is written for one who reads it at once is the same profile, and nothing of it is packed. */
static void test_plain(void **state)
{
	autobuf struct buf packed = { 0 }, plain = { 0 }, again = { 0 };
	struct profile *profile, *read;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	fill_at_random(profile, 3000);
	assert_int_equal(out_wick(profile, &packed), 0);
	assert_int_equal(out_wick_plain(profile, &plain), 0);
	profile_free(profile);
	assert_true(plain.len > packed.len);
	assert_int_equal(in_wick(&read, plain.data, plain.len, &(struct in_request){ 0 }), 0);
	assert_int_equal(out_wick(read, &again), 0);
	profile_free(read);
	assert_int_equal(again.len, packed.len);
	assert_memory_equal(again.data, packed.data, packed.len);
}

static void test_nothing_is_lost(void **state)
{
	autobuf struct buf file = { 0 };
	struct profile *before, *after;

	(void)state;
	assert_int_equal(profile_new(&before), 0);
	example_fill(before);
	assert_int_equal(out_wick(before, &file), 0);
	assert_int_equal(in_wick(&after, file.data, file.len, &(struct in_request){ 0 }), 0);
	assert_memory_equal(profile_meta(before), profile_meta(after), sizeof(struct profile_meta));
	for (int table = 0; table < PROFILE_TABLES; table++)
		assert_int_equal(profile_count(before, table), profile_count(after, table));
/* Up to the last field: what pads a record is nobody's. */
#define ASSERT_SAME(table, record, last)                            \
	for (uint32_t i = 0; i < profile_count(before, table); i++) \
	assert_memory_equal(record(before, i), record(after, i),    \
			    offsetof(struct record, last) + sizeof(record(before, i)->last))
	ASSERT_SAME(PROFILE_FILES, profile_file, reason);
	ASSERT_SAME(PROFILE_PROCESSES, profile_process, cgroup);
	ASSERT_SAME(PROFILE_FRAMES, profile_frame, kind);
	ASSERT_SAME(PROFILE_NODES, profile_node, frame);
	ASSERT_SAME(PROFILE_SAMPLES, profile_sample, labels);
	ASSERT_SAME(PROFILE_EVENTS, profile_event, cpu);
	ASSERT_SAME(PROFILE_COUNTERS, profile_counter, value);
	for (uint32_t i = 0; i < profile_count(before, PROFILE_STRINGS); i++) {
		size_t len, got;
		const char *text = profile_text(before, i, &len);

		assert_memory_equal(profile_text(after, i, &got), text, len);
		assert_int_equal(len, got);
	}
	profile_free(before);
	profile_free(after);
}

/* Files made by the first version stay readable: this one is in the tree. */
static void test_old_file(void **state)
{
	autobuf struct buf out = { 0 };
	struct profile *profile;
	static char data[4096];
	FILE *file = fopen("tests/fuzz/corpus/wick/example-v1", "rb");
	size_t len;

	(void)state;
	assert_non_null(file);
	len = fread(data, 1, sizeof(data), file);
	fclose(file);
	assert_int_equal(in_wick(&profile, data, len, &(struct in_request){ 0 }), 0);
	assert_int_equal(out_folded(profile, &out), 0);
	assert_non_null(strstr(out.data, "sh;main;libc.so.6+0x2f00 600\n"));
	profile_free(profile);
}

static void test_file_by_hand(void **state)
{
	autobuf struct buf file = { 0 }, out = { 0 };
	struct profile *profile;

	(void)state;
	build(&file, STRS, &small[STRS]);
	if (in_wick(&profile, file.data, file.len, &(struct in_request){ 0 }) != 0)
		fail_msg("%s", fail_text());
	assert_int_equal(profile_file(profile, 1)->mtime_ns, 12);
	assert_int_equal(profile_process(profile, 1)->start, 9);
	assert_int_equal(profile_frame(profile, 1)->address, 16);
	assert_int_equal(profile_event(profile, 1)->time_us, 7);
	assert_int_equal(profile_event(profile, 1)->cpu, 2);
	assert_int_equal(profile_counter_value(profile, "a", "b"), 7);
	assert_int_equal(profile_meta(profile)->hz, 99);
	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data, "a;a 3\n");
	profile_free(profile);
}

static void test_record_given_twice(void **state)
{
	const struct bytes nodes = BYTES("\3\1\2\2\0\1\0"); /* 2 is 1 again, 3 hangs on 2 */
	const struct bytes samples = BYTES("\2\3\6\1\0\1\0\3\0\1\0\1\0");
	autobuf struct buf file = { 0 }, out = { 0 };
	const struct bytes nothing = BYTES("");
	struct profile *profile;

	(void)state;
	add_start(&file, 1);
	for (int i = 0; i < TABLES; i++)
		add_plain(&file, tags[i], i == NODE ? &nodes : i == SAMP ? &samples : &small[i]);
	add_plain(&file, "END ", &nothing);
	assert_int_equal(in_wick(&profile, file.data, file.len, &(struct in_request){ 0 }), 0);
	assert_int_equal(profile_count(profile, PROFILE_NODES), 3);
	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data, "a;a;a 6\n");
	profile_free(profile);
}

static void test_not_a_wick_file(void **state)
{
	(void)state;
	assert_refused("", 0, "not a wick file");
	assert_refused("\x7f"
		       "ELF............",
		       16, "not a wick file");
	assert_refused("\x8dWICK\n\x1a\1\0\0\0\0", 12, "transferred as text");
	assert_refused("\x8dWICK\r\r\n\x1a\1\0\0", 12, "transferred as text");
	assert_refused("\x8dWICK\r\n\x1a\1", 9, "cut short");
	assert_refused("\x8dWICK\r\n\x1a\0\0\0\0", 12, "version 0");
}

static void test_newer_version(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	add_start(&file, 7);
	assert_refused(file.data, file.len, "made by a newer wick: version 7, this one reads up to 1");
}

static void test_every_cut_is_seen(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	write_example(&file);
	for (size_t len = 0; len < file.len; len++)
		assert_refused(file.data, len, len < 8 ? "not a wick file" : "cut short");
	buf_addc(&file, '\0');
	assert_refused(file.data, file.len, "1 bytes after the end");
}

static void test_every_changed_byte_is_seen(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	write_example(&file);
	for (size_t at = 0; at < file.len; at++) {
		for (unsigned int bit = 0; bit < 8; bit += 7) {
			file.data[at] ^= (char)(1u << bit);
			assert_refused(file.data, file.len, "");
			file.data[at] ^= (char)(1u << bit);
		}
	}
	assert_same_again(&file);
}

static void test_unknown_sections(void **state)
{
	const struct bytes bytes = BYTES("whatever");
	autobuf struct buf file = { 0 };

	(void)state;
	add_start(&file, 1);
	add_header(&file, "NEW1", 0, 9, 1ULL << 60, bytes.data, bytes.len);
	for (int i = 0; i < TABLES; i++)
		add_plain(&file, tags[i], &small[i]);
	add_header(&file, "NEW2", 2, 0, bytes.len, bytes.data, bytes.len);
	add_header(&file, "END ", 1, 0, 0, "", 0);
	{
		struct profile *profile;

		assert_int_equal(in_wick(&profile, file.data, file.len, &(struct in_request){ 0 }), 0);
		profile_free(profile);
	}
	buf_clear(&file);
	add_start(&file, 1);
	add_plain(&file, "NEW1", &bytes);
	assert_refused(file.data, file.len, "made by a newer wick: section NEW1");
}

/* Known to newer readers only, and not in older files: after META, once, of processes that exist. */
static void test_ways(void **state)
{
	static const struct {
		struct bytes bytes;
		int before; /* the section that it is put before */
		const char *words;
	} cases[] = {
		{ BYTES("\1\1\7\10\11"), TABLES, NULL },
		{ BYTES("\0"), TABLES, NULL },
		{ BYTES("\1\1\7\10\11"), META, "section WAYS where META belongs" },
		{ BYTES("\1\2\7\10\11"), TABLES, "section WAYS does not make sense" },
		{ BYTES("\1\0\7\10\11"), TABLES, "section WAYS does not make sense" },
		{ BYTES("\2\1\7\10\11"), TABLES, "section WAYS does not make sense" },
		{ BYTES("\1\1\7\10"), TABLES, "section WAYS does not make sense" },
		{ BYTES("\1\1\7\10\11\0"), TABLES, "section WAYS does not make sense" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		autobuf struct buf file = { 0 };
		struct profile *profile;

		add_start(&file, 1);
		for (int at = 0; at <= TABLES; at++) {
			if (at == cases[i].before)
				add_header(&file, "WAYS", 0, 0, cases[i].bytes.len, cases[i].bytes.data,
					   cases[i].bytes.len);
			if (at < TABLES)
				add_plain(&file, tags[at], &small[at]);
		}
		add_header(&file, "END ", 1, 0, 0, "", 0);
		if (cases[i].words) {
			assert_refused(file.data, file.len, cases[i].words);
			continue;
		}
		assert_int_equal(in_wick(&profile, file.data, file.len, &(struct in_request){ 0 }), 0);
		assert_int_equal(profile_process(profile, 1)->ways.user, i ? 0 : 9);
		assert_int_equal(profile_process(profile, 1)->ways.row, i ? 0 : 7);
		profile_free(profile);
	}
}

/* What only profiles of other tools have: each before or after its table, once, and never believed. */
static void test_types_and_numbers(void **state)
{
	static const struct {
		const char *tag;
		struct bytes bytes;
		int before; /* the section that it is put before */
		const char *words;
	} cases[] = {
		{ "TYPE", BYTES("\2\1\0\2\1\1\7"), TABLES, NULL }, /* "a" and "b" in "a", which is shown; 7 */
		{ "TYPE", BYTES("\1\1\0\0"), TABLES, NULL },
		{ "TYPE", BYTES("\2\1\0\2\1\1\7"), META, "section TYPE where META belongs" },
		{ "TYPE", BYTES("\0\0"), TABLES, "section TYPE does not make sense" },
		{ "TYPE", BYTES("\2\1\0\3\1\1\7"), TABLES, "section TYPE does not make sense" },   /* name */
		{ "TYPE", BYTES("\2\1\0\2\3\1\7"), TABLES, "section TYPE does not make sense" },   /* unit */
		{ "TYPE", BYTES("\2\1\0\2\1\2\7"), TABLES, "section TYPE does not make sense" },   /* shown */
		{ "TYPE", BYTES("\2\1\0\2\1\1"), TABLES, "section TYPE does not make sense" },     /* no value */
		{ "TYPE", BYTES("\2\1\0\2\1\1\7\7"), TABLES, "section TYPE does not make sense" }, /* one more */
		{ "TYPE", BYTES("\101\1\0\2\1\1\7\7"), TABLES, "section TYPE does not make sense" },
		{ "NUML", BYTES("\1\1"), LABL, "section LABL does not make sense" }, /* "b" is no number */
		{ "NUML", BYTES("\1\2"), LABL, NULL },                               /* of a set that is not there */
		{ "NUML", BYTES("\1\0"), LABL, "section NUML does not make sense" },
		{ "NUML", BYTES("\2\1"), LABL, "section NUML does not make sense" },
		{ "NUML", BYTES("\1\1"), SAMP, "section NUML where SAMP belongs" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct in_request request = { 0 };
		autobuf struct buf file = { 0 };
		struct profile *profile;

		add_start(&file, 1);
		for (int at = 0; at <= TABLES; at++) {
			if (at == cases[i].before)
				add_header(&file, cases[i].tag, 0, 0, cases[i].bytes.len, cases[i].bytes.data,
					   cases[i].bytes.len);
			if (at < TABLES)
				add_plain(&file, tags[at], &small[at]);
		}
		add_header(&file, "END ", 1, 0, 0, "", 0);
		if (cases[i].words) {
			assert_refused(file.data, file.len, cases[i].words);
			continue;
		}
		assert_int_equal(in_wick(&profile, file.data, file.len, &request), 0);
		assert_int_equal(types_value(profile, 1, 0), i ? 3 : 7);
		assert_int_equal(profile_sample(profile, 1)->value, 3);
		buf_free(&request.notes);
		profile_free(profile);
	}
}

/* A file of another tool's profile, as `example` but for that. */
static void write_foreign(struct buf *out)
{
	struct profile *profile;
	struct type list[2];
	uint32_t text;

	assert_int_equal(profile_new(&profile), 0);
	text = profile_string(profile, "-4096 bytes");
	list[0] = (struct type){ profile_string(profile, "objects"), profile_string(profile, "count") };
	list[1] = (struct type){ profile_string(profile, "space"), profile_string(profile, "bytes") };
	example_processes(profile);
	assert_int_equal(types_set(profile, list, 2, 1), 0);
	example_sample(profile, 1, 0, profile_add_number(profile, 0, list[1].unit, text), 5);
	example_sample(profile, 2, 0, profile_add_label(profile, 0, list[1].unit, text), 6);
	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(types_add(profile, i, (const uint64_t[]){ UINT64_MAX - i, 0 }), 0);
	profile_meta(profile)->default_type = list[1].name;
	profile_meta(profile)->doc_url = text;
	assert_int_equal(out_wick(profile, out), 0);
	profile_free(profile);
}

static void test_foreign(void **state)
{
	autobuf struct buf file = { 0 };
	struct in_request request = { .type = "space" };
	struct profile *profile;
	int64_t number;
	size_t unit;

	(void)state;
	write_foreign(&file);
	assert_int_equal(in_wick(&profile, file.data, file.len, &request), 0);
	assert_int_equal(types_value(profile, 2, 0), UINT64_MAX - 2);
	assert_int_equal(profile_sample(profile, 1)->value, 5);
	assert_true(profile_label_number(profile, profile_sample(profile, 1)->labels, &number, &unit));
	assert_true(number == -4096);
	assert_false(profile_label_number(profile, profile_sample(profile, 2)->labels, &number, &unit));
	assert_string_equal(profile_text(profile, profile_meta(profile)->doc_url, NULL), "-4096 bytes");
	profile_free(profile);
	request.type = "objects";
	assert_int_equal(in_wick(&profile, file.data, file.len, &request), -EINVAL);
	assert_non_null(strstr(fail_text(), "--type: 'objects' has values below zero"));
}

static void test_order_of_sections(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	add_start(&file, 1);
	add_plain(&file, tags[0], &small[0]);
	add_plain(&file, tags[0], &small[0]);
	assert_refused(file.data, file.len, "section STRS where FILE belongs");
	buf_clear(&file);
	add_start(&file, 1);
	for (int i = 0; i < TABLES - 1; i++)
		add_plain(&file, tags[i], &small[i]);
	add_header(&file, "END ", 1, 0, 0, "", 0);
	assert_refused(file.data, file.len, "section END  where META belongs");
}

static void test_contents_that_make_no_sense(void **state)
{
	static const struct {
		enum place place;
		struct bytes bytes;
	} cases[] = {
		{ STRS, BYTES("") },                                         /* no count */
		{ STRS, BYTES("\2\1a") },                                    /* more than there are */
		{ STRS, BYTES("\1\2a") },                                    /* longer than there is */
		{ STRS, BYTES("\1\377\377\377\377\377\377\377\377\377\1") }, /* as long as memory */
		{ STRS, BYTES("\377\377\377\377\17\0") },                    /* a number of records beyond all tables */
		{ STRS, BYTES("\2\1a\1b\0") },                               /* something left over */
		{ FILES, BYTES("\1\10\11\12\13\14\3\0\0") },                 /* path */
		{ FILES, BYTES("\1\10\11\12\13\14\1\3\0") },                 /* build id */
		{ FILES, BYTES("\1\10\11\12\13\14\1\0\3") },                 /* reason */
		{ PROC, BYTES("\1\200\200\200\200\20\11\0\1\0\0") },         /* pid of 33 bits */
		{ PROC, BYTES("\1\5\11\2\1\0\0") },                          /* parent */
		{ PROC, BYTES("\1\5\11\0\3\0\0") },                          /* comm */
		{ PROC, BYTES("\1\5\11\0\1\3\0") },                          /* exe */
		{ PROC, BYTES("\1\5\11\0\1\0\3") },                          /* cgroup */
		{ FRAM, BYTES("\1\6\40\1\0\1") },                            /* kind */
		{ FRAM, BYTES("\1\0\40\2\0\1") },                            /* file */
		{ FRAM, BYTES("\1\0\40\1\2\1") },                            /* process */
		{ FRAM, BYTES("\1\0\40\1\0\3") },                            /* name */
		{ NODE, BYTES("\1\0\2") },                                   /* its own parent */
		{ NODE, BYTES("\1\2\2") },                                   /* parent before the first */
		{ NODE, BYTES("\1\1\4") },                                   /* frame */
		{ NODE, BYTES("\1\1\1") },                                   /* frame -1 */
		{ LABL, BYTES("\1\1\1\2") },                                 /* its own rest */
		{ LABL, BYTES("\1\0\3\2") },                                 /* key */
		{ LABL, BYTES("\1\0\1\3") },                                 /* value */
		{ LABL, BYTES("\2\0\2\2\1\1\1") },                           /* not sorted */
		{ LABL, BYTES("\2\0\2\2\1\2\1") },                           /* the same key twice */
		{ SAMP, BYTES("\1\3\4\1\0\1\1") },                           /* stack */
		{ SAMP, BYTES("\1\3\2\2\0\1\1") },                           /* process */
		{ SAMP, BYTES("\1\3\2\1\200\200\200\200\20\1\1") },          /* tid of 33 bits */
		{ SAMP, BYTES("\1\3\2\1\0\3\1") },                           /* comm */
		{ SAMP, BYTES("\1\3\2\1\0\1\2") },                           /* labels */
		{ EVNT, BYTES("\1\16\2\2") },                                /* sample */
		{ EVNT, BYTES("\1\16\1\200\200\200\200\20") },               /* cpu of 33 bits */
		{ CNTR, BYTES("\1\3\2\7") },                                 /* group */
		{ CNTR, BYTES("\1\1\3\7") },                                 /* name */
		{ META, BYTES("\2\143\1\1") },                               /* fewer than there should be */
		{ META, BYTES("\1\143\1\3") },                               /* string */
		{ META, BYTES("\377\377\377\377\377\377\377\377\377\1\143\1\1") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		autobuf struct buf file = { 0 };
		char words[64];

		snprintf(words, sizeof(words), "section %s does not make sense", tags[cases[i].place]);
		build(&file, cases[i].place, &cases[i].bytes);
		assert_refused(file.data, file.len, words);
	}
}

static void test_labels_beyond_a_set(void **state)
{
	autobuf struct buf file = { 0 }, strings = { 0 }, labels = { 0 };

	(void)state;
	buf_varint(&strings, PROFILE_LABELS_MAX + 1);
	buf_varint(&labels, PROFILE_LABELS_MAX + 1);
	for (unsigned int i = 0; i <= PROFILE_LABELS_MAX; i++) {
		buf_addc(&strings, 1);
		buf_addc(&strings, (char)(i + 32));
		buf_varint(&labels, i);
		buf_varint(&labels, i + 1);
		buf_varint(&labels, 0);
	}
	add_start(&file, 1);
	for (int i = 0; i < SAMP; i++) {
		const struct bytes bytes = { i == STRS ? strings.data : labels.data,
					     i == STRS ? strings.len : labels.len };

		add_plain(&file, tags[i], i == STRS || i == LABL ? &bytes : &small[i]);
	}
	assert_refused(file.data, file.len, "section LABL does not make sense");
}

static void test_processes_that_beget_each_other(void **state)
{
	const struct bytes loop = BYTES("\2\5\11\2\1\0\0\6\11\1\1\0\0"), self = BYTES("\1\5\11\1\1\0\0");
	const struct bytes forward = BYTES("\2\5\11\2\1\0\0\6\11\0\1\0\0");
	autobuf struct buf file = { 0 };
	struct profile *profile;

	(void)state;
	build(&file, PROC, &loop);
	assert_refused(file.data, file.len, "a process is its own ancestor");
	buf_clear(&file);
	build(&file, PROC, &self);
	assert_refused(file.data, file.len, "a process is its own ancestor");
	buf_clear(&file);
	build(&file, PROC, &forward);
	assert_int_equal(in_wick(&profile, file.data, file.len, &(struct in_request){ 0 }), 0);
	assert_int_equal(profile_process(profile, 1)->parent, 2);
	profile_free(profile);
}

static void assert_packed_refused(uint32_t compression, const struct bytes *raw, uint64_t raw_len, const char *words)
{
	autobuf struct buf file = { 0 };
	char packed[512];
	size_t len = ZSTD_compress(packed, sizeof(packed), raw->data, raw->len, 3);

	assert_false(ZSTD_isError(len));
	add_start(&file, 1);
	add_header(&file, "STRS", 1, compression, raw_len, packed, len);
	assert_refused(file.data, file.len, words);
}

static void test_lengths_that_lie(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	assert_packed_refused(1, &small[STRS], small[STRS].len, "cut short"); /* as it should be, up to there */
	assert_packed_refused(1, &small[STRS], small[STRS].len + 1, "does not make sense");
	assert_packed_refused(1, &small[STRS], small[STRS].len - 1, "does not make sense");
	assert_packed_refused(0, &small[STRS], small[STRS].len, "does not make sense");
	assert_packed_refused(2, &small[STRS], small[STRS].len, "packed in a way");
	assert_packed_refused(1, &small[STRS], 1 << 20, "more than is allowed");
	assert_packed_refused(1, &small[STRS], UINT64_MAX, "more than is allowed");
	add_start(&file, 1);
	add_header(&file, "STRS", 1, 1, small[STRS].len, small[STRS].data, small[STRS].len);
	assert_refused(file.data, file.len, "does not make sense"); /* not packed at all */
}

/* What packs too well for the reader's limit is stored as it is. */
static void test_repetition_stays_readable(void **state)
{
	autobuf struct buf file = { 0 };
	struct profile *profile;
	uint32_t node = PROFILE_NONE, frame;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	frame = example_frame(profile, FRAME_KERNEL, 0, 1, "recursion");
	for (int i = 0; i < 200000; i++)
		node = profile_add_node(profile, node, frame);
	assert_int_equal(out_wick(profile, &file), 0);
	profile_free(profile);
	assert_same_again(&file);
}

static int save(const char *folder, const char *name, const struct buf *file, size_t len)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "wb");
	if (!out || fwrite(file->data, 1, len, out) != len || fclose(out) != 0) {
		perror(path);
		return 1;
	}
	return 0;
}

static int write_corpus(const char *folder)
{
	const struct bytes loop = BYTES("\2\5\11\2\1\0\0\6\11\1\1\0\0"), orphan = BYTES("\1\2\2");
	autobuf struct buf example = { 0 }, large = { 0 }, hand = { 0 }, ancestry = { 0 }, parent = { 0 },
			   newer = { 0 }, foreign = { 0 };
	struct profile *profile;

	write_example(&example);
	write_foreign(&foreign);
	if (profile_new(&profile) != 0)
		return 1;
	fill_at_random(profile, 40);
	out_wick(profile, &large);
	profile_free(profile);
	build(&hand, STRS, &small[STRS]);
	build(&ancestry, PROC, &loop);
	build(&parent, NODE, &orphan);
	add_start(&newer, 2);
	return save(folder, "example-v1", &example, example.len) || save(folder, "random", &large, large.len) ||
	       save(folder, "by-hand", &hand, hand.len) || save(folder, "ancestry", &ancestry, ancestry.len) ||
	       save(folder, "parent", &parent, parent.len) || save(folder, "newer", &newer, newer.len) ||
	       save(folder, "cut", &example, example.len / 2) || save(folder, "start", &example, START_LEN) ||
	       save(folder, "header", &example, START_LEN + HEADER_LEN) ||
	       save(folder, "foreign", &foreign, foreign.len);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_plain),
		cmocka_unit_test(test_nothing_is_lost),     cmocka_unit_test(test_old_file),
		cmocka_unit_test(test_file_by_hand),        cmocka_unit_test(test_record_given_twice),
		cmocka_unit_test(test_not_a_wick_file),     cmocka_unit_test(test_newer_version),
		cmocka_unit_test(test_every_cut_is_seen),   cmocka_unit_test(test_every_changed_byte_is_seen),
		cmocka_unit_test(test_unknown_sections),    cmocka_unit_test(test_ways),
		cmocka_unit_test(test_types_and_numbers),   cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_order_of_sections),   cmocka_unit_test(test_contents_that_make_no_sense),
		cmocka_unit_test(test_labels_beyond_a_set), cmocka_unit_test(test_processes_that_beget_each_other),
		cmocka_unit_test(test_lengths_that_lie),    cmocka_unit_test(test_repetition_stays_readable),
	};

	if (argc > 1)
		return write_corpus(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
