/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people type after `wick record`: good words give the collector what they say, and each bad one is refused with
 * one line that names it.
 */
#include "cmd/record.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 16

struct parsed {
	struct record_options options;
	struct collect_options collect;
	struct record_lists lists;
};

/* Words separated by spaces, as a shell would split them; "''" is an empty one. Must outlive what is parsed. */
static int split(char *line, char *words[WORDS_MAX])
{
	int count = 0;

	for (char *word = strtok(line, " "); word && count < WORDS_MAX - 1; word = strtok(NULL, " "))
		words[count++] = strcmp(word, "''") ? word : word + 2;
	words[count] = NULL;
	return count;
}

static int parse_words(struct parsed *ret, int argc, char **argv)
{
	int err;

	*ret = (struct parsed){ 0 };
	err = record_parse(&ret->options, argc, argv);
	return err ? err : record_to_collect(&ret->options, &ret->collect, &ret->lists);
}

static void parsed_free(struct parsed *parsed)
{
	record_lists_free(&parsed->lists);
	record_options_free(&parsed->options);
}

/* The words of `text` must be good; the caller frees. */
static struct parsed good(const char *text)
{
	static char line[256];
	static char *words[WORDS_MAX];
	struct parsed parsed;

	snprintf(line, sizeof(line), "record %s", text);
	if (parse_words(&parsed, split(line, words), words))
		fail_msg("'%s' was refused: %s", text, fail_text());
	return parsed;
}

static void assert_refused(const char *text, const char *words)
{
	char line[256], *argv[WORDS_MAX];
	struct parsed parsed;
	int err;

	snprintf(line, sizeof(line), "record %s", text);
	fail_plain(0, "nothing");
	err = parse_words(&parsed, split(line, argv), argv);
	parsed_free(&parsed);
	if (err != -EINVAL)
		fail_msg("'%s' gave %d", text, err);
	if (!strstr(fail_text(), words) || strchr(fail_text(), '\n'))
		fail_msg("'%s' was refused with: %s", text, fail_text());
}

static void test_defaults(void **state)
{
	struct parsed got = good("");

	(void)state;
	assert_int_equal(got.collect.hz, 99);
	assert_int_equal(got.collect.period, 0);
	assert_int_equal(got.collect.max_stacks, COLLECT_MAX_STACKS);
	assert_int_equal(got.collect.ring_bytes, COLLECT_RING_BYTES);
	assert_int_equal(got.collect.drain_ms, COLLECT_DRAIN_MS);
	assert_true(got.collect.user && got.collect.kernel);
	assert_false(got.collect.cycles || got.collect.command || got.collect.children || got.collect.idle);
	assert_false(got.collect.self || got.collect.threads || got.collect.events || got.collect.measure);
	assert_int_equal(got.collect.pids_len + got.collect.tids_len + got.collect.cpus_len + got.collect.comms_len, 0);
	assert_null(got.collect.cgroup);
	assert_null(got.options.command);
	assert_int_equal(got.options.seconds_ns, 0);
	parsed_free(&got);
}

static void assert_numbers(const uint32_t *list, size_t len, const uint32_t *wanted, size_t wanted_len)
{
	assert_int_equal(len, wanted_len);
	assert_memory_equal(list, wanted, len * sizeof(*list));
}

#define ASSERT_NUMBERS(collect, field, ...)                                                 \
	assert_numbers((collect).field, (collect).field##_len, (uint32_t[]){ __VA_ARGS__ }, \
		       sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void test_lists(void **state)
{
	struct parsed got = good("-p 1,22 --pid=333 -t4 -C 0-3,8 -C5 -n a,b -n c --cgroup /x --children");

	(void)state;
	ASSERT_NUMBERS(got.collect, pids, 1, 22, 333);
	ASSERT_NUMBERS(got.collect, tids, 4);
	ASSERT_NUMBERS(got.collect, cpus, 0, 1, 2, 3, 8, 5);
	assert_int_equal(got.collect.comms_len, 2);
	assert_string_equal(got.collect.comms[0], "a,b"); /* a name may hold a comma */
	assert_string_equal(got.collect.comms[1], "c");
	assert_string_equal(got.collect.cgroup, "/x");
	assert_true(got.collect.children);
	parsed_free(&got);
}

static void test_bad_lists(void **state)
{
	(void)state;
	assert_refused("-p ''", "-p");
	assert_refused("-p x", "-p: 'x' is not a number");
	assert_refused("-p -1", "-p: '-1' is not a number");
	assert_refused("-p 1,", "-p: '1,'");
	assert_refused("-p ,1", "-p: ',1'");
	assert_refused("-p 1,,2", "-p: '1,,2'");
	assert_refused("-p 1-3", "-p: '1-3' is not a number"); /* a range of pids makes no sense */
	assert_refused("-p 0x10", "-p: '0x10'");
	assert_refused("-p 2147483648", "-p");
	assert_refused("-p 99999999999999999999", "-p");
	assert_refused("-t 1.5", "-t: '1.5'");
	assert_refused("-C 3-1", "-C: 3-1");
	assert_refused("-C 0-", "-C: '0-'");
	assert_refused("-C -1", "-C: '-1'");
	assert_refused("-C 0-99999", "-C: 0-99999");
	assert_refused("-C 0-18446744073709551615", "-C");
	assert_refused("-C all", "-C: 'all'");
	assert_refused("-p", "--pid: needs a value");
	assert_refused("-p --", "--pid: needs a value");
}

static void test_rates(void **state)
{
	struct parsed got = good("-F 250");

	(void)state;
	assert_int_equal(got.collect.hz, 250);
	assert_int_equal(got.collect.period, 0);
	parsed_free(&got);
	got = good("-c 1000000 -e cycles");
	assert_int_equal(got.collect.hz, 0);
	assert_int_equal(got.collect.period, 1000000);
	assert_true(got.collect.cycles);
	parsed_free(&got);
	got = good("-e cpu-clock --count=10000");
	assert_int_equal(got.collect.period, 10000);
	assert_false(got.collect.cycles);
	parsed_free(&got);
}

static void test_bad_rates(void **state)
{
	(void)state;
	assert_refused("-F 0", "-F: '0'");
	assert_refused("-F -5", "-F: '-5'");
	assert_refused("-F fast", "-F: 'fast'");
	assert_refused("-F ''", "-F: ''");
	assert_refused("-F 99.5", "-F: '99.5'");
	assert_refused("-F 99Hz", "-F: '99Hz'");
	assert_refused("-F 18446744073709551616", "-F: '18446744073709551616'");
	assert_refused("-F 99 -c 10000", "not both");
	assert_refused("-c 0", "-c: '0'");
	assert_refused("-c 9999", "-c: '9999'");
	assert_refused("-c -1", "-c: '-1'");
	assert_refused("-c often", "-c: 'often'");
	assert_refused("-c 9223372036854775808", "-c: '9223372036854775808'");
	assert_refused("-e instructions", "event 'instructions'");
	assert_refused("-e ''", "event ''");
}

/* The limit of this machine, if it has one. */
static void test_rate_above_the_limit(void **state)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	unsigned long long limit = 0;
	char line[64];

	(void)state;
	if (file) {
		assert_int_equal(fscanf(file, "%llu", &limit), 1);
		fclose(file);
		snprintf(line, sizeof(line), "-F %llu", limit + 1);
		assert_refused(line, "kernel.perf_event_max_sample_rate");
		assert_refused("-F 18446744073709551615", "at most ");
	} else {
		struct parsed got = good("-F 18446744073709551615");

		parsed_free(&got);
	}
}

static void test_seconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = { { "10", 10000000000 }, { "0.25", 250000000 }, { "1e2", 100000000000 }, { "0.001", 1000000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed got = good(cases[i].text);

		assert_int_equal(got.options.seconds_ns, cases[i].ns);
		parsed_free(&got);
	}
	assert_refused("0", "'0' is not a number of seconds");
	assert_refused("1e-10", "'1e-10'"); /* rounded down it would mean for ever */
	assert_refused("ten", "'ten'");
	assert_refused("10s", "'10s'");
	assert_refused("nan", "'nan'");
	assert_refused("inf", "'inf'");
	assert_refused("1e300", "'1e300'");
	assert_refused("''", "''");
	assert_refused("-10", "unknown option '-10'");
	assert_refused("10 20", "'20'");
	assert_refused("sleep 10", "'10'");
}

static void test_limits(void **state)
{
	struct parsed got = good("--max-stacks 1 --ring-bytes 4K --drain-ms 10");

	(void)state;
	assert_int_equal(got.collect.max_stacks, 1);
	assert_int_equal(got.collect.ring_bytes, 4096);
	assert_int_equal(got.collect.drain_ms, 10);
	parsed_free(&got);
	got = good("--max-stacks=16M --ring-bytes=1G --drain-ms=3600000");
	assert_int_equal(got.collect.max_stacks, 1 << 24);
	assert_int_equal(got.collect.ring_bytes, 1 << 30);
	assert_int_equal(got.collect.drain_ms, 3600000);
	parsed_free(&got);
	assert_refused("--max-stacks 0", "--max-stacks: from 1 to 16777216");
	assert_refused("--max-stacks 16777217", "--max-stacks");
	assert_refused("--max-stacks many", "--max-stacks: 'many'");
	assert_refused("--max-stacks -1", "--max-stacks: '-1'");
	assert_refused("--ring-bytes 4095", "--ring-bytes: from 4096");
	assert_refused("--ring-bytes 2G", "--ring-bytes");
	assert_refused("--ring-bytes 1T", "--ring-bytes: '1T'");
	assert_refused("--ring-bytes 99999999999G", "--ring-bytes: '99999999999G' is too large");
	assert_refused("--drain-ms 0", "--drain-ms: from 1");
	assert_refused("--drain-ms ''", "--drain-ms");
}

static void test_flags(void **state)
{
	struct parsed got = good("-UI --self --threads --events --stats x.json");

	(void)state;
	assert_true(got.collect.user && !got.collect.kernel);
	assert_true(got.collect.idle && got.collect.self && got.collect.threads && got.collect.events);
	assert_true(got.collect.measure); /* the figures need it */
	parsed_free(&got);
	got = good("-K");
	assert_true(!got.collect.user && got.collect.kernel);
	parsed_free(&got);
	assert_refused("-UK", "-U and -K");
	assert_refused("--children", "--children: of whom?");
	assert_refused("--chidlren -p 1", "did you mean '--children'?");
	assert_refused("-Q", "unknown option '-Q'");
	assert_refused("--idle=yes", "--idle: takes no value");
}

static void test_names(void **state)
{
	struct parsed got = good("--inline --lines --demangle full");

	(void)state;
	assert_true(got.collect.inlines && got.collect.lines && !got.collect.raw);
	assert_int_equal(got.collect.demangle, DEMANGLE_FULL);
	parsed_free(&got);
	got = good("--raw");
	assert_true(got.collect.raw && !got.collect.inlines && !got.collect.lines);
	assert_int_equal(got.collect.demangle, DEMANGLE_SHORT);
	parsed_free(&got);
	assert_refused("--demangle maybe", "--demangle: 'maybe'");
	assert_refused("--unwind up", "--unwind: 'up'");
}

/* They go through; what is wrong with them is found by the reader of report options. */
static void test_report(void **state)
{
	struct parsed got = good("--top 3 --by unit --focus x --tree");

	(void)state;
	assert_string_equal(got.options.report.top, "3");
	assert_string_equal(got.options.report.by, "unit");
	assert_string_equal(got.options.report.focus, "x");
	assert_true(got.options.report.tree && !got.options.report.quality);
	parsed_free(&got);
}

static void test_command(void **state)
{
	struct parsed got = good("-F 49 5 -- make -j4 -- x");

	(void)state;
	assert_true(got.collect.command);
	assert_string_equal(got.options.command[0], "make");
	assert_string_equal(got.options.command[1], "-j4"); /* its options are its own */
	assert_string_equal(got.options.command[2], "--");
	assert_string_equal(got.options.command[3], "x");
	assert_null(got.options.command[4]);
	assert_int_equal(got.options.seconds_ns, 5000000000);
	parsed_free(&got);
	assert_refused("--", "no command");
	assert_refused("5 --", "no command");
	assert_refused("-p 1 -- true", "do not go with a command");
	assert_refused("-t 1 -- true", "do not go with a command");
}

static void test_outputs(void **state)
{
	struct parsed got = good("-o a.folded -o b.wick --output=- -f folded");

	(void)state;
	assert_int_equal(got.options.outputs.len, 3);
	assert_string_equal(got.options.outputs.items[2], "-");
	assert_string_equal(got.options.format, "folded");
	parsed_free(&got);
	assert_refused("-o", "--output: needs a value");
}

/* What shows time is recorded with it. */
static void test_timed_outputs(void **state)
{
	static const struct {
		const char *words;
		bool timed;
	} cases[] = {
		{ "-o x.perf 1", true },
		{ "-o x.wick -o x.fx.json 1", true },
		{ "-f perf 1", true },
		{ "-f firefox -o - 1", true },
		{ "-o x.json -o x.pb.gz 1", false },
		{ "-f folded -o x.perf 1", false },
		{ "-f perf -o x.folded 1", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct parsed got = good(cases[i].words);

		assert_int_equal(got.collect.events, cases[i].timed);
		assert_int_equal(got.collect.threads, cases[i].timed);
		parsed_free(&got);
	}
}

static void test_help(void **state)
{
	static char *const asked[] = { "--help", "-h" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *argv[] = { "record", asked[i], NULL };
		struct record_options options = { 0 };

		assert_int_equal(record_parse(&options, 2, argv), -ECANCELED);
		record_options_free(&options);
	}
}

/* What a name makes of the terminal is no matter of the option that was wrong. */
static void test_hostile_words(void **state)
{
	(void)state;
	assert_refused("-p \x1b[2J\n\xff", "'\\x1b[2J\\x0a\\xff'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),  cmocka_unit_test(test_lists),
		cmocka_unit_test(test_bad_lists), cmocka_unit_test(test_rates),
		cmocka_unit_test(test_bad_rates), cmocka_unit_test(test_rate_above_the_limit),
		cmocka_unit_test(test_seconds),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_flags),     cmocka_unit_test(test_command),
		cmocka_unit_test(test_outputs),   cmocka_unit_test(test_timed_outputs),
		cmocka_unit_test(test_help),      cmocka_unit_test(test_hostile_words),
		cmocka_unit_test(test_names),     cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
