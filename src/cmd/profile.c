/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick profile: what bcc's profile does, under its options and in its words, for those who have it in their fingers.
 * In: the command line. Out: a header once sampling has begun, then, when it has ended by its time or by a signal, the
 * stacks with their counts.
 */
#include "cmd/profile.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/session.h"

/* At once, unlike what output_write is given. */
static int print_header(const struct profiling_plan *plan)
{
	autobuf struct buf text = { 0 };
	int err;

	if (plan->shown.folded)
		return 0;
	bcc_header(&plan->scope, &text);
	err = buf_error(&text);
	err = err ? err : file_write_all(STDOUT_FILENO, text.data, text.len);
	return err ? fail(err, "writing to standard output") : 0;
}

static int print_stacks(const struct profiling_plan *plan, const struct profile *profile, struct output *output)
{
	autobuf struct buf text = { 0 };
	int err;

	if (!plan->shown.folded)
		buf_addc(&text, '\n');
	err = bcc_stacks(profile, &plan->shown, &text);
	if (err)
		return fail(err, "writing the stacks");
	err = output_write(output, text.data, text.len);
	return err ? err : output_commit(output);
}

static void warn(const struct profile *profile)
{
	autobuf struct buf text = { 0 };

	bcc_warnings(profile, &text);
	if (text.len && !buf_error(&text))
		fwrite(text.data, 1, text.len, stderr);
	session_note_missed(profile);
}

/* -c counts cycles where the machine can, else nanoseconds. */
static int open_session(struct session *session, struct profiling_plan *plan)
{
	int err;

	if (!plan->collect.hz) {
		plan->collect.cycles = true;
		err = session_open(session, &plan->collect);
		if (err != -ENOENT && err != -EOPNOTSUPP && err != -ENODEV)
			return err;
		session_free(session);
		plan->collect.cycles = false;
	}
	return session_open(session, &plan->collect);
}

static int profiling_run(struct profiling_plan *plan)
{
	struct session session = { .seconds_ns = plan->seconds * NS_PER_SEC };
	struct output *output = NULL;
	int err = output_open(&output, "-"), status;

	session_catch_signals();
	err = err ? err : open_session(&session, plan);
	err = err ? err : session_start(&session);
	err = err ? err : print_header(plan);
	err = err ? err : session_sample(&session);
	err = err ? err : print_stacks(plan, session.profile, output);
	if (!err)
		warn(session.profile);
	status = session_end(&session, err);
	session_free(&session);
	output_free(output);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	struct profiling_options options = { 0 };
	struct profiling_plan plan = { 0 };
	int err = profiling_parse(&options, argc, argv), status;

	err = err ? err : profiling_plan(&options, &plan);
	plan.collect.begun_ns = begun;
	status = err ? command_usage(command, err) : profiling_run(&plan);
	profiling_plan_free(&plan);
	profiling_options_free(&options);
	return status;
}

const struct command command_profile = {
	.name = "profile",
	.summary = "Counts stacks as bcc's profile does, with its options and its output",
	.usage = "[OPTION]... [SECONDS]",
	.examples = "  wick profile 5                             the whole machine for five seconds\n"
		    "  wick profile -af 5 > cpu.folded            for flamegraph.pl\n"
		    "  wick profile -p PID -F 99                  one process, until Ctrl-C\n",
	.options = profiling_option_table,
	.samples = true,
	.run = run,
};
