/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's protocol buffers, made field by field: types, places, inlined functions, labels, and what is missing. */
#include "unit/in/reads.h"

enum {
	S_NONE,
	S_SAMPLES,
	S_COUNT,
	S_CPU,
	S_NS,
	S_MAIN,
	S_WORK,
	S_PATH,
	S_ID,
	S_PID,
	S_COMM,
	S_APP,
	S_KERNEL,
	S_READ,
	S_OBJECTS,
	S_SPACE,
	S_BYTES,
	S_URL,
	S_LEN
};

static const char *const strings[] = { "",
				       "samples",
				       "count",
				       "cpu",
				       "nanoseconds",
				       "main",
				       "work",
				       "/bin/app",
				       "a1b2",
				       "pid",
				       "comm",
				       "app",
				       "[kernel.kallsyms]",
				       "vfs_read",
				       "objects",
				       "space",
				       "bytes",
				       "https://example.org/heap" };

static void number(struct buf *out, unsigned field, uint64_t value)
{
	buf_varint(out, field << 3);
	buf_varint(out, value);
}

static void bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	buf_varint(out, field << 3 | 2);
	buf_varint(out, len);
	buf_add(out, data, len);
}

/* A message of numbers: pairs of field and value, ended by 0; then one inner message as field 4, if there is one. */
static void message(struct buf *out, unsigned field, const uint64_t *pairs, const struct buf *inner)
{
	autobuf struct buf made = { 0 };

	for (; *pairs; pairs += 2)
		number(&made, (unsigned)pairs[0], pairs[1]);
	if (inner)
		buf_add(&made, inner->data, inner->len);
	bytes(out, field, made.data ? made.data : "", made.len);
}

#define MESSAGE(out, field, ...) message(out, field, (const uint64_t[]){ __VA_ARGS__, 0 }, NULL)

static void add_types(struct buf *out)
{
	MESSAGE(out, 1, 1, S_SAMPLES, 2, S_COUNT);
	MESSAGE(out, 1, 1, S_CPU, 2, S_NS);
}

/* Locations 1: vfs_read in the kernel; 2: work inlined into main; 3: an address without a function. */
static void add_places(struct buf *out)
{
	autobuf struct buf lines = { 0 }, kernel = { 0 };

	MESSAGE(out, 3, 1, 1, 2, 0x400000, 3, 0x500000, 4, 0x1000, 5, S_PATH, 6, S_ID);
	MESSAGE(out, 3, 1, 2, 2, 0xffffffff81000000, 3, 0xffffffff82000000, 5, S_KERNEL);
	MESSAGE(&kernel, 4, 1, 9);
	message(out, 4, (const uint64_t[]){ 1, 1, 2, 2, 3, 0xffffffff81000123, 0 }, &kernel);
	MESSAGE(&lines, 4, 1, 8, 2, 12);
	MESSAGE(&lines, 4, 1, 7, 2, 3);
	message(out, 4, (const uint64_t[]){ 1, 2, 2, 1, 3, 0x400123, 0 }, &lines);
	MESSAGE(out, 4, 1, 3, 2, 1, 3, 0x400200);
	MESSAGE(out, 5, 1, 7, 2, S_MAIN);
	MESSAGE(out, 5, 1, 8, 2, S_WORK);
	MESSAGE(out, 5, 1, 9, 2, S_READ);
}

static void add_strings(struct buf *out)
{
	for (int i = 0; i < S_LEN; i++)
		bytes(out, 6, strings[i], strlen(strings[i]));
}

/* Sample of (count, ns) at locations 1, 2, 3, with labels; and one at 3 alone, its lists not packed. */
static void add_samples(struct buf *out, uint64_t count, uint64_t ns)
{
	autobuf struct buf sample = { 0 }, list = { 0 };

	bytes(&sample, 1, "\x01\x02\x03", 3);
	buf_varint(&list, count);
	buf_varint(&list, ns);
	bytes(&sample, 2, list.data, list.len);
	MESSAGE(&sample, 3, 1, S_PID, 3, 77);
	MESSAGE(&sample, 3, 1, S_COMM, 2, S_APP);
	MESSAGE(&sample, 3, 1, S_WORK, 3, 4096, 4, S_COUNT);
	bytes(out, 2, sample.data, sample.len);
	buf_clear(&sample);
	number(&sample, 1, 3);
	number(&sample, 2, 1);
	number(&sample, 2, 10);
	bytes(out, 2, sample.data, sample.len);
}

static void make(struct buf *out, uint64_t count, uint64_t ns, uint64_t period)
{
	number(out, 9, 1700000000000000000);
	number(out, 10, 5000000000);
	add_types(out);
	add_samples(out, count, ns);
	add_places(out);
	add_strings(out);
	MESSAGE(out, 11, 1, S_CPU, 2, S_NS);
	number(out, 12, period);
}

#define STACK "app+0x1200;main;work_[i];vfs_read_[k]"

static void test_all(void **state)
{
	autobuf struct buf file = { 0 };
	struct in_request request = { 0 };
	struct profile *profile;
	uint32_t rest, key, value;
	int64_t size;
	size_t unit;

	(void)state;
	make(&file, 5, 50, 10);
	/* Time is the samples times the period: those are read, and it is kept. */
	assert_bytes_as(file.data, file.len, request, "app;" STACK " 5\napp+0x1200 1\n", NULL);
	profile = read_bytes(file.data, file.len, &request);
	assert_int_equal(profile_meta(profile)->period, 10);
	assert_int_equal(profile_meta(profile)->duration_ns, 5000000000);
	assert_int_equal(profile_meta(profile)->wall_ns, 1700000000000000000);
	assert_string_equal(unit_of(profile), "samples");
	assert_int_equal(frame_at(profile, 0)->address, 0xffffffff81000123);
	assert_int_equal(frame_at(profile, 1)->kind, FRAME_INLINE);
	assert_int_equal(frame_at(profile, 2)->address, 0x1123); /* in the file */
	assert_string_equal(file_at(profile, 2), "/bin/app");
	assert_memory_equal(profile_text(profile, profile_file(profile, frame_at(profile, 2)->file)->build_id, NULL),
			    "\xa1\xb2", 2);
	assert_int_equal(profile_process(profile, profile_sample(profile, 1)->process)->pid, 77);
	profile_label(profile, profile_sample(profile, 1)->labels, &rest, &key, &value);
	assert_string_equal(profile_text(profile, value, NULL), "4096 count");
	assert_true(profile_label_number(profile, profile_sample(profile, 1)->labels, &size, &unit));
	assert_true(size == 4096);
	buf_free(&request.notes);
	profile_free(profile);
}

static void test_types(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	make(&file, 5, 51, 10); /* no multiple: the last type is read, as pprof does */
	assert_bytes_as(file.data, file.len, (struct in_request){ 0 }, "app;" STACK " 51\napp+0x1200 10\n",
			"values are cpu; --type reads others: samples");
	assert_bytes_as(file.data, file.len, (struct in_request){ .type = "samples" },
			"app;" STACK " 5\napp+0x1200 1\n", NULL);
	assert_bytes_refused(file.data, file.len, (struct in_request){ .type = "x" }, "it has samples, cpu");
	number(&file, 14, S_SAMPLES); /* its own default goes before the last */
	assert_bytes_as(file.data, file.len, (struct in_request){ 0 }, "app;" STACK " 5\napp+0x1200 1\n",
			"values are samples");
}

/* As written by `write`, read again. */
static struct profile *again(struct profile *profile, int (*write)(const struct profile *, struct buf *),
			     const char *type)
{
	struct in_request request = { .type = type };
	autobuf struct buf file = { 0 };

	assert_int_equal(write(profile, &file), 0);
	profile_free(profile);
	profile = read_bytes(file.data, file.len, &request);
	buf_free(&request.notes);
	return profile;
}

static void heap_sample(struct buf *out, const char *values, size_t len, uint64_t size)
{
	autobuf struct buf sample = { 0 };

	bytes(&sample, 1, "\x03", 1);
	bytes(&sample, 2, values, len);
	MESSAGE(&sample, 3, 1, S_BYTES, 3, size, 4, S_BYTES);
	bytes(out, 2, sample.data, sample.len);
}

/* Of objects, bytes, samples, and bytes of another kind. The second counts nothing in the type that is shown. */
static void make_heap(struct buf *out)
{
	MESSAGE(out, 1, 1, S_OBJECTS, 2, S_COUNT);
	MESSAGE(out, 1, 1, S_SPACE, 2, S_BYTES);
	MESSAGE(out, 1, 1, S_SAMPLES, 2, S_COUNT);
	MESSAGE(out, 1, 1, S_CPU, 2, S_BYTES);
	heap_sample(out, "\x01\x02\x03\x04", 4, 4096);
	heap_sample(out, "\x05\x00\x06\x07", 4, (uint64_t)-8);
	heap_sample(out, "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 13, 4096);
	add_places(out);
	add_strings(out);
	MESSAGE(out, 11, 1, S_SPACE, 2, S_BYTES);
	number(out, 12, 512);
	number(out, 14, S_SPACE);
	number(out, 15, S_URL);
}

static const char *text_of(const struct profile *profile, uint32_t string)
{
	return profile_text(profile, string, NULL);
}

static void assert_heap(const struct profile *profile, uint32_t shown)
{
	static const uint64_t values[2][4] = { { 2, 4, 2, 4 }, { 5, 0, 6, 7 } };
	static const char *const names[] = { "objects", "space", "samples", "cpu" };
	const struct types *types = profile_types(profile);
	const struct profile_meta *meta = profile_meta(profile);
	int64_t size;
	size_t unit;

	assert_int_equal(types->len, 4);
	assert_int_equal(types->shown, shown);
	assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 3);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(text_of(profile, types->list[i].name), names[i]);
		assert_string_equal(text_of(profile, types->list[i].unit), i % 2 ? "bytes" : "count");
		assert_int_equal(types_value(profile, 1, i), values[0][i]);
		assert_int_equal(types_value(profile, 2, i), values[1][i]);
	}
	assert_string_equal(text_of(profile, meta->period_type), "space");
	assert_string_equal(text_of(profile, meta->period_unit), "bytes");
	assert_int_equal(meta->period, 512);
	assert_string_equal(text_of(profile, meta->doc_url), "https://example.org/heap");
	assert_true(profile_label_number(profile, profile_sample(profile, 1)->labels, &size, &unit));
	assert_true(size == 4096);
	assert_true(profile_label_number(profile, profile_sample(profile, 2)->labels, &size, &unit));
	assert_true(size == -8 && unit == strlen("-8 "));
}

/* Every type, its unit, what is shown first, what the period is of, and numbers among labels, there and back. */
static void test_several_types(void **state)
{
	struct in_request request = { 0 };
	autobuf struct buf file = { 0 };
	struct profile *profile;

	(void)state;
	make_heap(&file);
	profile = read_bytes(file.data, file.len, &request);
	assert_string_equal(request.notes.data, "values are space; --type reads others: objects, samples, cpu");
	buf_free(&request.notes);
	assert_heap(profile, 1);
	profile = again(profile, out_pprof, NULL);
	assert_heap(profile, 1);
	assert_string_equal(text_of(profile, profile_meta(profile)->default_type), "space");
	profile = again(profile, out_wick, NULL);
	assert_heap(profile, 1);
	profile = again(profile, out_wick, "objects");
	assert_heap(profile, 0);
	assert_int_equal(profile_counter_value(profile, "total", "counted"), 7);
	profile = again(profile, out_pprof, NULL);
	assert_heap(profile, 0); /* who asked for them sees them from now on */
	profile = again(profile, out_pprof, "space");
	assert_heap(profile, 1);
	profile_free(profile);
	request = (struct in_request){ .type = "none" };
	assert_bytes_refused(file.data, file.len, request, "it has objects, space, samples, cpu");
}

/* What wick would write by itself is not kept twice, and what it would not is kept, of one type as well. */
static void test_own_types(void **state)
{
	struct in_request request = { 0 };
	autobuf struct buf file = { 0 };
	struct profile *profile;

	(void)state;
	make(&file, 5, 50, 10);
	number(&file, 14, S_CPU);
	profile = read_bytes(file.data, file.len, &request);
	assert_int_equal(profile_types(profile)->len, 0);
	profile = again(profile, out_pprof, NULL);
	assert_int_equal(profile_types(profile)->len, 0);
	profile_free(profile);
	buf_clear(&file);
	MESSAGE(&file, 1, 1, S_OBJECTS, 2, S_COUNT);
	heap_sample(&file, "\x05", 1, 1);
	add_places(&file);
	add_strings(&file);
	MESSAGE(&file, 11, 1, S_OBJECTS, 2, S_COUNT);
	number(&file, 12, 1);
	profile = again(again(read_bytes(file.data, file.len, &request), out_wick, NULL), out_pprof, NULL);
	assert_int_equal(profile_types(profile)->len, 1);
	assert_int_equal(profile_meta(profile)->default_type, 0);
	assert_string_equal(text_of(profile, profile_meta(profile)->period_type), "objects");
	assert_int_equal(profile_meta(profile)->period, 1);
	assert_int_equal(profile_sample(profile, 1)->value, 5);
	profile_free(profile);
	assert_int_equal(request.notes.len, 0);
}

/* Of which program it is says the first mapping, wherever the first sample was. */
static void test_program(void **state)
{
	struct in_request request = { .type = "objects" };
	autobuf struct buf file = { 0 }, sample = { 0 };
	struct profile *profile;

	(void)state;
	MESSAGE(&file, 1, 1, S_OBJECTS, 2, S_COUNT);
	bytes(&sample, 1, "\x02\x01", 2);
	bytes(&sample, 2, "\x05", 1);
	bytes(&file, 2, sample.data, sample.len);
	MESSAGE(&file, 3, 1, 7, 2, 0x400000, 3, 0x500000, 5, S_PATH);
	MESSAGE(&file, 3, 1, 3, 2, 0x700000, 3, 0x800000, 5, S_APP);
	MESSAGE(&file, 4, 1, 1, 2, 7, 3, 0x400100);
	MESSAGE(&file, 4, 1, 2, 2, 3, 3, 0x700100);
	add_strings(&file);
	profile = again(again(read_bytes(file.data, file.len, &request), out_wick, NULL), out_pprof, NULL);
	assert_string_equal(text_of(profile, profile_file(profile, 1)->path), "/bin/app");
	assert_string_equal(file_at(profile, 0), "app");
	assert_string_equal(file_at(profile, 1), "/bin/app");
	profile_free(profile);
}

/* Bytes are no samples: perf's text has one record for them all, and Firefox knows their unit. */
static void test_bytes_elsewhere(void **state)
{
	struct in_request request = { .type = "space" };
	autobuf struct buf file = { 0 }, perf = { 0 };
	struct profile *profile;

	(void)state;
	make_heap(&file);
	profile = read_bytes(file.data, file.len, &request);
	assert_int_equal(out_perf(profile, &perf), 0);
	assert_non_null(strstr(perf.data, ": 4 space:\n"));
	assert_null(strstr(perf.data, ": 1 space:\n"));
	profile = again(profile, out_firefox, NULL);
	assert_string_equal(unit_of(profile), "bytes");
	assert_int_equal(profile_sample(profile, 1)->value, 4);
	profile_free(profile);
}

/* Where there is room for one profile of each type, there is one. */
static void test_types_in_speedscope(void **state)
{
	struct in_request request = { 0 };
	autobuf struct buf file = { 0 }, scope = { 0 };
	struct profile *profile;

	(void)state;
	make_heap(&file);
	profile = read_bytes(file.data, file.len, &request);
	buf_free(&request.notes);
	assert_int_equal(out_speedscope(profile, &scope), 0);
	profile_free(profile);
	assert_bytes_as(scope.data, scope.len, (struct in_request){ 0 }, "app+0x1200 4\n",
			"values are space; --type reads others: objects, samples, cpu");
	assert_bytes_as(scope.data, scope.len, (struct in_request){ .type = "objects" }, "app+0x1200 7\n", NULL);
}

/* What others wrote into it, and what pprof shall not show, goes through .wick and comes out again. */
static void test_remarks(void **state)
{
	autobuf struct buf file = { 0 }, wick = { 0 }, again = { 0 };
	struct in_request request = { 0 };
	struct profile *profile;

	(void)state;
	make(&file, 5, 50, 10);
	bytes(&file, 13, (const char[]){ S_MAIN, S_WORK }, 2);
	number(&file, 13, S_APP);
	number(&file, 7, S_READ);
	number(&file, 8, S_WORK);
	profile = read_bytes(file.data, file.len, &request);
	assert_int_equal(out_wick(profile, &wick), 0);
	profile_free(profile);
	profile = read_bytes(wick.data, wick.len, &request);
	assert_int_equal(out_pprof(profile, &again), 0);
	profile_free(profile);
	profile = read_bytes(again.data, again.len, &request);
	assert_string_equal(profile_text(profile, profile_meta(profile)->remarks, NULL), "main\nwork\napp");
	assert_string_equal(profile_text(profile, profile_meta(profile)->drop_frames, NULL), "vfs_read");
	assert_string_equal(profile_text(profile, profile_meta(profile)->keep_frames, NULL), "work");
	profile_free(profile);
}

static void refused(void (*fill)(struct buf *out), const char *words)
{
	autobuf struct buf file = { 0 };

	add_types(&file);
	fill(&file);
	assert_bytes_refused(file.data, file.len, (struct in_request){ 0 }, words);
}

static void no_locations(struct buf *out)
{
	add_samples(out, 1, 1);
	add_strings(out);
}

static void negative(struct buf *out)
{
	add_samples(out, 1, UINT64_MAX - 4);
	add_places(out);
	add_strings(out);
}

static void twice(struct buf *out)
{
	add_places(out);
	add_places(out);
}

static void claims_much(struct buf *out)
{
	buf_adds(out, "2\xff\xff\xff\x7f");
	for (int i = 0; i < 100; i++)
		buf_addc(out, '\0');
}

static void three_values(struct buf *out)
{
	autobuf struct buf sample = { 0 };

	bytes(&sample, 2, "\x01\x02\x03", 3);
	bytes(out, 2, sample.data, sample.len);
	add_strings(out);
}

static void test_bad(void **state)
{
	(void)state;
	refused(no_locations, "sample 1: location 1 is not in the file");
	refused(negative, "sample 1: a value below zero");
	refused(twice, "a mapping of a pprof profile was expected");
	refused(claims_much, "byte 12: a string of a pprof profile was expected");
	refused(three_values, "sample 1: more values than types");
}

static void test_cut(void **state)
{
	autobuf struct buf file = { 0 };

	(void)state;
	make(&file, 5, 50, 10);
	file.len -= 5; /* in its last fields: names are there */
	assert_bytes_refused(file.data, file.len, (struct in_request){ 0 }, "was expected");
	assert_bytes_as(file.data, file.len, (struct in_request){ .salvage = true, .type = "samples" },
			"app;" STACK " 5\napp+0x1200 1\n", "2 records kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_several_types),
		cmocka_unit_test(test_own_types),
		cmocka_unit_test(test_types_in_speedscope),
		cmocka_unit_test(test_bytes_elsewhere),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
