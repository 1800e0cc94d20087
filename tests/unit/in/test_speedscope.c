/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's files: samples and events, units, several profiles, and what does not fit together. */
#include "unit/in/reads.h"

#define FRAMES \
	"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"a.c\"},{\"name\":\"b\\u00e9\\n\"},{\"name\":\"c\"}]}"
#define SAMPLED(unit, samples, weights)                          \
	"{\"type\":\"sampled\",\"name\":\"t1\",\"unit\":\"" unit \
	"\",\"startValue\":0,\"endValue\":9,\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(events) \
	"{\"type\":\"evented\",\"unit\":\"milliseconds\",\"startValue\":1,\"endValue\":9,\"events\":" events "}"
#define FILE_OF(profiles) "{\"exporter\":\"x\"," FRAMES ",\"profiles\":[" profiles "]}"

static void test_sampled(void **state)
{
	struct profile *profile = read_text(FILE_OF(SAMPLED("milliseconds", "[[0,1],[0],[]]", "[1.5,0.25,2]")));

	(void)state;
	assert_string_equal(unit_of(profile), "nanoseconds");
	assert_int_equal(profile_sample(profile, 1)->value, 1500000);
	assert_string_equal(file_at(profile, 1), "a.c");
	profile_free(profile);
	assert_reads(FILE_OF(SAMPLED("none", "[[0,1],[0,1],[0]]", "[1,2,4]")), "main 4\nmain;b\xc3\xa9\\x0a 3\n");
	/* Members may stand in any order. */
	assert_reads("{\"profiles\":[" SAMPLED("none", "[[2]]", "[1]") "]," FRAMES "}", "c 1\n");
}

static void test_evented(void **state)
{
	(void)state;
	assert_reads(FILE_OF(EVENTED("[{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\",\"frame\":2,\"at\":2},"
				     "{\"type\":\"C\",\"frame\":2,\"at\":4.5},{\"type\":\"C\",\"frame\":0,\"at\":9}]")),
		     "main 5500000\nmain;c 2500000\n");
	assert_refused(
		FILE_OF(EVENTED("[{\"type\":\"O\",\"frame\":0,\"at\":5},{\"type\":\"C\",\"frame\":0,\"at\":4}]")),
		"a time not before the last one was expected");
	assert_refused(
		FILE_OF(EVENTED("[{\"type\":\"O\",\"frame\":0,\"at\":5},{\"type\":\"C\",\"frame\":1,\"at\":6}]")),
		"the frame that was opened last was expected");
	assert_refused(FILE_OF(EVENTED("[{\"type\":\"X\",\"frame\":0,\"at\":5}]")), "an event with type O or C");
}

static void test_several(void **state)
{
	const char *text = FILE_OF(SAMPLED("none", "[[0]]", "[1]") "," SAMPLED("bytes", "[[2]]", "[10]"));

	(void)state;
	assert_reads_type(text, NULL, "t1;main 1\n", "values are none; --type reads others: bytes");
	assert_reads_type(text, "bytes", "t1;c 10\n", NULL);
	assert_bytes_refused(text, strlen(text), (struct in_request){ .type = "x" }, "it has none, bytes");
}

static void test_by_wick(void **state)
{
	struct profile *profile = read_text(
		"{\"exporter\":\"wick@1\",\"shared\":{\"frames\":[{\"name\":\"sh\"},{\"name\":\"[incomplete: depth]\"},"
		"{\"name\":\"read_[k]\",\"file\":\"[kernel.kallsyms]\"}]},\"profiles\":[" SAMPLED("none", "[[0,1,2]]",
												  "[2]") "]}");

	(void)state;
	assert_int_equal(frame_at(profile, 0)->kind, FRAME_KERNEL);
	assert_int_equal(frame_at(profile, 1)->kind, FRAME_CUT);
	assert_string_equal(profile_text(profile, profile_sample(profile, 1)->comm, NULL), "sh");
	profile_free(profile);
}

static void test_bad(void **state)
{
	(void)state;
	assert_refused(FILE_OF(SAMPLED("none", "[[0,9]]", "[1]")),
		       "the number of a frame was expected, and there are fewer");
	assert_refused(FILE_OF(SAMPLED("none", "[[0],[1]]", "[1]")), "a weight for each sample was expected");
	assert_refused(FILE_OF(SAMPLED("none", "[[0]]", "[1,2]")), "no more weights than samples");
	assert_refused(FILE_OF(SAMPLED("none", "[[0]]", "[-1]")), "a weight of 0 or more was expected");
	assert_refused(FILE_OF(SAMPLED("none", "[[0]]", "[1e99]")), "a weight of 0 or more was expected");
	assert_refused(FILE_OF("") "x", "the end of the file was expected");
	assert_refused("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}", "without frames");
	assert_salvages("{" FRAMES ",\"profiles\":[" SAMPLED("none", "[[0]]", "[3]") ",{\"type\":\"samp",
			"byte 214: cut off in a string", "t1;main 3\n", "1 record kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled), cmocka_unit_test(test_evented), cmocka_unit_test(test_several),
		cmocka_unit_test(test_by_wick), cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
