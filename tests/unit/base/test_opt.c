/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as people type them, right and wrong, and the help they read. */
#include "base/opt.h"

#include "base/buf.h"
#include "base/fail.h" /* before cmocka, which has a macro named fail */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct options {
	uint64_t hz;
	uint64_t ring;
	bool kernel;
	bool idle;
	bool secret;
	const char *format;
	struct opt_list outputs;
};

#define into(member) offsetof(struct options, member)

static const struct opt table[] = {
	{ 'F', "frequency", "HZ", opt_u64, into(hz), "samples a second on each CPU", NULL },
	{ 0, "ring-bytes", "BYTES", opt_bytes, into(ring), "size of the ring", NULL },
	{ 'K', "kernel", NULL, opt_flag, into(kernel), "kernel stacks only", NULL },
	{ 'I', NULL, NULL, opt_flag, into(idle), "idle too", NULL },
	{ 'n', NULL, "COUNT", opt_u64, into(hz), "a value without a long name", NULL },
	{ 'f', "format", "FORMAT", opt_text, into(format), "how to write", "folded svg" },
	{ 'o', "output", "FILE", opt_list, into(outputs), "where to write", "file" },
	{ 0, "secret", NULL, opt_flag, into(secret), NULL, NULL },
	{ 0 },
};

/* One parse: what it returned and what it read. */
struct parse {
	int result;
	struct options options;
	struct opt_list operands;
};

#define ARGS_MAX 16

static struct parse parse(const char *first, ...)
{
	struct parse parse = { 0 };
	char *argv[ARGS_MAX] = { (char *)"wick" };
	int argc = 1;
	va_list args;

	va_start(args, first);
	for (const char *arg = first; arg && argc < ARGS_MAX; arg = va_arg(args, const char *))
		argv[argc++] = (char *)arg;
	va_end(args);
	parse.result = opt_parse(table, argc, argv, &parse.options, &parse.operands);
	return parse;
}

static void parse_free(struct parse *parse)
{
	opt_list_free(&parse->options.outputs);
	opt_list_free(&parse->operands);
}

static void test_nothing(void **state)
{
	struct parse got = parse(NULL);

	(void)state;
	assert_int_equal(got.result, 1);
	assert_int_equal(got.operands.len, 0);
	assert_int_equal(opt_parse(table, 0, NULL, &got.options, &got.operands), 0);
	opt_list_free(NULL);
}

static void check_frequency(struct parse got, uint64_t expected)
{
	assert_true(got.result > 0);
	assert_int_equal(got.options.hz, expected);
	assert_int_equal(got.operands.len, 0);
	parse_free(&got);
}

static void test_every_way_to_give_a_value(void **state)
{
	(void)state;
	check_frequency(parse("-F99", NULL), 99);
	check_frequency(parse("-F", "99", NULL), 99);
	check_frequency(parse("--frequency=99", NULL), 99);
	check_frequency(parse("--frequency", "99", NULL), 99);
	check_frequency(parse("-KIF99", NULL), 99);
	check_frequency(parse("-KIF", "99", NULL), 99);
	check_frequency(parse("-F1", "-F2", NULL), 2);
	check_frequency(parse("-F", "18446744073709551615", NULL), UINT64_MAX);
}

static void test_flags_bundle(void **state)
{
	struct parse got = parse("-KI", "--secret", NULL);

	(void)state;
	assert_int_equal(got.result, 3);
	assert_true(got.options.kernel && got.options.idle && got.options.secret);
}

static void test_operands_mix(void **state)
{
	struct parse got = parse("one", "-K", "two", "-", "-F", "5", "", NULL);

	(void)state;
	assert_int_equal(got.result, 8);
	assert_int_equal(got.operands.len, 4);
	assert_string_equal(got.operands.items[0], "one");
	assert_string_equal(got.operands.items[1], "two");
	assert_string_equal(got.operands.items[2], "-");
	assert_string_equal(got.operands.items[3], "");
	assert_int_equal(got.options.hz, 5);
	assert_true(got.options.kernel);
	parse_free(&got);
}

static void test_command_is_left_alone(void **state)
{
	struct parse got = parse("5", "--", "make", "-K", "--nonsense", "--", "x", NULL);

	(void)state;
	assert_int_equal(got.result, 3);
	assert_int_equal(got.operands.len, 1);
	assert_false(got.options.kernel);
	parse_free(&got);
	got = parse("-K", "--", NULL);
	assert_int_equal(got.result, 3);
	assert_true(got.options.kernel);
}

static void test_lists_and_texts(void **state)
{
	struct parse got = parse("-o", "a.svg", "--output=b=c", "-o-", "-f", "-x", "--format=", NULL);

	(void)state;
	assert_int_equal(got.result, 8);
	assert_int_equal(got.options.outputs.len, 3);
	assert_string_equal(got.options.outputs.items[0], "a.svg");
	assert_string_equal(got.options.outputs.items[1], "b=c");
	assert_string_equal(got.options.outputs.items[2], "-");
	assert_string_equal(got.options.format, "");
	parse_free(&got);
}

static void test_help_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(parse("--help", NULL).result, -ECANCELED);
	assert_int_equal(parse("-h", NULL).result, -ECANCELED);
	assert_int_equal(parse("-Kh", "--nonsense", NULL).result, -ECANCELED);
	assert_int_equal(parse("--", "--help", NULL).result, 2);
}

static void refused(struct parse got, const char *words)
{
	assert_int_equal(got.result, -EINVAL);
	assert_string_equal(fail_text(), words);
	parse_free(&got);
}

static void test_bad_numbers(void **state)
{
	(void)state;
	refused(parse("-F", "abc", NULL), "--frequency: 'abc' is not a number");
	refused(parse("--frequency=", NULL), "--frequency: '' is not a number");
	refused(parse("-F", "-5", NULL), "--frequency: '-5' is not a number");
	refused(parse("-F9.5", NULL), "--frequency: '9.5' is not a number");
	refused(parse("-F", "18446744073709551616", NULL), "--frequency: '18446744073709551616' is too large");
	refused(parse("-nx", NULL), "-n: 'x' is not a number");
	refused(parse("-F", "9\n9", NULL), "--frequency: '9\\x0a9' is not a number");
}

static void check_bytes(const char *text, uint64_t expected)
{
	struct parse got = parse("--ring-bytes", text, NULL);

	assert_int_equal(got.result, 3);
	assert_int_equal(got.options.ring, expected);
}

static void test_sizes(void **state)
{
	(void)state;
	check_bytes("0", 0);
	check_bytes("4096", 4096);
	check_bytes("64K", 65536);
	check_bytes("16M", 16 << 20);
	check_bytes("1G", 1 << 30);
	check_bytes("17179869183G", 17179869183ULL << 30);
	check_bytes("18446744073709551615", UINT64_MAX);
}

static void test_bad_sizes(void **state)
{
	static const char *const words[] = { "", "K", "-1K", "64KK", "64KB", "64T", "1.5M", "64 K", "0x40" };
	static const char *const large[] = { "17179869184G", "18446744073709551616", "18014398509481984K",
					     "99999999999999999999999999999999999999999999G" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(parse("--ring-bytes", words[i], NULL).result, -EINVAL);
		assert_non_null(strstr(fail_text(), "is not a size: a number, or one with K, M or G"));
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		assert_int_equal(parse("--ring-bytes", large[i], NULL).result, -EINVAL);
		assert_non_null(strstr(fail_text(), "' is too large"));
	}
}

static void test_missing_and_surplus_values(void **state)
{
	(void)state;
	refused(parse("-F", NULL), "--frequency: needs a value");
	refused(parse("--frequency", NULL), "--frequency: needs a value");
	refused(parse("-n", NULL), "-n: needs a value");
	refused(parse("-o", "--", "make", NULL), "--output: needs a value");
	refused(parse("--kernel=yes", NULL), "--kernel: takes no value");
	refused(parse("--kernel=", NULL), "--kernel: takes no value");
}

static void test_unknown_options(void **state)
{
	(void)state;
	refused(parse("--frequncy=9", NULL), "unknown option '--frequncy': did you mean '--frequency'?");
	refused(parse("--fromat", NULL), "unknown option '--fromat': did you mean '--format'?");
	refused(parse("--freq", NULL), "unknown option '--freq': did you mean '--frequency'?");
	refused(parse("-kernel", NULL), "unknown option '-kernel': did you mean '--kernel'?");
	refused(parse("--nonsense", NULL), "unknown option '--nonsense': see --help");
	refused(parse("--secrets", NULL), "unknown option '--secrets': see --help");
	refused(parse("-Z", NULL), "unknown option '-Z': see --help");
	refused(parse("-KZ", NULL), "unknown option '-Z': see --help");
	refused(parse("--=5", NULL), "unknown option '--': see --help");
	refused(parse("--\x1b[2J", NULL), "unknown option '--\\x1b[2J': see --help");
	refused(parse("-\xc3\xa9", NULL), "unknown option '-é': see --help");
}

static void test_very_long_unknown_option(void **state)
{
	char *word = malloc(100001);

	(void)state;
	assert_non_null(word);
	memset(word, '-', 2);
	memset(word + 2, 'x', 99998);
	word[100000] = '\0';
	assert_int_equal(parse(word, NULL).result, -EINVAL);
	assert_non_null(strstr(fail_text(), "xxx': see --help"));
	free(word);
}

static void test_help_text(void **state)
{
	autobuf struct buf out = { 0 };

	(void)state;
	opt_help(table, &out);
	assert_int_equal(buf_error(&out), 0);
	assert_string_equal(out.data, "  -F, --frequency HZ      samples a second on each CPU\n"
				      "      --ring-bytes BYTES  size of the ring\n"
				      "  -K, --kernel            kernel stacks only\n"
				      "  -I                      idle too\n"
				      "  -n COUNT                a value without a long name\n"
				      "  -f, --format FORMAT     how to write\n"
				      "  -o, --output FILE       where to write\n"
				      "  -h, --help              show this help\n");
}

static void test_help_wraps(void **state)
{
	static const struct opt wide[] = {
		{ 'F', "frequency", "HZ", opt_u64, 0,
		  "samples a second on each CPU, at most what the machine allows and never so many that the…", NULL },
		{ 0, "an-option-with-a-very-long-name", "VALUE", opt_text, 0, "below", NULL },
		{ 'h', "help", NULL, opt_flag, 0, "own words", NULL },
		{ 0 },
	};
	autobuf struct buf out = { 0 };

	(void)state;
	opt_help(wide, &out);
	assert_string_equal(out.data,
			    "  -F, --frequency HZ     samples a second on each CPU, at most what the machine\n"
			    "                         allows and never so many that the…\n"
			    "      --an-option-with-a-very-long-name VALUE\n"
			    "                         below\n"
			    "  -h, --help             own words\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_every_way_to_give_a_value),
		cmocka_unit_test(test_flags_bundle),
		cmocka_unit_test(test_operands_mix),
		cmocka_unit_test(test_command_is_left_alone),
		cmocka_unit_test(test_lists_and_texts),
		cmocka_unit_test(test_help_is_asked_for),
		cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bad_sizes),
		cmocka_unit_test(test_missing_and_surplus_values),
		cmocka_unit_test(test_unknown_options),
		cmocka_unit_test(test_very_long_unknown_option),
		cmocka_unit_test(test_help_text),
		cmocka_unit_test(test_help_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
