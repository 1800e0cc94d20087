/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling as every command does that samples, as a life story: catch signals, open, start, sample, end. A signal ends
 * sampling and what was seen is still there to be written; a second interrupt ends wick at once.
 */
#ifndef WICK_CMD_SESSION_H
#define WICK_CMD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/child.h"

struct collect;
struct collect_options;
struct outputs;
struct profile;

struct session {
	uint64_t seconds_ns; /* 0: until stopped */
	char **command;      /* to be run and profiled; NULL: none */
	bool progress;       /* a line for people while it samples, on a terminal */
	struct profile *profile;
	struct collect *collect;
	struct child child;
	uint64_t begun_ns;
};

/* From now on signals end sampling. */
void session_catch_signals(void);
/* What a second interrupt must not leave half written; NULL: nothing any more. */
void session_protect(const struct outputs *outputs);

/*
 * The caller fills in the first three fields; the rest is 0. Everything that can fail early does. The command is there
 * from then on, before wick becomes what it need not inherit, but waits.
 */
int session_open(struct session *session, const struct collect_options *options);
int session_start(struct session *session);
/* Until the time is over, the targets are gone, the command has ended or a signal came. Then the profile is whole. */
int session_sample(struct session *session);
/* Lets the command go, or ends it after an error; says what failed. Returns the exit status. */
int session_end(struct session *session, int err);
void session_free(struct session *session);

/* Says on standard error that ticks were missed, if any were. */
void session_note_missed(const struct profile *profile);

#endif
