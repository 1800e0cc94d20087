/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the source a frame is, as other tools' profiles say it, comes through every format that has a place for it,
 * and through merging; two lines of one function stay apart there, and are one function where only names count.
 */
#include "in/in.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/merge.h"
#include "profile/profile.h"

/* What a format has room for. */
struct room {
	const char *format;
	bool column, first_line, linkage;
};

static const struct room rooms[] = {
	{ "wick", true, true, true },
	{ "pprof", true, true, true },
	{ "speedscope", true, false, false },
	{ "firefox", true, true, false },
};

static uint32_t add(struct profile *profile, uint32_t parent, const char *name, const char *linkage, uint32_t line)
{
	struct profile_frame frame = { .kind = FRAME_USER, .name = profile_string(profile, name) };

	frame.source.file = profile_string(profile, "/src/a b.c");
	frame.source.line = line;
	frame.source.column = 7;
	frame.source.first_line = 3;
	frame.source.linkage = profile_string(profile, linkage);
	return profile_add_node(profile, parent, profile_add_frame(profile, &frame));
}

/* main calls ns::run at line 10, with 2 samples, and at line 11 with 3. */
static struct profile *make(void)
{
	struct profile *profile = NULL;
	struct profile_sample sample = { .value = 2 };
	uint32_t top;

	assert_int_equal(profile_new(&profile), 0);
	profile_meta(profile)->unit = profile_string(profile, "samples");
	top = add(profile, PROFILE_NONE, "main", "", 5);
	sample.stack = add(profile, top, "ns::run", "_ZN2ns3runEv", 10);
	profile_add_sample(profile, &sample);
	sample.value = 3;
	sample.stack = add(profile, top, "ns::run", "_ZN2ns3runEv", 11);
	profile_add_sample(profile, &sample);
	assert_int_equal(profile_add_counter(profile, "total", "counted", 5), 0);
	return profile;
}

static void assert_source(const struct profile *profile, uint32_t node, const struct room *room, const char *name,
			  uint32_t line)
{
	const struct profile_frame *frame = profile_frame(profile, profile_node(profile, node)->frame);
	const struct profile_source *source = &frame->source;

	assert_string_equal(profile_text(profile, frame->name, NULL), name);
	assert_string_equal(profile_text(profile, source->file, NULL), "/src/a b.c");
	assert_int_equal(source->line, line);
	if (room->column)
		assert_int_equal(source->column, 7);
	if (room->first_line)
		assert_int_equal(source->first_line, 3);
	if (room->linkage)
		assert_string_equal(profile_text(profile, source->linkage, NULL), line == 5 ? "" : "_ZN2ns3runEv");
}

static void assert_all(const struct profile *profile, const struct room *room)
{
	assert_int_equal(profile_count(profile, PROFILE_SAMPLES), 3);
	for (uint32_t i = 1; i <= 2; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);

		assert_source(profile, sample->stack, room, "ns::run", sample->value == 2 ? 10 : 11);
		assert_source(profile, profile_node(profile, sample->stack)->parent, room, "main", 5);
	}
}

static void test_formats(void **unused)
{
	struct profile *profile = make();

	(void)unused;
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		autobuf struct buf bytes = { 0 };
		struct profile *again = NULL;

		assert_int_equal(out_by_name(rooms[i].format)->write(profile, &bytes), 0);
		if (in_read(&again, bytes.data, bytes.len))
			fail_msg("%s: %s", rooms[i].format, fail_text());
		assert_all(again, &rooms[i]);
		profile_free(again);
	}
	profile_free(profile);
}

static void test_merged(void **unused)
{
	autobuf struct buf folded = { 0 };
	struct profile *one = make(), *other = make();

	(void)unused;
	assert_int_equal(merge_into(one, other), 0);
	assert_int_equal(profile_count(one, PROFILE_FRAMES), 4);
	assert_int_equal(out_folded(one, &folded), 0);
	assert_string_equal(folded.data, "main;ns::run 10\n");
	profile_free(one);
	profile_free(other);
}

/* A line of the source stands beneath its frame; ?? is none. */
static void test_perf(void **unused)
{
	static const char text[] = "sh 1 1.0: 1 cpu-clock: \n"
				   "\t  401000 run+0x0 (/bin/sh)\n"
				   "  run.c:12\n"
				   "\t  402000 main+0x4 (/bin/sh)\n"
				   "  ??:0\n\n";
	struct profile *profile = NULL;
	const struct profile_frame *leaf, *root;
	uint32_t node;

	(void)unused;
	assert_int_equal(in_read(&profile, text, strlen(text)), 0);
	node = profile_sample(profile, 1)->stack;
	leaf = profile_frame(profile, profile_node(profile, node)->frame);
	node = profile_node(profile, node)->parent;
	root = profile_frame(profile, profile_node(profile, node)->frame);
	assert_int_equal(profile_node(profile, node)->parent, PROFILE_NONE);
	assert_string_equal(profile_text(profile, leaf->name, NULL), "run");
	assert_string_equal(profile_text(profile, leaf->source.file, NULL), "run.c");
	assert_int_equal(leaf->source.line, 12);
	assert_false(profile_has_source(&root->source));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
