/* SPDX-License-Identifier: Apache-2.0 */
/* Saved profiles as a source: what `serve --replay` shows, and what tests of the server ask. */
#ifndef WICK_HTTP_REPLAY_H
#define WICK_HTTP_REPLAY_H

#include <stddef.h>

#include "http/source.h"

struct profile;
struct replay;

int replay_new(struct replay **ret);
void replay_free(struct replay *replay);

/* Takes the profile, which belongs to it from then on, if it returns 0. -EINVAL with fail() set for another unit. */
int replay_add(struct replay *replay, struct profile *profile);

/* The first so many go. */
void replay_forget(struct replay *replay, size_t count);

/* Good for as long as the replay is, which may not change while it is asked. */
struct http_source replay_source(struct replay *replay);

#endif
