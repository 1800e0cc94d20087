/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people: what was measured, the hottest functions and processes, and how far to trust it. In: a
 * profile. Out: plain text, the same for the same profile; equals are ordered by name. Every loss that is not zero
 * is in the last line, by name.
 */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "profile/profile.h"

#define FUNCTIONS_SHOWN 15
#define PROCESSES_SHOWN 10
#define DOT " · "

/* A function, or a process: what the two tables have in common. */
struct row {
	const char *name; /* of a function: "name;module" */
	const char *comm; /* of a function: who runs it most */
	uint64_t self, total;
	uint64_t comm_self;
	uint32_t number; /* of a process; of a function the last sample that has it */
};

struct report {
	const struct profile *profile;
	struct intern *names;
	struct row *functions; /* by number of their name */
	struct row *processes; /* by number in the profile */
	uint32_t *name_of;     /* by frame */
	struct map comms;      /* self samples by function and comm */
	struct buf scratch;
	uint64_t total;
};

static void report_free(struct report *report)
{
	intern_free(report->names);
	free(report->functions);
	free(report->processes);
	free(report->name_of);
	map_free(&report->comms);
	buf_free(&report->scratch);
}

static int report_prepare(struct report *report)
{
	uint32_t frames = profile_count(report->profile, PROFILE_FRAMES);
	uint32_t samples = profile_count(report->profile, PROFILE_SAMPLES);

	report->name_of = calloc(frames, sizeof(*report->name_of));
	/* Names are those of frames and of comms: as many as there are of both at most, and the empty one. */
	report->functions = calloc((size_t)frames + samples + 1, sizeof(*report->functions));
	report->processes = calloc(profile_count(report->profile, PROFILE_PROCESSES), sizeof(*report->processes));
	if (!report->name_of || !report->functions || !report->processes)
		return -ENOMEM;
	return intern_new(&report->names);
}

/* The number of what is in scratch, or 0 if memory is out. */
static uint32_t name_scratch(struct report *report)
{
	uint32_t number = buf_error(&report->scratch)
				  ? UINT32_MAX
				  : intern_bytes(report->names, report->scratch.data, report->scratch.len);

	buf_clear(&report->scratch);
	return number == UINT32_MAX ? 0 : number;
}

static int name_frames(struct report *report)
{
	for (uint32_t i = 0; i < profile_count(report->profile, PROFILE_FRAMES); i++) {
		uint32_t number;

		if (i) {
			out_frame_text(report->profile, i, &report->scratch);
			buf_addc(&report->scratch, ';');
			out_module_text(report->profile, i, &report->scratch);
		} else {
			buf_adds(&report->scratch, "[no stack];-");
		}
		number = name_scratch(report);
		if (!number)
			return -ENOMEM;
		report->name_of[i] = number;
		report->functions[number].name = intern_get(report->names, number, NULL);
	}
	return 0;
}

static int add_sample(struct report *report, uint32_t number)
{
	const struct profile *profile = report->profile;
	const struct profile_sample *sample = profile_sample(profile, number);
	uint32_t function = report->name_of[profile_node(profile, sample->stack)->frame];
	uint64_t *comm_self;
	uint32_t comm;

	report->total += sample->value;
	report->functions[function].self += sample->value;
	report->processes[sample->process].self += sample->value;
	out_comm_text(profile, number, &report->scratch);
	comm = name_scratch(report);
	comm_self = comm ? map_put(&report->comms, (uint64_t)function << 32 | comm) : NULL;
	if (!comm_self)
		return -ENOMEM;
	*comm_self += sample->value;
	for (uint32_t node = sample->stack;; node = profile_node(profile, node)->parent) {
		struct row *row = &report->functions[report->name_of[profile_node(profile, node)->frame]];

		/* A function that called itself is in the sample once. Node 0 is none, unless it is the whole stack. */
		if ((node || !sample->stack) && row->number != number) {
			row->number = number;
			row->total += sample->value;
		}
		if (!node)
			return 0;
	}
}

static int add_samples(struct report *report)
{
	const struct map_slot *slot;
	size_t at = 0;

	for (uint32_t i = 1; i < profile_count(report->profile, PROFILE_SAMPLES); i++) {
		int err = add_sample(report, i);

		if (err)
			return err;
	}
	while ((slot = map_next(&report->comms, &at))) {
		struct row *row = &report->functions[slot->key >> 32];
		const char *comm = intern_get(report->names, (uint32_t)slot->key, NULL);

		if (!row->comm || slot->value > row->comm_self ||
		    (slot->value == row->comm_self && strcmp(comm, row->comm) < 0)) {
			row->comm = comm;
			row->comm_self = slot->value;
		}
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->self != right->self)
		return left->self < right->self ? 1 : -1;
	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	if (left->name && right->name && strcmp(left->name, right->name) != 0)
		return strcmp(left->name, right->name);
	return (left->number > right->number) - (left->number < right->number);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Text, then spaces up to the width, counted in characters. */
static void add_padded(struct buf *out, const char *text, size_t len, size_t width)
{
	size_t shown = 0;

	for (size_t i = 0; i < len; i++)
		shown += ((unsigned char)text[i] & 0xc0) != 0x80;
	buf_add(out, text, len);
	for (; shown < width; shown++)
		buf_addc(out, ' ');
}

static void write_facts(const struct report *report, struct buf *out)
{
	const struct profile_meta *meta = profile_meta(report->profile);
	uint64_t all_us = meta->busy_user_us + meta->busy_kernel_us + meta->idle_us;

	buf_addf(out, "%.1f s" DOT "%" PRIu64 " CPU%s" DOT, (double)meta->duration_ns / NS_PER_SEC, meta->cpus,
		 meta->cpus == 1 ? "" : "s");
	if (meta->hz)
		buf_addf(out, "%" PRIu64 " Hz" DOT, meta->hz);
	else
		buf_addf(out, "period %" PRIu64 DOT, meta->period);
	text_thousands(out, report->total);
	buf_adds(out, report->total == 1 ? " sample" : " samples");
	if (all_us)
		buf_addf(out, DOT "busy %.0f %%: user %.0f, kernel %.0f",
			 percent(meta->busy_user_us + meta->busy_kernel_us, all_us),
			 percent(meta->busy_user_us, all_us), percent(meta->busy_kernel_us, all_us));
	buf_addc(out, '\n');
}

static void write_functions(struct report *report, struct buf *out)
{
	qsort(report->functions, intern_count(report->names), sizeof(*report->functions), compare_rows);
	buf_adds(out, "\n   SELF    TOTAL  PROCESS          MODULE                    FUNCTION\n");
	for (uint32_t i = 0; i < FUNCTIONS_SHOWN && i < intern_count(report->names); i++) {
		const struct row *row = &report->functions[i];
		const char *module;

		if (!row->self)
			break;
		module = strchr(row->name, ';');
		buf_addf(out, "%5.1f %%  %5.1f %%  ", percent(row->self, report->total),
			 percent(row->total, report->total));
		add_padded(out, row->comm, strlen(row->comm), 15);
		buf_adds(out, "  ");
		add_padded(out, module + 1, strlen(module + 1), 24);
		buf_adds(out, "  ");
		buf_add(out, row->name, (size_t)(module - row->name));
		buf_addc(out, '\n');
	}
}

static int write_processes(struct report *report, struct buf *out)
{
	uint32_t count = profile_count(report->profile, PROFILE_PROCESSES);

	for (uint32_t i = 0; i < count; i++) {
		size_t len;
		const char *comm = profile_text(report->profile, profile_process(report->profile, i)->comm, &len);

		buf_adds(&report->scratch, len ? "" : "[unnamed]");
		text_escape(&report->scratch, comm, len, ";");
		report->processes[i].number = i;
		report->processes[i].name = intern_get(report->names, name_scratch(report), NULL);
	}
	if (buf_error(&report->scratch))
		return -ENOMEM;
	qsort(report->processes, count, sizeof(*report->processes), compare_rows);
	buf_adds(out, "\n  SHARE      PID  PROCESS\n");
	for (uint32_t i = 0; i < PROCESSES_SHOWN && i < count && report->processes[i].self; i++) {
		const struct row *row = &report->processes[i];

		buf_addf(out, "%5.1f %%  %7" PRIu32 "  %s\n", percent(row->self, report->total),
			 profile_process(report->profile, row->number)->pid, row->name);
	}
	return 0;
}

/* ": name n, name n" for the counters of a group that are not zero; their sum. */
static uint64_t add_nonzero(const struct profile *profile, const char *group, const char *but, struct buf *out)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);
		const char *name = profile_text(profile, counter->name, NULL);

		if (!counter->value || strcmp(profile_text(profile, counter->group, NULL), group) != 0 ||
		    strcmp(name, but) == 0)
			continue;
		buf_adds(out, sum ? ", " : ": ");
		text_escape(out, name, strlen(name), NULL);
		buf_addc(out, ' ');
		text_thousands(out, counter->value);
		sum += counter->value;
	}
	return sum;
}

static void write_quality(struct report *report, struct buf *out)
{
	const struct profile *profile = report->profile;
	const struct profile_meta *meta = profile_meta(profile);
	uint64_t user = profile_counter_value(profile, "stack", "user");
	struct buf *names = &report->scratch;
	uint64_t lost;

	buf_adds(out, "\n");
	if (user) {
		uint64_t complete = profile_counter_value(profile, "stack", "complete");

		add_nonzero(profile, "cut", "", names);
		buf_addf(out, "stacks %.1f %% whole", percent(complete, user));
		buf_add(out, names->data, names->len);
		buf_adds(out, DOT);
	}
	buf_clear(names);
	lost = add_nonzero(profile, "lost", "", names);
	buf_adds(out, "lost ");
	text_thousands(out, lost);
	buf_add(out, names->data, names->len);
	buf_clear(names);
	if (add_nonzero(profile, "note", "keys", names)) {
		buf_adds(out, DOT "noted");
		buf_add(out, names->data, names->len);
	}
	/* As top(1) counts: of one CPU. */
	buf_addf(out, DOT "wick used %.2f %% CPU, %.0f MB + %.0f MB maps\n",
		 percent(profile_counter_value(profile, "self", "cpu_us") * NS_PER_US, meta->duration_ns),
		 (double)profile_counter_value(profile, "self", "max_rss_bytes") / 1e6,
		 (double)profile_counter_value(profile, "self", "bpf_map_bytes") / 1e6);
}

int out_report(const struct profile *profile, struct buf *out)
{
	struct report report = { .profile = profile };
	int err = report_prepare(&report);

	if (!err)
		err = name_frames(&report);
	if (!err)
		err = add_samples(&report);
	if (!err) {
		write_facts(&report, out);
		write_functions(&report, out);
		err = write_processes(&report, out);
	}
	if (!err) {
		write_quality(&report, out);
		err = buf_error(&report.scratch) ? -ENOMEM : buf_error(out);
	}
	report_free(&report);
	return err;
}
