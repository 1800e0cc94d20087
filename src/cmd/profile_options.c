/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks what was asked of `wick profile`: the union of what bcc's profile.py and its libbpf port take, each
 * with the meaning it has there. What they refuse is refused here.
 */
#include "cmd/profile.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"

#define AT(field) offsetof(struct profiling_options, field)
#define STACKS 16384
#define COUNTS 40960
#define LIMIT_MAX (1 << 24)
#define FOREVER 99999999 /* seconds: from here on there is no end */

const struct opt profiling_option_table[] = {
	{ 'p', "pid", "PID,...", opt_list, AT(pids), "only these processes", "pid" },
	{ 'L', "tid", "TID,...", opt_list, AT(tids), "only these threads", "pid" },
	{ 'U', "user-stacks-only", NULL, opt_flag, AT(user), "user stacks only", NULL },
	{ 'K', "kernel-stacks-only", NULL, opt_flag, AT(kernel), "kernel stacks only", NULL },
	{ 'F', "frequency", "HZ", opt_text, AT(frequency), "samples a second on each CPU (49)", NULL },
	{ 'c', "count", "EVENTS", opt_text, AT(period), "instead: cycles, or ns, between samples", NULL },
	{ 'd', "delimited", NULL, opt_flag, AT(delimiter), "a line, or -, between user and kernel stack", NULL },
	{ 'a', "annotations", NULL, opt_flag, AT(annotations), "with -f: _[k] behind kernel functions", NULL },
	{ 'I', "include-idle", NULL, opt_flag, AT(idle), "keep the idle CPUs in", NULL },
	{ 'f', "folded", NULL, opt_flag, AT(folded), "one line a stack, for flame graphs", NULL },
	{ 'A', "address", NULL, opt_flag, AT(addresses), "without -f: addresses too; in a file, the offset", NULL },
	{ 'C', "cpu", "CPU", opt_text, AT(cpu), "only this CPU", "cpu" },
	{ 'v', "verbose", NULL, opt_flag, AT(verbose), "addresses, and where in which file", NULL },
	{ 0, "stack-storage-size", "N", opt_text, AT(max_stacks), "distinct stacks kept (16384)", NULL },
	{ 0, "hash-storage-size", "N", opt_text, AT(max_counts), "distinct counts kept in the kernel (40960)", NULL },
	{ 0, "perf-max-stack-depth", "N", opt_text, AT(depth), "frames shown of each stack (all)", NULL },
	{ 0, "debuginfod", NULL, opt_flag, AT(debuginfod), "ask the servers of DEBUGINFOD_URLS for debug files", NULL },
	{ 0, "cgroupmap", "PATH", opt_text, AT(cgroup_map), "only cgroups in this pinned BPF map", "file" },
	{ 0, "mntnsmap", "PATH", opt_text, AT(mount_map), "only mount name spaces in this pinned BPF map", "file" },
	{ 0 },
};

void profiling_options_free(struct profiling_options *options)
{
	opt_list_free(&options->pids);
	opt_list_free(&options->tids);
}

void profiling_plan_free(struct profiling_plan *plan)
{
	free(plan->pids.list);
	free(plan->tids.list);
}

int profiling_parse(struct profiling_options *ret, int argc, char **argv)
{
	struct opt_list operands = { 0 };
	int rest = opt_parse(profiling_option_table, argc, argv, ret, &operands), err = rest < 0 ? rest : 0;

	if (!err && operands.len > 1)
		err = fail_plain(-EINVAL, "'%s': one number of seconds is enough", operands.items[1]);
	else if (!err && rest < argc)
		err = fail_plain(-EINVAL, "'%s': profile runs no command", argv[rest]);
	else if (!err && operands.len)
		ret->duration = operands.items[0];
	opt_list_free(&operands);
	return err;
}

static int exclude(bool one, bool other, const char *words)
{
	return one && other ? fail_plain(-EINVAL, "%s", words) : 0;
}

static int plan_rate(const struct profiling_options *options, struct profiling_plan *plan)
{
	struct collect_options *collect = &plan->collect;
	int err = exclude(options->frequency, options->period, "-F and -c: a frequency or a period, not both");

	collect->hz = options->period ? 0 : PROFILE_HZ;
	if (!err && options->frequency)
		err = value_frequency(options->frequency, &collect->hz);
	if (!err && options->period)
		err = value_period(options->period, &collect->period);
	plan->scope.hz = collect->hz;
	plan->scope.period = collect->period;
	return err;
}

static int plan_who(const struct profiling_options *options, struct profiling_plan *plan)
{
	int err = exclude(options->pids.len, options->tids.len, "-p and -L: processes or threads, not both");

	err = err ? err : value_numbers(&options->pids, "-p", false, &plan->pids);
	err = err ? err : value_numbers(&options->tids, "-L", false, &plan->tids);
	plan->collect.pids = plan->scope.pids = plan->pids.list;
	plan->collect.tids = plan->scope.tids = plan->tids.list;
	plan->collect.pids_len = plan->scope.pids_len = plan->pids.len;
	plan->collect.tids_len = plan->scope.tids_len = plan->tids.len;
	return err;
}

static int plan_cpu(const struct profiling_options *options, struct profiling_plan *plan)
{
	uint64_t cpu;

	plan->scope.cpu = -1;
	if (!options->cpu || !strcmp(options->cpu, "-1"))
		return 0;
	if (text_u64(options->cpu, &cpu) || cpu > INT_MAX)
		return fail_plain(-EINVAL, "-C: '%s' is not the number of a CPU", options->cpu);
	plan->scope.cpu = (int64_t)cpu;
	plan->cpu = (uint32_t)cpu;
	plan->collect.cpus = &plan->cpu;
	plan->collect.cpus_len = 1;
	return 0;
}

static int plan_duration(const struct profiling_options *options, struct profiling_plan *plan)
{
	if (!options->duration)
		return 0;
	if (text_u64(options->duration, &plan->seconds) || !plan->seconds)
		return fail_plain(-EINVAL, "'%s' is not a whole number of seconds", options->duration);
	if (plan->seconds >= FOREVER)
		plan->seconds = 0;
	plan->scope.seconds = plan->seconds;
	return 0;
}

int profiling_plan(const struct profiling_options *options, struct profiling_plan *ret)
{
	int err;

	*ret = (struct profiling_plan){
		.collect = {
			.cgroup_map = options->cgroup_map,
			.mount_map = options->mount_map,
			.idle = options->idle,
			.debuginfod = options->debuginfod,
			.user = !options->kernel,
			.kernel = !options->user,
			.max_stacks = STACKS,
			.max_counts = COUNTS,
			.ring_bytes = COLLECT_RING_BYTES,
			.drain_ms = COLLECT_DRAIN_MS,
			.unwind_bytes = COLLECT_UNWIND_BYTES,
			.naming_ns = COLLECT_NAMING_NS,
		},
		.shown = {
			.folded = options->folded,
			.delimiter = options->delimiter,
			.annotations = options->annotations,
			.addresses = options->addresses,
			.verbose = options->verbose,
			.depth = UINT32_MAX,
		},
		.scope = { .user = !options->kernel, .kernel = !options->user },
	};
	err = exclude(options->user, options->kernel, "-U and -K: user stacks only or kernel stacks only, not both");
	err = err ? err : plan_rate(options, ret);
	err = err ? err : plan_who(options, ret);
	err = err ? err : plan_cpu(options, ret);
	err = err ? err : plan_duration(options, ret);
	err = err ? err
		  : value_limit(options->max_stacks, "stack-storage-size", 1, LIMIT_MAX, &ret->collect.max_stacks);
	err = err ? err : value_limit(options->max_counts, "hash-storage-size", 1, LIMIT_MAX, &ret->collect.max_counts);
	return err ? err : value_limit(options->depth, "perf-max-stack-depth", 1, UINT32_MAX, &ret->shown.depth);
}
