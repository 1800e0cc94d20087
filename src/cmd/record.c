/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick record: the main job. Opens everything that can fail, samples until told to stop, writes what was asked for.
 * A signal ends sampling and everything is still written.
 */
#include "cmd/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "cmd/cmd.h"
#include "cmd/outputs.h"
#include "cmd/session.h"
#include "out/report.h"
#include "profile/profile.h"

struct record {
	struct record_options options;
	struct collect_options collect_options;
	struct record_lists lists;
	struct report_options shape;
	struct svg_options svg;
	struct outputs *outputs;
	struct session session;
};

/* What is lost or missed is said wherever the profile goes; the report has it inside. */
static void warn_losses(const struct profile *profile)
{
	autobuf struct buf line = { 0 };

	session_note_missed(profile);
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (counter->value && !strcmp(profile_text(profile, counter->group, NULL), "lost"))
			buf_addf(&line, "%s%s %llu", line.len ? ", " : "", profile_text(profile, counter->name, NULL),
				 (unsigned long long)counter->value);
	}
	if (line.len && !buf_error(&line))
		fprintf(stderr, "wick: warning: samples lost: %s: raise --ring-bytes or --max-stacks\n", line.data);
}

/* Options for a report that nobody will see were meant for something else. */
static int shape_report(struct record *record)
{
	const char *option = report_arguments_any(&record->options.report);

	outputs_shape_report(record->outputs, &record->shape);
	if (!option || outputs_have_report(record->outputs))
		return 0;
	fail_plain(-EINVAL, "--%s: it shapes a report, and none is written", option);
	return fail_hint(-EINVAL, "add -o - to print one, or use wick report on a .wick file");
}

/* --width is the report's, where one is written. */
static int shape_svg(struct record *record)
{
	struct svg_arguments *asked = &record->options.svg;

	if (outputs_have_svg(record->outputs) && !outputs_have_report(record->outputs)) {
		asked->width = record->options.report.width;
		record->options.report.width = NULL;
	}
	return svg_arguments_shape(asked, &record->svg, record->outputs);
}

static int record_run(struct record *record)
{
	struct session *session = &record->session;
	int err;

	session->seconds_ns = record->options.seconds_ns;
	session->command = record->options.command;
	session->progress = true;
	session_catch_signals();
	err = outputs_open(&record->outputs, &record->options.outputs, record->options.format, record->options.stats);
	session_protect(record->outputs);
	err = err ? err : shape_svg(record);
	err = err ? err : shape_report(record);
	err = err ? err : session_open(session, &record->collect_options);
	err = err ? err : session_start(session);
	err = err ? err : session_sample(session);
	err = err ? err : outputs_write(record->outputs, session->profile);
	if (!err && (record->options.outputs.len || record->options.format))
		warn_losses(session->profile);
	return session_end(session, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct record record = { 0 };
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	int err = record_parse(&record.options, argc, argv), status;

	err = err ? err : record_to_collect(&record.options, &record.collect_options, &record.lists);
	err = err ? err : report_arguments_read(&record.options.report, &record.shape);
	record.collect_options.begun_ns = begun;
	status = err ? command_usage(command, err) : record_run(&record);
	session_protect(NULL);
	session_free(&record.session);
	outputs_free(record.outputs);
	svg_options_free(&record.svg);
	record_lists_free(&record.lists);
	record_options_free(&record.options);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "Samples the machine, or a part of it, and shows where the CPU time goes",
	.usage = "[OPTION]... [SECONDS] [-- COMMAND...]",
	.examples = "  wick record 10                             the whole machine for ten seconds\n"
		    "  wick record -p PID 30                      one process\n"
		    "  wick record -o cpu.svg 10                  a flame graph\n"
		    "  wick record -o build.wick -- make -j4      a command and all it starts\n"
		    "  ssh HOST wick record -f html -o - 10 > x.html\n",
	.options = record_option_table,
	.writes = true,
	.samples = true,
	.run = run,
};
