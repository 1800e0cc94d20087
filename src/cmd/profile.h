/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `wick profile`, which are those of both of bcc's profile tools. */
#ifndef WICK_CMD_PROFILE_H
#define WICK_CMD_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "cmd/values.h"
#include "collect/collect.h"
#include "out/bcc.h"

#define PROFILE_HZ 49

struct profiling_options {
	struct opt_list pids, tids; /* each item may itself be a list with commas */
	const char *frequency, *period, *cpu;
	const char *max_stacks, *max_counts, *depth;
	const char *cgroup_map, *mount_map;
	bool user, kernel, delimiter, annotations, idle, folded, addresses, verbose, debuginfod;
	const char *duration; /* NULL: until interrupted */
};

/* What they mean. Points into itself and into the options. */
struct profiling_plan {
	struct numbers pids, tids;
	uint32_t cpu;
	uint64_t seconds; /* 0: until interrupted */
	struct collect_options collect;
	struct bcc_options shown;
	struct bcc_scope scope;
};

extern const struct opt profiling_option_table[];

/* Parses argv. 0; -ECANCELED for help; -EINVAL with fail() set. */
int profiling_parse(struct profiling_options *ret, int argc, char **argv);
int profiling_plan(const struct profiling_options *options, struct profiling_plan *ret);
void profiling_options_free(struct profiling_options *options);
void profiling_plan_free(struct profiling_plan *plan);

#endif
