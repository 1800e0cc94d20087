/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks what was asked of `wick record`: everything that can be wrong with the words is found here. */
#include "cmd/record.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cmd/values.h"
#include "out/out.h"

#define AT(field) offsetof(struct record_options, field)
#define SECONDS_MAX (10.0 * 365 * 24 * 3600)
#define SECONDS_MIN 0.001

#define ROW(name, value, reader, field, help, hint) { 0, name, value, reader, AT(report.field), help, hint },
#define SVG_ROW(name, value, reader, field, help, hint) { 0, name, value, reader, AT(svg.field), help, hint },

const struct opt record_option_table[] = {
	{ 'p', "pid", "PID,...", opt_list, AT(pids), "only these processes, all their threads", "pid" },
	{ 't', "tid", "TID,...", opt_list, AT(tids), "only these threads", "pid" },
	{ 'n', "comm", "NAME", opt_list, AT(comms), "only threads of this name (again for more)", NULL },
	{ 0, "cgroup", "PATH", opt_text, AT(cgroup), "only this cgroup and those below it", "dir" },
	{ 'C', "cpu", "CPU,...", opt_list, AT(cpus), "only these CPUs, such as 0-3,8", "cpu" },
	{ 0, "children", NULL, opt_flag, AT(children), "with -p: their descendants too", NULL },
	{ 'F', "frequency", "HZ", opt_text, AT(frequency), "samples a second on each CPU (99)", NULL },
	{ 'c', "count", "PERIOD", opt_text, AT(period), "instead: ns, or cycles, between samples", NULL },
	{ 'e', "event", "EVENT", opt_text, AT(event), "cpu-clock, or cycles where the machine counts them",
	  "cpu-clock cycles" },
	{ 'U', "user", NULL, opt_flag, AT(user), "user stacks only", NULL },
	{ 'K', "kernel", NULL, opt_flag, AT(kernel), "kernel stacks only", NULL },
	{ 'I', "idle", NULL, opt_flag, AT(idle), "keep the idle CPUs in", NULL },
	{ 0, "self", NULL, opt_flag, AT(self), "keep wick's own work in", NULL },
	{ 0, "threads", NULL, opt_flag, AT(threads), "tell threads apart", NULL },
	{ 0, "events", NULL, opt_flag, AT(events), "keep the time of each sample in .wick, as .perf and .fx.json do",
	  NULL },
	{ 'o', "output", "FILE", opt_list, AT(outputs),
	  "write to FILE, its suffix chooses the format, see below; again for more; - is standard output", "file" },
	{ 'f', "format", "FORMAT", opt_text, AT(format), "one of those below, whatever the suffix", OUT_NAMES },
	{ 0, "stats", "FILE", opt_text, AT(stats), "write the accounting as JSON", "file" },
	{ 0, "max-stacks", "N", opt_text, AT(max_stacks), "distinct stacks kept (32768)", NULL },
	{ 0, "ring-bytes", "BYTES", opt_text, AT(ring_bytes), "room for new stacks on their way (1M)", NULL },
	{ 0, "drain-ms", "MS", opt_text, AT(drain_ms), "how often counts are fetched, at least (5000)", NULL },
	{ 0, "debug", NULL, opt_flag, AT(debug), "show what the kernel says while loading", NULL },
	{ 0, "no-jitter", NULL, opt_flag, AT(fixed_phase), NULL, NULL },
	{ 0, "unwind", "HOW", opt_text, AT(unwind),
	  "auto: unwind tables, frame pointers where there are none; or fp, table, off", "auto fp table off" },
	{ 0, "unwind-memory", "BYTES", opt_text, AT(unwind_memory), "room for unwind tables (64M)", NULL },
	{ 0, "naming-time", "SECONDS", opt_text, AT(naming_time), "time for names after the end, at most (5)", NULL },
	{ 0, "demangle", "HOW", opt_text, AT(demangle), "names of C++, Rust and D: short, full or no",
	  "short full no" },
	{ 0, "inline", NULL, opt_flag, AT(inlines),
	  "functions inlined by the compiler too, where there is DWARF; Go's are always there", NULL },
	{ 0, "lines", NULL, opt_flag, AT(lines), "source file and line behind each name, where they are known", NULL },
	{ 0, "debuginfod", NULL, opt_flag, AT(debuginfod), "ask the servers of DEBUGINFOD_URLS for debug files", NULL },
	{ 0, "raw", NULL, opt_flag, AT(raw), "no names: frames stay file+0xoffset", NULL },
	{ 0, "no-tree", NULL, opt_flag, AT(no_tree), NULL, NULL },
	REPORT_OPTIONS(ROW) SVG_OPTIONS(SVG_ROW){ 0 },
};

void record_options_free(struct record_options *options)
{
	opt_list_free(&options->pids);
	opt_list_free(&options->tids);
	opt_list_free(&options->comms);
	opt_list_free(&options->cpus);
	opt_list_free(&options->outputs);
}

void record_lists_free(struct record_lists *lists)
{
	free(lists->pids);
	free(lists->tids);
	free(lists->cpus);
	free(lists->comms);
}

static int parse_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds < SECONDS_MIN || seconds > SECONDS_MAX) {
		fail_plain(-EINVAL, "'%s' is not a number of seconds", text);
		return fail_hint(-EINVAL, "a command to run goes behind --");
	}
	*ret_ns = (uint64_t)(seconds * (double)NS_PER_SEC);
	return 0;
}

int record_parse(struct record_options *ret, int argc, char **argv)
{
	struct opt_list operands = { 0 };
	int rest = opt_parse(record_option_table, argc, argv, ret, &operands), err = rest < 0 ? rest : 0;

	if (!err && operands.len > 1)
		err = fail_plain(-EINVAL, "'%s': one number of seconds is enough", operands.items[1]);
	if (!err && operands.len == 1)
		err = parse_seconds(operands.items[0], &ret->seconds_ns);
	if (!err && rest < argc)
		ret->command = argv + rest;
	else if (!err && argc > 1 && !strcmp(argv[argc - 1], "--"))
		err = fail_plain(-EINVAL, "--: there is no command behind it");
	opt_list_free(&operands);
	return err;
}

/* The number of a word in a list that ends with NULL. */
static int parse_word(const char *text, const char *option, const char *const *words, unsigned int *ret)
{
	if (!text)
		return 0;
	for (unsigned int i = 0; words[i]; i++) {
		if (!strcmp(text, words[i])) {
			*ret = i;
			return 0;
		}
	}
	return fail_plain(-EINVAL, "--%s: '%s' is not one of the words for it", option, text);
}

static int parse_words(const struct record_options *options, struct collect_options *ret)
{
	static const char *const unwind[] = { "auto", "fp", "table", "off", NULL };
	static const char *const demangle[] = { "short", "full", "no", NULL };
	unsigned int how = DEMANGLE_SHORT;
	int err = parse_word(options->unwind, "unwind", unwind, &ret->unwind);

	err = err ? err : parse_word(options->demangle, "demangle", demangle, &how);
	ret->demangle = (enum symbols_demangle)how;
	return err;
}

static int parse_rate(const struct record_options *options, struct collect_options *ret)
{
	if (options->frequency && options->period)
		return fail_plain(-EINVAL, "-F and -c: a frequency or a period, not both");
	if (options->event && strcmp(options->event, "cpu-clock") && strcmp(options->event, "cycles"))
		return fail_hint(fail_plain(-EINVAL, "event '%s': no such event", options->event),
				 "there are cpu-clock and cycles");
	ret->cycles = options->event && !strcmp(options->event, "cycles");
	ret->hz = options->period ? 0 : COLLECT_HZ;
	if (options->frequency)
		return value_frequency(options->frequency, &ret->hz);
	return options->period ? value_period(options->period, &ret->period) : 0;
}

static int parse_lists(const struct record_options *options, struct collect_options *ret, struct record_lists *lists)
{
	struct numbers pids = { 0 }, tids = { 0 }, cpus = { 0 };
	int err = value_numbers(&options->pids, "-p", false, &pids);

	err = err ? err : value_numbers(&options->tids, "-t", false, &tids);
	err = err ? err : value_numbers(&options->cpus, "-C", true, &cpus);
	*lists = (struct record_lists){ pids.list, tids.list, cpus.list, NULL };
	ret->pids = pids.list;
	ret->pids_len = pids.len;
	ret->tids = tids.list;
	ret->tids_len = tids.len;
	ret->cpus = cpus.list;
	ret->cpus_len = cpus.len;
	ret->comms = options->comms.items;
	ret->comms_len = options->comms.len;
	return err;
}

/* Is there an output that shows when a sample was taken, and in which thread? */
static bool wants_times(const struct record_options *options)
{
	const struct out_format *format = options->format ? out_by_name(options->format) : NULL;
	bool any = format && format->flags & OUT_TIMED;

	for (size_t i = 0; i < options->outputs.len && !options->format; i++) {
		format = out_by_path(options->outputs.items[i]);
		any |= format && format->flags & OUT_TIMED;
	}
	return any;
}

int record_to_collect(const struct record_options *options, struct collect_options *ret, struct record_lists *lists)
{
	bool times = wants_times(options);
	uint64_t naming;
	int err;

	*ret = (struct collect_options){
		.cgroup = options->cgroup,
		.command = options->command,
		.children = options->children,
		.idle = options->idle,
		.self = options->self,
		.user = !options->kernel,
		.kernel = !options->user,
		.threads = options->threads || times,
		.events = options->events || times,
		.fixed_phase = options->fixed_phase,
		.no_tree = options->no_tree,
		.raw = options->raw,
		.inlines = options->inlines,
		.lines = options->lines,
		.debuginfod = options->debuginfod,
		.measure = options->stats,
		.debug = options->debug,
		.max_stacks = COLLECT_MAX_STACKS,
		.ring_bytes = COLLECT_RING_BYTES,
		.drain_ms = COLLECT_DRAIN_MS,
		.unwind_bytes = COLLECT_UNWIND_BYTES,
	};
	naming = COLLECT_NAMING_NS / NS_PER_SEC;
	err = parse_lists(options, ret, lists);
	err = err ? err : parse_rate(options, ret);
	err = err ? err : parse_words(options, ret);
	err = err ? err : value_limit(options->max_stacks, "max-stacks", 1, 1 << 24, &ret->max_stacks);
	err = err ? err : value_limit(options->ring_bytes, "ring-bytes", 4096, 1 << 30, &ret->ring_bytes);
	err = err ? err : value_limit(options->drain_ms, "drain-ms", 1, 3600000, &ret->drain_ms);
	err = err ? err : value_limit(options->unwind_memory, "unwind-memory", 1 << 18, 1 << 26, &ret->unwind_bytes);
	err = err ? err : value_limit(options->naming_time, "naming-time", 1, 86400, &naming);
	ret->naming_ns = naming * NS_PER_SEC;
	if (!err && options->user && options->kernel)
		err = fail_plain(-EINVAL, "-U and -K: user stacks only or kernel stacks only, not both");
	if (!err && options->children && !options->pids.len)
		err = fail_plain(-EINVAL, "--children: of whom? it goes with -p");
	if (!err && options->command && (options->pids.len || options->tids.len))
		err = fail_plain(-EINVAL, "-p and -t do not go with a command: it is what is profiled");
	return err;
}
