/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick record: the main job. Opens everything that can fail, samples until told to stop, writes what was asked for.
 * A signal ends sampling and everything is still written; a second interrupt ends wick at once, leaving nothing half
 * written.
 */
#include "cmd/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/outputs.h"
#include "profile/profile.h"

#define POLL_MS 100

/* All that a signal handler needs: it cannot be passed anything. */
static volatile sig_atomic_t stopped_by;
static const struct outputs *volatile half_written;

struct record {
	struct record_options options;
	struct collect_options collect_options;
	struct record_lists lists;
	struct outputs *outputs;
	struct profile *profile;
	struct collect *collect;
	struct child child;
	uint64_t begun_ns;
};

static void on_signal(int signal)
{
	if (stopped_by && signal == SIGINT) {
		if (half_written)
			outputs_abandon(half_written);
		_exit(128 + SIGINT);
	}
	stopped_by = signal;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void show_progress(const struct record *record, uint64_t now, uint64_t end)
{
	autobuf struct buf line = { 0 };
	struct collect_progress progress;

	collect_progress(record->collect, &progress);
	buf_addf(&line, "\r\033[K%.0f s ", (double)((end ? end : now) - (end ? now : record->begun_ns)) / (double)NS_PER_SEC);
	buf_adds(&line, end ? "left · " : "· Ctrl-C ends · ");
	text_thousands(&line, progress.taken);
	buf_addf(&line, " samples · lost %llu", (unsigned long long)progress.lost);
	if (!buf_error(&line))
		fwrite(line.data, 1, line.len, stderr);
}

/* Samples until the time is over, the target is gone, the command has ended or a signal came. */
static int sample(struct record *record)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), shown = 0;
	uint64_t end = record->options.seconds_ns ? now + record->options.seconds_ns : 0;
	bool terminal = isatty(STDERR_FILENO);
	int err = 0;

	record->begun_ns = now;
	while (!stopped_by && !err && (!end || now < end) && !collect_targets_gone(record->collect)) {
		uint64_t left = end ? (end - now) / NS_PER_MS + 1 : POLL_MS;

		err = collect_poll(record->collect, left < POLL_MS ? (int)left : POLL_MS);
		err = err == -EINTR ? 0 : err;
		now = clock_ns(CLOCK_MONOTONIC);
		if (record->options.command && child_poll(&record->child))
			break;
		if (terminal && now - shown > NS_PER_SEC / 4) {
			show_progress(record, now, end > now ? end : 0);
			shown = now;
		}
	}
	if (terminal && shown)
		fputs("\r\033[K", stderr);
	return err;
}

static int start(struct record *record)
{
	int err;

	if (record->options.command) {
		err = child_prepare(&record->child, record->options.command);
		if (err)
			return err;
		collect_command(record->collect, (uint32_t)record->child.pid);
	}
	err = collect_start(record->collect);
	if (!err && record->options.command)
		err = child_go(&record->child);
	if (!err && collect_warning(record->collect))
		fprintf(stderr, "wick: warning: %s: mappings are read from /proc instead\n", collect_warning(record->collect));
	return err;
}

/* What is lost or missed is said wherever the profile goes; the report has it inside. */
static void warn_losses(const struct profile *profile)
{
	uint64_t missed = profile_counter_value(profile, "note", "missed");
	autobuf struct buf line = { 0 };

	if (missed)
		fprintf(stderr, "wick: note: about %llu of %llu ticks were missed\n", (unsigned long long)missed,
			(unsigned long long)profile_meta(profile)->expected);
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (counter->value && !strcmp(profile_text(profile, counter->group, NULL), "lost"))
			buf_addf(&line, "%s%s %llu", line.len ? ", " : "", profile_text(profile, counter->name, NULL),
				 (unsigned long long)counter->value);
	}
	if (line.len && !buf_error(&line))
		fprintf(stderr, "wick: warning: samples lost: %s: raise --ring-bytes or --max-stacks\n", line.data);
}

static int open_all(struct record *record)
{
	int err = profile_new(&record->profile);

	err = err ? err : outputs_open(&record->outputs, &record->options.outputs, record->options.format,
				       record->options.stats);
	half_written = record->outputs;
	return err ? err : collect_open(&record->collect, &record->collect_options, record->profile);
}

static int status_of(const struct record *record, int err)
{
	if (err == -EPIPE) /* whoever read it had enough */
		return EXIT_DONE;
	if (err)
		return command_failed(err == -EINVAL ? EXIT_USAGE : EXIT_MACHINE);
	return record->options.command ? record->child.status : EXIT_DONE;
}

static int record_run(struct record *record)
{
	int err;

	catch_signals();
	err = open_all(record);
	err = err ? err : start(record);
	err = err ? err : sample(record);
	err = err ? err : collect_stop(record->collect);
	err = err ? err : outputs_write(record->outputs, record->profile);
	if (!err && (record->options.outputs.len || record->options.format))
		warn_losses(record->profile);
	if (record->options.command && record->child.pid > 0) {
		if (err)
			child_discard(&record->child);
		else
			child_wait(&record->child, stopped_by);
	}
	return status_of(record, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct record record = { 0 };
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	int err = record_parse(&record.options, argc, argv), status;

	err = err ? err : record_to_collect(&record.options, &record.collect_options, &record.lists);
	record.collect_options.begun_ns = begun;
	status = err ? command_usage(command, err) : record_run(&record);
	half_written = NULL;
	collect_free(record.collect);
	outputs_free(record.outputs);
	profile_free(record.profile);
	record_lists_free(&record.lists);
	record_options_free(&record.options);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "Samples the machine, or a part of it, and shows where the CPU time goes",
	.usage = "[OPTION]... [SECONDS] [-- COMMAND...]",
	.examples = "  wick record 10                             the whole machine for ten seconds\n"
		    "  wick record -p 1234 -o cpu.folded 30       one process, for flamegraph.pl\n"
		    "  wick record -o build.wick -- make -j4      a command and all it starts\n"
		    "  ssh HOST wick record -f wick -o - 10 > x.wick\n",
	.options = record_option_table,
	.run = run,
};
