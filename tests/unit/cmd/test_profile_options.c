/* SPDX-License-Identifier: Apache-2.0 */
/* What people type after `wick profile`: it means what it means to bcc's profile, and what that refuses is refused. */
#include "cmd/profile.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 24

struct parsed {
	char line[256];
	struct profiling_options options;
	struct profiling_plan plan;
};

/* Words separated by spaces. */
static int parse(struct parsed *ret, const char *text)
{
	char *words[WORDS_MAX];
	int count = 0, err;

	*ret = (struct parsed){ 0 };
	snprintf(ret->line, sizeof(ret->line), "profile %s", text);
	for (char *word = strtok(ret->line, " "); word && count < WORDS_MAX - 1; word = strtok(NULL, " "))
		words[count++] = word;
	words[count] = NULL;
	err = profiling_parse(&ret->options, count, words);
	return err ? err : profiling_plan(&ret->options, &ret->plan);
}

static void parsed_free(struct parsed *parsed)
{
	profiling_plan_free(&parsed->plan);
	profiling_options_free(&parsed->options);
}

static void assert_good(struct parsed *ret, const char *text)
{
	if (parse(ret, text))
		fail_msg("'%s' was refused: %s", text, fail_text());
}

static void assert_refused(const char *text, const char *words)
{
	struct parsed parsed;
	int err;

	fail_plain(0, "nothing");
	err = parse(&parsed, text);
	parsed_free(&parsed);
	if (err != -EINVAL)
		fail_msg("'%s' gave %d", text, err);
	if (!strstr(fail_text(), words) || strchr(fail_text(), '\n'))
		fail_msg("'%s' was refused with: %s", text, fail_text());
}

static void test_defaults(void **state)
{
	struct parsed got;

	(void)state;
	assert_good(&got, "");
	assert_int_equal(got.plan.collect.hz, 49);
	assert_int_equal(got.plan.scope.hz, 49);
	assert_int_equal(got.plan.collect.period, 0);
	assert_true(got.plan.collect.user && got.plan.collect.kernel);
	assert_true(got.plan.scope.user && got.plan.scope.kernel);
	assert_int_equal(got.plan.scope.cpu, -1);
	assert_int_equal(got.plan.collect.cpus_len + got.plan.collect.pids_len + got.plan.collect.tids_len, 0);
	assert_int_equal(got.plan.collect.max_stacks, 16384);
	assert_int_equal(got.plan.collect.max_counts, 40960);
	assert_int_equal(got.plan.seconds, 0);
	assert_int_equal(got.plan.scope.seconds, 0);
	assert_false(got.plan.collect.idle || got.plan.shown.folded || got.plan.shown.delimiter);
	assert_false(got.plan.shown.annotations || got.plan.shown.addresses || got.plan.shown.verbose);
	assert_null(got.plan.collect.cgroup_map);
	assert_null(got.plan.collect.mount_map);
	parsed_free(&got);
}

static void test_everything(void **state)
{
	struct parsed got;

	(void)state;
	assert_good(&got, "-p 1,22 -UdaIfAv -c 1000000 -C 3 --stack-storage-size 7 --hash-storage-size=8 "
			  "--perf-max-stack-depth 9 --cgroupmap /a --mntnsmap /b 12");
	assert_int_equal(got.plan.collect.pids_len, 2);
	assert_int_equal(got.plan.collect.pids[1], 22);
	assert_ptr_equal(got.plan.scope.pids, got.plan.collect.pids);
	assert_int_equal(got.plan.scope.pids_len, 2);
	assert_true(got.plan.collect.user && !got.plan.collect.kernel && got.plan.collect.idle);
	assert_true(got.plan.scope.user && !got.plan.scope.kernel);
	assert_int_equal(got.plan.collect.hz, 0);
	assert_int_equal(got.plan.collect.period, 1000000);
	assert_int_equal(got.plan.scope.period, 1000000);
	assert_int_equal(got.plan.collect.cpus_len, 1);
	assert_int_equal(got.plan.collect.cpus[0], 3);
	assert_int_equal(got.plan.scope.cpu, 3);
	assert_int_equal(got.plan.collect.max_stacks, 7);
	assert_int_equal(got.plan.collect.max_counts, 8);
	assert_int_equal(got.plan.shown.depth, 9);
	assert_true(got.plan.shown.folded && got.plan.shown.delimiter && got.plan.shown.annotations);
	assert_true(got.plan.shown.addresses && got.plan.shown.verbose);
	assert_string_equal(got.plan.collect.cgroup_map, "/a");
	assert_string_equal(got.plan.collect.mount_map, "/b");
	assert_int_equal(got.plan.seconds, 12);
	assert_int_equal(got.plan.scope.seconds, 12);
	parsed_free(&got);
}

static void test_others(void **state)
{
	struct parsed got;

	(void)state;
	assert_good(&got, "-K -L 7 --tid 8 -F 99 -C -1 99999999");
	assert_int_equal(got.plan.collect.tids_len, 2);
	assert_int_equal(got.plan.scope.tids_len, 2);
	assert_int_equal(got.plan.scope.tids[1], 8);
	assert_true(!got.plan.collect.user && got.plan.collect.kernel);
	assert_int_equal(got.plan.collect.hz, 99);
	assert_int_equal(got.plan.collect.cpus_len, 0);
	assert_int_equal(got.plan.scope.cpu, -1);
	assert_int_equal(got.plan.seconds, 0); /* what bcc takes for no end */
	parsed_free(&got);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused("-p 1 -L 2", "-p and -L");
	assert_refused("-U -K", "-U and -K");
	assert_refused("-F 99 -c 1000000", "-F and -c");
	assert_refused("-F 0", "'0'");
	assert_refused("-F fast", "'fast'");
	assert_refused("-c 1", "'1'");
	assert_refused("-p one", "'one'");
	assert_refused("-p 1,,2", "'1,,2'");
	assert_refused("-p -1", "'-1'");
	assert_refused("-L x", "'x'");
	assert_refused("-C x", "'x'");
	assert_refused("-C -2", "'-2'");
	assert_refused("-C 0,1", "'0,1'");
	assert_refused("-C 4294967296", "'4294967296'");
	assert_refused("--stack-storage-size 0", "--stack-storage-size");
	assert_refused("--stack-storage-size many", "'many'");
	assert_refused("--hash-storage-size 0", "--hash-storage-size");
	assert_refused("--perf-max-stack-depth 0", "--perf-max-stack-depth");
	assert_refused("0", "'0'");
	assert_refused("soon", "'soon'");
	assert_refused("0.5", "'0.5'");
	assert_refused("1 2", "'2'");
	assert_refused("-- ls", "'ls'");
	assert_refused("--frobnicate", "frobnicate");
	assert_refused("-p", "value");
}

static void test_help(void **state)
{
	struct parsed got;

	(void)state;
	assert_int_equal(parse(&got, "-U --help"), -ECANCELED);
	parsed_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_everything), cmocka_unit_test(test_others),
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
