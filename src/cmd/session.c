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

#define PROGRESS_EVERY (NS_PER_SEC / 4)

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

/* Nothing is to be done, but waiting is over. */
static void on_child(int signal)
{
	(void)signal;
}

void session_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGCHLD, &child, NULL);
}

/* They come while collect_poll waits, never between a look at what they left behind and the wait. */
static void hold_signals(sigset_t *ret_before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGCHLD);
	sigprocmask(SIG_BLOCK, &held, ret_before);
}

void session_protect(const struct outputs *outputs)
{
	half_written = outputs;
}

int session_open(struct session *session, const struct collect_options *options)
{
	int err = session->command ? child_prepare(&session->child, session->command) : 0;

	err = err ? err : profile_new(&session->profile);
	return err ? err : collect_open(&session->collect, options, session->profile);
}

int session_start(struct session *session)
{
	int err;

	if (session->command)
		collect_command(session->collect, (uint32_t)session->child.pid);
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

/* Until something is due that collecting knows of, or `due`, unless that is 0. */
static int wait_until(struct session *session, uint64_t due)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t left = due > now ? (due - now) / NS_PER_MS + 1 : 0;
	int timeout = collect_timeout(session->collect);
	int err = collect_poll(session->collect, due && left < (uint64_t)timeout ? (int)left : timeout);

	return err == -EINTR ? 0 : err;
}

static int sample(struct session *session, bool terminal)
{
	uint64_t now = session->begun_ns, end = session->seconds_ns ? now + session->seconds_ns : 0;
	uint64_t show_at = terminal ? now : 0;
	sigset_t before;
	int err = 0;

	hold_signals(&before);
	while (!stopped_by && !err && (!end || now < end) && !collect_targets_gone(session->collect)) {
		err = wait_until(session, show_at && (!end || show_at < end) ? show_at : end);
		sigprocmask(SIG_SETMASK, &before, NULL); /* where there always is something to do, it does not wait */
		hold_signals(&before);
		now = clock_ns(CLOCK_MONOTONIC);
		if (session->command && child_poll(&session->child))
			break;
		if (terminal && now >= show_at) {
			show_progress(session, now, end > now ? end : 0);
			show_at = now + PROGRESS_EVERY;
		}
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int session_sample(struct session *session)
{
	bool terminal = session->progress && isatty(STDERR_FILENO);
	int err;

	session->begun_ns = clock_ns(CLOCK_MONOTONIC);
	err = sample(session, terminal);
	if (terminal)
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
