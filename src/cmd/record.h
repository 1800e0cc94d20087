/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `wick record` and how they become those of the collector. */
#ifndef WICK_CMD_RECORD_H
#define WICK_CMD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "cmd/report_options.h"
#include "cmd/svg_options.h"
#include "collect/collect.h"

struct record_options {
	struct opt_list pids, tids, comms, cpus; /* each item may itself be a list with commas */
	const char *cgroup;
	const char *frequency, *period, *event;
	const char *format, *stats;
	const char *max_stacks, *ring_bytes, *drain_ms;
	struct opt_list outputs;
	bool user, kernel, idle, self, children, threads, events;
	const char *unwind, *unwind_memory, *naming_time, *demangle;
	bool inlines, lines, debuginfod, raw;
	bool fixed_phase, no_tree, debug;
	struct report_arguments report;
	struct svg_arguments svg;
	uint64_t seconds_ns; /* 0: until stopped */
	char **command;      /* NULL: none */
};

extern const struct opt record_option_table[];

/* Memory that the collector's options point into. */
struct record_lists {
	uint32_t *pids, *tids, *cpus;
	const char **comms;
};

void record_lists_free(struct record_lists *lists);
void record_options_free(struct record_options *options);

/* Parses argv. 0; -ECANCELED for help; -EINVAL with fail() set. */
int record_parse(struct record_options *ret, int argc, char **argv);

/* -EINVAL with fail() set for values that make no sense. */
int record_to_collect(const struct record_options *options, struct collect_options *ret, struct record_lists *lists);

#endif
