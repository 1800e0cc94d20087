/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: what it says of profiles that are small enough to know the answer, that it fits the page, and that it
 * stands whatever the profile is. How it looks is in tests/golden.
 */
#include "out/report.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/columns.h"
#include "out/advice.h"
#include "out/out.h"
#include "profile/profile.h"
#include "unit/example.h"

struct fixture {
	struct profile *profile;
	struct report_options options;
	struct buf out;
};

static struct fixture fixture;

static int set_up(void **state)
{
	*state = &fixture;
	fixture.options = REPORT_DEFAULTS;
	return profile_new(&fixture.profile);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	buf_free(&f->out);
	profile_free(f->profile);
	return 0;
}

static void report(struct fixture *f)
{
	buf_clear(&f->out);
	assert_int_equal(report_write(f->profile, &f->options, &f->out), 0);
}

static void assert_has(const struct fixture *f, const char *text)
{
	if (!strstr(f->out.data, text))
		fail_msg("'%s' is not in:\n%s", text, f->out.data);
}

static void assert_lacks(const struct fixture *f, const char *text)
{
	if (strstr(f->out.data, text))
		fail_msg("'%s' is in:\n%s", text, f->out.data);
}

/* A stack of named functions, root first, separated by blanks; k: before those of the kernel. */
static void add(struct fixture *f, uint32_t process, uint64_t value, const char *stack)
{
	uint32_t node = 0;

	while (*stack) {
		size_t len = strcspn(stack, " ");
		bool kernel = !strncmp(stack, "k:", 2);
		const struct profile_frame frame = {
			.kind = kernel ? FRAME_KERNEL : FRAME_USER,
			.name = profile_bytes(f->profile, stack + 2 * kernel, len - 2 * kernel),
		};

		node = profile_add_node(f->profile, node, profile_add_frame(f->profile, &frame));
		stack += len + (stack[len] == ' ');
	}
	example_sample(f->profile, process, node, 0, value);
}

static void test_example(void **state)
{
	struct fixture *f = *state;

	example_fill(f->profile);
	assert_int_equal(out_report(f->profile, &f->out), 0);
	assert_string_equal(f->out.data,
			    "10.0 s · 2 CPUs · 99 Hz · 1,000 samples · busy 71 %: user 58, kernel 13\n"
			    "\n"
			    "  SELF   TOTAL  FUNCTION                     MODULE     PROCESS\n"
			    " 60.0%   80.0%  libc.so.6+0x2f00             libc.so.6  sh\n"
			    " 20.0%   20.0%  [kernel]+0xffffffff81000123  [kernel]   sh\n"
			    " 10.0%   10.0%  [file]+0x42                  [file]     sh\n"
			    " 10.0%   10.0%  [vdso]+0x6f0                 [vdso]     a\\x3bb\\x0ac\\x1b\\xff\n"
			    "\n"
			    " TOTAL    SELF  PATH (from 1 % on)\n"
			    " 90.0%          sh\n"
			    " 80.0%   60.0%  ├─main → libc.so.6+0x2f00\n"
			    " 20.0%   20.0%  │ └─[kernel]+0xffffffff81000123\n"
			    " 10.0%   10.0%  └─[incomplete: no_mapping] → [file]+0x42\n"
			    " 10.0%   10.0%  a\\x3bb\\x0ac\\x1b\\xff: [jit] → x\\x3b\\x0ay → [vdso]+0x6f0\n"
			    "\n"
			    " SHARE       PID  PROCESS              OF WHICH IN\n"
			    " 90.0%       100  sh                    67% libc.so.6+0x2f00\n"
			    " 10.0%      4242  a\\x3bb\\x0ac\\x1b\\xff  100% [vdso]+0x6f0\n"
			    "\n"
			    "stacks 88.8 % whole · lost 12: ring 10, busy 2 · missed about 10 of 1,980 ticks\n"
			    "  · noted: events_lost 3 · wick used 0.08 % CPU, 21 MB + 14 MB maps\n"
			    "names are missing in libc.so.6 (80.0 % of samples), [kernel] (20.0 %: kernel\n"
			    "  addresses are hidden: see kernel.kptr_restrict), [file] (10.0 %: file_gone),\n"
			    "  [jit] (10.0 %: code made at run time, without a perf map), and 1 more:\n"
			    "  --quality lists them\n"
			    "\n"
			    "     COUNT  WHAT                     WHAT TO DO\n"
			    "       100  cut: no_mapping          a return address in no mapping: the code\n"
			    "                                     does not follow the frame pointer rules\n"
			    "        10  ticks: missed            the kernel was in a place where nothing can\n"
			    "                                     be sampled: shares may be off by as much\n"
			    "        10  lost: ring               new stacks came faster than they were\n"
			    "                                     fetched: raise --ring-bytes\n"
			    "         3  note: events_lost        counted, but when is not known: raise\n"
			    "                                     --ring-bytes\n"
			    "         2  lost: busy               one sample interrupted another: a few do no\n"
			    "                                     harm; lower -F if they are many\n"
			    "\n"
			    "    STACKS WHOLE%    CUT  BROKEN  ROWS%    FP%  USER%   PROCESSES, AND WHY\n"
			    "       900   88.8      0     100   36.1   55.6    8.3   sh 100\n"
			    "            no_mapping 100\n"
			    "next: wick record -o cpu.wick 10\n"
			    "      wick report --tree cpu.wick\n");
}

static void test_of_nothing(void **state)
{
	struct fixture *f = *state;

	report(f);
	assert_string_equal(f->out.data, "0 samples\n"
					 "\n"
					 "losses are not known: the file does not tell\n"
					 "next: wick record -o cpu.wick 10\n"
					 "      wick report --tree cpu.wick\n");
	f->options.tree = true;
	report(f);
	f->options.tree = false;
	f->options.quality = true;
	report(f);
	assert_has(f, "every frame has a name");
}

static void test_recursion_counts_once(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 3, "fib fib");
	add(f, 0, 1, "");
	report(f);
	assert_has(f, " 75.0%   75.0%  fib         -       [unnamed]\n");
	assert_has(f, " 25.0%   25.0%  [no stack]  -       [unnamed]\n");
	assert_has(f, " 75.0%   75.0%  ├─fib ×2\n");
}

/* One name in two modules is two functions; in two processes it is one, and the busier process stands beside it. */
static void test_functions(void **state)
{
	struct fixture *f = *state;
	const struct profile_file a = { .path = profile_string(f->profile, "/a"), .inode = 1 };
	const struct profile_file b = { .path = profile_string(f->profile, "/b"), .inode = 2 };
	uint32_t in_a = example_frame(f->profile, FRAME_USER, profile_add_file(f->profile, &a), 16, "init");
	uint32_t in_b = example_frame(f->profile, FRAME_USER, profile_add_file(f->profile, &b), 16, "init");
	uint32_t elsewhere = example_frame(f->profile, FRAME_USER, profile_frame(f->profile, in_a)->file, 32, "init");

	example_processes(f->profile);
	profile_process(f->profile, 2)->comm = profile_string(f->profile, "busy");
	example_sample(f->profile, 1, profile_add_node(f->profile, 0, in_a), 0, 10);
	example_sample(f->profile, 2, profile_add_node(f->profile, 0, elsewhere), 0, 30);
	example_sample(f->profile, 1, profile_add_node(f->profile, 0, in_b), 0, 60);
	report(f);
	assert_has(f, " 60.0%   60.0%  init      b       sh\n"
		      " 40.0%   40.0%  init      a       busy\n");
}

static void test_ties_go_by_name(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 1, "root zeta");
	add(f, 0, 1, "root alpha");
	add(f, 0, 1, "root mid");
	report(f);
	assert_has(f, " 33.3%   33.3%  alpha     -       [unnamed]\n"
		      " 33.3%   33.3%  mid       -       [unnamed]\n"
		      " 33.3%   33.3%  zeta      -       [unnamed]\n");
	assert_has(f, "├─alpha\n 33.3%   33.3%  ├─mid\n 33.3%   33.3%  └─zeta\n");
}

static void test_top(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 6, "a");
	add(f, 0, 3, "b");
	add(f, 0, 1, "c");
	f->options.top = 1;
	report(f);
	assert_has(f, " 60.0%   60.0%  a         -       [unnamed]\n"
		      " 40.0%          2 other functions\n");
	f->options.top = 0;
	report(f);
	assert_lacks(f, "FUNCTION");
}

/* Below the limit nothing is shown; at it all is, and a chain never hides a difference that reaches it. */
static void test_percent_limit(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 90, "main a b c");
	add(f, 0, 5, "main a b d");
	add(f, 0, 4, "main a");
	add(f, 0, 1, "main a e");
	f->options.percent_limit = 6;
	report(f);
	assert_has(f, "PATH (from 6 % on)\n"
		      "100.0%    4.0%  [unnamed]: main → a → b\n"
		      " 90.0%   90.0%  └─c\n");
	f->options.percent_limit = 5;
	report(f);
	assert_has(f, "100.0%    4.0%  [unnamed]: main → a\n"
		      " 95.0%          └─b\n"
		      " 90.0%   90.0%    ├─c\n"
		      "  5.0%    5.0%    └─d\n");
	f->options.percent_limit = 0;
	report(f);
	assert_has(f, "PATH\n");
	assert_has(f, "  1.0%    1.0%  └─e\n");
}

/* A tree that would fill screens is cut higher up, and says so; --tree and a limit that was asked for are obeyed. */
static void test_long_trees_are_cut(void **state)
{
	struct fixture *f = *state;
	char name[32];

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "main f%02d", i);
		add(f, 0, i < 10 ? 50 : 10, name);
	}
	report(f);
	assert_has(f, "PATH (from 2 % on)\n");
	assert_lacks(f, "─f10\n");
	f->options.percent_limit = 0.5;
	report(f);
	assert_has(f, "─f10\n");
	f->options.percent_limit = -1;
	f->options.tree = true;
	report(f);
	assert_has(f, "PATH (from 1 % on)\n");
}

static void test_kernel_is_marked(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 2, "main read k:do_syscall_64 k:vfs_read");
	add(f, 0, 2, "main read k:do_syscall_64 k:vfs_write");
	report(f);
	assert_has(f, "[unnamed]: main → read → [kernel] do_syscall_64\n");
	assert_has(f, "─vfs_read\n");
}

static void test_callers(void **state)
{
	struct fixture *f = *state;

	example_processes(f->profile);
	add(f, 1, 50, "main a malloc");
	add(f, 1, 30, "main b malloc malloc");
	add(f, 1, 20, "main c");
	f->options.callers = "malloc";
	report(f);
	assert_has(f, " 80.0%          malloc\n"
		      " 50.0%          ├─a ← main ← (sh)\n"
		      " 30.0%          └─b ← main ← (sh)\n");
	assert_lacks(f, "next:");
	f->options.callers = "allo"; /* no function of that name: those that have it in theirs */
	report(f);
	assert_has(f, " 80.0%          malloc\n");
	f->options.callers = "free";
	buf_clear(&f->out);
	assert_int_equal(report_write(f->profile, &f->options, &f->out), -EINVAL);
	assert_non_null(strstr(fail_text(), "no function in this profile is called 'free'"));
}

static void test_by(void **state)
{
	struct fixture *f = *state;
	uint32_t key = profile_string(f->profile, "container"), unit = profile_string(f->profile, "unit");
	uint32_t set = profile_add_label(f->profile, 0, key, profile_string(f->profile, "web"));
	uint32_t node = profile_add_node(f->profile, 0, example_frame(f->profile, FRAME_USER, 0, 1, "f"));

	example_processes(f->profile);
	set = profile_add_label(f->profile, set, unit, profile_string(f->profile, "nginx.service"));
	example_sample(f->profile, 1, node, set, 70);
	example_sample(f->profile, 2, node, set, 10);
	example_sample(f->profile, 1, node, 0, 20);
	f->options.by = TALLY_CONTAINER;
	report(f);
	assert_has(f, " 80.0%        ×2  web             100% f\n"
		      " 20.0%       100  [no container]  100% f\n");
	f->options.by = TALLY_UNIT;
	report(f);
	assert_has(f, " 80.0%        ×2  nginx.service  100% f\n");
	f->options.by = TALLY_PROCESS;
	report(f);
	assert_has(f, " 90.0%  sh (100)                    100% f\n");
	f->options.by = TALLY_THREAD;
	report(f);
	assert_has(f, " 70.0%  sh (100/4242)                    100% f\n");
	f->options.by = TALLY_MODULE;
	report(f);
	assert_has(f, "100.0%  -       100% f\n");
}

static void test_long_container_ids_are_cut(void **state)
{
	struct fixture *f = *state;
	uint32_t key = profile_string(f->profile, "container");
	uint32_t id = profile_string(f->profile, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");

	example_processes(f->profile);
	example_sample(f->profile, 1, 0, profile_add_label(f->profile, 0, key, id), 1);
	f->options.by = TALLY_CONTAINER;
	report(f);
	assert_has(f, "  0123456789ab  ");
}

/* A user's container may have the same id as root's: they are two. */
static void test_whose_container(void **state)
{
	struct fixture *f = *state;
	uint32_t key = profile_string(f->profile, "container");
	uint32_t roots = profile_string(f->profile, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	uint32_t users =
		profile_string(f->profile, "1000/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");

	example_processes(f->profile);
	example_sample(f->profile, 1, 0, profile_add_label(f->profile, 0, key, roots), 1);
	example_sample(f->profile, 2, 0, profile_add_label(f->profile, 0, key, users), 3);
	f->options.by = TALLY_CONTAINER;
	report(f);
	assert_has(f, "  0123456789ab  ");
	assert_has(f, "  1000/0123456789ab  ");
}

static void test_threads_that_were_not_recorded(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 1, "main");
	f->options.by = TALLY_THREAD;
	report(f);
	assert_has(f, "threads were not told apart: wick record --threads does\n");
}

static void test_filter_is_said(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 30, "main a");
	add(f, 0, 70, "main b");
	f->options.filter.focus = "^a$";
	report(f);
	assert_has(f, "30 samples\nfocus '^a$': 30 of 100 samples (30.0 %); shares are of these\n");
	assert_has(f, "100.0%  100.0%  a ");
	assert_lacks(f, " b ");
	f->options.filter.focus = "[";
	assert_int_equal(report_check(&f->options), -EINVAL);
	buf_clear(&f->out);
	assert_int_equal(report_write(f->profile, &f->options, &f->out), -EINVAL);
}

static void test_names_to_type(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 1, "std::less<int>");
	f->options.source = "my file.wick";
	report(f);
	assert_has(f, "next: wick report --callers 'std::less<int>' 'my file.wick'\n"
		      "      wick convert 'my file.wick' -o cpu.folded\n");
	f->options.source = "it's.folded";
	report(f);
	assert_has(f, "      wick report --tree 'it'\\''s.folded'\n");
}

static void test_all_is_well(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 1, "main");
	profile_meta(f->profile)->duration_ns = 10000000000;
	profile_add_counter(f->profile, "total", "taken", 100000);
	profile_add_counter(f->profile, "stack", "user", 100000);
	profile_add_counter(f->profile, "stack", "complete", 99999);
	profile_add_counter(f->profile, "cut", "depth", 1);
	report(f);
	/* One is not whole, hence not 100.0. */
	assert_has(f, "\nstacks 99.9 % whole: depth 1 · lost 0\nnext: ");
	assert_lacks(f, "WHAT TO DO");
}

static void test_colour_only_if_asked(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 1, "main");
	report(f);
	assert_lacks(f, "\033");
	f->options.colour = true;
	report(f);
	assert_has(f, "\033[1;31m100.0%\033[0m");
}

/* No line is wider than the page, but for commands, which must stay in one piece to be typed. */
static void assert_fits(const struct fixture *f)
{
	const char *line = f->out.data;

	while (*line) {
		size_t len = strcspn(line, "\n");

		if (columns_of(line, len) > f->options.width && !strstr(line, "wick record") &&
		    strncmp(line, "next:", 5) != 0 && strncmp(line, "      wick", 10) != 0)
			fail_msg("wider than %u: %.*s", f->options.width, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void test_fits_every_width(void **state)
{
	static const char *const callers[] = { NULL, "a" };
	struct fixture *f = *state;
	autobuf struct buf deep = { 0 };

	example_fill(f->profile);
	for (int i = 0; i < 60; i++) {
		buf_addf(&deep, "std::map<std::string_%d,std::vector<int>>::operator[]_日本語 ", i);
		add(f, 1, 20, deep.data);
		add(f, 2, 20, "k:entry_SYSCALL_64_after_hwframe k:do_syscall_64 k:a");
	}
	f->options.percent_limit = 0;
	for (f->options.width = REPORT_WIDTH_MIN; f->options.width <= 210; f->options.width++)
		for (unsigned what = 0; what < 4; what++) {
			f->options.callers = callers[what & 1];
			f->options.tree = what & 2;
			f->options.quality = !what && f->options.width % 2;
			report(f);
			assert_fits(f);
		}
}

/* Every reason that the kernel side counts has words; those of a newer wick get general ones. */
static void test_advice_is_complete(void **state)
{
	static const struct {
		const char *group, *name;
	} counters[] = {
#define COUNTER(group, name, meaning) { #group, #name },
#include "bpf/counters.def"
#undef COUNTER
	};

	(void)state;
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		const struct advice *advice = advice_find(counters[i].group, counters[i].name);

		if (advice_is_problem(counters[i].group, counters[i].name) && strcmp(advice->name, counters[i].name))
			fail_msg("no advice for %s %s", counters[i].group, counters[i].name);
	}
	assert_non_null(strstr(advice_find("lost", "of the future")->words, "newer"));
}

#define with_profile(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_profile(test_example),
		with_profile(test_of_nothing),
		with_profile(test_recursion_counts_once),
		with_profile(test_functions),
		with_profile(test_ties_go_by_name),
		with_profile(test_top),
		with_profile(test_percent_limit),
		with_profile(test_long_trees_are_cut),
		with_profile(test_kernel_is_marked),
		with_profile(test_callers),
		with_profile(test_by),
		with_profile(test_long_container_ids_are_cut),
		with_profile(test_whose_container),
		with_profile(test_threads_that_were_not_recorded),
		with_profile(test_filter_is_said),
		with_profile(test_names_to_type),
		with_profile(test_all_is_well),
		with_profile(test_colour_only_if_asked),
		with_profile(test_fits_every_width),
		cmocka_unit_test(test_advice_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
