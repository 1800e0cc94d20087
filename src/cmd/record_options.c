/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks what was asked of `wick record`: everything that can be wrong with the words is found here. */
#include "cmd/record.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/text.h"

#define AT(field) offsetof(struct record_options, field)
#define LIST_MAX 65536
#define SECONDS_MAX (10.0 * 365 * 24 * 3600)
#define SECONDS_MIN 0.001
#define PERIOD_MIN 10000 /* ns: the kernel does no less */

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
	{ 0, "events", NULL, opt_flag, AT(events), "keep the time of each sample (.wick)", NULL },
	{ 'o', "output", "FILE", opt_list, AT(outputs),
	  "write to FILE, its suffix chooses the format (.wick .folded .txt); again for more; - is standard output", "file" },
	{ 'f', "format", "FORMAT", opt_text, AT(format), "wick, folded or report, whatever the suffix", "wick folded report" },
	{ 0, "stats", "FILE", opt_text, AT(stats), "write the accounting as JSON", "file" },
	{ 0, "max-stacks", "N", opt_text, AT(max_stacks), "distinct stacks kept (32768)", NULL },
	{ 0, "ring-bytes", "BYTES", opt_text, AT(ring_bytes), "room for new stacks on their way (1M)", NULL },
	{ 0, "drain-ms", "MS", opt_text, AT(drain_ms), "how often counts are fetched, at least (5000)", NULL },
	{ 0, "debug", NULL, opt_flag, AT(debug), "show what the kernel says while loading", NULL },
	{ 0, "no-jitter", NULL, opt_flag, AT(fixed_phase), NULL, NULL },
	{ 0, "no-tree", NULL, opt_flag, AT(no_tree), NULL, NULL },
	{ 0 },
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

struct numbers {
	uint32_t *list;
	size_t len;
};

static int add_range(struct numbers *numbers, const char *option, uint64_t from, uint64_t to)
{
	uint32_t *grown;

	if (from > to || to > INT_MAX || to - from >= LIST_MAX || numbers->len + (to - from) >= LIST_MAX)
		return fail_plain(-EINVAL, "%s: %llu-%llu is not a range that can be", option, (unsigned long long)from,
				  (unsigned long long)to);
	grown = reallocarray(numbers->list, numbers->len + (size_t)(to - from) + 1, sizeof(*grown));
	if (!grown)
		return fail(-ENOMEM, "%s", option);
	numbers->list = grown;
	for (uint64_t i = from; i <= to; i++)
		numbers->list[numbers->len++] = (uint32_t)i;
	return 0;
}

/* "1,2" or, where ranges make sense, "0-3,8". */
static int parse_numbers(const struct opt_list *items, const char *option, bool ranges, struct numbers *ret)
{
	for (size_t i = 0; i < items->len; i++) {
		char *copy = strdup(items->items[i]), *rest = copy, *word;
		int err = copy ? 0 : fail(-ENOMEM, "%s", option);

		while (!err && (word = strsep(&rest, ","))) {
			char *dash = ranges ? strchr(word, '-') : NULL;
			uint64_t from, to;

			if (dash)
				*dash = 0;
			if (text_u64(word, &from) || text_u64(dash ? dash + 1 : word, &to))
				err = fail_plain(-EINVAL, "%s: '%s' is not a number", option, items->items[i]);
			else
				err = add_range(ret, option, from, to);
		}
		free(copy);
		if (err)
			return err;
	}
	return 0;
}

static uint64_t max_sample_rate(void)
{
	autobuf struct buf text = { 0 };
	uint64_t rate;

	if (file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text) || !text.len)
		return UINT64_MAX;
	text.data[strcspn(text.data, "\n")] = 0;
	return text_u64(text.data, &rate) ? UINT64_MAX : rate;
}

static int parse_rate(const struct record_options *options, struct collect_options *ret)
{
	uint64_t limit = max_sample_rate();

	if (options->frequency && options->period)
		return fail_plain(-EINVAL, "-F and -c: a frequency or a period, not both");
	if (options->event && strcmp(options->event, "cpu-clock") && strcmp(options->event, "cycles"))
		return fail_hint(fail_plain(-EINVAL, "event '%s': no such event", options->event),
				 "there are cpu-clock and cycles");
	ret->cycles = options->event && !strcmp(options->event, "cycles");
	ret->hz = options->period ? 0 : COLLECT_HZ;
	if (options->frequency && (text_u64(options->frequency, &ret->hz) || !ret->hz))
		return fail_plain(-EINVAL, "-F: '%s' is not a number of samples a second", options->frequency);
	if (ret->hz > limit) {
		fail_plain(-EINVAL, "-F: %llu is more than kernel.perf_event_max_sample_rate allows",
			   (unsigned long long)ret->hz);
		return fail_hint(-EINVAL, "at most %llu", (unsigned long long)limit);
	}
	if (options->period &&
	    (text_u64(options->period, &ret->period) || ret->period < PERIOD_MIN || ret->period > INT64_MAX))
		return fail_plain(-EINVAL, "-c: '%s' is not a period: a number from %d up", options->period, PERIOD_MIN);
	return 0;
}

static int parse_limit(const char *text, const char *option, uint64_t least, uint64_t most, uint64_t *value)
{
	const struct opt opt = { .name = option };
	int err = text ? opt_bytes(&opt, text, value) : 0;

	if (err)
		return err;
	if (*value < least || *value > most)
		return fail_plain(-EINVAL, "--%s: from %llu to %llu", option, (unsigned long long)least,
				  (unsigned long long)most);
	return 0;
}

static int parse_lists(const struct record_options *options, struct collect_options *ret, struct record_lists *lists)
{
	struct numbers pids = { 0 }, tids = { 0 }, cpus = { 0 };
	int err = parse_numbers(&options->pids, "-p", false, &pids);

	err = err ? err : parse_numbers(&options->tids, "-t", false, &tids);
	err = err ? err : parse_numbers(&options->cpus, "-C", true, &cpus);
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

int record_to_collect(const struct record_options *options, struct collect_options *ret, struct record_lists *lists)
{
	int err;

	*ret = (struct collect_options){
		.cgroup = options->cgroup,
		.command = options->command,
		.children = options->children,
		.idle = options->idle,
		.self = options->self,
		.user = !options->kernel,
		.kernel = !options->user,
		.threads = options->threads,
		.events = options->events,
		.fixed_phase = options->fixed_phase,
		.no_tree = options->no_tree,
		.measure = options->stats,
		.debug = options->debug,
		.max_stacks = COLLECT_MAX_STACKS,
		.ring_bytes = COLLECT_RING_BYTES,
		.drain_ms = COLLECT_DRAIN_MS,
	};
	err = parse_lists(options, ret, lists);
	err = err ? err : parse_rate(options, ret);
	err = err ? err : parse_limit(options->max_stacks, "max-stacks", 1, 1 << 24, &ret->max_stacks);
	err = err ? err : parse_limit(options->ring_bytes, "ring-bytes", 4096, 1 << 30, &ret->ring_bytes);
	err = err ? err : parse_limit(options->drain_ms, "drain-ms", 1, 3600000, &ret->drain_ms);
	if (!err && options->user && options->kernel)
		err = fail_plain(-EINVAL, "-U and -K: user stacks only or kernel stacks only, not both");
	if (!err && options->children && !options->pids.len)
		err = fail_plain(-EINVAL, "--children: of whom? it goes with -p");
	if (!err && options->command && (options->pids.len || options->tids.len))
		err = fail_plain(-EINVAL, "-p and -t do not go with a command: it is what is profiled");
	return err;
}
