/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `record` and its like share: signals, the command to profile, the loop that samples, the progress line. Signal
 * handlers cannot be passed anything, so what they need is kept here, and nowhere else.
 */
#include "cmd/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/outputs.h"
#include "collect/collect.h"
#include "profile/profile.h"

#define POLL_MS 100

static volatile sig_atomic_t stopped_by;
static const struct outputs *volatile half_written;

static void on_signal(int signal)
{
	if (stopped_by && signal == SIGINT) {
		if (half_written)
			outputs_abandon(half_written);
		_exit(128 + SIGINT);
	}
	stopped_by = signal;
}

void session_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void session_protect(const struct outputs *outputs)
{
	half_written = outputs;
}

int session_open(struct session *session, const struct collect_options *options)
{
	int err = profile_new(&session->profile);

	return err ? err : collect_open(&session->collect, options, session->profile);
}

int session_start(struct session *session)
{
	int err;

	if (session->command) {
		err = child_prepare(&session->child, session->command);
		if (err)
			return err;
		collect_command(session->collect, (uint32_t)session->child.pid);
	}
	err = collect_start(session->collect);
	if (!err && session->command)
		err = child_go(&session->child);
	if (!err && collect_warning(session->collect))
		fprintf(stderr, "wick: warning: %s: mappings are read from /proc instead\n",
			collect_warning(session->collect));
	return err;
}

static void show_progress(const struct session *session, uint64_t now, uint64_t end)
{
	autobuf struct buf line = { 0 };
	struct collect_progress progress;

	collect_progress(session->collect, &progress);
	buf_addf(&line, "\r\033[K%.0f s ",
		 (double)((end ? end : now) - (end ? now : session->begun_ns)) / (double)NS_PER_SEC);
	buf_adds(&line, end ? "left · " : "· Ctrl-C ends · ");
	text_thousands(&line, progress.taken);
	buf_addf(&line, " samples · lost %llu", (unsigned long long)progress.lost);
	if (!buf_error(&line))
		fwrite(line.data, 1, line.len, stderr);
}

int session_sample(struct session *session)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), shown = 0;
	uint64_t end = session->seconds_ns ? now + session->seconds_ns : 0;
	bool terminal = session->progress && isatty(STDERR_FILENO);
	int err = 0;

	session->begun_ns = now;
	while (!stopped_by && !err && (!end || now < end) && !collect_targets_gone(session->collect)) {
		uint64_t left = end ? (end - now) / NS_PER_MS + 1 : POLL_MS;

		err = collect_poll(session->collect, left < POLL_MS ? (int)left : POLL_MS);
		err = err == -EINTR ? 0 : err;
		now = clock_ns(CLOCK_MONOTONIC);
		if (session->command && child_poll(&session->child))
			break;
		if (terminal && now - shown > NS_PER_SEC / 4) {
			show_progress(session, now, end > now ? end : 0);
			shown = now;
		}
	}
	if (terminal && shown)
		fputs("\r\033[K", stderr);
	err = err ? err : collect_stop(session->collect);
	return err ? err : collect_name(session->collect);
}

int session_end(struct session *session, int err)
{
	if (session->command && session->child.pid > 0) {
		if (err)
			child_discard(&session->child);
		else
			child_wait(&session->child, stopped_by);
	}
	if (err == -EPIPE) /* whoever read it had enough */
		return EXIT_DONE;
	if (err)
		return command_failed(err == -EINVAL ? EXIT_USAGE : EXIT_MACHINE);
	return session->command ? session->child.status : EXIT_DONE;
}

void session_free(struct session *session)
{
	collect_free(session->collect);
	profile_free(session->profile);
	session->collect = NULL;
	session->profile = NULL;
}

void session_note_missed(const struct profile *profile)
{
	uint64_t missed = profile_counter_value(profile, "note", "missed");

	if (missed)
		fprintf(stderr, "wick: note: about %llu of %llu ticks were missed\n", (unsigned long long)missed,
			(unsigned long long)profile_meta(profile)->expected);
}
