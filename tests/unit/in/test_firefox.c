/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of the Firefox Profiler: shared tables, tables of threads, and the browser's own format. */
#include "unit/in/reads.h"

#define META \
	"\"meta\":{\"interval\":1,\"startTime\":1.7e12,\"categories\":[{\"name\":\"Other\"},{\"name\":\"Kernel\"}]}"
#define SHARED(frames, offsets)                                                                      \
	"\"shared\":{\"stackTable\":{\"frame\":" frames ",\"prefixOffset\":" offsets "},"            \
	"\"frameTable\":{\"func\":[0,1,2],\"category\":[0,0,1],\"inlineDepth\":[0,1,0]},"            \
	"\"funcTable\":{\"name\":[0,1,2],\"resource\":[0,-1,1]},\"resourceTable\":{\"name\":[3,4]}," \
	"\"stringArray\":[\"main\",\"inl\",\"vfs_read\",\"/bin/x\",\"[kernel.kallsyms]\"]}"
#define THREAD(stack, weight)                                                                              \
	"{\"name\":\"x\",\"processName\":\"xx\",\"pid\":\"12.1\",\"tid\":13,\"samples\":{\"stack\":" stack \
	",\"time\":[0.5,1.5,2],\"weight\":" weight "}}"
#define PROCESSED(frames, offsets, stack, weight) \
	"{" META "," SHARED(frames, offsets) ",\"threads\":[" THREAD(stack, weight) "]}"

static void test_shared(void **state)
{
	struct profile *profile = read_text(PROCESSED("[0,1,2]", "[0,1,1]", "[2,1,null]", "[1,1,7]"));

	(void)state;
	assert_int_equal(frame_at(profile, 0)->kind, FRAME_KERNEL);
	assert_int_equal(frame_at(profile, 1)->kind, FRAME_INLINE);
	assert_string_equal(file_at(profile, 2), "/bin/x");
	assert_int_equal(profile_process(profile, 1)->pid, 12);
	assert_int_equal(profile_sample(profile, 1)->tid, 13);
	assert_int_equal(profile_event(profile, 2)->time_us, 1500);
	assert_int_equal(profile_meta(profile)->period, 1000000);
	profile_free(profile);
	assert_reads(PROCESSED("[0,1,2]", "[0,1,1]", "[2,1,null]", "[1,1,7]"),
		     "x 7\nx;main;inl_[i] 1\nx;main;inl_[i];vfs_read_[k] 1\n");
}

#define WEIGHED(stack, weight, type)                                                                                   \
	"{\"name\":\"x\",\"samples\":{\"stack\":" stack ",\"time\":[0.5],\"weight\":" weight ",\"weightType\":\"" type \
	"\"}}"
#define ALL(...) "{" META "," SHARED("[0,1,2]", "[0,1,1]") ",\"threads\":[" __VA_ARGS__ "]}"

/* Weights may be bytes, or milliseconds and parts of them; threads of another unit are other values. */
static void test_weights(void **state)
{
	struct profile *profile = read_text(ALL(WEIGHED("[0]", "[4096]", "bytes")));

	(void)state;
	assert_string_equal(unit_of(profile), "bytes");
	profile_free(profile);
	profile = read_text(ALL(WEIGHED("[0]", "[0.25]", "tracing-ms")));
	assert_string_equal(unit_of(profile), "nanoseconds");
	assert_int_equal(profile_sample(profile, 1)->value, 250000);
	profile_free(profile);
	profile = read_text(ALL(WEIGHED("[0]", "null", "bytes")));
	assert_string_equal(unit_of(profile), "samples");
	profile_free(profile);
	assert_reads_type(ALL(WEIGHED("[0]", "[3]", "samples") "," WEIGHED("[0]", "[64]", "bytes")), NULL, "x;main 3\n",
			  "values are samples; --type reads others: bytes");
	assert_reads_type(ALL(WEIGHED("[0]", "[3]", "samples") "," WEIGHED("[0]", "[64]", "bytes")), "bytes",
			  "x;main 64\n", NULL);
}

static void test_tables_of_threads(void **state)
{
	(void)state;
	assert_reads("{\"meta\":{\"categories\":[]},\"threads\":[{\"name\":\"Main\",\"pid\":5,\"tid\":\"6\","
		     "\"stackTable\":{\"frame\":[0,1],\"prefix\":[null,0]},\"frameTable\":{\"func\":[0,1]},"
		     "\"funcTable\":{\"name\":[1,0],\"resource\":[-1,-1]},\"stringArray\":[\"a\",\"b\"],"
		     "\"samples\":{\"stack\":[1,1,0],\"timeDeltas\":[1,1,1],\"weight\":null}}]}",
		     "Main;b;a 2\nMain;b 1\n");
}

static void test_gecko(void **state)
{
	(void)state;
	assert_reads(
		"{\"meta\":{},\"threads\":[],\"processes\":[{\"threads\":[{\"name\":\"Main\",\"pid\":5,\"tid\":6,"
		"\"samples\":{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[1,0.5],[0,1.5],[1,2]]},"
		"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0],[0,1]]},"
		"\"frameTable\":{\"schema\":{\"location\":0,\"category\":5},\"data\":[[0],[1,null,null,null,null,0]]},"
		"\"stringTable\":[\"(root)\",\"f (libxul.so)\"]}]}]}",
		"Main;(root);f (libxul.so) 2\nMain;(root) 1\n");
}

static void test_bad(void **state)
{
	(void)state;
	assert_refused(PROCESSED("[0,1,2]", "[0,-1,0]", "[7,1,0]", "[1,1,1]"), "a stack that exists was expected");
	assert_refused(PROCESSED("[0,1,9]", "[0,1,1]", "[2,1,0]", "[1,1,1]"), "a stack of a frame that exists");
	assert_refused(PROCESSED("[0,1,2]", "[0,1,1]", "[2,1,0]", "[1,-4,1]"), "a weight of 0 or more was expected");
	assert_refused("{\"threads\":[{\"stackTable\":{\"frame\":[0,0],\"prefix\":[1,0]},\"frameTable\":{\"func\":[0]},"
		       "\"stringArray\":[\"a\"],\"samples\":{\"stack\":[1]}}]}",
		       "a stack before it was expected");
	assert_refused("{\"traceEvents\": []}", "JSON without threads");
	assert_refused("{\"threads\":[}", "byte 12: a value was expected");
	assert_salvages("{" META
			"," SHARED("[0,1,2]", "[0,1,1]") ",\"threads\":[" THREAD("[2]", "[1]") ",{\"name\":\"y\"",
			"a comma or } was expected", "x;main;inl_[i];vfs_read_[k] 1\n", "1 record kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared), cmocka_unit_test(test_weights), cmocka_unit_test(test_tables_of_threads),
		cmocka_unit_test(test_gecko),  cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
